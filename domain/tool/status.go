package tool

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// Status is the status of a call record. The zero Status belongs to no record.
type Status uint8

// The statuses. Completed, Failed and Denied are final.
const (
	StatusNone Status = iota
	StatusPendingConfirmation
	StatusExecuting
	StatusCompleted
	StatusFailed
	StatusDenied
)

// Reason says why a record is Failed or Denied. It is empty for other statuses.
type Reason string

// The reasons of a denial: the call was not applied.
const (
	ReasonPolicy         Reason = "policy"              // policy denied it without asking
	ReasonUserDenied     Reason = "user_denied"         // the user denied it
	ReasonExpired        Reason = "expired"             // it expired undecided
	ReasonCancelled      Reason = "cancelled_by_client" // the client that asked cancelled it
	ReasonContextChanged Reason = "context_changed"     // the plan changed before it was approved
	ReasonMistyped       Reason = "mistyped"            // the name was mistyped too often
)

// The reasons of a failure.
const (
	ReasonRejected    Reason = "rejected"      // arguments, a path or a rate limit rejected it before it started
	ReasonErrored     Reason = "error"         // it ran and failed
	ReasonNonZeroExit Reason = "non_zero_exit" // the command exited with an error
	ReasonTimedOut    Reason = "timeout"       // it exceeded its time limit
	ReasonStopped     Reason = "cancelled"     // it was stopped while it ran
	ReasonInterrupted Reason = "interrupted"   // the process that applied it is gone; the change may be incomplete
)

var statusNames = []string{"", "pending_confirmation", "executing", "completed", "failed", "denied"}

// The errors of records.
var (
	ErrStatus        = fault.New(fault.Invalid, "run_status_unknown", "unknown call status")
	ErrMove          = fault.New(fault.State, "run_move_forbidden", "invalid status change for this call")
	ErrRecordUnknown = fault.New(fault.NotFound, "run_unknown", "call not found; to list calls: countersign calls")
	ErrTaken         = fault.New(fault.Conflict, "run_exists", "this call already has a record")
)

// String returns the status's name, empty for StatusNone.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "invalid"
}

// MarshalText returns the status's name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses a status's name. It fails with ErrStatus for an unknown name.
func (s *Status) UnmarshalText(b []byte) error {
	i := slices.Index(statusNames, string(b))
	if i < 0 {
		return ErrStatus.WithMessage("unknown call status %q; use one of %s", b, strings.Join(statusNames[1:], ", "))
	}
	*s = Status(i)
	return nil
}

// Statuses returns the statuses that a record can have.
func Statuses() []Status {
	return []Status{StatusPendingConfirmation, StatusExecuting, StatusCompleted, StatusFailed, StatusDenied}
}

// Final reports whether no status can follow.
func (s Status) Final() bool { return s >= StatusCompleted }

// Reaches reports whether a record may change from s to the other status. From StatusNone it reports the statuses that a record can begin with. A status
// never reaches itself, and a final status reaches none.
func (s Status) Reaches(to Status) bool {
	switch s {
	case StatusNone:
		return to == StatusPendingConfirmation || to == StatusExecuting || to == StatusFailed || to == StatusDenied
	case StatusPendingConfirmation:
		return to == StatusExecuting || to == StatusDenied
	case StatusExecuting:
		return to == StatusCompleted || to == StatusFailed
	}
	return false
}

// UnknownRecordError returns ErrRecordUnknown for that ID.
func UnknownRecordError(id string) error {
	return ErrRecordUnknown.WithMessage("call %q not found; to list calls: countersign calls", id)
}

// DuplicateRecordError returns ErrTaken for that call.
func DuplicateRecordError(call string) error {
	return ErrTaken.WithMessage("call %s already has a record", call)
}

// ReasonOf returns the reason for a call that failed with err while it was applied.
func ReasonOf(kind fault.Kind) Reason {
	switch kind {
	case fault.Timeout:
		return ReasonTimedOut
	case fault.Canceled:
		return ReasonStopped
	}
	return ReasonErrored
}
