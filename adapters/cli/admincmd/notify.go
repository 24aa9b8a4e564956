package admincmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
)

// ErrNotified is returned if a test message was not delivered.
var ErrNotified = fault.New(fault.Unavailable, "notify_test_failed", "a test message did not arrive")

// channelList is the JSON output of the channels.
type channelList struct {
	Count    int              `json:"count"`
	Channels []notice.Channel `json:"channels"`
}

// resultList is the JSON output of a test.
type resultList struct {
	Results []notice.ChannelTestResult `json:"results"`
}

// NotifyCommand returns the command group notify.
func NotifyCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "notify", Short: "List and test notification channels", Args: command.Subcommand, RunE: command.Alone,
		Long: "Countersign notifies you when a call needs your approval, once more before the request expires, and when it has expired: on this desktop, by ntfy, by a\n" +
			"signed webhook or by mail, as configured under notify in config.yaml. A message names the tool, the risk, the project and where to decide; it never contains\n" +
			"a plan, arguments or a token."}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List the channels and their status", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listChannels(cmd.Context(), s) }},
		&cobra.Command{Use: "test [CHANNEL]", Short: "Send a test message on one channel or on all", Args: command.Args(0, 1), ValidArgsFunction: completeChannels(s),
			RunE: func(cmd *cobra.Command, args []string) error {
				name := ""
				if len(args) > 0 {
					name = args[0]
				}
				return testChannels(cmd.Context(), s, name)
			}})
	return group
}

// notifier returns the Notify behind the commands.
func notifier(s *command.Shell) (command.Notify, error) {
	core, err := s.Opened()
	if err == nil && core.Notify == nil {
		err = command.ErrUsage.WithMessage("this program sends no notifications")
	}
	return core.Notify, err
}

func listChannels(ctx context.Context, s *command.Shell) error {
	n, err := notifier(s)
	if err != nil {
		return err
	}
	all, err := n.State(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(channelList{Count: len(all), Channels: all})
	}
	if len(all) == 0 {
		s.Note("no channel is configured; add channels under notify in config.yaml")
		return nil
	}
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{c.Name, command.Plain(c.Where), ChannelStatus(c)})
	}
	s.Table([]string{"channel", "where", "state"}, rows)
	return nil
}

// ChannelStatus describes the status of a channel.
func ChannelStatus(c notice.Channel) string {
	switch {
	case c.Failures > 0:
		times := "the last message"
		if c.Failures > 1 {
			times = fmt.Sprintf("the last %d messages", c.Failures)
		}
		return times + " did not arrive: " + command.Plain(c.Failure) + " (" + at(c.FailedAt) + ")"
	case c.SentAt.IsZero():
		return "nothing was sent yet; to test it: countersign notify test"
	}
	return "sent at " + at(c.SentAt)
}

func testChannels(ctx context.Context, s *command.Shell, name string) error {
	n, err := notifier(s)
	if err != nil {
		return err
	}
	all, err := n.Test(ctx, name)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range all {
		if !r.Sent {
			failed++
		}
	}
	if s.JSON {
		if err := s.PrintJSON(resultList{all}); err != nil {
			return err
		}
	} else if len(all) == 0 {
		s.Note("no channel is configured; add channels under notify in config.yaml")
	}
	for _, r := range all {
		switch {
		case s.JSON:
		case r.Sent:
			s.Line("%s: sent", r.Channel)
		default:
			s.Line("%s: %s", r.Channel, command.Plain(r.Failure))
		}
	}
	if failed > 0 {
		return ErrNotified.WithMessage("%d of %d test messages did not arrive", failed, len(all))
	}
	return nil
}

func completeChannels(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n, err := notifier(s)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := n.State(cmd.Context())
		var names []cobra.Completion
		for _, c := range all {
			names = append(names, c.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
