package pack

import (
	"slices"
	"strings"
	"time"
)

// RevisionConflict is the details of ErrRevision.
type RevisionConflict struct {
	ExpectedRevision   uint64 `json:"expected_revision"`
	ActualRevision     uint64 `json:"actual_revision"`
	CurrentRevision    uint64 `json:"current_revision"`
	LastUpdatedAt      string `json:"last_updated_at"`
	ChangedSectionKeys []Key  `json:"changed_section_keys"` // at most maxChangedKeys, removed sections included
	Guidance           string `json:"guidance"`
}

// maxChangedKeys bounds the sections that a conflict names.
const maxChangedKeys = 12

// Expect fails with ErrRevision, carrying a RevisionConflict, unless the pack is at that revision.
func (p *Pack) Expect(revision uint64) error {
	if revision == p.s.Revision {
		return nil
	}
	c := RevisionConflict{
		ExpectedRevision: revision, ActualRevision: p.s.Revision, CurrentRevision: p.s.Revision,
		LastUpdatedAt: FormatTime(p.s.UpdatedAt), ChangedSectionKeys: p.changedSince(revision),
		Guidance: "get the pack, look at the sections named here, and repeat the change with the current revision",
	}
	if slices.ContainsFunc(p.s.Sections, func(s Section) bool { return s.ChangedAt == 0 }) {
		c.Guidance += "; sections without a recorded revision may have changed as well"
	}
	return ErrRevision.WithMessage("pack %s is at revision %d, not %d", p.s.ID, p.s.Revision, revision).WithDetails(c)
}

// changedSince names the sections whose last change is after the revision, in the pack's order, then the removed ones.
func (p *Pack) changedSince(revision uint64) []Key {
	keys := []Key{}
	for _, s := range p.s.Sections {
		if s.ChangedAt > revision {
			keys = append(keys, s.Key)
		}
	}
	for _, r := range p.s.Removed {
		if r.Revision > revision && !slices.Contains(keys, r.Key) {
			keys = append(keys, r.Key)
		}
	}
	return keys[:min(len(keys), maxChangedKeys)]
}

// editable fails with ErrFinalized unless the pack is a draft.
func (p *Pack) editable() error {
	if p.s.Status == Finalized {
		return ErrFinalized.WithMessage("pack %s is finalized; set_status draft first to change it", p.s.ID)
	}
	return nil
}

// bump counts one effective change.
func (p *Pack) bump(now time.Time) {
	p.s.Revision++
	p.s.UpdatedAt = now.UTC()
}

// touch is bump for a change inside the i-th section.
func (p *Pack) touch(i int, now time.Time) {
	p.bump(now)
	p.s.Sections[i].ChangedAt = p.s.Revision
}

func (p *Pack) section(key Key) (int, error) {
	i := slices.IndexFunc(p.s.Sections, func(s Section) bool { return s.Key == key })
	if i < 0 {
		return 0, ErrTarget.WithMessage("pack %s has no section %q", p.s.ID, key)
	}
	return i, nil
}

// SectionEdit is the argument of PutSection. A blank Description keeps the stored one; ClearDescription removes it. A nil Order leaves an existing
// section where it is and appends a new one; otherwise it is the 0-based position without the section itself.
type SectionEdit struct {
	Key              Key
	Title            string
	Description      Optional
	ClearDescription bool
	Order            *uint64
}

// PutSection adds or changes a section and keeps its refs and diagrams. It always counts as a change.
func (p *Pack) PutSection(e SectionEdit, now time.Time) error {
	if err := p.editable(); err != nil {
		return err
	}
	i, err := p.section(e.Key)
	sec := Section{Key: e.Key, Refs: []Ref{}, Diagrams: []Diagram{}}
	if err == nil {
		sec = p.s.Sections[i]
	}
	sec.Title = e.Title
	if e.Description != "" {
		sec.Description = e.Description
	}
	if e.ClearDescription {
		sec.Description = ""
	}
	switch {
	case err == nil && e.Order == nil:
		p.s.Sections[i] = sec
	case err == nil:
		p.s.Sections = slices.Delete(p.s.Sections, i, i+1)
		fallthrough
	default:
		i = len(p.s.Sections)
		if e.Order != nil && *e.Order < uint64(i) {
			i = int(*e.Order)
		}
		p.s.Sections = slices.Insert(p.s.Sections, i, sec)
	}
	p.touch(i, now)
	return nil
}

// DeleteSection removes a section with everything in it.
func (p *Pack) DeleteSection(key Key, now time.Time) error {
	if err := p.editable(); err != nil {
		return err
	}
	i, err := p.section(key)
	if err != nil {
		return err
	}
	p.s.Sections = slices.Delete(p.s.Sections, i, i+1)
	p.bump(now)
	p.remember(key)
	return nil
}

// remember notes a removal at the present revision and keeps only the latest ones.
func (p *Pack) remember(key Key) {
	p.s.Removed = append(p.s.Removed, Removal{key, p.s.Revision})
	p.s.Removed = slices.Delete(p.s.Removed, 0, max(0, len(p.s.Removed)-maxRemovals))
}

// within applies change to a section of a draft, which must exist, and counts the change.
func (p *Pack) within(section Key, now time.Time, change func(*Section) error) error {
	if err := p.editable(); err != nil {
		return err
	}
	i, err := p.section(section)
	if err != nil {
		return err
	}
	if err := change(&p.s.Sections[i]); err != nil {
		return err
	}
	p.touch(i, now)
	return nil
}

func (r Ref) keyed() Key     { return r.Key }
func (d Diagram) keyed() Key { return d.Key }

func find[T interface{ keyed() Key }](list []T, key Key) int {
	return slices.IndexFunc(list, func(t T) bool { return t.keyed() == key })
}

// put replaces the part with that key in place, or appends it.
func put[T interface{ keyed() Key }](list []T, part T) []T {
	if i := find(list, part.keyed()); i >= 0 {
		list[i] = part
		return list
	}
	return append(list, part)
}

func drop[T interface{ keyed() Key }](list *[]T, section, key Key, what string) error {
	i := find(*list, key)
	if i < 0 {
		return ErrTarget.WithMessage("section %q has no %s %q", section, what, key)
	}
	*list = slices.Delete(*list, i, i+1)
	return nil
}

// PutRef replaces the ref with that key in place, or appends it. Its section must exist.
func (p *Pack) PutRef(section Key, ref Ref, now time.Time) error {
	return p.within(section, now, func(s *Section) error { s.Refs = put(s.Refs, ref.clone()); return nil })
}

// DeleteRef removes a ref.
func (p *Pack) DeleteRef(section, key Key, now time.Time) error {
	return p.within(section, now, func(s *Section) error { return drop(&s.Refs, section, key, "ref") })
}

// PutDiagram replaces the diagram with that key in place, or appends it. Its section must exist.
func (p *Pack) PutDiagram(section Key, d Diagram, now time.Time) error {
	return p.within(section, now, func(s *Section) error { s.Diagrams = put(s.Diagrams, d); return nil })
}

// DeleteDiagram removes a diagram.
func (p *Pack) DeleteDiagram(section, key Key, now time.Time) error {
	return p.within(section, now, func(s *Section) error { return drop(&s.Diagrams, section, key, "diagram") })
}

// MetaEdit is what SetMeta changes: nil leaves a field, empty clears it.
type MetaEdit struct {
	Title *Optional
	Brief *Optional
	Tags  *[]string
}

// SetMeta changes title, brief and tags. It fails with ErrValue if no field is named; fields equal to what is stored are no change and keep the
// revision.
func (p *Pack) SetMeta(m MetaEdit, now time.Time) error {
	if err := p.editable(); err != nil {
		return err
	}
	if m == (MetaEdit{}) {
		return ErrValue.WithMessage("set_meta needs at least one of title, brief, tags")
	}
	next := p.s
	if m.Title != nil {
		next.Title = *m.Title
	}
	if m.Brief != nil {
		next.Brief = *m.Brief
	}
	if m.Tags != nil {
		if err := checkTags(*m.Tags); err != nil {
			return err
		}
		next.Tags = append([]string{}, *m.Tags...)
	}
	if next.Title == p.s.Title && next.Brief == p.s.Brief && slices.Equal(next.Tags, p.s.Tags) {
		return nil
	}
	p.s = next
	p.bump(now)
	return nil
}

// Squash counts everything since the given revision as one change, so that one request is one revision.
func (p *Pack) Squash(revision uint64) {
	p.s.Revision = min(p.s.Revision, revision)
	for i := range p.s.Sections {
		p.s.Sections[i].ChangedAt = min(p.s.Sections[i].ChangedAt, p.s.Revision)
	}
	for i := range p.s.Removed {
		p.s.Removed[i].Revision = min(p.s.Removed[i].Revision, p.s.Revision)
	}
}

// SetTTL makes the pack expire ttl after now. It is allowed in every status.
func (p *Pack) SetTTL(ttl TTL, now time.Time) error {
	if err := ttl.check(); err != nil {
		return err
	}
	p.s.ExpiresAt = now.UTC().Add(ttl.Duration())
	p.bump(now)
	return nil
}

// ExtendTTL adds ttl to the expiry, or to now if that is later. The expiry is at most MaxTTL from now, so that repeated extensions cannot exceed what
// one call may ask for.
func (p *Pack) ExtendTTL(ttl TTL, now time.Time) error {
	if err := ttl.check(); err != nil {
		return err
	}
	from := now.UTC()
	if p.s.ExpiresAt.After(from) {
		from = p.s.ExpiresAt
	}
	p.s.ExpiresAt = from.Add(ttl.Duration())
	if last := now.UTC().Add(TTL(MaxTTL).Duration()); p.s.ExpiresAt.After(last) {
		p.s.ExpiresAt = last
	}
	p.bump(now)
	return nil
}

// OptionalText returns trimmed text for an optional field.
func OptionalText(s string) Optional { return Optional(strings.TrimSpace(s)) }
