package ecocmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// offers completes from the objects of a member of a tool's answer; say is the word of one, and what it is.
func (g *group) offers(ctx context.Context, name tool.Name, member, begun string, say func(answer) (word, about string)) []cobra.Completion {
	args := command.Arguments{}
	if name != "amof_list_ecosystems" {
		args = g.about(nil)
	}
	o, err := g.Send(ctx, name, args, func(tool.Progress) {})
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for _, a := range ParseAnswer(o.Value).List(member) {
		word, about := say(a)
		out = command.Offer(out, word, about, begun)
	}
	return out
}

func (g *group) names(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "amof_list_ecosystems", "ecosystems", begun, func(a answer) (string, string) { return a.Word("name"), a.Word("description") })
}

func (g *group) ticketIDs(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "amof_ticket_list", "tickets", begun, func(a answer) (string, string) { return a.Word("ticket_id"), a.Word("phase") })
}

func (g *group) repos(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "amof_describe_ecosystem", "repos", begun, func(a answer) (string, string) { return a.Word("name"), a.Word("url") })
}

func (g *group) savedCommands(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "amof_describe_ecosystem", "commands", begun, func(a answer) (string, string) { return a.Word("name"), strings.Join(a.Texts("command"), " ") })
}

func (g *group) entries(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "ecosystem_trash", "trash", begun, func(a answer) (string, string) { return a.Word("trash_id"), a.Word("why") })
}

// ids completes runs by the beginning of their ids, and all of it where that is what was begun.
func (g *group) ids(ctx context.Context, begun string) []cobra.Completion {
	return g.offers(ctx, "amof_list_runs", "runs", begun, func(a answer) (string, string) {
		id := a.Word("run_id")
		if len(begun) <= shortID {
			id = brief(id)
		}
		return id, a.Word("action") + " of " + a.Word("ecosystem") + ", " + a.Word("status")
	})
}

// repoFlag returns a flag --repo, completed.
func (g *group) repoFlag(c *cobra.Command, into *[]string) *cobra.Command {
	c.Flags().StringSliceVar(into, "repo", nil, "only this repository (repeatable)")
	g.completed(c, "repo", g.repos)
	return c
}

func (g *group) completed(c *cobra.Command, flag string, by command.Completer) {
	_ = c.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if flag == "repo" && len(args) > 0 && g.ecosystem == "" {
			g.ecosystem = args[0]
		}
		return by(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}) // the flag is there, and is registered once
}
