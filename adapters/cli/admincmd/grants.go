package admincmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
)

// GrantsCommand returns the command group grants.
func GrantsCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "grants", Short: "Manage session grants and grants until a date", Args: command.Subcommand, RunE: command.Alone,
		Long: "List and revoke permissions to repeat a call without asking, in one session or until a date. You give one when you approve a plan, so it is bound to that plan:\n\n" +
			"  countersign approve ID --always                    the same call, in that session\n" +
			"  countersign approve ID --for 8h                    the same call, in any session\n" +
			"  countersign approve ID --for 8h --any-arguments    the same script with any arguments\n" +
			"  A and u in countersign approvals                   the same, with a key\n\n" +
			"To let a tool always run without asking: countersign policy allow TOOL"}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List grants, oldest first", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listGrants(cmd.Context(), s) }},
		&cobra.Command{Use: "revoke ID...", SuggestFor: []string{"remove", "rm", "delete"}, Short: "Revoke grants, so that the next call asks again", Args: command.Args(1, -1), ValidArgsFunction: completeGrants(s),
			RunE: func(cmd *cobra.Command, args []string) error { return revokeGrants(cmd.Context(), s, args) }})
	return group
}

func listGrants(ctx context.Context, s *command.Shell) error {
	return adminListing(s, func(a *app.App) ([]confirm.ListedGrant, error) { return a.SessionGrants(ctx) }, func(all []confirm.ListedGrant) any { return confirm.ListGrants(all) },
		"no grants; to add one when you approve: countersign approve ID --always (this session) or --for 8h (any session)",
		func(all []confirm.ListedGrant) {
			var rows, dated [][]string
			now := time.Now()
			for _, g := range all {
				if g.Dated == nil {
					rows = append(rows, []string{g.ID, g.Tool, command.Plain(g.About()), g.Session, g.By, ago(now, g.At), g.ExpiresAt.Sub(now).Round(time.Minute).String()})
					continue
				}
				dated = append(dated, datedRow(g, now))
			}
			if len(rows) > 0 {
				s.Line("session grants:")
				s.Table([]string{"id", "tool", "of it", "session", "allowed by", "age", "ends in"}, rows, "age", "session")
			}
			if len(dated) > 0 {
				s.Line("grants until a date:")
				s.Table([]string{"id", "tool", "what", "asked by", "arguments", "allowed by", "age", "uses", "last use", "ends"}, dated, "last use", "uses", "age", "arguments", "asked by")
			}
			s.Note("to revoke one: countersign grants revoke ID")
		})
}

// datedRow returns the table row of a dated grant.
func datedRow(g confirm.ListedGrant, now time.Time) []string {
	d := g.Dated
	host, args, used := cmp.Or(d.Entry, "no host"), "these", "never"
	if d.AnyEntry {
		host = "any host"
	}
	if d.AnyArgs {
		args = "any"
	}
	if d.Uses > 0 {
		used = ago(now, d.UsedAt)
	}
	return []string{g.ID, g.Tool, command.Plain(d.What), command.Plain(g.Principal + ", " + host), args, command.Plain(strings.TrimSpace(g.By + " " + d.User)), ago(now, g.At),
		strconv.FormatInt(d.Uses, 10), used, command.Moment(g.ExpiresAt, now)}
}

// grantRows returns the grants, as rows of the effective policy.
func grantRows(ctx context.Context, s *command.Shell) ([][]string, error) {
	a, err := s.App()
	if err != nil {
		return nil, err
	}
	all, err := a.SessionGrants(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	now := time.Now()
	for _, g := range all {
		what, by := command.Plain(g.String())+", in one session", g.By
		if d := g.Dated; d != nil {
			what = fmt.Sprintf("%s: %s, until %s, used %d times", g.Tool, command.Plain(d.What), command.Moment(g.ExpiresAt, now), d.Uses)
			if d.Uses > 0 {
				what += ", last " + ago(now, d.UsedAt) + " ago"
			}
			by += " " + d.User
		}
		rows = append(rows, []string{"grant " + g.ID, what, command.Plain(strings.TrimSpace(by)) + ", " + ago(now, g.At) + " ago"})
	}
	return rows, nil
}

// ago returns the time since at.
func ago(now, at time.Time) string { return max(now.Sub(at), 0).Round(time.Minute).String() }

// revokeGrants revokes each of them; a missing one does not prevent the others.
func revokeGrants(ctx context.Context, s *command.Shell, ids []string) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	var ended []confirm.ListedGrant
	var failed error
	for _, id := range ids {
		g, err := a.RevokeSessionGrant(ctx, id, command.ByTerminal)
		if err != nil {
			failed = fault.From(err).WithDetails(command.Hint("to list the grants: countersign grants list"))
			continue
		}
		ended = append(ended, g)
	}
	if s.JSON {
		if failed == nil || len(ended) > 0 {
			failed = errors.Join(s.PrintJSON(confirm.ListGrants(ended)), failed)
		}
		return failed
	}
	for _, g := range ended {
		s.Line("revoked %s; the next call of %s asks again", g.ID, g.Tool)
	}
	return failed
}

func completeGrants(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := a.SessionGrants(cmd.Context())
		var ids []cobra.Completion
		for _, g := range all {
			ids = append(ids, cobra.CompletionWithDesc(g.ID, g.Tool+" "+g.About()))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
