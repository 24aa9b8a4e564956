package deployments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ScoreData is the data of score (agentpack contract §5.16).
type ScoreData struct {
	Modules []ModuleScore `json:"modules"`
	Stats   ReadStats     `json:"read_stats"`
}

// ModuleScore counts the recorded events of a module.
type ModuleScore struct {
	Rate     *float64   `json:"failure_rate"`
	Failures int        `json:"failures"`
	LastSeen *time.Time `json:"last_seen_at"`
	ID       string     `json:"module_id"`
	Total    int        `json:"total"`
}

// ReadStats counts the lines of the log.
type ReadStats struct {
	Empty     int `json:"lines_empty"`
	Lines     int `json:"lines_total"`
	Records   int `json:"records_ok"`
	IO        int `json:"skipped_io_errors"`
	Malformed int `json:"skipped_malformed_json"`
	Skipped   int `json:"skipped_total"`
	Version   int `json:"skipped_unsupported_schema_version"`
}

// maxSkips is how many skipped lines are reported one by one.
const maxSkips = 20

// tally is a score while it is being counted.
type tally struct {
	modules  map[string]*ModuleScore
	stats    ReadStats
	warnings []string
}

// score counts the log.
func (s *maintenanceService) score(ctx context.Context, _ tool.Scope, c planner.RepoInput) (none planner.Report[ScoreData], err error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return none, err
	}
	t := &tally{modules: map[string]*ModuleScore{}}
	config, _ := s.Compiler.Configs.Load(ctx, at.Repo) // the log is usable without a manifest
	for _, m := range config.Manifest.Modules {
		t.module(m.ID)
	}
	err = s.Events.Lines(ctx, at.Home, func(number int, text []byte, problem error) error {
		t.line(number, text, problem)
		return ctx.Err()
	})
	if err != nil {
		return none, err
	}
	if more := t.stats.Skipped - maxSkips; more > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%d more lines of the event log were skipped", more))
	}
	return planner.NewReport(ScoreData{Modules: t.sorted(), Stats: t.stats}, t.warnings...), nil
}

func (t *tally) module(id string) *ModuleScore {
	if t.modules[id] == nil {
		t.modules[id] = &ModuleScore{ID: id}
	}
	return t.modules[id]
}

// skip counts an unusable line.
func (t *tally) skip(counter *int, number int, why string) {
	*counter++
	t.stats.Skipped++
	if t.stats.Skipped <= maxSkips {
		t.warnings = append(t.warnings, fmt.Sprintf("line %d of the event log was skipped: %s", number, why))
	}
}

// line counts one line.
func (t *tally) line(number int, text []byte, problem error) {
	t.stats.Lines++
	text = bytes.TrimSpace(text)
	switch {
	case problem != nil:
		t.skip(&t.stats.IO, number, fault.From(problem).Message)
		return
	case len(text) == 0:
		t.stats.Empty++
		return
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		t.skip(&t.stats.Malformed, number, "not a JSON object")
		return
	}
	if v := valueOf[int](fields, "schema_version"); v == nil || *v != eventVersion {
		t.skip(&t.stats.Version, number, fmt.Sprintf("its schema_version is %s, and only %d is supported", maintenanceShown(fields["schema_version"]), eventVersion))
		return
	}
	t.stats.Records++
	t.count(fields)
}

func maintenanceShown(raw json.RawMessage) string {
	const longest = 40
	if len(raw) == 0 {
		return "missing"
	}
	return string(raw[:min(len(raw), longest)])
}

// count adds a record to its module's score. Values of the line itself take precedence over those of its event.
func (t *tally) count(fields map[string]json.RawMessage) {
	said := lifted(fields["event"])
	id := cmp.Or(textOf(fields, "module_id", "moduleId"), said.Module)
	if id == "" {
		return
	}
	m := t.module(id)
	m.Total++
	if success := cmp.Or(valueOf[bool](fields, "success"), said.Success); success != nil && !*success {
		m.Failures++
	}
	at, err := time.Parse(time.RFC3339, textOf(fields, "recorded_at"))
	if err == nil && (m.LastSeen == nil || at.After(*m.LastSeen)) {
		at = at.UTC()
		m.LastSeen = &at
	}
}

// sorted returns the scores, the worst first and those without events last.
func (t *tally) sorted() []ModuleScore {
	out := []ModuleScore{}
	for _, m := range slices.Collect(maps.Values(t.modules)) {
		if m.Total > 0 {
			rate := float64(m.Failures) / float64(m.Total)
			m.Rate = &rate
		}
		out = append(out, *m)
	}
	rank := func(m ModuleScore) float64 {
		if m.Rate == nil {
			return -1
		}
		return *m.Rate
	}
	slices.SortFunc(out, func(a, b ModuleScore) int { return cmp.Or(cmp.Compare(rank(b), rank(a)), strings.Compare(a.ID, b.ID)) })
	return out
}
