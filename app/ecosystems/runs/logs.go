package runs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The default and the maximum size of a log excerpt (amof contract §13, §22).
const (
	tail      = 50
	maxTail   = 1000
	maxErrors = 5
	errorLen  = 120
)

// LogsInput chooses events of a run.
type LogsInput struct {
	RunInput
	Tail  int    `json:"tail,omitempty" jsonschema:"minimum=1,maximum=1000,description=how many (default 50)"`
	Level string `json:"level,omitempty" jsonschema:"enum=info,enum=warning,enum=error"`
	Since string `json:"since,omitempty" jsonschema:"description=only later ones: a sequence number (next of the answer before) or an RFC 3339 time"`
}

// LogEvent is an event as it is shown.
type LogEvent struct {
	Timestamp time.Time `json:"timestamp"`
	Level     string    `json:"level"`
	Type      string    `json:"type"`
	Message   string    `json:"message"`
	Number    int64     `json:"seq"`
}

// LogsAnswer is the log of a run.
type LogsAnswer struct {
	ID        string              `json:"run_id"`
	Events    []LogEvent          `json:"events"`
	Total     int64               `json:"total"`
	Truncated bool                `json:"truncated"` // events that fit the question are missing here
	Next      int64               `json:"next"`      // since, to continue
	Status    ecosystem.RunStatus `json:"status"`
	Envelope
}

func (s service) logs(ctx context.Context, sc tool.Scope, in LogsInput) (LogsAnswer, error) {
	r, err := s.must(ctx, sc, in.ID)
	if err != nil {
		return LogsAnswer{}, err
	}
	after, later, err := since(in.Since)
	if err != nil {
		return LogsAnswer{}, err
	}
	chunk, err := s.Runs.Events(ctx, r.ID, after)
	if err != nil {
		return LogsAnswer{}, err
	}
	out := LogsAnswer{ID: r.ID, Events: []LogEvent{}, Total: chunk.Total, Truncated: chunk.Truncated, Next: after, Status: r.Status}
	for _, e := range chunk.Events {
		if (in.Level == "" || e.Level == in.Level) && e.Timestamp.After(later) {
			out.Events = append(out.Events, LogEvent{Timestamp: e.Timestamp, Level: e.Level, Type: e.Type, Message: e.Message, Number: e.Number})
		}
		out.Next = e.Number
	}
	keep := in.Tail
	if keep == 0 {
		keep = tail
	}
	if keep = min(keep, maxTail); len(out.Events) > keep {
		out.Events, out.Truncated = out.Events[len(out.Events)-keep:], true
	}
	text := AnswerText{Summary: fmt.Sprintf("Read %d of %d events of run %s", len(out.Events), out.Total, r.Short())}
	for _, e := range out.Events[max(0, len(out.Events)-14):] {
		text.Details = append(text.Details, e.Message)
	}
	out.Envelope = s.Show(sc, Subject{Ecosystem: r.Ecosystem, Run: r.ID}, text, SuggestRunStatus(r.ID))
	return out, nil
}

// since returns a sequence number, or a time.
func since(text string) (after int64, later time.Time, err error) {
	if text == "" {
		return 0, time.Time{}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n, time.Time{}, nil
	}
	if later, err = time.Parse(time.RFC3339Nano, text); err == nil {
		return 0, later, nil
	}
	return 0, time.Time{}, ecosystem.ErrArguments.WithMessage("since %q is neither a sequence number nor a time such as 2026-01-02T15:04:05Z", text)
}

// RunSummary is the short form of a run.
type RunSummary struct {
	ID        string              `json:"run_id"`
	Action    string              `json:"action"`
	Ecosystem string              `json:"ecosystem"`
	Status    ecosystem.RunStatus `json:"status"`
	Seconds   int64               `json:"duration_seconds"`
	LogEvents int                 `json:"log_events"`
	Errors    []string            `json:"errors"` // at most 5, of at most 120 characters
	ExitCode  *int                `json:"exit_code"`
	Envelope
}

func (s service) summarize(ctx context.Context, sc tool.Scope, in RunInput) (RunSummary, error) {
	r, err := s.must(ctx, sc, in.ID)
	if err != nil {
		return RunSummary{}, err
	}
	chunk, err := s.Runs.Events(ctx, r.ID, 0)
	if err != nil {
		return RunSummary{}, err
	}
	out := RunSummary{ID: r.ID, Action: r.Action, Ecosystem: r.Ecosystem, Status: r.Status, Seconds: int64(r.Duration(s.Clock.Now()).Round(time.Second) / time.Second),
		Errors: []string{}, ExitCode: r.ExitCode}
	for _, e := range chunk.Events {
		if e.Type == "log" {
			out.LogEvents++
		}
		if e.Level == "error" && len(out.Errors) < maxErrors {
			out.Errors = append(out.Errors, clip(e.Message))
		}
	}
	text := AnswerText{Summary: fmt.Sprintf("Run %s: %s of %s, %s after %d s", r.Short(), r.Action, r.Ecosystem, r.Status, out.Seconds), Details: out.Errors}
	out.Envelope = s.Show(sc, Subject{Ecosystem: r.Ecosystem, Run: r.ID}, text, SuggestRunLogs(r.ID))
	return out, nil
}

// clip keeps a message at errorLen characters.
func clip(s string) string {
	if r := []rune(s); len(r) > errorLen {
		return string(r[:errorLen-1]) + "…"
	}
	return s
}
