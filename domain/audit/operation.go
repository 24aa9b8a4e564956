package audit

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// OperationLog is one place where a process writes down what it is doing, so that whoever comes after it can finish that or take it back. Such a place is a
// file, which any program of the user can write: what stands there counts only as the audit has it, by its sum.
type OperationLog struct {
	Tool  string            // what the audit's records of it have for a tool
	Place map[string]string // what tells it from others
}

// key returns what the audit's records of the log have for a call's id.
func (o OperationLog) key() string {
	place, _ := json.Marshal(o.Place) // a map of strings always has a JSON form, and one alone
	return "operation_" + canon.SumBytes("audit.operation.place.v1", append([]byte(o.Tool+"\n"), place...)).Hex()[:32]
}

func (o OperationLog) event(p Phase, now time.Time, doc []byte) Event {
	place, _ := json.Marshal(o.Place)
	return Event{Time: now, Phase: p, CallID: o.key(), Tool: o.Tool, Args: place, Plan: canon.SumBytes("audit.operation.v1", doc)}
}

// Begun returns the record that has to be durable before doc is written down.
func (o OperationLog) Begun(now time.Time, doc []byte) Event { return o.event(Begun, now, doc) }

// Ended returns the record that what doc says is over.
func (o OperationLog) Ended(now time.Time, doc []byte) Event { return o.event(Ended, now, doc) }

// Filter chooses the records that Judge wants.
func (o OperationLog) Filter() Filter { return Filter{Call: o.key(), Limit: 2} }

// Judge returns what the newest records, newest first, say of doc: that it is open, and may be gone on with; that it is over; or neither, where the audit does
// not know it so. The record before the last counts as well, since a process may die between the audit and the file.
func (o OperationLog) Judge(newest []Record, doc []byte) (open, over bool) {
	key, sum := o.key(), o.Ended(time.Time{}, doc).Plan
	for i := range newest {
		e := &newest[i].Event
		if e.CallID != key {
			return false, false
		}
		if e.Phase != Begun {
			return false, i == 0 && e.Phase == Ended && e.Plan == sum
		}
		if e.Plan == sum {
			return true, false
		}
	}
	return false, false
}
