package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Policy is the command group policy.
func Policy(s *shell.Shell) *cobra.Command {
	group := &cobra.Command{Use: "policy", Short: "Show and change what may run, what asks and what is blocked", Args: shell.Subcommand, RunE: shell.Help}
	group.AddCommand(
		&cobra.Command{Use: "show", Short: "Show the policy in force", Args: shell.Args(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return showPolicy(cmd.Context(), s) }},
		&cobra.Command{Use: "set LEVEL", Short: "Set the permission level: read_only, execute_with_confirm or full_access", Args: shell.Args(1, 1),
			ValidArgs: []cobra.Completion{"read_only", "execute_with_confirm", "full_access"},
			RunE:      func(cmd *cobra.Command, args []string) error { return setLevel(cmd.Context(), s, args[0]) }},
		setting(s, "allow", "Let a tool run without asking (type-to-confirm still asks)", policy.Allowed),
		setting(s, "confirm", "Have a tool always ask", policy.AlwaysConfirm),
		setting(s, "block", "Block a tool, whatever else says", policy.Blocked),
		setting(s, "reset", "Forget what was set for a tool", policy.SettingNone),
		autoCommand(s))
	return group
}

func setting(s *shell.Shell, verb, short string, to policy.Setting) *cobra.Command {
	return &cobra.Command{Use: verb + " TOOL...", Short: short, Args: shell.Args(1, -1), ValidArgsFunction: completeTools(s),
		RunE: func(cmd *cobra.Command, names []string) error {
			if to != policy.SettingNone {
				if err := allKnown(s, names); err != nil {
					return err
				}
			}
			return change(cmd.Context(), s, func(set *app.Settings) error {
				if set.Tools == nil {
					set.Tools = map[string]policy.Setting{}
				}
				for _, name := range names {
					set.Tools[name] = to
					if to == policy.SettingNone {
						delete(set.Tools, name)
					}
				}
				return nil
			})
		}}
}

func autoCommand(s *shell.Shell) *cobra.Command {
	group := &cobra.Command{Use: "auto", Short: "Answer the simple and preview confirmations of chosen tools in advance", Args: shell.Subcommand, RunE: shell.Help}
	turn := func(name, short string, on bool) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Args: shell.Args(0, 0), RunE: func(cmd *cobra.Command, _ []string) error {
			return change(cmd.Context(), s, func(set *app.Settings) error {
				set.Auto.Enabled = on
				return nil
			})
		}}
	}
	group.AddCommand(turn("on", "Answer for the tools on the list", true), turn("off", "Ask again for every tool", false),
		&cobra.Command{Use: "add TOOL...", Short: "Put tools on the list", Args: shell.Args(1, -1), ValidArgsFunction: completeTools(s),
			RunE: func(cmd *cobra.Command, names []string) error {
				if err := allKnown(s, names); err != nil {
					return err
				}
				return change(cmd.Context(), s, func(set *app.Settings) error {
					set.Auto.Tools = append(set.Auto.Tools, names...)
					slices.Sort(set.Auto.Tools)
					set.Auto.Tools = slices.Compact(set.Auto.Tools)
					return nil
				})
			}},
		&cobra.Command{Use: "remove TOOL...", Short: "Take tools off the list", Args: shell.Args(1, -1), ValidArgsFunction: completeTools(s),
			RunE: func(cmd *cobra.Command, names []string) error {
				return change(cmd.Context(), s, func(set *app.Settings) error {
					set.Auto.Tools = slices.DeleteFunc(set.Auto.Tools, func(n string) bool { return slices.Contains(names, n) })
					return nil
				})
			}})
	return group
}

func allKnown(s *shell.Shell, names []string) error {
	for _, name := range names {
		if _, err := find(s, name); err != nil {
			return err
		}
	}
	return nil
}

func setLevel(ctx context.Context, s *shell.Shell, word string) error {
	var level policy.Level
	if err := level.UnmarshalText([]byte(word)); err != nil || level == policy.LevelUnset {
		return shell.ErrUsage.Sayf("%q is no permission level", word).With(shell.Hint("read_only, execute_with_confirm or full_access"))
	}
	return change(ctx, s, func(set *app.Settings) error {
		set.Level = level
		return nil
	})
}

// change stores a change of the settings, trying once more when somebody else changed them meanwhile, and shows the policy.
func change(ctx context.Context, s *shell.Shell, edit func(*app.Settings) error) error {
	saved, o, err := s.ChangeSettings(ctx, edit)
	if conflict(err) {
		saved, o, err = s.ChangeSettings(ctx, edit)
	}
	if err != nil {
		return s.Fail(o, err)
	}
	if saved.Level == policy.ReadOnly {
		for _, name := range slices.Sorted(maps.Keys(saved.Tools)) {
			if saved.Tools[name] == policy.Allowed {
				s.Note("warning: %s is allowed although the level is read_only", name)
			}
		}
	}
	return showPolicy(ctx, s)
}

// inForce is the answer of the tool get_policy, as far as it is shown.
type inForce struct {
	SessionMode  string             `json:"session_mode"`
	OperatorMode string             `json:"operator_mode"`
	Ceiling      string             `json:"max_mode"`
	Level        string             `json:"permission_level"`
	Tools        map[string]string  `json:"tool_permissions"`
	Auto         policy.AutoApprove `json:"auto_approve"`
	Revision     int64              `json:"settings_revision"`
}

func showPolicy(ctx context.Context, s *shell.Shell) error {
	o, err := s.Call(ctx, "get_policy", struct{}{})
	if err != nil {
		return s.Fail(o, err)
	}
	if s.JSON {
		return s.Show(o)
	}
	var p inForce
	if err := json.Unmarshal(o.Value, &p); err != nil {
		return err
	}
	either := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	auto := "off"
	if p.Auto.Enabled {
		auto = "on"
	}
	if len(p.Auto.Tools) > 0 {
		auto += ": " + strings.Join(p.Auto.Tools, ", ")
	}
	rows := [][]string{
		{"permission level", either(p.Level, "unset: nothing may change")},
		{"mode", either(p.OperatorMode, "the toolset's own")},
		{"highest mode", p.Ceiling},
		{"answered in advance", auto},
	}
	if p.SessionMode != "" {
		rows = append(rows, []string{"mode of this command line", p.SessionMode})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		rows = append(rows, []string{"tool " + name, p.Tools[name]})
	}
	s.Table([]string{"policy", fmt.Sprintf("revision %d", p.Revision)}, rows)
	return nil
}
