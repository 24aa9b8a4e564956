package pack

import (
	"time"
)

// reanchored is one ref that Reanchor rewrote.
type reanchored struct {
	Section  Key       `json:"section_key"`
	Ref      Key       `json:"ref_key"`
	Standing RefStatus `json:"standing"` // before it was rewritten
	From     LineRange `json:"from"`
	To       LineRange `json:"to"`
}

// Reanchor updates a draft's refs to the current code: a moved ref gets its new lines, one that was never anchored its anchor. A changed ref is
// accepted as it is now only if accept says so, because its text is no longer what was meant. evidence is in the order of State.Refs; a zero entry
// leaves its ref unchanged. However many refs are rewritten, it is one change; rewriting none keeps the revision.
func Reanchor(p *Pack, evidence []Evidence, accept func(RefID) bool, now time.Time) ([]reanchored, error) {
	if p.Status() == Finalized {
		return nil, ErrFinalized.WithMessage("pack %s is finalized; set_status draft first to let its refs follow the code", p.ID())
	}
	ids, refs := p.State().Refs()
	before, done := p.Revision(), []reanchored{}
	for i, e := range evidence {
		fresh := refs[i].Anchor == nil && e.Standing == RefExact
		if e.Anchor == nil || !(fresh || e.Standing == RefMoved || e.Standing == RefChanged && accept(ids[i])) {
			continue
		}
		done = append(done, reanchored{ids[i].Section, ids[i].Ref, e.Standing, refs[i].Lines, e.Lines})
		ref := refs[i]
		ref.Lines, ref.Anchor = e.Lines, e.Anchor
		if err := p.PutRef(ids[i].Section, ref, now); err != nil {
			return nil, err
		}
	}
	p.Squash(before + 1)
	return done, nil
}
