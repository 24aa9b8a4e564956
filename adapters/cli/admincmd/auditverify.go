package admincmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// verified is what audit verify prints.
type verified struct {
	Intact bool `json:"intact"` // no contradiction was found; an unreachable anchor is not one
	audit.Report
	Faults []problem `json:"faults,omitempty"`
}

// problem is one problem of the audit log.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func problems(faults []error) []problem {
	var all []problem
	for _, err := range faults {
		f := fault.From(err)
		all = append(all, problem{string(f.Code), f.Message})
	}
	return all
}

func verifyCommand(s *command.Shell) *cobra.Command {
	var news bool
	c := &cobra.Command{Use: "verify", Short: "Verify the audit log's chain, signatures and anchors", Args: command.Args(0, 0),
		Long: "Check the hash chain of the whole audit log, the signature of its last record, and every anchor, and show which records each one\n" +
			"confirms. Exit codes: 0: intact; 4: it was truncated, edited, rebuilt or replaced, or its key is missing; 7: an anchor could not be read.\n\n" +
			"--new continues where the last verification ended, and is fast for a log of any length. It does not find later changes to earlier records or to\n" +
			"indexes, so verify without it from time to time. If there was no verification, or the log is not the one that was verified, everything is read.",
		RunE: func(cmd *cobra.Command, _ []string) error { return auditVerify(cmd.Context(), s, news) }}
	c.Flags().BoolVar(&news, "new", false, "read only the records since the last verification")
	return c
}

func auditVerify(ctx context.Context, s *command.Shell, news bool) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	check := a.CheckAudit
	if news {
		check = a.CheckNewAudit
	}
	r, err := check(ctx)
	if err != nil {
		return err
	}
	worst := r.Err()
	if s.JSON {
		v := verified{Intact: worst == nil || errors.Is(worst, audit.ErrUnchecked), Report: r, Faults: problems(r.Faults)}
		if err := s.PrintJSON(v); err != nil {
			return err
		}
		return worst
	}
	switch {
	case r.Before > 0 && (worst == nil || errors.Is(worst, audit.ErrUnchecked)):
		s.Line("the audit log is intact since record %d: %d new records in the chain; all records were last verified at %s", r.Before, r.Records-r.Before, at(*r.Full))
	case worst == nil || errors.Is(worst, audit.ErrUnchecked):
		s.Line("the audit log is intact: %d records in one unbroken chain", r.Records)
	case errors.Is(worst, audit.ErrBroken):
		s.Note("%d records before it are intact", r.Records)
	default:
		s.Note("%d records make one chain, but not the one that was written", r.Records)
	}
	if m := r.Removed; m != nil {
		s.Line("%d reads before %s were removed by retention (records %d to %d; see record %d)", m.Reads, at(m.Before), m.From, m.To, m.Record)
	}
	if d := r.Retention; d.Days > 0 && d.Allowed > 0 {
		s.Line("reads are kept %s (record %d)", app.KeptFor(d.Days), d.Allowed)
	}
	for _, k := range r.Keys {
		s.Line("signed by %s: records %d to %d", k.Key, k.From, k.To)
	}
	for _, v := range r.Anchors {
		s.Line("%s", vouching(v))
	}
	for i, err := range r.Faults {
		if i > 0 {
			s.Note("also: %s", command.Plain(fault.From(err).Message))
		}
	}
	return worst
}

// vouching returns the result of an anchor, in one line.
func vouching(v audit.Vouch) string {
	line := "anchor " + command.Plain(v.Anchor.String()) + ": "
	switch {
	case v.To > 0:
		line += fmt.Sprintf("confirms records 1 to %d, as of %s", v.To, at(v.At))
	case v.Note != "" && v.Problem == "":
		line += "confirms nothing"
	case v.Problem == "":
		line += "does not have this record yet"
	default:
		line += "confirms nothing"
	}
	if v.To > 0 && v.Behind > 0 {
		line += fmt.Sprintf(", not yet for the last %d", v.Behind)
	}
	if v.Problem != "" {
		line += "; " + command.Plain(v.Problem)
	}
	if v.Note != "" {
		line += "; " + command.Plain(v.Note)
	}
	if v.Odd > 0 {
		line += fmt.Sprintf("; %d entries are invalid", v.Odd)
	}
	if v.Failures > 0 {
		line += fmt.Sprintf("; %d writes failed: %s", v.Failures, command.Plain(v.Failure))
	}
	return line
}

// printResult prints a value as JSON if requested, and a sentence otherwise.
func printResult(s *command.Shell, v any, format string, args ...any) error {
	if s.JSON {
		return s.PrintJSON(v)
	}
	s.Line(format, args...)
	return nil
}

func at(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// record returns the audit log behind these commands.
func record(s *command.Shell) (command.Record, error) {
	core, err := s.Opened()
	if err == nil && core.Record == nil {
		err = command.ErrUsage.WithMessage("this program does not sign its audit log")
	}
	return core.Record, err
}

// stands is the output of audit status.
type stands struct {
	audit.LogStatus
	Faults []problem `json:"faults,omitempty"`
}

func statusCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show the audit log's key and anchors, without reading the log", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			rec, err := record(s)
			if err != nil {
				return err
			}
			st, err := rec.Standing(cmd.Context())
			if err != nil {
				return err
			}
			var worst error
			if len(st.Faults) > 0 {
				worst = st.Faults[0]
			}
			if s.JSON {
				if err := s.PrintJSON(stands{st, problems(st.Faults)}); err != nil {
					return err
				}
				return worst
			}
			key := st.Key.String()
			if key == "" {
				key = "no key yet"
			}
			s.Line("%d records, signed up to %d (%s)", st.Records, st.Signed, key)
			places(s, st)
			return worst
		}}
}

func places(s *command.Shell, st audit.LogStatus) {
	var rows [][]string
	for _, a := range st.Anchors {
		since, state := "", "up to date"
		if a.Put > 0 {
			since = at(a.At)
		}
		if a.Behind > 0 {
			state = fmt.Sprintf("%d records behind", a.Behind)
		}
		if a.Failures > 0 {
			state += fmt.Sprintf("; failed %d times: %s", a.Failures, command.Plain(a.Failure))
		}
		rows = append(rows, []string{a.Kind, command.Plain(a.Where), fmt.Sprint(a.Put), since, state})
	}
	if len(rows) > 0 {
		s.Table([]string{"anchor", "where", "record", "as of", "state"}, rows)
	}
}

func anchorCommands(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "anchor", Short: "Manage where signed heads of the audit log are stored", Args: command.Subcommand, RunE: command.Alone,
		Long: "A signed head of the audit log is stored beside its key, in the system journal if there is one, and in the anchors that you add: a file on other media, or a\n" +
			"branch of a Git repository that is protected against forced pushes. audit verify compares the log with all of them."}
	anchor := func(args []string) audit.Anchor {
		a := audit.Anchor{Kind: args[0]}
		if len(args) > 1 {
			a.Where = args[1]
		}
		return a
	}
	add := &cobra.Command{Use: "add file PATH | git URL | journal", Short: "Add an anchor", Args: command.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			rec, err := record(s)
			if err != nil {
				return err
			}
			a, err := rec.Add(cmd.Context(), command.ByTerminal, anchor(args))
			if err != nil {
				return err
			}
			return printResult(s, a, "added anchor %s; signed heads of the audit log are stored there from now on", a)
		}}
	remove := &cobra.Command{Use: "remove file PATH | git URL | journal", Short: "Remove an anchor; its content is kept", Args: command.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			rec, err := record(s)
			if err == nil {
				err = loosened(cmd.Context(), s, "audit verify no longer checks "+anchor(args).String()+" any more")
			}
			if err != nil {
				return err
			}
			a, err := rec.Remove(cmd.Context(), command.ByTerminal, anchor(args))
			if err != nil {
				return err
			}
			return printResult(s, a, "removed anchor %s; the removal is recorded", a)
		}}
	list := &cobra.Command{Use: "list", Short: "List the anchors and their last records", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			rec, err := record(s)
			if err != nil {
				return err
			}
			st, err := rec.Standing(cmd.Context())
			if err != nil {
				return err
			}
			if s.JSON {
				return s.PrintJSON(st.Anchors)
			}
			if len(st.Anchors) == 0 {
				s.Note("no anchors yet; the first record stores a head beside the key")
			}
			places(s, st)
			return nil
		}}
	group.AddCommand(add, list, remove)
	return group
}

func keyCommands(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "key", Short: "Manage the key that signs the audit log", Args: command.Subcommand, RunE: command.Alone}
	group.AddCommand(&cobra.Command{Use: "new", Short: "Sign with a new key; the change is recorded", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			rec, err := record(s)
			if err == nil {
				err = loosened(cmd.Context(), s, "the audit log is signed with a new key from now on; the old key is deleted")
			}
			if err != nil {
				return err
			}
			key, err := rec.NewKey(cmd.Context(), command.ByTerminal)
			if err != nil {
				return err
			}
			return printResult(s, map[string]audit.Key{"key": key}, "the audit log is signed with %s from now on; the change is recorded", key)
		}})
	return group
}

func pruneCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "prune", Example: "  countersign policy keep-reads 90\n  countersign audit prune", Short: "Remove reads that are older than the limit of policy keep-reads; the removal is recorded", Args: command.Args(0, 0),
		Long: "Verify the whole audit log, and remove records of reads that are older than the limit set with countersign policy keep-reads. Nothing is removed if the log is\n" +
			"not intact, and only reads that succeeded without asking are removed. A server does this once a day.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rec, err := record(s)
			if err != nil {
				return err
			}
			a, err := s.App()
			if err != nil {
				return err
			}
			days, err := a.KeepReadsDays(cmd.Context())
			if err != nil {
				return err
			}
			if days == 0 {
				return command.ErrUsage.WithMessage("reads are kept forever; there is nothing to remove").WithDetails(command.Hint("to set a limit, which you approve: countersign policy keep-reads DAYS"))
			}
			done, err := rec.Prune(cmd.Context(), days, 1)
			if err != nil {
				return err
			}
			if done.Removed == 0 {
				return printResult(s, done, "no reads older than %s", at(done.Before))
			}
			return printResult(s, done, "removed %d reads before %s; the removal is recorded", done.Removed, at(done.Before))
		}}
}

func acceptCommand(s *command.Shell) *cobra.Command {
	var reason string
	c := &cobra.Command{Use: "accept", Short: "Accept an explained contradiction; it is recorded with your reason", Args: command.Args(0, 0),
		Long: "Accept findings of audit verify that have an explanation: the database was lost and created again, an older copy was restored on purpose, or an anchor's\n" +
			"file is missing. The findings and the reason are recorded, and audit verify compares the log with later heads only. A broken hash chain cannot be\n" +
			"accepted.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return command.Usage(cmd, "--reason TEXT is required")
			}
			rec, err := record(s)
			if err == nil {
				err = loosened(cmd.Context(), s, "the current contradictions are ignored from now on")
			}
			if err != nil {
				return err
			}
			n, err := rec.Accept(cmd.Context(), command.ByTerminal, reason)
			if err != nil {
				return err
			}
			if n == 0 {
				return printResult(s, map[string]int{"accepted": 0}, "nothing contradicts the audit log")
			}
			return printResult(s, map[string]int{"accepted": n}, "accepted %d contradictions; the decision is recorded", n)
		}}
	c.Flags().StringVar(&reason, "reason", "", "reason, which is recorded")
	return c
}

// loosened asks the user before the checks of the audit log are weakened: a key press at a controlling terminal, whatever --yes says. If the caller
// approves, its --yes suffices.
func loosened(ctx context.Context, s *command.Shell, what string) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	rules, err := a.PolicyInForce(ctx)
	switch {
	case err != nil: // if the settings cannot be read, ask
	case rules.Approval.ByCaller() && s.Yes:
		return nil
	}
	if !s.Interactive() {
		return command.ErrUnanswered.WithMessage("%s: this needs your approval in a terminal", what).WithDetails(command.Hint("run it in a terminal; --yes cannot approve it"))
	}
	s.Say(what)
	yes, err := s.YesNo(ctx, "Approve?")
	if err == nil && !yes {
		err = command.ErrUnanswered.WithMessage("nothing was changed")
	}
	return err
}
