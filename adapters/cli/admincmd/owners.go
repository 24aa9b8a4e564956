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
		Long: "Runs, background processes, sandboxes and servers belong to the process that looks after them. Of one in another container or on another machine nobody here\n" +
			"can see whether it still runs: what it owns is left alone until it ends that itself, until the machine starts anew, or until a person says that it has ended."}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List recorded processes that run, or whose state is unknown here", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listOwners(cmd.Context(), s) }},
		&cobra.Command{Use: "forget OWNER", Short: "Declare a process ended, so that its operations can be cleaned up", Args: command.Args(1, 1), ValidArgsFunction: completeOwners(s),
			Long: "Say that an owner that cannot be seen from here has ended for certain. What it had under way counts as interrupted from now on: it is failed, ended or taken\n" +
				"over by whoever comes across it. A person is asked, in this terminal or wherever approvals are answered, and that goes on record.",
			RunE: func(cmd *cobra.Command, args []string) error { return forgetOwner(cmd.Context(), s, args[0]) }})
	return group
}

func listOwners(ctx context.Context, s *command.Shell) error {
	return adminListing(s, func(a *app.App) ([]app.Owner, error) { return a.Owners(ctx) }, func(all []app.Owner) any { return ownerList{Count: len(all), Owners: all} },
		"no process has anything under way here, and none of another container or machine is on record", func(all []app.Owner) {
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
	s.Line("owner %s counts as ended; what it left is settled by whoever comes across it", name)
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
