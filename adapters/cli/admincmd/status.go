package admincmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/policy"
)

// serverStatus is the JSON output of status.
type serverStatus struct {
	Home     string          `json:"home"`
	Server   string          `json:"server_url,omitempty"` // for programs; empty: none is running
	Console  string          `json:"console_url,omitempty"`
	Approval policy.Approval `json:"approval"`
	Forms    []string        `json:"forms"` // host entries whose own form may approve
	// KeepReadsDays is for how many days the audit keeps reads; zero for all time.
	KeepReadsDays int              `json:"keep_reads_days"`
	Warnings      []string         `json:"warnings,omitempty"` // which of the user's stored settings were removed or edited
	Waiting       int              `json:"waiting"`
	Oldest        time.Time        `json:"waiting_since,omitzero"`
	NextToEnd     time.Time        `json:"next_expires_at,omitzero"`
	Channels      []notice.Channel `json:"channels"`
	ChannelErr    string           `json:"channels_error,omitempty"`
	// Copies is the database copies from before upgrades, newest first.
	Copies []command.DatabaseCopy `json:"database_copies,omitempty"`
}

// StatusCommand returns the command status.
func StatusCommand(s *command.Shell, m Machine) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show pending approvals, the server, settings and notifications", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), s, m) }}
}

func status(ctx context.Context, s *command.Shell, m Machine) error {
	core, err := s.Opened()
	if err != nil {
		return err
	}
	views, err := core.App.Confirmations(ctx, "")
	if err != nil {
		return err
	}
	rules, err := core.App.PolicyInForce(ctx)
	if err != nil {
		return err
	}
	now := serverStatus{Home: core.Home, Approval: policy.ApprovalHuman, Warnings: rules.Missing, Channels: []notice.Channel{}}
	if rules.Approval.ByCaller() {
		now.Approval = policy.ApprovalCaller
	}
	if now.Forms, err = core.App.FormsCounting(ctx); err != nil {
		return err
	}
	if now.KeepReadsDays, err = core.App.KeepReadsDays(ctx); err != nil {
		return err
	}
	if server, runs := RunningServer(core, m); runs {
		now.Server, now.Console = server.URL, ConsoleURL(server.URL)
	}
	for _, v := range views {
		if v.State != confirm.Pending.String() {
			continue
		}
		now.Waiting++
		if now.Oldest.IsZero() || v.IssuedAt.Before(now.Oldest) {
			now.Oldest = v.IssuedAt
		}
		if now.NextToEnd.IsZero() || v.ExpiresAt.Before(now.NextToEnd) {
			now.NextToEnd = v.ExpiresAt
		}
	}
	if core.Notify != nil {
		all, err := core.Notify.State(ctx)
		if err != nil {
			now.ChannelErr = err.Error()
		}
		now.Channels = append(now.Channels, all...)
	}
	if core.Copies != nil {
		now.Copies = core.Copies()
	}
	if s.JSON {
		return s.PrintJSON(now)
	}
	now.print(s)
	return nil
}

func (n serverStatus) print(s *command.Shell) {
	switch n.Waiting {
	case 0:
		s.Line("pending   no pending approvals")
	case 1:
		s.Line("pending   1 approval since %s, expires %s; to decide: countersign approvals", clock(n.Oldest), clock(n.NextToEnd))
	default:
		s.Line("pending   %d approvals, the first since %s, the next expires %s; to decide: countersign approvals", n.Waiting, clock(n.Oldest), clock(n.NextToEnd))
	}
	if n.Server == "" {
		s.Line("server    not running; to start it: countersign up")
	} else {
		s.Line("server    %s", n.Console)
	}
	if n.Approval.ByCaller() {
		s.Line("approval  clients approve their own calls; to see which setting does this: countersign policy show")
	} else {
		s.Line("approval  you approve")
	}
	for _, entry := range n.Forms {
		s.Line("forms     of %s can approve plans below high risk; to disable them: countersign connect HOST --forms=off", command.Plain(entry))
	}
	if n.KeepReadsDays > 0 {
		s.Line("audit     reads are kept %s, everything else forever", app.KeptFor(n.KeepReadsDays))
	}
	for _, w := range n.Warnings {
		s.Line("warning   %s; for the policy in force: countersign policy show", w)
	}
	if n.ChannelErr != "" {
		s.Line("notify    %s", n.ChannelErr)
	}
	if len(n.Channels) == 0 && n.ChannelErr == "" {
		s.Line("notify    open console only; for other channels: countersign notify")
	}
	for _, c := range n.Copies {
		s.Line("copy      %s: the database from before the upgrade of %s (schema %d)", command.Plain(c.Path), clock(c.At), c.Schema)
	}
	for _, c := range n.Channels {
		s.Line("notify    %s: %s", c.Name, ChannelStatus(c))
	}
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
