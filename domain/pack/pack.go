package pack

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// SchemaVersion is the version of the stored form (context-pack contract §1.2).
const SchemaVersion = 2

// The ways to break the rules of a pack. Invalid ones are about the request, the others about the stored pack.
var (
	ErrNotFound  = fault.New(fault.NotFound, "pack_not_found", "pack not found; it may have expired")
	ErrTarget    = fault.New(fault.NotFound, "pack_part_not_found", "section, ref or diagram not found in the pack")
	ErrRevision  = fault.New(fault.Conflict, "pack_revision_conflict", "the pack has changed since the revision you expect")
	ErrNameTaken = fault.New(fault.Conflict, "pack_name_taken", "another live pack has this name")
	ErrAmbiguous = fault.New(fault.Conflict, "pack_name_ambiguous", "several live packs have this name; use an id")
	ErrExists    = fault.New(fault.Conflict, "pack_id_taken", "a pack with this id already exists")
	ErrFinalized = fault.New(fault.State, "pack_finalized", "the pack is finalized; set_status draft first to change it")
	ErrEmpty     = fault.New(fault.State, "pack_empty", "a pack needs at least one ref or diagram to be finalized")
	ErrStale     = fault.New(fault.State, "pack_refs_stale", "some refs no longer resolve")
	ErrStatus    = fault.New(fault.State, "pack_status_differs", "the pack does not have the requested status")
	ErrMalformed = fault.New(fault.Unavailable, "pack_malformed", "a stored pack cannot be read; countersign pack doctor shows and quarantines it")
	ErrSchema    = fault.New(fault.State, "pack_schema_unsupported", "a stored pack has another schema version")
)

// Optional is text that may be absent. Absent is the empty string, and null in JSON; a present one is never blank.
type Optional string

// MarshalJSON writes null for absent text.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return plainJSON(string(o))
}

// State is a whole pack as it is stored and shown (context-pack contract §1.2). It is plain data: the rules hold only for a Pack, which Restore makes
// from it.
type State struct {
	SchemaVersion int       `json:"schema_version"`
	ID            ID        `json:"id"`
	Name          Optional  `json:"name"`
	Title         Optional  `json:"title"`
	Brief         Optional  `json:"brief"`
	Status        Status    `json:"status"`
	Tags          []string  `json:"tags"`
	Sections      []Section `json:"sections"`
	Revision      uint64    `json:"revision"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
	ExpiresAt     time.Time `json:"expires_at"`
	Removed       []Removal `json:"removed,omitempty"` // additive: the latest removed sections, newest last
}

// Section is one chapter of a pack. ChangedAt is additive: the revision that last changed it, zero if that is not known.
type Section struct {
	Key         Key       `json:"key"`
	Title       string    `json:"title"`
	Description Optional  `json:"description"`
	Refs        []Ref     `json:"refs"`
	Diagrams    []Diagram `json:"diagrams"`
	ChangedAt   uint64    `json:"changed_at_revision,omitempty"`
}

// Ref points to lines of a source file. Root, Commit, Anchor and Snapshot are additive to the original's fields.
type Ref struct {
	Key      Key       `json:"key"`
	Path     Path      `json:"path"`
	Lines    LineRange `json:"lines"`
	Title    Optional  `json:"title"`
	Why      Optional  `json:"why"`
	Group    Optional  `json:"group"`
	Root     Root      `json:"root,omitempty"`     // named source root; empty is the default one
	Commit   Commit    `json:"commit,omitempty"`   // the commit that the author looked at
	Anchor   *Anchor   `json:"anchor,omitempty"`   // what the lines held; nil when they could not be read
	Snapshot *Snapshot `json:"snapshot,omitempty"` // the text itself, kept when finalized with snapshot
}

// Diagram is a Mermaid drawing; its text is not checked.
type Diagram struct {
	Key     Key      `json:"key"`
	Title   string   `json:"title"`
	Mermaid string   `json:"mermaid"`
	Why     Optional `json:"why"`
}

// Removal remembers that a section was removed, so that a conflict can name it.
type Removal struct {
	Key      Key    `json:"key"`
	Revision uint64 `json:"revision"`
}

// Snapshot is the text a ref showed when its pack was finalized, with secrets masked.
type Snapshot struct {
	Lines  LineRange `json:"lines"`
	Text   string    `json:"text"`
	Masked int       `json:"masked,omitempty"`
}

// TextLines returns the text, one entry a line.
func (n Snapshot) TextLines() []string { return strings.Split(n.Text, "\n") }

// clone returns a deep copy with no nil lists.
func (s State) clone() State {
	s.Tags = append([]string{}, s.Tags...)
	s.Removed = slices.Clone(s.Removed)
	s.Sections = append([]Section{}, s.Sections...)
	anchors := make([]Anchor, 0, s.refs()) // allocated together: separate allocations are the largest cost of a copy
	for i := range s.Sections {
		sec := &s.Sections[i]
		sec.Refs = append([]Ref{}, sec.Refs...)
		sec.Diagrams = append([]Diagram{}, sec.Diagrams...)
		for j := range sec.Refs {
			r := &sec.Refs[j]
			if r.Anchor != nil {
				anchors = append(anchors, *r.Anchor)
				r.Anchor = &anchors[len(anchors)-1]
			}
			if r.Snapshot != nil {
				n := *r.Snapshot
				r.Snapshot = &n
			}
		}
	}
	return s
}

func (r Ref) clone() Ref {
	if r.Anchor != nil {
		a := *r.Anchor
		r.Anchor = &a
	}
	if r.Snapshot != nil {
		n := *r.Snapshot
		r.Snapshot = &n
	}
	return r
}

// Summary is what lists show and filter by.
type Summary struct {
	ID        ID
	Name      Optional
	Title     Optional
	Brief     Optional
	Status    Status
	Revision  uint64
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time
}

// Summary returns the state without its content.
func (s State) Summary() Summary {
	return Summary{
		ID: s.ID, Name: s.Name, Title: s.Title, Brief: s.Brief, Status: s.Status, Revision: s.Revision,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ExpiresAt: s.ExpiresAt,
	}
}

// Pack is the aggregate: a state that keeps the rules. The zero Pack is not usable; New and Restore return one.
type Pack struct{ s State }

// New returns an empty draft at revision 1 that expires ttl after now. It fails on an invalid id or name or a ttl outside its bounds.
func New(id ID, name Optional, now time.Time, ttl TTL) (*Pack, error) {
	if _, err := ParseID(string(id)); err != nil {
		return nil, err
	}
	if name != "" {
		if _, err := ParseName(string(name)); err != nil {
			return nil, err
		}
	}
	if err := ttl.check(); err != nil {
		return nil, err
	}
	now = now.UTC()
	return &Pack{State{
		SchemaVersion: SchemaVersion, ID: id, Name: name, Status: Draft, Tags: []string{}, Sections: []Section{},
		Revision: 1, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(ttl.Duration()),
	}}, nil
}

// Restore makes a Pack from a stored state. It checks every rule again: the id first (ErrMalformed), then the schema version (ErrSchema), then the
// rest (ErrMalformed), so that a hand-edited file cannot contain what an edit would reject.
func Restore(s State) (*Pack, error) {
	if !validID(string(s.ID)) {
		return nil, ErrMalformed.WithMessage("the stored pack has the invalid id %q; ids are pk_ and 8 characters of a-z2-7", s.ID)
	}
	if s.SchemaVersion != SchemaVersion {
		return nil, ErrSchema.WithMessage("pack %s is stored with schema version %d; this version reads %d", s.ID, s.SchemaVersion, SchemaVersion)
	}
	if err := validate(s); err != nil {
		return nil, ErrMalformed.WithMessage("pack %s breaks a rule: %v", s.ID, err).WithCause(err)
	}
	s = s.clone()
	s.CreatedAt, s.UpdatedAt, s.ExpiresAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC(), s.ExpiresAt.UTC()
	return &Pack{s}, nil
}

// State returns a deep copy of the pack's state.
func (p *Pack) State() State { return p.s.clone() }

// Summary returns the pack without its content.
func (p *Pack) Summary() Summary { return p.s.Summary() }

// ID returns the pack's identifier.
func (p *Pack) ID() ID { return p.s.ID }

// Name returns the pack's name, or empty.
func (p *Pack) Name() Optional { return p.s.Name }

// Status returns draft or finalized.
func (p *Pack) Status() Status { return p.s.Status }

// Revision counts effective changes, from 1.
func (p *Pack) Revision() uint64 { return p.s.Revision }

// ExpiresAt returns the time from which the pack no longer exists.
func (p *Pack) ExpiresAt() time.Time { return p.s.ExpiresAt }

// Expired reports whether now is at or past the expiry.
func (p *Pack) Expired(now time.Time) bool { return Expired(p.s.ExpiresAt, now) }

// Clone returns an independent copy.
func (p *Pack) Clone() *Pack { return &Pack{p.s.clone()} }

// Replace sets the pack's state to that of next, which a plan computed from this very revision. It fails with ErrRevision unless next follows this
// pack's revision (the same one, or the next), and with ErrNotFound if next is another pack.
func (p *Pack) Replace(next *Pack) error {
	if next.s.ID != p.s.ID {
		return ErrNotFound.WithMessage("pack %s is not pack %s", next.s.ID, p.s.ID)
	}
	if next.s.Revision != p.s.Revision && next.s.Revision != p.s.Revision+1 {
		return p.Expect(next.s.Revision - 1)
	}
	p.s = next.s.clone()
	return nil
}

// FormatTime returns t in UTC as RFC 3339 with 0, 3, 6 or 9 fraction digits, the fewest that are exact.
func FormatTime(t time.Time) string {
	fraction := ""
	for rest := t.Nanosecond(); rest != 0; rest = rest * 1000 % 1e9 {
		fraction += "000"
	}
	return t.UTC().Format(strings.TrimSuffix("2006-01-02T15:04:05."+fraction, ".") + "Z")
}

// plainJSON marshals without HTML escapes.
func plainJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
