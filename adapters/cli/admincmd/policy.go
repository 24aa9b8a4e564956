package admincmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
)

// PolicyCommand returns the command group policy.
func PolicyCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "policy", Short: "Show and set which calls run, ask or are denied", Args: command.Subcommand, RunE: command.Alone,
		Long: "Show and set which calls run, ask or are denied. Settings apply to every client until you change them. To allow one script or plan for a limited\n" +
			"time, approve it with: countersign approve ID --for 8h (see countersign grants --help)."}
	group.AddCommand(
		&cobra.Command{Use: "show", Short: "Show the policy in force", Args: command.Args(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return showPolicy(cmd.Context(), s) }},
		&cobra.Command{Use: "set LEVEL", Short: "Set the permission level: read_only, execute_with_confirm or full_access", Args: command.Args(1, 1),
			ValidArgs: []cobra.Completion{"read_only", "execute_with_confirm", "full_access"},
			RunE:      func(cmd *cobra.Command, args []string) error { return setLevel(cmd.Context(), s, args[0]) }},
		setting(s, "allow", "Let a tool run without asking (type-to-confirm still asks)", policy.Allowed),
		setting(s, "confirm", "Make a tool always ask", policy.AlwaysConfirm, "ask"),
		setting(s, "block", "Block a tool; overrides all other settings", policy.Blocked, "deny", "forbid"),
		setting(s, "reset", "Remove the setting of a tool", policy.SettingNone, "unset", "remove"),
		&cobra.Command{Use: "approval WHO", Short: "Set who approves plans: human (you) or caller (the client, with a token; for scripts and CI)", Args: command.Args(1, 1),
			ValidArgs: []cobra.Completion{"human", "caller"},
			RunE: func(cmd *cobra.Command, args []string) error {
				var who policy.Approval
				if err := who.UnmarshalText([]byte(args[0])); err != nil || who == policy.ApprovalUnset {
					return command.ErrUsage.WithMessage("unknown approver %q", args[0]).WithDetails(command.Hint("human or caller"))
				}
				return change(cmd.Context(), s, func(set *app.Settings) error {
					set.Approval = who
					return nil
				})
			}},
		&cobra.Command{Use: "max-mode MODE", Short: "Set the maximum mode: ask, plan or execute", Args: command.Args(1, 1),
			ValidArgs: []cobra.Completion{"ask", "plan", "execute"},
			RunE: func(cmd *cobra.Command, args []string) error {
				var mode policy.Mode
				if err := mode.UnmarshalText([]byte(args[0])); err != nil || mode == policy.ModeUnset {
					return command.ErrUsage.WithMessage("unknown mode %q", args[0]).WithDetails(command.Hint("ask, plan or execute"))
				}
				return change(cmd.Context(), s, func(set *app.Settings) error {
					set.MaxMode = mode
					return nil
				})
			}},
		keepReadsCommand(s), requireCommand(s), autoApproveCommand(s), autoCommand(s))
	return group
}

// keepReadsCommand returns the command that sets for how long the audit log keeps records of reads.
func keepReadsCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "keep-reads DAYS|all", Example: "  countersign policy keep-reads 90\n  countersign policy keep-reads all", Short: "Set how many days the audit log keeps reads; all keeps them forever", Args: command.Args(1, 1),
		ValidArgs: []cobra.Completion{"all", "30", "90", "365"},
		Long: "Set how many days the audit log keeps records of reads that succeeded without asking. Requests, decisions, changes, settings, denials and failures are kept\n" +
			"forever. A running server removes old reads; countersign audit prune removes them at once. Each removal is recorded and signed, and audit verify checks that only\n" +
			"reads were removed. A shorter time needs your approval.",
		RunE: func(cmd *cobra.Command, args []string) error {
			days, err := strconv.Atoi(args[0])
			if args[0] == "all" {
				days, err = 0, nil
			} else if err != nil || days < 1 || days > app.MostKeepReadsDays {
				return command.ErrUsage.WithMessage("invalid number of days %q", args[0]).WithDetails(command.Hint(fmt.Sprintf("1 to %d, or all", app.MostKeepReadsDays)))
			}
			return change(cmd.Context(), s, func(set *app.Settings) error {
				set.KeepReadsDays = days
				return nil
			})
		}}
}

// requireCommand returns the command that sets the proof that approvals need.
func requireCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "require PROOF [for] high|type|TOOL...", Short: "Require a proof for approvals: person, touch, passkey, or none", Args: command.Args(2, -1),
		ValidArgs: []cobra.Completion{"person", "touch", "passkey", "none"},
		Long: "Require a proof for approvals of high risk (high), of plans that need a typed name (type), or of single tools:\n" +
			"person is a decision in a terminal or the console, touch a touched security key, passkey a passkey; none removes the requirement.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var needs policy.Proving
			if args[0] != "none" {
				if err := needs.UnmarshalText([]byte(args[0])); err != nil || needs == policy.ProvingNone {
					return command.ErrUsage.WithMessage("unknown proof %q", args[0]).WithDetails(command.Hint("person, touch, passkey or none"))
				}
			}
			keys := args[1:]
			if keys[0] == "for" && len(keys) > 1 {
				keys = keys[1:]
			}
			for _, key := range keys {
				if key != policy.RequireHigh && key != policy.RequireType {
					if err := allKnown(s, []string{key}); err != nil {
						return err
					}
				}
			}
			err := change(cmd.Context(), s, func(set *app.Settings) error {
				if set.Require == nil {
					set.Require = map[string]policy.Proving{}
				}
				for _, key := range keys {
					set.Require[key] = needs
					if needs == policy.ProvingNone {
						delete(set.Require, key)
					}
				}
				return nil
			})
			if err == nil {
				lacking(cmd.Context(), s, needs)
			}
			return err
		}}
}

// lacking tells the user if no enrolled key can give the proof: until then nothing that requires it can be approved.
func lacking(ctx context.Context, s *command.Shell, needs policy.Proving) {
	a, err := s.App()
	if err != nil || needs < policy.ProvingTouch {
		return
	}
	all, err := a.Keys(ctx)
	if err != nil || slices.ContainsFunc(all, func(k app.Key) bool {
		return k.Counts && (k.Kind == enrolled.Passkey || needs == policy.ProvingTouch)
	}) {
		return
	}
	none, way := "no passkey is", "countersign login /keys"
	if needs == policy.ProvingTouch {
		none, way = "no security key and no passkey is", "countersign keys add, or "+way
	}
	s.Note("%s enrolled, so calls that need one could not be approved; enrol one first: %s", none, way)
}

func setting(s *command.Shell, verb, short string, to policy.Setting, alike ...string) *cobra.Command {
	return &cobra.Command{Use: verb + " TOOL...", SuggestFor: alike, Short: short, Args: command.Args(1, -1), ValidArgsFunction: completeTools(s),
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

// autoCommand returns the former name of auto-approve.
func autoCommand(s *command.Shell) *cobra.Command {
	return formerName(autoApproveCommand(s), "auto")
}

func autoApproveCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "auto-approve", Short: "Manage the auto-approve list of tools", Args: command.Subcommand, RunE: command.Alone}
	turn := func(name, short string, on bool) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Args: command.Args(0, 0), RunE: func(cmd *cobra.Command, _ []string) error {
			return change(cmd.Context(), s, func(set *app.Settings) error {
				set.Auto.Enabled = on
				return nil
			})
		}}
	}
	group.AddCommand(turn("on", "Enable the auto-approve list", true), turn("off", "Disable the auto-approve list", false),
		&cobra.Command{Use: "add TOOL...", Short: "Add tools to the list", Args: command.Args(1, -1), ValidArgsFunction: completeTools(s),
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
		&cobra.Command{Use: "remove TOOL...", Short: "Remove tools from the list", Args: command.Args(1, -1), ValidArgsFunction: completeTools(s),
			RunE: func(cmd *cobra.Command, names []string) error {
				return change(cmd.Context(), s, func(set *app.Settings) error {
					set.Auto.Tools = slices.DeleteFunc(set.Auto.Tools, func(n string) bool { return slices.Contains(names, n) })
					return nil
				})
			}})
	return group
}

func allKnown(s *command.Shell, names []string) error {
	for _, name := range names {
		if _, err := find(s, name); err != nil {
			return err
		}
	}
	return nil
}

func setLevel(ctx context.Context, s *command.Shell, word string) error {
	var level policy.Level
	if err := level.UnmarshalText([]byte(word)); err != nil || level == policy.LevelUnset {
		return command.ErrUsage.WithMessage("unknown permission level %q", word).WithDetails(command.Hint("read_only, execute_with_confirm or full_access"))
	}
	return change(ctx, s, func(set *app.Settings) error {
		set.Level = level
		return nil
	})
}

// change stores a change of the settings, retries once after a concurrent change, and shows the policy.
func change(ctx context.Context, s *command.Shell, edit func(*app.Settings) error) error {
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
				s.Note("warning: %s is allowed although the permission level is read_only", name)
			}
		}
	}
	return showPolicy(ctx, s)
}

func showPolicy(ctx context.Context, s *command.Shell) error {
	p, o, err := command.Do(ctx, s, control.GetPolicy, control.NoInput{})
	if err != nil {
		return s.Fail(o, err)
	}
	if s.JSON {
		return s.Show(o)
	}
	by := func(key string) string { return cmp.Or(p.DecidedBy[key], policy.BuiltIn) }
	auto := "off"
	if p.Auto.Enabled {
		auto = "on"
	}
	if len(p.Auto.Tools) > 0 {
		auto += ": " + strings.Join(p.Auto.Tools, ", ")
	}
	who := "human: you approve"
	if p.Approval.ByCaller() {
		who = "caller: clients approve their own calls"
	}
	rows := [][]string{
		{"approval", who, by("approval")},
		{"permission level", cmp.Or(p.Level.String(), "not set: no changes allowed"), by("permission_level")},
		{"mode", cmp.Or(p.OperatorMode.String(), "default of the toolset"), by("mode")},
		{"maximum mode", p.Ceiling.String(), by("max_mode")},
		{"auto-approve", auto, by("auto_approve")},
	}
	if p.SessionMode != policy.ModeUnset {
		rows = append(rows, []string{"mode of this command line", p.SessionMode.String(), "set_mode"})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		rows = append(rows, []string{"tool " + name, p.Tools[name].String(), by("tool " + name)})
	}
	for _, key := range slices.Sorted(maps.Keys(p.Require)) {
		rows = append(rows, []string{"approving " + key + " needs", p.Require[key].String(), by("require " + key)})
	}
	for _, entry := range p.Forms {
		rows = append(rows, []string{"forms of " + command.Plain(entry), "can approve plans below high risk", "your settings"})
	}
	a, err := s.App()
	if err != nil {
		return err
	}
	days, err := a.KeepReadsDays(ctx)
	if err != nil {
		return err
	}
	rows = append(rows, []string{"reads in the audit", "kept " + app.KeptFor(days), map[bool]string{true: policy.BuiltIn, false: "your settings"}[days == 0]})
	granted, err := grantRows(ctx, s)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		s.Note("warning: %s", w)
	}
	s.Table([]string{"policy", fmt.Sprintf("revision %d", p.SettingsVersion), "decided by"}, append(rows, granted...))
	return nil
}
