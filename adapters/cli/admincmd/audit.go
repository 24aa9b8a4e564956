package admincmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/audit"
)

// listed is the default number of records of audit list.
const listed = 20

// query selects audit records.
type query struct {
	since string
	tool  string
	limit int

	unattended bool
	grant      string
}

// AuditCommand returns the command group audit.
func AuditCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "audit", Short: "List, verify and export the audit log", Args: command.Subcommand, RunE: command.Alone}
	var q query
	list := &cobra.Command{Use: "list", Short: "List the last records, oldest first", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return auditList(cmd.Context(), s, q) }}
	q.flags(list)
	var all query
	export := &cobra.Command{Use: "export", Short: "Write the records as JSON lines, oldest first", Args: command.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return auditExport(cmd.Context(), s, all) }}
	all.flags(export)
	group.AddCommand(list, export, verifyCommand(s), statusCommand(s), anchorCommands(s), keyCommands(s), acceptCommand(s), pruneCommand(s))
	return group
}

func (q *query) flags(c *cobra.Command) {
	c.Flags().StringVar(&q.since, "since", "", "only records since this time (2026-03-01T09:00:00Z, 2026-03-01) or age (90m, 24h)")
	c.Flags().StringVar(&q.tool, "tool", "", "only records of this tool")
	c.Flags().BoolVar(&q.unattended, "unattended", false, "only changes that ran without asking")
	c.Flags().StringVar(&q.grant, "grant", "", "only calls that the grant with this ID allowed (see countersign grants)")
	c.Flags().IntVar(&q.limit, "limit", 0, "maximum number of records, from the end (list: 20; export: all)")
}

// begin returns the time the query starts at, zero for the beginning.
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
	return time.Time{}, command.ErrUsage.WithMessage("invalid --since %q: use a time or an age", q.since).WithDetails(command.Hint("for example 2026-03-01T09:00:00Z, 2026-03-01, 90m or 24h"))
}

// late is how much later than its successor in the chain a record may be: reads are written in batches, by several processes.
const late = 10 * time.Minute

// walk passes every matching record to visit, oldest first; only the last q.limit if that is set.
func (q query) walk(ctx context.Context, s *command.Shell, visit func(audit.Record) error) error {
	begin, err := q.begin()
	if err != nil {
		return err
	}
	if q.limit < 0 {
		return command.ErrUsage.WithMessage("--limit %d is negative", q.limit)
	}
	a, err := s.App()
	if err != nil {
		return err
	}
	f := audit.Filter{Tool: q.tool, Unattended: q.unattended, Grant: q.grant, Limit: audit.MaxListed}
	if q.limit > 0 {
		return q.last(ctx, a, f, begin, visit)
	}
	for r, err := range a.AuditTrail(ctx, 0) {
		if err == nil && !r.Event.Time.Before(begin) && f.Matches(&r) {
			err = visit(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last is walk from the newest record backwards, only as far as needed.
func (q query) last(ctx context.Context, a *app.App, f audit.Filter, begin time.Time, visit func(audit.Record) error) error {
	var found []audit.Record
	for more := true; more && len(found) < q.limit; {
		if begin.IsZero() {
			f.Limit = min(audit.MaxListed, q.limit-len(found))
		}
		records, err := a.AuditSearch(ctx, f)
		if err != nil {
			return err
		}
		more = len(records) == f.Limit
		for _, r := range records {
			f.Before = r.Seq
			if r.Event.Time.Before(begin) {
				more = more && !r.Event.Time.Before(begin.Add(-late))
				continue
			}
			if len(found) < q.limit {
				found = append(found, r)
			}
		}
	}
	for _, r := range slices.Backward(found) {
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

func auditList(ctx context.Context, s *command.Shell, q query) error {
	if q.limit == 0 {
		q.limit = listed
	}
	found := control.AuditList{Records: []audit.Record{}}
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
	s.Table([]string{"#", "time (UTC)", "phase", "tool", "verdict", "result", "took", "arguments", "by"}, rows, "arguments", "took")
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
	switch {
	case e.Unattended():
		by += " (not asked: " + strings.TrimSpace(cmp.Or(e.ApprovedBy, e.Rule)+" "+e.Grant) + ")"
	case e.ApprovedBy != "":
		by += " (" + e.ApprovedBy + ")"
	}
	return []string{fmt.Sprint(r.Seq), e.Time.UTC().Format(time.DateTime), string(e.Phase), e.Tool, e.Verdict, result, took, clip(string(e.Args), 60), by}
}

func auditExport(ctx context.Context, s *command.Shell, q query) error {
	return q.walk(ctx, s, func(r audit.Record) error { return s.PrintJSON(r) })
}
