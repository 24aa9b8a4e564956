package admincmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The default and maximum number of records of calls list.
const (
	callsListed    = 20
	maxCallsListed = 200
)

// chosen selects the records to list.
type chosen struct {
	status string
	tool   string
	limit  int
}

// callList is the JSON output of the records, newest first.
type callList struct {
	Count int           `json:"count"`
	Runs  []tool.Record `json:"runs"`
}

// RunsCommand returns the former name of calls.
func RunsCommand(s *command.Shell) *cobra.Command {
	return formerName(CallsCommand(s), "runs")
}

// formerName returns a command under its former name, hidden with all its subcommands.
func formerName(c *cobra.Command, name string) *cobra.Command {
	c.Use, c.Short, c.Hidden = name, "The former name of "+c.Name(), true
	for _, below := range c.Commands() {
		below.Hidden = true
	}
	return c
}

// CallsCommand returns the command group calls; alone it lists.
func CallsCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "calls", Short: "List tool calls and their results", Args: command.Subcommand}
	list := &cobra.Command{Use: "list", Short: "List the last calls, newest first", Args: command.Args(0, 0)}
	for _, c := range []*cobra.Command{group, list} {
		var which chosen
		c.Flags().StringVar(&which.status, "status", "", "only calls with this status: pending_confirmation, executing, completed, failed or denied")
		c.Flags().StringVar(&which.tool, "tool", "", "only calls of this tool")
		c.Flags().IntVar(&which.limit, "limit", callsListed, "maximum number of calls, 1 to 200")
		c.RunE = func(cmd *cobra.Command, _ []string) error { return listCalls(cmd.Context(), s, which) }
		_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
	group.AddCommand(list, &cobra.Command{Use: "show ID", Short: "Show one call, by its ID or the ID of its approval request",
		Args: command.Args(1, 1), ValidArgsFunction: completeCalls(s), RunE: func(cmd *cobra.Command, args []string) error { return showCall(cmd.Context(), s, args[0]) }})
	return group
}

func statusWords() (words []cobra.Completion) {
	for _, status := range tool.Statuses() {
		words = append(words, status.String())
	}
	return words
}

// filter returns the selection in the form of the core.
func (w chosen) filter() (app.RunFilter, error) {
	f := app.RunFilter{Tool: w.tool, Limit: w.limit}
	if w.limit < 1 || w.limit > maxCallsListed {
		return f, command.ErrUsage.WithMessage("invalid --limit %d: use 1 to %d", w.limit, maxCallsListed)
	}
	if err := f.Status.UnmarshalText([]byte(w.status)); err != nil {
		return f, command.ErrUsage.WithMessage("--status: %s", fault.From(err).Message)
	}
	return f, nil
}

func listCalls(ctx context.Context, s *command.Shell, which chosen) error {
	f, err := which.filter()
	if err != nil {
		return err
	}
	a, err := s.App()
	if err != nil {
		return err
	}
	found, err := a.Calls(ctx, f)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(callList{Count: len(found), Runs: append([]tool.Record{}, found...)})
	}
	if len(found) == 0 {
		s.Note("no calls")
		return nil
	}
	var rows [][]string
	for _, r := range found {
		rows = append(rows, []string{r.CallID, r.At.UTC().Format(time.DateTime), r.Tool, callStatusText(r), r.Client, r.Decision, took(r), clip(cmp.Or(r.What, failure(r), string(r.Args)), 60)})
	}
	s.Table([]string{"id", "time (UTC)", "tool", "status", "client", "decided by", "duration", "plan"}, rows, "duration", "decided by", "client")
	for _, r := range found {
		if where := a.Elsewhere(r.Owner); r.Status == tool.StatusExecuting && where != "" {
			s.Note("%s is %s", r.CallID, command.Plain(where))
		}
	}
	return nil
}

// why describes reasons that the status does not already state.
var why = map[tool.Reason]string{
	tool.ReasonUserDenied: "", tool.ReasonErrored: "", tool.ReasonPolicy: "by policy", tool.ReasonExpired: "expired", tool.ReasonCancelled: "cancelled",
	tool.ReasonContextChanged: "plan changed", tool.ReasonMistyped: "wrong name typed", tool.ReasonRejected: "not started", tool.ReasonNonZeroExit: "exit code",
	tool.ReasonTimedOut: "time limit", tool.ReasonStopped: "stopped", tool.ReasonInterrupted: "interrupted",
}

// callStatusText returns the status of a call, and the reason for its end.
func callStatusText(r tool.Record) string {
	words := r.Status.String()
	reason, known := why[r.Reason]
	if !known {
		reason = string(r.Reason)
	}
	if reason != "" {
		words += ": " + reason
	}
	if r.Said != "" {
		words += fmt.Sprintf(" (%q)", clip(r.Said, 60))
	}
	return words
}

// failure returns the error in a record of a call that failed before it had a plan.
func failure(r tool.Record) string {
	if r.Result == nil {
		return ""
	}
	return r.Result.Error
}

func took(r tool.Record) string {
	if r.Result == nil || r.StartedAt.IsZero() || r.Reason == tool.ReasonInterrupted {
		return ""
	}
	return (time.Duration(r.Result.DurationMS) * time.Millisecond).String()
}

func showCall(ctx context.Context, s *command.Shell, id string) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	r, err := a.CallRecord(ctx, id)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(r)
	}
	line := func(name, value string) {
		if value != "" {
			s.Line("%-17s %s", name+":", command.Plain(value))
		}
	}
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	line("call", r.CallID)
	line("tool", r.Tool)
	line("status", callStatusText(r))
	line("plan", r.What)
	if r.Risk > policy.RiskNone {
		line("risk", r.Risk.String())
	}
	line("reason", r.Said)
	line("decided by", r.Decision)
	line("approval", r.ConfirmationID)
	line("approval used by", r.Redeemed)
	line("client", r.Client)
	line("session", r.Session)
	line("principal", r.Principal)
	line("requested", stamp(r.At))
	line("expires", stamp(r.ExpiresAt))
	line("started", stamp(r.StartedAt))
	line("finished", stamp(r.EndedAt))
	line("duration", took(r))
	if r.Status == tool.StatusExecuting {
		line("process", a.Elsewhere(r.Owner))
	}
	s.Line("arguments:\n%s", command.Block(command.Indent(r.Args)))
	if r.Result == nil {
		return nil
	}
	line("code", r.Result.Code)
	line("error", r.Result.Error)
	if r.Result.Output != "" {
		s.Line("output:\n%s", command.Block(command.Indent([]byte(r.Result.Output))))
	}
	return nil
}

func completeCalls(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _ := a.Calls(cmd.Context(), app.RunFilter{})
		var ids []cobra.Completion
		for _, r := range found {
			ids = append(ids, cobra.CompletionWithDesc(r.CallID, r.Tool+" "+callStatusText(r)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
