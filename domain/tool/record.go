package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/policy"
)

// MaxOutput is the maximum size of Result.Output in bytes, its truncation marker included (packageflow-security contract §5.4).
const MaxOutput = 8 << 10

// How long ended records are kept (packageflow contract §1.8): how many of the newest, and the maximum age.
const (
	MaxKeptRecords  = 1000
	RecordRetention = 30 * 24 * time.Hour
)

// marker is the end of a truncated output.
const marker = "\n[cut: the result is longer]"

// Record is the call record of a call that changes something. Its JSON is the ToolExecutionState of the packageflow contract, followed by more members. All of it is
// redacted.
type Record struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"toolName"`
	Status Status          `json:"status"`
	Args   json.RawMessage `json:"arguments"`
	Result *Result         `json:"result,omitempty"`
	At     time.Time       `json:"timestamp"` // when the call arrived

	Reason         Reason      `json:"reason,omitempty"`
	Decision       string      `json:"decisionSource,omitempty"` // the policy rule, or who approved it
	Risk           policy.Risk `json:"risk"`
	Said           string      `json:"denyReason,omitempty"` // the reason given by the user who denied it
	What           string      `json:"what,omitempty"`       // what it would do, in one line
	StartedAt      time.Time   `json:"startedAt,omitzero"`
	EndedAt        time.Time   `json:"endedAt,omitzero"`
	ExpiresAt      time.Time   `json:"expiresAt,omitzero"` // of the approval request
	ConfirmationID string      `json:"confirmationId,omitempty"`
	Redeemed       string      `json:"redeemedBy,omitempty"` // the call that used the approval
	Toolset        string      `json:"toolset,omitempty"`
	Session        string      `json:"session,omitempty"`
	Principal      string      `json:"principal,omitempty"`
	Client         string      `json:"client,omitempty"`
	Owner          string      `json:"owner,omitempty"` // the process that applies it
}

// Result is the result of a call that was applied, or that failed before.
type Result struct {
	Success    bool   `json:"success"`
	Output     string `json:"output"` // at most MaxOutput bytes
	Error      string `json:"error,omitempty"`
	Code       string `json:"code,omitempty"`
	DurationMS int64  `json:"durationMs,omitempty"` // without the time the user took to decide
}

// TruncateOutput cuts the text to MaxOutput bytes at the end of a rune, with a marker if it was longer.
func TruncateOutput(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxOutput {
		return s
	}
	n := MaxOutput - len(marker)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + marker
}

// Truncated reports whether TruncateOutput cut the output.
func (r Result) Truncated() bool { return strings.HasSuffix(r.Output, marker) }

// Copy returns a deep copy with times in UTC and without monotonic readings, as read back from a disk. Arguments that are missing or not JSON become {}.
func (r Record) Copy() Record {
	if r.Args = slices.Clone(r.Args); !json.Valid(r.Args) {
		r.Args = json.RawMessage("{}")
	}
	if r.Result != nil {
		result := *r.Result
		r.Result = &result
	}
	for _, t := range []*time.Time{&r.At, &r.StartedAt, &r.EndedAt, &r.ExpiresAt} {
		*t = t.UTC().Round(0)
	}
	return r
}

// Begins fails with ErrMove if the record cannot be the first one of its call.
func (r *Record) Begins() error {
	if r.CallID == "" || !StatusNone.Reaches(r.Status) {
		return ErrMove.WithMessage("call %q cannot start with status %q", r.CallID, r.Status)
	}
	return nil
}

// Changed applies change to a copy of the record and returns it; the identity stays. It fails with the error of change, and with ErrMove for a record
// that has ended or a status change that is not allowed.
func (r Record) Changed(change func(*Record) error) (Record, error) {
	next := r.Copy()
	if err := change(&next); err != nil {
		return r, err
	}
	if next.CallID = r.CallID; r.Status.Final() || next.Status != r.Status && !r.Status.Reaches(next.Status) {
		return r, ErrMove.WithMessage("call %s is %s and cannot become %s", r.CallID, r.Status, next.Status)
	}
	return next.Copy(), nil
}

// Start moves a waiting record to executing, with the call that used the approval, the rule that allowed it, and the process that applies it.
func (r *Record) Start(redeemed, decision, owner string, now time.Time) error {
	if err := r.move(StatusExecuting); err != nil {
		return err
	}
	r.Redeemed, r.Decision, r.Owner, r.StartedAt = redeemed, decision, owner, now
	return nil
}

// Finish ends an executing record with its result: Completed, or Failed with that reason.
func (r *Record) Finish(result Result, reason Reason, now time.Time) error {
	to := StatusFailed
	if result.Success {
		to, reason = StatusCompleted, ""
	}
	if err := r.move(to); err != nil {
		return err
	}
	result.DurationMS = max(now.Sub(r.StartedAt), 0).Milliseconds()
	r.Result, r.Reason, r.EndedAt = &result, reason, now
	return nil
}

// Deny ends a waiting record as denied.
func (r *Record) Deny(reason Reason, now time.Time) error {
	if err := r.move(StatusDenied); err != nil {
		return err
	}
	r.Reason, r.EndedAt = reason, now
	return nil
}

// Denial returns Deny as a change for Runs.Change.
func Denial(reason Reason, now time.Time) func(*Record) error {
	return func(r *Record) error { return r.Deny(reason, now) }
}

// Settle ends a record that only looks open: its approval expired, or its process ended, as reported by gone. The call is never applied again. It reports
// whether it changed the record.
func (r *Record) Settle(now time.Time, gone func(owner string) bool) bool {
	switch {
	case r.Status == StatusPendingConfirmation && !now.Before(r.ExpiresAt):
		return r.Deny(ReasonExpired, r.ExpiresAt) == nil
	case r.Status == StatusExecuting && gone(r.Owner):
		ended := r.Finish(Result{Error: "interrupted: its process stopped, and the change may be incomplete"}, ReasonInterrupted, now) == nil
		if ended {
			r.Result.DurationMS = 0 // the time it ended is unknown
		}
		return ended
	}
	return false
}

func (r *Record) move(to Status) error {
	if !r.Status.Reaches(to) {
		return ErrMove.WithMessage("call %s is %s and cannot become %s", r.CallID, r.Status, to)
	}
	r.Status = to
	return nil
}
