package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/domain/audit"
)

// listed is how many records audit list shows when nobody says.
const listed = 20

// query chooses audit records.
type query struct {
	since string
	tool  string
	limit int
}

// records is a list of records as JSON, the form of the tool audit_tail.
type records struct {
	Count   int            `json:"count"`
	Records []audit.Record `json:"records"`
}

// verified is what audit verify prints.
type verified struct {
	Intact  bool  `json:"intact"`
	Records int64 `json:"records"`
}

// Audit is the command group audit.
func Audit(s *shell.Shell) *cobra.Command {
	group := &cobra.Command{Use: "audit", Short: "Look up what was asked and done, and prove that the record was not changed", Args: shell.Subcommand, RunE: shell.Help}
	var q query
	list := &cobra.Command{Use: "list", Short: "List the last records, oldest first", Args: shell.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return auditList(cmd.Context(), s, q) }}
	q.flags(list)
	var all query
	export := &cobra.Command{Use: "export", Short: "Write the records as JSON lines, oldest first", Args: shell.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return auditExport(cmd.Context(), s, all) }}
	all.flags(export)
	group.AddCommand(list, export, &cobra.Command{Use: "verify", Short: "Check the hash chain; a broken one names its first bad record and exits 4", Args: shell.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return auditVerify(cmd.Context(), s) }})
	return group
}

func (q *query) flags(c *cobra.Command) {
	c.Flags().StringVar(&q.since, "since", "", "only records since then: a time (2026-03-01T09:00:00Z, 2026-03-01) or an age (90m, 24h)")
	c.Flags().StringVar(&q.tool, "tool", "", "only records of this tool")
	c.Flags().IntVar(&q.limit, "limit", 0, "at most this many, the last ones (list: 20; export: all)")
}

// begin is the time the query starts at, zero for the beginning.
func (q query) begin() (time.Time, error) {
	if q.since == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(q.since); err == nil && age > 0 {
		return time.Now().Add(-age), nil
	}
	for _, form := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.Parse(form, q.since); err == nil {
			return at, nil
		}
	}
	return time.Time{}, shell.ErrUsage.Sayf("--since %q is neither a time nor an age", q.since).With(shell.Hint("write 2026-03-01T09:00:00Z, 2026-03-01, 90m or 24h"))
}

// walk hands every record that matches to visit, keeping only the last q.limit when that is set.
func (q query) walk(ctx context.Context, s *shell.Shell, visit func(audit.Record) error) error {
	begin, err := q.begin()
	if err != nil {
		return err
	}
	if q.limit < 0 {
		return shell.ErrUsage.Sayf("--limit %d is negative", q.limit)
	}
	a, err := s.App()
	if err != nil {
		return err
	}
	var last []audit.Record
	for r, err := range a.AuditTrail(ctx, 0) {
		if err != nil {
			return err
		}
		if r.Event.Time.Before(begin) || q.tool != "" && r.Event.Tool != q.tool {
			continue
		}
		if q.limit == 0 {
			if err := visit(r); err != nil {
				return err
			}
			continue
		}
		if len(last) >= 2*q.limit {
			last = append(last[:0], last[len(last)-q.limit+1:]...)
		}
		last = append(last, r)
	}
	for _, r := range last[max(0, len(last)-q.limit):] {
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

func auditList(ctx context.Context, s *shell.Shell, q query) error {
	if q.limit == 0 {
		q.limit = listed
	}
	found := records{Records: []audit.Record{}}
	err := q.walk(ctx, s, func(r audit.Record) error {
		found.Records = append(found.Records, r)
		return nil
	})
	if err != nil {
		return err
	}
	found.Count = len(found.Records)
	if s.JSON {
		return s.PrintJSON(found)
	}
	if found.Count == 0 {
		s.Note("no audit records")
		return nil
	}
	var rows [][]string
	for _, r := range found.Records {
		rows = append(rows, auditRow(r))
	}
	s.Table([]string{"#", "time (UTC)", "phase", "tool", "verdict", "result", "took", "arguments", "by"}, rows)
	return nil
}

func auditRow(r audit.Record) []string {
	e := r.Event
	result, took := e.Code, ""
	if e.Phase == audit.Outcome {
		took = (time.Duration(e.DurationUS) * time.Microsecond).Round(10 * time.Microsecond).String()
		if result == "" {
			result = "ok"
		}
	}
	by := e.Client
	if e.ApprovedBy != "" {
		by += " (" + e.ApprovedBy + ")"
	}
	return []string{fmt.Sprint(r.Seq), e.Time.UTC().Format(time.DateTime), string(e.Phase), e.Tool, e.Verdict, result, took, clip(string(e.Args), 60), by}
}

func auditExport(ctx context.Context, s *shell.Shell, q query) error {
	return q.walk(ctx, s, func(r audit.Record) error { return s.PrintJSON(r) })
}

func auditVerify(ctx context.Context, s *shell.Shell) error {
	a, err := s.App()
	if err != nil {
		return err
	}
	n, err := a.VerifyAudit(ctx)
	if s.JSON {
		if printErr := s.PrintJSON(verified{Intact: err == nil, Records: n}); printErr != nil {
			return printErr
		}
		return err
	}
	if err != nil {
		s.Note("%d records before it hold", n)
		return err
	}
	s.Line("the audit is intact: %d records, one unbroken chain", n)
	return nil
}
