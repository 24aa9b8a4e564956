package admincmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/owner"
)

// ownerList is the JSON output of the owners.
type ownerList struct {
	Count  int         `json:"count"`
	Owners []app.Owner `json:"owners"`
}

// OwnersCommand returns the command group owners.
func OwnersCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "owners", Short: "List processes with operations in progress, and clean up after dead ones",
		Args: command.Subcommand, RunE: command.Alone,
		Long: "Each call, run, background process, sandbox and server is recorded with the process that owns it. Countersign cannot see whether a process in another\n" +
			"container or on another machine still runs, so it leaves its operations alone until that process ends them, the machine restarts, or you run owners forget."}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List processes that run, or whose status is unknown here", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listOwners(cmd.Context(), s) }},
		&cobra.Command{Use: "forget OWNER", Short: "Mark a process as ended, so that its operations are cleaned up", Args: command.Args(1, 1), ValidArgsFunction: completeOwners(s),
			Long: "Mark a process in another container or on another machine as ended. Its operations count as interrupted from then on, and are failed, stopped or taken over by the\n" +
				"next command that needs them. You approve this in a terminal or in the console, and it is recorded.",
			RunE: func(cmd *cobra.Command, args []string) error { return forgetOwner(cmd.Context(), s, args[0]) }})
	return group
}

func listOwners(ctx context.Context, s *command.Shell) error {
	return adminListing(s, func(a *app.App) ([]app.Owner, error) { return a.Owners(ctx) }, func(all []app.Owner) any { return ownerList{Count: len(all), Owners: all} },
		"no processes with operations in progress", func(all []app.Owner) {
			stamp := func(t time.Time) string {
				if t.IsZero() {
					return ""
				}
				return t.UTC().Format(time.DateTime)
			}
			var rows [][]string
			for _, o := range all {
				said := ""
				if !o.Forgotten.IsZero() {
					said = stamp(o.Forgotten) + " by " + o.By
				}
				rows = append(rows, []string{o.Name, o.Verdict, stamp(o.RenewedAt), said, command.Plain(o.Owner)})
			}
			s.Table([]string{"owner", "is", "last seen (UTC)", "forgotten (UTC)", "process:start:boot:namespace:machine"}, rows)
		})
}

// forgetOwner asks the user: no program can know that a process which it cannot observe has ended.
func forgetOwner(ctx context.Context, s *command.Shell, name string) error {
	if err := owner.CheckName(name); err != nil {
		return err
	}
	o, err := s.Call(ctx, control.ForgetOwner.Name, control.OwnerInput{Name: name})
	if err != nil {
		return s.Fail(o, err)
	}
	if s.JSON {
		return s.Show(o)
	}
	s.Line("process %s is marked as ended; its operations are cleaned up by the next command that needs them", name)
	return nil
}

func completeOwners(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := a.Owners(cmd.Context())
		var names []cobra.Completion
		for _, o := range all {
			if o.Verdict == owner.Unknown.String() {
				names = append(names, cobra.CompletionWithDesc(o.Name, o.Owner))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
