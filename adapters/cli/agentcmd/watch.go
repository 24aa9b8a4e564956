package agentcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/tool"
)

// watch plans again whenever the config repository changes.
func (g group) watch() *cobra.Command {
	c := g.Command("watch", "Plan again on each change of the config repository; applying always asks", func(cmd *cobra.Command, _ []string) error {
		if _, err := g.App(); err != nil {
			return g.Failed(cmd, tool.Outcome{}, err)
		}
		if g.Yes {
			return g.Misused(cmd, "watch asks about every plan; omit --yes")
		}
		repo, err := g.Repo()
		if err != nil {
			return g.Failed(cmd, tool.Outcome{}, err)
		}
		ctx := cmd.Context()
		changes := system.WatchTree(ctx, repo, system.WatchOptions{Skip: []string{".git"}})
		if !g.JSON {
			g.Line("watching %s; press Ctrl-C to stop", command.Plain(repo))
		}
		for {
			g.replan(cmd)
			if ctx.Err() != nil {
				return g.stopped()
			}
			if !g.JSON {
				g.Line("waiting for changes of the config repository")
			}
			if _, changed := <-changes; !changed {
				return g.stopped()
			}
		}
	})
	c.Example = `  countersign agents watch
  countersign agents watch --scope project`
	return g.Scoped(c)
}

// stopped is how watching ends.
func (g group) stopped() error {
	if !g.JSON {
		g.Note("stopped watching")
	}
	return nil
}

// replan shows what a deployment would change now and, in a terminal, asks about it as deploy --apply does. A failure is told, and watching goes on.
func (g group) replan(cmd *cobra.Command) {
	defer func() { g.Yes, g.Shown = false, false }() // an answer is about one plan
	ctx := cmd.Context()
	o, err := g.Query(ctx, "plan", nil)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		_ = g.Failed(cmd, o, err) // it is told; the next change may repair it
		return
	case g.JSON:
		_ = g.Tell(cmd, o, nil)
		return
	}
	p, err := DecodeData[present.Plan](dataOf(o))
	if err != nil {
		_ = g.Failed(cmd, tool.Outcome{}, err)
		return
	}
	if p.Summary.Empty() {
		_ = g.Tell(cmd, o, func(json.RawMessage) error { g.Line("nothing to deploy"); return nil })
		return
	}
	if g.Interactive() && !g.DryRun() && len(p.Adoptions()) == 0 {
		_ = g.deployShown(cmd, false, false) // what it ends with is told already
		return
	}
	_ = g.Tell(cmd, o, func(json.RawMessage) error {
		g.Screen().Changes(p, false)
		g.Screen().Adoptions(p)
		g.Screen().Total(p)
		g.Screen().Next([]string{g.again(after(p))})
		return nil
	})
}
