package admincmd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// KeysCommand returns the command group keys.
func KeysCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "keys", Short: "Manage passkeys and security keys for approvals", Args: command.Subcommand, RunE: command.Alone}
	var o adding
	add := &cobra.Command{Use: "add", Short: "Enrol a security key from your ssh agent", Args: command.Args(0, 0),
		Long: "Enrol a security key (sk-ssh-ed25519 or sk-ecdsa, from ssh-keygen -t ed25519-sk) from your ssh agent. You can then approve in a terminal by touching it.\n" +
			"You approve the first security key in the console, and each further one with an enrolled key. Passkeys are enrolled in the console.",
		RunE: func(cmd *cobra.Command, _ []string) error { return addKey(cmd.Context(), s, o) }}
	add.Flags().StringVar(&o.name, "name", "", "name of the key (default: its name in the ssh agent)")
	add.Flags().StringVar(&o.which, "key", "", "fingerprint of the key in the ssh agent, as shown by ssh-add -l")
	group.AddCommand(
		&cobra.Command{Use: "list", Short: "List the enrolled keys", Args: command.Args(0, 0), RunE: func(cmd *cobra.Command, _ []string) error { return listKeys(cmd.Context(), s) }},
		add,
		&cobra.Command{Use: "remove ID", Short: "Remove an enrolled key", Args: command.Args(1, 1), ValidArgsFunction: completeKeys(s),
			RunE: func(cmd *cobra.Command, args []string) error { return removeKey(cmd.Context(), s, args[0]) }})
	return group
}

// keyList is the JSON output of keys list.
type keyList struct {
	Count int       `json:"count"`
	Keys  []app.Key `json:"keys"`
}

func listKeys(ctx context.Context, s *command.Shell) error {
	return adminListing(s, func(a *app.App) ([]app.Key, error) { return a.Keys(ctx) }, func(all []app.Key) any { return keyList{Count: len(all), Keys: all} },
		"no keys; to enrol a security key: countersign keys add; a passkey: countersign login /keys", func(all []app.Key) {
			var rows [][]string
			for _, k := range all {
				counts, since := "yes", ""
				if !k.Counts {
					counts = "no: " + k.Why
				}
				if !k.EnrolledAt.IsZero() {
					since = k.EnrolledAt.UTC().Format(time.RFC3339)
				}
				rows = append(rows, []string{k.ID, k.Kind.Words(), k.Name, k.Credential, since, counts})
			}
			s.Table([]string{"id", "kind", "name", "handle", "enrolled", "counts"}, rows)
		})
}

// adding is the command line of a key enrolment.
type adding struct{ name, which string }

// addKey enrols a security key of the user's ssh agent. It must be touched once before the approval: a key that signs without a touch proves nothing.
func addKey(ctx context.Context, s *command.Shell, o adding) error {
	if !s.Interactive() {
		return command.ErrUnanswered.WithMessage("enrolling a security key needs a terminal and a touch of the key").WithDetails(command.Hint("run countersign keys add in a terminal"))
	}
	core, err := s.Opened()
	if err != nil {
		return err
	}
	if core.SecurityKeys == nil {
		return command.ErrUntouchable
	}
	k, err := choose(ctx, s, core, o.which)
	if err != nil {
		return err
	}
	if name := strings.TrimSpace(o.name); name != "" {
		k.Name = name
	} else if k.Name == "" {
		k.Name = "security key"
	}
	s.Say(fmt.Sprintf("touch the security key %s now to verify that it requires a touch (Ctrl-C cancels) …", command.Plain(k.Name)))
	if _, err := core.SecurityKeys.Sign(ctx, k, canon.SumBytes("enrolled.trial.v1", k.Public)); err != nil {
		return err
	}
	s.Patient = true
	if _, err := s.Call(ctx, control.EnrollKey.Name, control.KeyInput{Kind: k.Kind, Name: k.Name, Handle: k.Credential, Public: k.Public}); err != nil {
		return err
	}
	s.Line("enrolled the security key %s (%s)", command.Plain(k.Name), k.Credential)
	s.Note("to require it for high risk: countersign policy require touch for high")
	return nil
}

// choose returns the key of the ssh agent to enrol: the named one, the only one not yet enrolled, or the user's choice.
func choose(ctx context.Context, s *command.Shell, core command.Core, which string) (enrolled.Key, error) {
	there, plain, err := core.SecurityKeys.Keys(ctx)
	if err != nil {
		return enrolled.Key{}, err
	}
	have, err := core.App.Keys(ctx)
	if err != nil {
		return enrolled.Key{}, err
	}
	fresh := slices.DeleteFunc(slices.Clone(there), func(k enrolled.Key) bool {
		return which == "" && slices.ContainsFunc(have, func(h app.Key) bool { return h.Counts && bytes.Equal(h.Public, k.Public) }) || which != "" && k.Credential != which
	})
	switch {
	case len(fresh) == 1:
		return fresh[0], nil
	case len(fresh) == 0 && which != "":
		return enrolled.Key{}, command.ErrUntouchable.WithMessage("security key %s not found in your ssh agent", command.Plain(which)).WithDetails(command.Hint("to list its keys: ssh-add -l"))
	case len(fresh) == 0 && len(there) > 0:
		return enrolled.Key{}, enrolled.ErrTaken.WithMessage("all security keys of your ssh agent are already enrolled; to list them: countersign keys list")
	case len(fresh) == 0 && plain > 0:
		return enrolled.Key{}, command.ErrUntouchable.WithMessage("your ssh agent has only plain keys (%d): any program with access to it can sign with them, so they prove nothing", plain).
			WithDetails(command.Hint("create a key that requires a touch (ssh-keygen -t ed25519-sk), and add it (ssh-add)"))
	case len(fresh) == 0:
		return enrolled.Key{}, command.ErrUntouchable.WithMessage("your ssh agent has no keys").WithDetails(command.Hint("create a key that requires a touch (ssh-keygen -t ed25519-sk), and add it (ssh-add)"))
	}
	for i, k := range fresh {
		s.Say(fmt.Sprintf("%3d  %s  %s", i+1, k.Credential, command.Plain(k.Name)))
	}
	word, err := s.Ask(ctx, fmt.Sprintf("Which key? [1-%d]", len(fresh)))
	if err != nil {
		return enrolled.Key{}, err
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > len(fresh) {
		return enrolled.Key{}, command.ErrUnanswered.WithMessage("invalid choice %q; nothing was enrolled", command.Plain(word))
	}
	return fresh[n-1], nil
}

func removeKey(ctx context.Context, s *command.Shell, id string) error {
	s.Patient = true
	o, err := s.Call(ctx, control.RemoveKey.Name, control.KeyID{ID: id})
	if err != nil {
		return s.Fail(o, fault.From(err))
	}
	if s.JSON {
		return s.Show(o)
	}
	s.Line("removed %s", command.Plain(id))
	return nil
}

func completeKeys(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := a.Keys(cmd.Context())
		var ids []cobra.Completion
		for _, k := range all {
			ids = append(ids, cobra.CompletionWithDesc(k.ID, k.Name))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
