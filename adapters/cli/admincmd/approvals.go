package admincmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// ConfirmationsCommand returns the former name of approvals list.
func ConfirmationsCommand(s *command.Shell) *cobra.Command {
	c := listCommand(s)
	c.Use, c.Short, c.Hidden = "confirmations", "The former name of approvals list", true
	return c
}

func listCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List pending approval requests of all clients", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return pending(cmd.Context(), s) }}
}

func pending(ctx context.Context, s *command.Shell) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	views, err := a.Confirmations(ctx, "")
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(control.ConfirmationList{Count: len(views), Confirmations: views})
	}
	if len(views) == 0 {
		s.Note("no pending approvals")
		return nil
	}
	var rows [][]string
	for _, v := range views {
		asker := cmp.Or(v.Client, "unknown")
		if v.Gone {
			asker += " (gone)"
		}
		rows = append(rows, []string{v.ID, v.Tool, v.Strength.String(), v.State, asker, time.Since(v.IssuedAt).Round(time.Second).String() + " ago",
			time.Until(v.ExpiresAt).Round(time.Second).String(), v.Prompt})
	}
	s.Table([]string{"id", "tool", "strength", "state", "asked by", "asked", "expires in", "plan"}, rows, "strength", "state", "asked", "asked by")
	s.Note("to decide: countersign approvals, countersign approve ID or countersign deny ID")
	return nil
}

// ApprovalsCommand returns the command approvals.
func ApprovalsCommand(s *command.Shell) *cobra.Command {
	c := &cobra.Command{Use: "approvals", Short: "Review pending approvals in a full-screen view", Args: command.Subcommand,
		Long: "Review pending approval requests in a full-screen view that updates itself. Each request has its plan, diffs, risk and arguments; keys approve or deny\n" +
			"it (? lists the keys). Without a terminal, or with --json, it prints the same as approvals list.",
		RunE: func(cmd *cobra.Command, _ []string) error { return approvals(cmd.Context(), s) }}
	c.AddCommand(listCommand(s))
	return c
}

// approvals shows the full-screen view, or lists the pending requests if it cannot be drawn.
func approvals(ctx context.Context, s *command.Shell) error {
	if s.JSON || !ScreenFits(s.Terminal) {
		return pending(ctx, s)
	}
	core, err := s.Opened()
	if err != nil {
		return err
	}
	return RunApprovals(ctx, s.Terminal, NewCoreApprovals(core, s))
}

// ApproveCommand returns the command approve. It needs a terminal: its purpose is that the user sees the plan.
func ApproveCommand(s *command.Shell) *cobra.Command {
	c := &cobra.Command{Use: "approve ID...", Short: "Approve a pending request, after showing its plan", Args: identified, ValidArgsFunction: completeWaiting(s),
		Long: "Approve a pending request, after showing its plan. --for also allows the same call (tool, plan and arguments, from the same agent host) in any session, without\n" +
			"asking, for that time. Enter leaves the request pending; n denies it. With several IDs, of one session and tool, all plans are shown and you approve them together."}
	var said confirm.Decision
	var length string
	var wide confirm.Until
	c.Flags().StringVar(&length, "for", "", "allow the same call in any session for this time (30m, 8h, 3d; at most 30d); not for high risk, nor for calls that give access")
	c.Flags().BoolVar(&wide.AnyArgs, "any-arguments", false, "with --for: with any arguments")
	c.Flags().BoolVar(&wide.AnyEntry, "any-host", false, "with --for: from any agent host")
	c.Flags().StringVar(&said.Typed, "typed", "", "former name of --confirm-name")
	_ = c.Flags().MarkHidden("typed")
	c.Flags().BoolVar(&said.Always, "always", false, "allow the same call until the session ends, for 12 hours at most; not for high risk, nor where a name must be typed")
	c.Flags().BoolVar(&said.Revealed, "reveal", false, "show the redacted parts of the plan before you decide; they are not stored")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if length != "" {
			u, err := command.ParseUntil(length)
			if err != nil {
				return err
			}
			u.AnyArgs, u.AnyEntry = u.AnyArgs || wide.AnyArgs, u.AnyEntry || wide.AnyEntry
			said.Until = &u
		} else if wide != (confirm.Until{}) {
			line := "countersign approve " + args[0] + " --for 8h"
			if wide.AnyArgs {
				line += " --any-arguments"
			}
			if wide.AnyEntry {
				line += " --any-host"
			}
			return command.ErrUsage.WithMessage("--any-arguments and --any-host need --for").WithDetails(command.Hint(line))
		}
		said.Typed = cmp.Or(said.Typed, s.Typed)
		if said.Always && said.Until != nil {
			return command.ErrUsage.WithMessage("--always and --for exclude each other: --always is for one session, --for is for all sessions").WithDetails(command.Hint("countersign approve " + args[0] + " --for 8h"))
		}
		if len(args) > 1 {
			if said.Always || said.Until != nil || said.Revealed || said.Typed != "" {
				return command.ErrUsage.WithMessage("--for, --always, --confirm-name and --reveal need a single ID").WithDetails(command.Hint("countersign approve " + args[0]))
			}
			return approveAll(cmd.Context(), s, args)
		}
		said.ID = args[0]
		return approve(cmd.Context(), s, said)
	}
	return c
}

// identified requires the ID of a pending request, and explains how to find it.
func identified(cmd *cobra.Command, args []string) error {
	if err := command.Args(1, -1)(cmd, args); err != nil {
		return fault.From(err).WithDetails(command.Hint("countersign approvals list shows the pending requests with their IDs"))
	}
	return nil
}

// DenyCommand returns the command deny.
func DenyCommand(s *command.Shell) *cobra.Command {
	c := &cobra.Command{Use: "deny ID...", Short: "Deny pending requests", Args: identified, ValidArgsFunction: completeWaiting(s),
		Long: "Deny pending requests; the client receives the denial and the --reason. Denying needs a terminal: without one the requests are only cancelled,\n" +
			"the reason is not sent, and the exit code is 6."}
	reason := c.Flags().String("reason", "", fmt.Sprintf("reason, sent to the client, at most %d characters", confirm.MaxReason))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if n := utf8.RuneCountInString(*reason); n > confirm.MaxReason {
			return command.ErrUsage.WithMessage("--reason has %d characters; use at most %d", n, confirm.MaxReason)
		}
		return deny(cmd.Context(), s, args, *reason)
	}
	return c
}

// approve shows a pending request and asks the user for a decision; the command line may already contain the typed name or the session grant.
func approve(ctx context.Context, s *command.Shell, given confirm.Decision) error {
	v, err := lookUp(ctx, s, given.ID)
	if err != nil {
		return err
	}
	lasting := AllowsSessionGrant(v)
	if given.Always && !lasting {
		return command.ErrUsage.WithMessage("--always: %s must be approved each time", given.ID).WithDetails(command.Hint("countersign approve " + given.ID))
	}
	dated := AllowsDatedGrant(v)
	if given.Until != nil && !dated {
		return command.ErrUsage.WithMessage("--for: %s must be approved each time", given.ID).WithDetails(command.Hint("countersign approve " + given.ID))
	}
	if given.Always {
		s.Say(command.SessionGrantText(v))
	}
	before := 0
	if a, err := s.App(); err == nil && dated {
		before, _ = a.Earlier(ctx, v.ID) // without it there is one suggestion less
	}
	said, err := s.Decide(ctx, v, command.DecisionOptions{Yes: s.Yes, Typed: cmp.Or(given.Typed, s.Typed), Always: lasting && !given.Always, Reveal: given.Revealed,
		Dated: dated && !given.Always, Until: given.Until, Before: before, Leave: true})
	if err != nil {
		outdated(s, err)
		return err
	}
	said.Always = said.Approve && (said.Always || given.Always)
	return settle(ctx, s, said)
}

// approveAll shows the plans of several requests of one session and tool, and asks the user once for all of them.
func approveAll(ctx context.Context, s *command.Shell, ids []string) error {
	var views []confirm.View
	for i, id := range ids {
		v, err := lookUp(ctx, s, id)
		if err != nil {
			return err
		}
		alone := ""
		switch {
		case slices.Contains(ids[:i], id):
			alone = "its ID is given twice"
		case v.Strength >= policy.Typed:
			alone = "a name must be typed"
		case v.Risk == policy.RiskHigh.String() || v.MustReveal:
			alone = "its risk is high"
		case v.Needs > policy.ProvingPerson:
			alone = "it needs " + v.Needs.Words()
		case i > 0 && (v.Tool != views[0].Tool || v.Session != views[0].Session):
			alone = "it has another session or tool than " + views[0].ID
		}
		if alone != "" {
			return command.ErrUsage.WithMessage("%s cannot be approved together with others: %s", id, alone).WithDetails(command.Hint("countersign approve " + id))
		}
		views = append(views, v)
	}
	yes, err := s.DecideAll(ctx, views)
	if err != nil {
		return err
	}
	if !yes {
		s.Line("nothing was approved; to deny a request: countersign deny ID")
		return nil
	}
	var failed error
	for _, v := range views {
		if err := settle(ctx, s, confirm.Decision{ID: v.ID, Approve: true, By: command.ByTerminal, Proof: s.Proof(), Shown: v.PlanHash}); err != nil {
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// deny denies pending requests. Only users deny: without a terminal the request is withdrawn, and recorded as such. If one of them is not pending,
// none is denied.
func deny(ctx context.Context, s *command.Shell, ids []string, reason string) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var views []confirm.View
	for _, id := range ids {
		v, err := lookUp(ctx, s, id)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	a, err := s.App()
	if err != nil {
		return err
	}
	var failed error
	for _, v := range views {
		if s.Interactive() {
			failed = cmp.Or(failed, settle(ctx, s, confirm.Decision{ID: v.ID, Reason: reason, By: command.ByTerminal, Proof: s.Proof()}))
			continue
		}
		if err := a.CancelApproval(ctx, v.ID); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		s.Line("cancelled %s; %s does not run", v.ID, v.Tool)
	}
	if failed != nil || s.Interactive() {
		return failed
	}
	what := "not denied"
	if reason != "" {
		what += ", and the reason is not sent"
	}
	return command.ErrUnanswered.WithMessage("%s: without a terminal a request is only cancelled, and the client can repeat the call", what).
		WithDetails(command.Hint("deny it in a terminal (countersign deny ID --reason TEXT) or in the console"))
}

// lookUp returns the pending approval request with that ID.
func lookUp(ctx context.Context, s *command.Shell, id string) (confirm.View, error) {
	a, err := s.App()
	if err != nil {
		return confirm.View{}, err
	}
	views, err := a.Confirmations(ctx, "")
	if err != nil {
		return confirm.View{}, err
	}
	for _, v := range views {
		if v.ID == id {
			return v, nil
		}
	}
	return confirm.View{}, notWaiting(ctx, a, id)
}

// notWaiting returns the error for a request that is no longer pending, with its result if known.
func notWaiting(ctx context.Context, a *app.App, id string) error {
	if r, err := a.CallRecord(ctx, id); err == nil && r.ConfirmationID == id && r.Status.Final() {
		what := callStatusText(r)
		if r.Decision != "" {
			what += ", decided by " + command.Plain(r.Decision)
		}
		return confirm.ErrNotFound.WithMessage("approval request %s is not pending: %s", id, what).WithDetails(command.Hint("countersign calls show " + id + " shows the call record"))
	}
	return confirm.ErrNotFound.WithMessage("approval request %s is not pending: it expired or was already decided", id).
		WithDetails(command.Hint("run countersign approvals list to see the pending ones"))
}

func settle(ctx context.Context, s *command.Shell, said confirm.Decision) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	v, err := a.Answer(ctx, said)
	if errors.Is(err, confirm.ErrUnknown) {
		return notWaiting(ctx, a, said.ID)
	}
	if err != nil {
		outdated(s, err)
		return err
	}
	if s.JSON {
		return s.PrintJSON(v)
	}
	if said.Approve {
		s.Line("approved %s; %s runs when the client continues or retries the call before %s", v.ID, v.Tool, v.ExpiresAt.UTC().Format(time.RFC3339))
		if said.Always {
			s.Line("session grant added: the same call no longer asks")
		}
		if said.Until != nil {
			now := time.Now()
			s.Line("the same call is allowed in any session until %s; to revoke: countersign grants revoke %s", command.Moment(now.Add(said.Until.For), now), v.ID)
		}
		return nil
	}
	s.Line("denied %s; %s does not run", v.ID, v.Tool)
	s.Note("%s receives the denial; if it repeats the call, you are asked again; to block the tool: countersign policy block %s", cmp.Or(command.Plain(v.Client), "the client"), v.Tool)
	return nil
}

// outdated shows what changed since the plan that was to be approved.
func outdated(s *command.Shell, err error) {
	changed, ok := fault.From(err).Details.(app.PlanChange)
	if !ok || s.JSON {
		return
	}
	s.Note("changes since that plan was computed:")
	command.DifferenceLines(changed.Differences, func(line string, tint command.Tint) { s.Line("%s", s.Tinted(line, tint)) })
}

func completeWaiting(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		views, _ := a.Confirmations(cmd.Context(), "")
		var ids []cobra.Completion
		for _, v := range views {
			ids = append(ids, cobra.CompletionWithDesc(v.ID, v.Prompt))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
