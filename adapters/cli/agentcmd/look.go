package agentcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
)

// exitChanges is the exit code of --detailed-exitcode for changes.
const exitChanges = 2

// detailed gives a command --detailed-exitcode, and a way to exit with it.
func detailed(c *cobra.Command) func(data json.RawMessage) error {
	wanted := c.Flags().Bool("detailed-exitcode", false, "exit with 0 for no changes, 2 for changes, 1 for any failure")
	return func(data json.RawMessage) error {
		var d struct {
			Summary present.Summary `json:"summary"`
			Plan    struct {
				Summary present.Summary `json:"summary"`
			} `json:"plan"`
		}
		_ = json.Unmarshal(data, &d) // what shows the answer says so when it is not understood
		if *wanted && !(d.Summary.Empty() && d.Plan.Summary.Empty()) {
			return command.Exit(exitChanges)
		}
		return nil
	}
}

// review is a command that shows a plan and may exit with what it found. What brief is true of is asked for as far as people are shown it.
func (g group) review(c *cobra.Command, brief func() bool, ask func(cmd *cobra.Command) (tool.Name, command.Arguments, DrawFunc)) *cobra.Command {
	exit := detailed(g.Scoped(c))
	c.RunE = g.Entered(func(cmd *cobra.Command, _ []string) error {
		name, args, draw := ask(cmd)
		query := g.Query
		if !g.JSON && brief() {
			query = g.Glance
		}
		o, err := query(cmd.Context(), name, args)
		if err != nil {
			return g.Failed(cmd, o, err)
		}
		if err := g.Tell(cmd, o, draw); err != nil {
			return err
		}
		return exit(dataOf(o))
	})
	return c
}

func (g group) plan() *cobra.Command {
	c := g.Command("plan", "Show which files a deployment would create, update or delete", nil)
	all := listAll(c)
	return g.review(c, func() bool { return !*all }, func(*cobra.Command) (tool.Name, command.Arguments, DrawFunc) {
		return "plan", nil, func(data json.RawMessage) error { return g.Screen().Plan(data, *all) }
	})
}

// diff is plan for programs, and diffs for people.
func (g group) diff() *cobra.Command {
	return g.review(g.Command("diff", "Show a deployment's changes as diffs", nil), func() bool { return false }, func(cmd *cobra.Command) (tool.Name, command.Arguments, DrawFunc) {
		if g.JSON {
			return "diff", nil, nil
		}
		return "preview", command.Arguments{"diff": true}, func(data json.RawMessage) error {
			p, err := DecodeData[preview](data)
			if err != nil {
				return err
			}
			return g.Screen().Diffs(cmd.Context(), p.Diff.Files)
		}
	})
}

func (g group) preview() *cobra.Command {
	c := g.Command("preview", "Show a deployment's changes, with --diff every line of them", nil)
	diff, all := c.Flags().Bool("diff", false, "include diffs"), listAll(c)
	return g.review(c, func() bool { return !*diff && !*all }, func(cmd *cobra.Command) (tool.Name, command.Arguments, DrawFunc) {
		return "preview", command.Arguments{"diff": *diff}, func(data json.RawMessage) error { return g.Screen().Preview(cmd.Context(), data, *diff || *all) }
	})
}

// listAll gives a command --all, and reports whether it is set.
func listAll(c *cobra.Command) *bool {
	return c.Flags().Bool("all", false, "list every change")
}

func (g group) status() *cobra.Command {
	var only []string
	c := g.Command("status", "Show deployed files that are missing, modified or extra, and what to do next", func(cmd *cobra.Command, _ []string) error {
		g.Unasked(cmd.Context())
		return g.Look(cmd, "status", command.Arguments{"only": only}, g.Screen().Status)
	})
	c.Flags().StringSliceVar(&only, "only", nil, "kinds of drift: missing, modified, extra")
	return g.Scoped(c)
}

func (g group) explain() *cobra.Command {
	of := func(kind, short string) *cobra.Command {
		return g.Command(kind, short, func(cmd *cobra.Command, _ []string) error {
			return g.Look(cmd, "explain", command.Arguments{"kind": kind}, g.Screen().Explained)
		})
	}
	return g.Parent("explain", "Show which module and layer files come from", of("plan", "Show the source of each change in a plan"),
		of("diff", "The same as explain plan"), of("status", "List the modules of drifted files"))
}

func (g group) doctor() *cobra.Command {
	var fix bool
	c := g.Command("doctor", "Check the config repository and its target directories", func(cmd *cobra.Command, _ []string) error {
		if !fix {
			return g.Look(cmd, "doctor", nil, func(data json.RawMessage) error { return g.Screen().Doctor(data, false, false) })
		}
		_, err := g.Alter(cmd, change{Tool: "agents_doctor_fix", Draw: func(data json.RawMessage, done bool) error {
			return g.Screen().Doctor(data, true, done)
		}, Idle: func(data json.RawMessage) bool {
			var d struct {
				Fixes []struct {
					Updated bool `json:"updated"`
				} `json:"gitignore_fixes"`
			}
			_ = json.Unmarshal(data, &d)
			for _, f := range d.Fixes {
				if f.Updated {
					return false
				}
			}
			return true
		}})
		return err
	})
	c.Flags().BoolVar(&fix, "fix", false, "add ownership manifests to .gitignore")
	return c
}

func (g group) score() *cobra.Command {
	return g.Command("score", "Count recorded events and failures by module", func(cmd *cobra.Command, _ []string) error {
		return g.Look(cmd, "agents_score", nil, g.Screen().Score)
	})
}

func (g group) policy() *cobra.Command {
	lint := g.Command("lint", "Check the config repository against its policy", func(cmd *cobra.Command, _ []string) error {
		return g.Look(cmd, "agents_policy_lint", nil, g.Screen().Lint)
	})
	audit := g.Command("audit", "List what the lockfile pins, and what changed in it", func(cmd *cobra.Command, _ []string) error {
		return g.Look(cmd, "agents_policy_audit", nil, g.Screen().Audit)
	})
	lock := g.Command("lock", "Pin the policy pack", func(cmd *cobra.Command, _ []string) error {
		return g.Simple(cmd, "agents_policy_lock", nil, func(data fields, done bool) {
			g.Line("%s the policy pack at %s in %s", DoneVerb(done, "pinned", "pin"), data.Text("resolved_version"), data.Text("lockfile_path"))
		})
	})
	return g.Parent("policy", "Check the config repository against its policy", lint, lock, audit)
}
