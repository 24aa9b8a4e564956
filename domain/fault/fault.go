// Package fault is the error type of Countersign: a Kind from a closed set, a stable Code, a message, optional machine-readable details, and a cause
// that is logged but never shown. Package present translates kinds and codes for each contract.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Kind is the category of a failure. The set is closed: adapters map kinds to HTTP statuses and exit codes.
type Kind uint8

// The kinds. The zero Kind is Internal, so that an unclassified error never looks like the caller's mistake.
const (
	Internal    Kind = iota // a defect, or an unexpected I/O failure
	Invalid                 // the request itself is wrong
	NotFound                // what it names does not exist
	Conflict                // it was changed concurrently, or the name is taken
	State                   // it exists, but not in a state that allows this
	Denied                  // policy denies it
	Unconfirmed             // a user must approve it first
	Unavailable             // something that is needed cannot be reached, read or written now
	Timeout                 // the deadline passed
	Canceled                // the caller cancelled
)

var kindNames = [...]string{"internal", "invalid", "not_found", "conflict", "state", "denied", "unconfirmed", "unavailable", "timeout", "canceled"}

// String returns the kind's stable lower-case name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Internal]
}

// Code names one failure for machines: snake_case, unique in the module, never renamed or reused.
type Code string

// Error is the only error type whose text a caller may see.
type Error struct {
	Kind    Kind
	Code    Code
	Message string // names the thing, what is wrong with it and what to do; never a secret
	Details any    // a struct with JSON tags, or nil
	Err     error  // the cause: logged, never shown
}

// New returns an error, usually as a package-level sentinel that is then specialised with WithMessage, With and Because. It is simple enough that the
// compiler initialises sentinels statically instead of at every start.
func New(kind Kind, code Code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

func say(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// Error returns the message, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code, so a sentinel matches everything derived from it.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && t.Code == e.Code
}

// WithMessage returns a copy with another message.
func (e *Error) WithMessage(format string, args ...any) *Error {
	c := *e
	c.Message = say(format, args)
	return &c
}

// WithDetails returns a copy that carries details.
func (e *Error) WithDetails(details any) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithCause returns a copy with a cause.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// The generic errors that From returns for foreign errors.
var (
	ErrInternal    = New(Internal, "internal", "internal error; see the server log")
	ErrTimeout     = New(Timeout, "timeout", "the call timed out; request less, or raise the time limit")
	ErrCanceled    = New(Canceled, "canceled", "the call was cancelled before it finished")
	ErrUnavailable = New(Unavailable, "io_unavailable", "a file or service that this call needs is unavailable; retry later")
)

// From classifies any error: nil stays nil, an *Error stays itself (also when wrapped), context errors become timeout or canceled, file-system,
// system-call and network errors become unavailable, and everything else is internal with the error as its cause. A nil *Error inside a non-nil error
// is a defect and internal, never success.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		if f == nil {
			return ErrInternal
		}
		return f
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ErrTimeout.WithCause(err)
	case errors.Is(err, context.Canceled):
		return ErrCanceled.WithCause(err)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return ErrUnavailable.WithMessage("cannot %s %s: %v", p.Op, p.Path, p.Err).WithCause(err)
	}
	var system interface { // errors of system calls and the network; their packages cannot be imported here
		error
		Timeout() bool
		Temporary() bool
	}
	if errors.As(err, &system) {
		return ErrUnavailable.WithMessage("%s: %v", ErrUnavailable.Message, system).WithCause(err)
	}
	return ErrInternal.WithCause(err)
}
