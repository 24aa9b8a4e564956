package audit

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// OperationLog is a file in which a process writes down what it is doing, so that a later process can finish or undo it. Any program of the user can
// write the file, so its content counts only if the audit log has its hash.
type OperationLog struct {
	Tool  string            // tool name in its audit records
	Place map[string]string // identifies the log among others
}

// key returns the call ID in the audit records of the log.
func (o OperationLog) key() string {
	place, _ := json.Marshal(o.Place) // a map of strings always has exactly one JSON form
	return "operation_" + canon.SumBytes("audit.operation.place.v1", append([]byte(o.Tool+"\n"), place...)).Hex()[:32]
}

func (o OperationLog) event(p Phase, now time.Time, doc []byte) Event {
	place, _ := json.Marshal(o.Place)
	return Event{Time: now, Phase: p, CallID: o.key(), Tool: o.Tool, Args: place, Plan: canon.SumBytes("audit.operation.v1", doc)}
}

// Begun returns the record that must be durable before doc is written.
func (o OperationLog) Begun(now time.Time, doc []byte) Event { return o.event(Begun, now, doc) }

// Ended returns the record that the work described by doc is over.
func (o OperationLog) Ended(now time.Time, doc []byte) Event { return o.event(Ended, now, doc) }

// Filter selects the records that Judge needs.
func (o OperationLog) Filter() Filter { return Filter{Call: o.key(), Limit: 2} }

// Judge evaluates doc against the newest records, newest first: it is open and may be continued, it is over, or neither if the audit log does not
// know it. The record before the last counts as well, because a process may die between writing the audit log and the file.
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
