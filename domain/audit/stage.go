package audit

import "github.com/countersign-dev/countersign/domain/canon"

// Stage is how far a call is that was to carry out a certain plan, by what the audit says of it. Whoever goes on with what another process began, from
// a file that any program may have written, asks for it first.
type Stage int

// The stages. Of a call that is Unknown the audit does not say that it was let through with that plan; one that is UnderWay was, and has no outcome or
// failed; one that is Done succeeded.
const (
	Unknown Stage = iota
	UnderWay
	Done
)

// StageOf is the stage of the call with that id, from the records that a Filter chose by it.
func StageOf(records []Record, call string, plan canon.Hash) Stage {
	stage := Unknown
	if call == "" || plan.IsZero() {
		return stage
	}
	for i := range records {
		switch e := &records[i].Event; {
		case e.CallID != call || e.Plan != plan:
		case e.Phase == Intent:
			stage = max(stage, UnderWay)
		case e.Phase == Outcome && e.Code == "":
			stage = Done
		}
	}
	return stage
}
