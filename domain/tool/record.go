package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/policy"
)

// MaxOutput bounds Result.Output, in bytes, its marker included (packageflow-security contract §5.4).
const MaxOutput = 8 << 10

// How long records that have ended are kept (packageflow contract §1.8): the newest ones, and none that is older.
const (
	MaxKeptRecords  = 1000
	RecordRetention = 30 * 24 * time.Hour
)

// marker ends an output that was cut.
const marker = "\n[cut: the result is longer]"

// Record is one call that wanted to change something. Its JSON is the ToolExecutionState of seed 001, with more after it. Everything in
// it is redacted.
type Record struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"toolName"`
	Status Status          `json:"status"`
	Args   json.RawMessage `json:"arguments"`
	Result *Result         `json:"result,omitempty"`
	At     time.Time       `json:"timestamp"` // when it was asked for

	Reason         Reason      `json:"reason,omitempty"`
	Decision       string      `json:"decisionSource,omitempty"` // the rule of policy, or who confirmed it
	Risk           policy.Risk `json:"risk"`
	Said           string      `json:"denyReason,omitempty"` // what the person who denied it said
	What           string      `json:"what,omitempty"`       // in one line, what it would do
	StartedAt      time.Time   `json:"startedAt,omitzero"`
	EndedAt        time.Time   `json:"endedAt,omitzero"`
	ExpiresAt      time.Time   `json:"expiresAt,omitzero"` // of the confirmation
	ConfirmationID string      `json:"confirmationId,omitempty"`
	Redeemed       string      `json:"redeemedBy,omitempty"` // the call that redeemed the confirmation
	Toolset        string      `json:"toolset,omitempty"`
	Session        string      `json:"session,omitempty"`
	Principal      string      `json:"principal,omitempty"`
	Client         string      `json:"client,omitempty"`
	Owner          string      `json:"owner,omitempty"` // the process that carries it out
}

// Result is what came of a call that was carried out, or that failed before it was.
type Result struct {
	Success    bool   `json:"success"`
	Output     string `json:"output"` // at most MaxOutput bytes
	Error      string `json:"error,omitempty"`
	Code       string `json:"code,omitempty"`
	DurationMS int64  `json:"durationMs,omitempty"` // without the time a person took to answer
}

// TruncateOutput is the text within MaxOutput bytes, ending at a rune's end and with a marker when something is missing.
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

// Truncated reports an output that Cut has cut.
func (r Result) Truncated() bool { return strings.HasSuffix(r.Output, marker) }

// Copy shares nothing with the record and has its times in UTC without a monotonic reading, as one read back from a disk has. Arguments
// that are missing, or no JSON, are {}.
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

// Begins fails with ErrMove for a record that cannot be the first one of its call.
func (r *Record) Begins() error {
	if r.CallID == "" || !StatusNone.Reaches(r.Status) {
		return ErrMove.Sayf("a run %q cannot begin as %q", r.CallID, r.Status)
	}
	return nil
}

// Changed is what change leaves of a copy of the record, its identity aside. It fails as change does, and with ErrMove when the record
// has ended, or went where it cannot go.
func (r Record) Changed(change func(*Record) error) (Record, error) {
	next := r.Copy()
	if err := change(&next); err != nil {
		return r, err
	}
	if next.CallID = r.CallID; r.Status.Final() || next.Status != r.Status && !r.Status.Reaches(next.Status) {
		return r, ErrMove.Sayf("the run %s is %s and cannot become %s", r.CallID, r.Status, next.Status)
	}
	return next.Copy(), nil
}

// Start moves a record that was waiting into execution: the call that redeemed it, who said so, and the process that carries it out.
func (r *Record) Start(redeemed, decision, owner string, now time.Time) error {
	if err := r.move(StatusExecuting); err != nil {
		return err
	}
	r.Redeemed, r.Decision, r.Owner, r.StartedAt = redeemed, decision, owner, now
	return nil
}

// Finish ends a record that was executing with what came of it: Completed, or Failed for that reason.
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

// Deny ends a record that was waiting.
func (r *Record) Deny(reason Reason, now time.Time) error {
	if err := r.move(StatusDenied); err != nil {
		return err
	}
	r.Reason, r.EndedAt = reason, now
	return nil
}

// Denial is Deny as a change of a stored record.
func Denial(reason Reason, now time.Time) func(*Record) error {
	return func(r *Record) error { return r.Deny(reason, now) }
}

// Settle ends a record that only looks open: one that nobody answered in time, or whose process is known to be gone, which gone tells. It is never
// carried out again. It reports whether it did.
func (r *Record) Settle(now time.Time, gone func(owner string) bool) bool {
	switch {
	case r.Status == StatusPendingConfirmation && !now.Before(r.ExpiresAt):
		return r.Deny(ReasonExpired, r.ExpiresAt) == nil
	case r.Status == StatusExecuting && gone(r.Owner):
		ended := r.Finish(Result{Error: "the process that carried this out is gone; how far it came is not known"}, ReasonInterrupted, now) == nil
		if ended {
			r.Result.DurationMS = 0 // nobody knows when it ended
		}
		return ended
	}
	return false
}

func (r *Record) move(to Status) error {
	if !r.Status.Reaches(to) {
		return ErrMove.Sayf("the run %s is %s and cannot become %s", r.CallID, r.Status, to)
	}
	r.Status = to
	return nil
}
