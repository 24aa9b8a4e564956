package operator

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// Grants is the command group grants; alone it lists.
func Grants(s *shell.Shell) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error { return listGrants(cmd.Context(), s) }
	group := &cobra.Command{Use: "grants", Short: "List and revoke what is always allowed for the rest of a session", Args: shell.Subcommand, RunE: list}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List what is always allowed, in whichever session, oldest first", Args: shell.Args(0, 0), RunE: list},
		&cobra.Command{Use: "revoke ID...", Short: "Have calls ask again, from the next one on", Args: shell.Args(1, -1), ValidArgsFunction: completeGrants(s),
			RunE: func(cmd *cobra.Command, args []string) error { return revokeGrants(cmd.Context(), s, args) }})
	return group
}

func listGrants(ctx context.Context, s *shell.Shell) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	all, err := a.AlwaysAllowed(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(confirm.ListAlways(all))
	}
	if len(all) == 0 {
		s.Note("nothing is always allowed; approve --always, or the box in the console, allows the same again for the rest of a session")
		return nil
	}
	var rows [][]string
	for _, g := range all {
		rows = append(rows, []string{g.ID, g.Tool, g.Scope, g.Session, g.By, time.Until(g.ExpiresAt).Round(time.Minute).String()})
	}
	s.Table([]string{"id", "tool", "of it", "session", "allowed by", "ends in"}, rows)
	s.Note("countersign grants revoke ID has the next call ask again")
	return nil
}

// revokeGrants ends each of them; one that is not there keeps none of the others in force.
func revokeGrants(ctx context.Context, s *shell.Shell, ids []string) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	var ended []confirm.Always
	var failed error
	for _, id := range ids {
		g, err := a.RevokeAlways(ctx, id, shell.ByTerminal)
		if err != nil {
			failed = err
			continue
		}
		ended = append(ended, g)
	}
	if s.JSON && failed == nil {
		return s.PrintJSON(confirm.ListAlways(ended))
	}
	for _, g := range ended {
		s.Line("revoked %s; %s asks again, from its next call on", g.ID, g.Tool)
	}
	return failed
}

func completeGrants(s *shell.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := a.AlwaysAllowed(cmd.Context())
		var ids []cobra.Completion
		for _, g := range all {
			ids = append(ids, cobra.CompletionWithDesc(g.ID, g.Tool+" "+g.Scope))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
