package pack

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// transitions returns the status machine. A transition to the same status is allowed and changes nothing.
func (s Status) transitions() []Status {
	switch s {
	case Draft:
		return []Status{Draft, Finalized}
	case Finalized:
		return []Status{Finalized, Draft}
	}
	return nil
}

// RefID names a ref within a pack.
type RefID struct {
	Section Key
	Ref     Key
}

// String returns section::ref.
func (r RefID) String() string { return string(r.Section) + "::" + string(r.Ref) }

// Refs lists every ref with its name, in the pack's order.
func (s State) Refs() ([]RefID, []Ref) {
	var ids []RefID
	var refs []Ref
	for _, sec := range s.Sections {
		for _, r := range sec.Refs {
			ids, refs = append(ids, RefID{sec.Key, r.Key}), append(refs, r)
		}
	}
	return ids, refs
}

// maxStaleSamples is how many stale refs the error names when a pack cannot be finalized (context-pack contract §1.4).
const maxStaleSamples = 10

// staleRefs is the details of ErrStale.
type staleRefs struct {
	Total   int      `json:"total"`
	Samples []string `json:"samples"`
}

// Finalize makes a draft final. evidence is what refs show now, one entry per ref in the order of State.Refs: a stale one is ErrStale, and a pack
// with neither ref nor diagram is ErrEmpty. Refs that were never anchored are anchored. snapshot, if not nil, converts evidence to the text to keep.
// Finalizing a final pack changes nothing.
func (p *Pack) Finalize(evidence []Evidence, snapshot func(Evidence) *Snapshot, now time.Time) error {
	if err := p.mayBecome(Finalized); err != nil || p.s.Status == Finalized {
		return err
	}
	if err := p.checkEvidence(evidence); err != nil {
		return err
	}
	next := p.s.clone()
	i, parts := 0, 0
	for s := range next.Sections {
		sec := &next.Sections[s]
		parts += len(sec.Refs) + len(sec.Diagrams)
		for r := range sec.Refs {
			ref := &sec.Refs[r]
			if ref.Anchor == nil {
				ref.Anchor = evidence[i].Anchor
			}
			if snapshot != nil {
				ref.Snapshot = snapshot(evidence[i])
			}
			i++
		}
	}
	if parts == 0 {
		return ErrEmpty.WithMessage("pack %s has neither a ref nor a diagram; add one before finalizing", p.s.ID)
	}
	next.Status = Finalized
	p.s = next.clone()
	p.bump(now)
	return nil
}

// Reopen makes a final pack a draft again and drops its kept text. Reopening a draft changes nothing.
func (p *Pack) Reopen(now time.Time) error {
	if err := p.mayBecome(Draft); err != nil || p.s.Status == Draft {
		return err
	}
	for s := range p.s.Sections {
		for r := range p.s.Sections[s].Refs {
			p.s.Sections[s].Refs[r].Snapshot = nil
		}
	}
	p.s.Status = Draft
	p.bump(now)
	return nil
}

func (p *Pack) mayBecome(to Status) error {
	if slices.Contains(p.s.Status.transitions(), to) {
		return nil
	}
	return ErrValue.WithMessage("a pack cannot go from %q to %q", p.s.Status, to)
}

func (p *Pack) checkEvidence(evidence []Evidence) error {
	ids, refs := p.s.Refs()
	if len(evidence) != len(refs) {
		return ErrRevision.WithMessage("pack %s changed while its refs were read; try again", p.s.ID)
	}
	stale := staleRefs{Samples: []string{}}
	for i, e := range evidence {
		if e.Standing != RefStale && e.Standing != RefUnreadable {
			continue
		}
		stale.Total++
		if len(stale.Samples) < maxStaleSamples {
			l := refs[i].Lines
			stale.Samples = append(stale.Samples, ids[i].String()+" ("+string(refs[i].Path)+":"+l.String()+"): "+e.Reason)
		}
	}
	if stale.Total == 0 {
		return nil
	}
	return ErrStale.WithMessage("%d refs of pack %s are stale: %s", stale.Total, p.s.ID, strings.Join(stale.Samples, "; ")).WithDetails(stale)
}

// Content is a whole pack as one document, without what the store decides.
type Content struct {
	Title    Optional
	Brief    Optional
	Tags     []string
	Sections []Section
}

// Rewrite replaces a draft's whole content. Refs that point to the same lines as before keep their anchor; the caller sets the anchors of the others
// in c. Content equal to what is stored keeps the revision.
func (p *Pack) Rewrite(c Content, now time.Time) error {
	if err := p.editable(); err != nil {
		return err
	}
	if err := checkTags(c.Tags); err != nil {
		return err
	}
	if err := checkSections(c.Sections); err != nil {
		return err
	}
	next := p.s
	next.Title, next.Brief, next.Tags, next.Sections = c.Title, c.Brief, c.Tags, c.Sections
	next = next.clone()
	old := map[Key]Section{}
	for _, s := range p.s.Sections {
		old[s.Key] = s
	}
	before := &Pack{p.s}
	p.s = next
	p.s.Revision++
	changed := before.s.Title != next.Title || before.s.Brief != next.Brief || !slices.Equal(before.s.Tags, next.Tags)
	changed = p.stamp(old) || changed || !slices.EqualFunc(before.s.Sections, next.Sections, func(a, b Section) bool { return a.Key == b.Key })
	if !changed {
		p.s = before.s
		return nil
	}
	p.s.UpdatedAt = now.UTC()
	return nil
}

// stamp keeps the anchors of refs that point to the same lines as before, marks the sections that differ from old with the present revision, and
// remembers the removed ones.
func (p *Pack) stamp(old map[Key]Section) (changed bool) {
	for i := range p.s.Sections {
		sec := &p.s.Sections[i]
		was, had := old[sec.Key]
		delete(old, sec.Key)
		for r := range sec.Refs {
			ref := &sec.Refs[r]
			j := slices.IndexFunc(was.Refs, func(o Ref) bool {
				return o.Key == ref.Key && o.Path == ref.Path && o.Root == ref.Root && o.Lines == ref.Lines && o.Anchor != nil
			})
			if j >= 0 {
				ref.Anchor = was.Refs[j].clone().Anchor
			}
		}
		sec.ChangedAt = was.ChangedAt
		if !had || !sameSection(was, *sec) {
			sec.ChangedAt, changed = p.s.Revision, true
		}
	}
	for _, s := range slices.Sorted(maps.Keys(old)) {
		p.remember(s)
		changed = true
	}
	return changed
}

func sameSection(a, b Section) bool {
	x, errA := canon.Marshal(a)
	y, errB := canon.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// String returns start-end.
func (l LineRange) String() string { return decimal(l.Start) + "-" + decimal(l.End) }
