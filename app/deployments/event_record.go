package deployments

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// eventVersion is the only version of event lines.
const eventVersion = 1

// maintenanceLine is one line of the event log, keys in this order (agentpack contract §5.16, appendix C).
type maintenanceLine struct {
	Version    int             `json:"schema_version"`
	RecordedAt time.Time       `json:"recorded_at"`
	Machine    string          `json:"machine_id"`
	Command    string          `json:"command_id,omitempty"`
	Duration   *int64          `json:"duration_ms,omitempty"`
	Revision   string          `json:"git_rev,omitempty"`
	Module     string          `json:"module_id,omitempty"`
	Snapshot   string          `json:"snapshot_id,omitempty"`
	Success    *bool           `json:"success,omitempty"`
	Targets    []string        `json:"targets,omitempty"`
	Event      json.RawMessage `json:"event"`
}

// RecordData is the data of record.
type RecordData struct {
	Machine    string    `json:"machine_id"`
	Path       string    `json:"path"`
	PathPosix  string    `json:"path_posix"`
	RecordedAt time.Time `json:"recorded_at"`
}

// recording is an event to record. Its time is that of the recording, and not part of what is approved.
type recording struct {
	at   deployment.Locations
	line maintenanceLine
	data RecordData
}

// Hash returns the hash of the recording: where, by whom and what.
func (r *recording) Hash() canon.Hash {
	text := []byte(r.data.Path + "\n" + r.line.Machine + "\n")
	return canon.SumBytes("deployment.record.v1", append(text, r.line.Event...))
}

// Prompt returns one line for the approval request.
func (r *recording) Prompt() string { return "record an event in " + r.data.Path }

// MarshalJSON returns the report that a dry run gives.
func (r *recording) MarshalJSON() ([]byte, error) { return json.Marshal(planner.NewReport(r.data)) }

func (s *maintenanceService) prepareRecord(ctx context.Context, _ tool.Scope, c RecordInput) (*recording, error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return nil, err
	}
	var event bytes.Buffer
	if err := json.Compact(&event, c.Event); err != nil {
		return nil, tool.ErrArguments.WithMessage("agents_record: event is no JSON value: %v", err)
	}
	path := s.in(at.Home, "state/logs/events.jsonl")
	r := &recording{at: at, line: lifted(event.Bytes())}
	r.line.Version, r.line.Machine = eventVersion, at.Machine
	r.data = RecordData{Machine: at.Machine, Path: path, PathPosix: deployment.PosixPath(path), RecordedAt: s.Clock.Now().UTC()}
	return r, nil
}

// record appends the line.
func (s *maintenanceService) record(ctx context.Context, _ tool.Scope, r *recording) (none planner.Report[RecordData], err error) {
	r.line.RecordedAt = s.Clock.Now().UTC()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.line); err != nil {
		return none, err
	}
	path, err := s.Events.Append(ctx, r.at.Home, bytes.TrimSpace(text.Bytes()))
	if err != nil {
		return none, err
	}
	r.data.Path, r.data.PathPosix, r.data.RecordedAt = path, deployment.PosixPath(path), r.line.RecordedAt
	return planner.NewReport(r.data), nil
}

// lifted returns a line with what the event says about itself, under names in either style.
func lifted(event []byte) maintenanceLine {
	l := maintenanceLine{Event: event}
	var fields map[string]json.RawMessage
	if json.Unmarshal(event, &fields) != nil {
		return l // not an object: it says nothing about itself
	}
	l.Command, l.Revision = textOf(fields, "command_id", "commandId"), textOf(fields, "git_rev", "gitRev")
	l.Module, l.Snapshot = textOf(fields, "module_id", "moduleId"), textOf(fields, "snapshot_id", "snapshotId")
	l.Duration = valueOf[int64](fields, "duration_ms", "durationMs")
	l.Success = valueOf[bool](fields, "success", "ok", "successful")
	if list := valueOf[[]string](fields, "targets"); list != nil {
		l.Targets = slices.Compact(slices.Sorted(slices.Values(*list)))
	} else if one := textOf(fields, "target"); one != "" {
		l.Targets = []string{one}
	}
	return l
}

// valueOf returns the first of the fields that has a value of that type.
func valueOf[T any](fields map[string]json.RawMessage, names ...string) *T {
	for _, name := range names {
		raw, ok := fields[name]
		value := new(T)
		if ok && string(raw) != "null" && json.Unmarshal(raw, value) == nil {
			return value
		}
	}
	return nil
}

func textOf(fields map[string]json.RawMessage, names ...string) string {
	if text := valueOf[string](fields, names...); text != nil {
		return strings.TrimSpace(*text)
	}
	return ""
}
