// Package audit holds the rules of the audit log: records of requests, decisions and results in a hash chain, signed heads of the chain, and the
// checks that detect a change of the log. Arguments in events are redacted by the caller. The package is pure: package ports keeps the records.
package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Phase is the half of a call that a record is about. An Intent without an Outcome means that the process ended in between.
type Phase string

// The phases. Mutations have an intent and an outcome; reads have an outcome only. Answer records the user's decision on an approval request, and
// Asked the request itself, before anybody could decide.
const (
	Intent  Phase = "intent"
	Outcome Phase = "outcome"
	Answer  Phase = "answer"
	Asked   Phase = "asked"
	// Begun and Ended are for work that is described by files and that another process may continue: what a file says counts only if these records
	// say that the work was begun with exactly that content and has not ended.
	Begun Phase = "begun"
	Ended Phase = "ended"
)

// Event is the content of one record. All its text is already redacted.
type Event struct {
	Time       time.Time       `json:"time"` // UTC
	Phase      Phase           `json:"phase"`
	CallID     string          `json:"call_id"`
	Session    string          `json:"session,omitempty"`
	Principal  string          `json:"principal,omitempty"`
	Client     string          `json:"client,omitempty"` // self-declared name/version
	Tool       string          `json:"tool"`
	Class      string          `json:"class,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"` // redacted; clients' arguments may hold floats
	Plan       canon.Hash      `json:"plan,omitempty"`
	Verdict    string          `json:"verdict,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	ApprovedBy string          `json:"approved_by,omitempty"`
	Code       string          `json:"code,omitempty"` // error code; empty is success
	DurationUS int64           `json:"duration_us,omitempty"`
	Redactions int             `json:"redactions,omitempty"`
	Surface    string          `json:"surface,omitempty"` // of an answer: where it was given (terminal, console, passkey, touch, form, program, server)
	Proof      json.RawMessage `json:"proof,omitempty"`   // of an answer: its proof; of Asked: {"asked": the hash of the request}; no secrets
	Grant      string          `json:"grant,omitempty"`   // ID of the session grant that let the call run
	// Confirmation is the ID of the approval request that let the call run. That approval cannot be used again.
	Confirmation string `json:"confirmation,omitempty"`
	Home         string `json:"home,omitempty"` // of an answer: the home in which it was given, distinguished from its copies, where the answer does not count
}

// Record is an event in the hash chain. Seq starts at 1; Prev is the hash of the previous record, zero for the first.
type Record struct {
	Seq   int64      `json:"seq"`
	Event Event      `json:"event"`
	Prev  canon.Hash `json:"prev"`
	Hash  canon.Hash `json:"hash"`
}

// ErrBroken is returned for an invalid chain; the message names the first invalid record.
var ErrBroken = fault.New(fault.State, "audit_chain_broken", "the audit log's hash chain is broken")

const label = "audit.record.v1"

// Link appends an event to the chain whose last record is last; the zero Record begins a chain. The event is stored as it will be read back: in UTC,
// with U+FFFD for bytes that are not UTF-8.
func Link(last Record, e Event) (Record, error) {
	r := Record{Seq: last.Seq + 1, Event: e.settled(), Prev: last.Hash}
	sum, err := r.sum()
	if err != nil {
		return Record{}, err
	}
	r.Hash = sum
	return r, nil
}

// settled returns the event in the form that survives writing and reading unchanged, so that its hash stays valid.
func (e Event) settled() Event {
	e.Time, e.Phase = e.Time.UTC().Round(0), Phase(strings.ToValidUTF8(string(e.Phase), "\uFFFD"))
	for _, s := range []*string{&e.CallID, &e.Session, &e.Principal, &e.Client, &e.Tool, &e.Class, &e.Verdict, &e.Rule, &e.ApprovedBy, &e.Code, &e.Surface, &e.Grant, &e.Confirmation, &e.Home} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	return e
}

// sum hashes everything except Hash itself. The event is hashed as its plain JSON bytes, because arguments may hold floats.
func (r Record) sum() (canon.Hash, error) {
	event, err := json.Marshal(r.Event)
	if err != nil {
		return canon.Hash{}, fmt.Errorf("encoding audit event %d: %w", r.Seq, err)
	}
	sum, _ := sumRaw(canon.AppendLabel(nil, label), Raw{Seq: r.Seq, Event: event, Prev: r.Prev[:]})
	return sum, nil
}
