package audit

import (
	"context"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Stage is how far a call that was to apply a certain plan has come, according to the audit log. A process that continues what another one began,
// from a file that any program may have written, checks it first. Each step is recorded once: a call that was begun or is over cannot begin again.
type Stage struct {
	Allowed bool // the call was allowed with that plan
	Over    bool // the call has an outcome
	Failed  bool // the outcome is a failure
	Begun   bool // the work that it queued was begun
	Ended   bool // that work has ended
}

// UnderWay reports whether the call was allowed and has no outcome: its process is still running it, or died.
func (s Stage) UnderWay() bool { return s.Allowed && !s.Over }

// StageOf returns the stage of the call with that id, from the records that a Filter selected by it. A call that waited for approval has an outcome
// of asking as well, which is not an outcome of the plan and may be recorded after the intent.
func StageOf(records []Record, call string, plan canon.Hash) Stage {
	var s Stage
	if call == "" || plan.IsZero() {
		return s
	}
	by := "" // the approval request that let the call run; the outcome of the plan names it too, the outcome of asking does not
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
			if s.Allowed && (by == "" || e.Confirmation == by) { // older intents of calls that a session grant allowed name none
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

// FindStage is StageOf with the records of the call that search, the Search method of an audit log, returns.
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
