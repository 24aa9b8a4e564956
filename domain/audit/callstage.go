package audit

import (
	"context"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Stage is how far a call is that was to carry out a certain plan, by what the audit says of it. Whoever goes on with what another process began, from
// a file that any program may have written, asks for it first. Each is said once: a call that was begun, or is over, lets nothing begin again.
type Stage struct {
	Allowed bool // it was let through with that plan
	Over    bool // and has an outcome
	Failed  bool // which is a failure
	Begun   bool // what it queued was begun
	Ended   bool // and has ended
}

// UnderWay reports a call that was let through and has no outcome: its process is at it, or died.
func (s Stage) UnderWay() bool { return s.Allowed && !s.Over }

// StageOf returns the stage of the call with that id, from the records that a Filter chose by it. A call that asked and goes on once it is approved has an
// outcome of asking, too, which is no outcome of the plan; it may be recorded after the intent.
func StageOf(records []Record, call string, plan canon.Hash) Stage {
	var s Stage
	if call == "" || plan.IsZero() {
		return s
	}
	by := "" // the confirmation that lets it run, which its outcome names as well: what it answered when it asked was not by that one
	for i := range records {
		if e := &records[i].Event; e.CallID == call && e.Plan == plan && e.Phase == Intent {
			s.Allowed, by = true, e.Confirmation
		}
	}
	for i := range records {
		e := &records[i].Event
		if e.CallID != call || e.Plan != plan {
			continue
		}
		switch e.Phase {
		case Outcome:
			if s.Allowed && (by == "" || e.Confirmation == by) { // older intents of calls that a session grant let through name none
				s.Over, s.Failed = true, s.Failed || e.Code != ""
			}
		case Begun:
			s.Begun = true
		case Ended:
			s.Ended = true
		}
	}
	return s
}

// FindStage is StageOf of what search, the Search of an audit log, has of the call.
func FindStage(ctx context.Context, search func(context.Context, Filter) ([]Record, error), call string, plan canon.Hash) (Stage, error) {
	if call == "" || plan.IsZero() {
		return Stage{}, nil
	}
	records, err := search(ctx, Filter{Call: call, Limit: MaxListed})
	if err != nil {
		return Stage{}, err
	}
	return StageOf(records, call, plan), nil
}
