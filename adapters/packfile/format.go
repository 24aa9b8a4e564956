package packfile

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/pack"
)

// The file format (context-pack contract §7.1), field by field in its order. Fields of the original are pointers so that a missing one is noticed;
// nullable ones are written as null. Fields of ours come last and are left out when empty, so that a pack that uses none of them is exactly
// the original's file.
type document struct {
	SchemaVersion *int64               `yaml:"schema_version"`
	ID            *string              `yaml:"id"`
	Name          *string              `yaml:"name"`
	Title         *string              `yaml:"title"`
	Brief         *string              `yaml:"brief"`
	Status        *string              `yaml:"status"`
	Tags          *[]*string           `yaml:"tags"`
	Sections      *[]*section          `yaml:"sections"`
	Revision      *uint64              `yaml:"revision"`
	CreatedAt     *yamlcodec.Timestamp `yaml:"created_at"`
	UpdatedAt     *yamlcodec.Timestamp `yaml:"updated_at"`
	ExpiresAt     *yamlcodec.Timestamp `yaml:"expires_at"`
	Removed       []*removal           `yaml:"removed,omitempty"`
}

type section struct {
	Key         *string     `yaml:"key"`
	Title       *string     `yaml:"title"`
	Description *string     `yaml:"description"`
	Refs        *[]*ref     `yaml:"refs"`
	Diagrams    *[]*diagram `yaml:"diagrams"`
	ChangedAt   uint64      `yaml:"changed_at_revision,omitempty"`
}

type ref struct {
	Key      *string   `yaml:"key"`
	Path     *string   `yaml:"path"`
	Lines    *lines    `yaml:"lines"`
	Title    *string   `yaml:"title"`
	Why      *string   `yaml:"why"`
	Group    *string   `yaml:"group"`
	Root     string    `yaml:"root,omitempty"`
	Commit   string    `yaml:"commit,omitempty"`
	Anchor   *anchor   `yaml:"anchor,omitempty"`
	Snapshot *snapshot `yaml:"snapshot,omitempty"`
}

type lines struct {
	Start *int `yaml:"start"`
	End   *int `yaml:"end"`
}

type anchor struct {
	Hash   *string `yaml:"hash"`
	Print  *string `yaml:"print"`
	Before *string `yaml:"before"`
	After  *string `yaml:"after"`
}

type snapshot struct {
	Lines  *lines  `yaml:"lines"`
	Text   *string `yaml:"text"`
	Masked int     `yaml:"masked,omitempty"`
}

type diagram struct {
	Key     *string `yaml:"key"`
	Title   *string `yaml:"title"`
	Mermaid *string `yaml:"mermaid"`
	Why     *string `yaml:"why"`
}

type removal struct {
	Key      *string `yaml:"key"`
	Revision *uint64 `yaml:"revision"`
}

// Decode restores the pack that file stores. It fails with pack.ErrMalformed, whose message says what is wrong and in which line, or
// with pack.ErrSchema for a pack of another schema version.
func Decode(file []byte) (*pack.Pack, error) {
	text, reason := matter(file)
	if reason != "" {
		return nil, pack.ErrMalformed.WithMessage("%s", reason)
	}
	var d document
	if err := parse(text, &d); err != nil {
		if other := versionOf(text); other != nil {
			return nil, other // of course it does not look like ours
		}
		return nil, pack.ErrMalformed.WithMessage("%v", err)
	}
	var r reader
	s := r.state(d)
	if err := r.err(); err != nil {
		if other := versionOf(text); other != nil {
			return nil, other
		}
		return nil, err
	}
	return pack.Restore(s)
}

// versionOf is pack.ErrSchema when the text names a valid id and another schema version.
func versionOf(text []byte) error {
	var d struct {
		SchemaVersion *int64  `yaml:"schema_version"`
		ID            *string `yaml:"id"`
	}
	if parse(text, &d) != nil || d.ID == nil || d.SchemaVersion == nil || *d.SchemaVersion == pack.SchemaVersion {
		return nil
	}
	_, err := pack.Restore(pack.State{ID: pack.ID(*d.ID), SchemaVersion: int(*d.SchemaVersion)})
	return err
}

// reader turns a document into a state and collects what is missing or wrong on the way.
type reader struct{ problems []string }

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return pack.ErrMalformed.WithMessage("%s", strings.Join(r.problems, "; "))
}

// need is *p, or a noted absence.
func need[T any](r *reader, p *T, where string) T {
	if p == nil {
		r.problems = append(r.problems, where+" is missing")
		return *new(T)
	}
	return *p
}

func (r *reader) state(d document) pack.State {
	s := pack.State{
		SchemaVersion: int(need(r, d.SchemaVersion, "schema_version")), ID: pack.ID(need(r, d.ID, "id")),
		Name: optional(d.Name), Title: optional(d.Title), Brief: optional(d.Brief), Tags: []string{}, Sections: []pack.Section{},
		Revision: need(r, d.Revision, "revision"), CreatedAt: need(r, d.CreatedAt, "created_at").Time,
		UpdatedAt: need(r, d.UpdatedAt, "updated_at").Time, ExpiresAt: need(r, d.ExpiresAt, "expires_at").Time,
	}
	r.take("status", s.Status.UnmarshalText([]byte(need(r, d.Status, "status"))))
	for i, t := range need(r, d.Tags, "tags") {
		s.Tags = append(s.Tags, need(r, t, at("tags", i)))
	}
	for i, sec := range need(r, d.Sections, "sections") {
		s.Sections = append(s.Sections, r.section(need(r, sec, at("sections", i)), at("sections", i)))
	}
	for i, m := range d.Removed {
		m := need(r, m, at("removed", i))
		s.Removed = append(s.Removed, pack.Removal{
			Key: pack.Key(need(r, m.Key, at("removed", i)+".key")), Revision: need(r, m.Revision, at("removed", i)+".revision")})
	}
	return s
}

func (r *reader) section(d section, where string) pack.Section {
	s := pack.Section{
		Key: pack.Key(need(r, d.Key, where+".key")), Title: need(r, d.Title, where+".title"), Description: optional(d.Description),
		Refs: []pack.Ref{}, Diagrams: []pack.Diagram{}, ChangedAt: d.ChangedAt,
	}
	for i, x := range need(r, d.Refs, where+".refs") {
		here := at(where+".refs", i)
		s.Refs = append(s.Refs, r.ref(need(r, x, here), here))
	}
	for i, x := range need(r, d.Diagrams, where+".diagrams") {
		here := at(where+".diagrams", i)
		x := need(r, x, here)
		s.Diagrams = append(s.Diagrams, pack.Diagram{
			Key: pack.Key(need(r, x.Key, here+".key")), Title: need(r, x.Title, here+".title"),
			Mermaid: need(r, x.Mermaid, here+".mermaid"), Why: optional(x.Why)})
	}
	return s
}

func (r *reader) ref(d ref, where string) pack.Ref {
	out := pack.Ref{
		Key: pack.Key(need(r, d.Key, where+".key")), Path: pack.Path(need(r, d.Path, where+".path")), Lines: r.lines(d.Lines, where+".lines"),
		Title: optional(d.Title), Why: optional(d.Why), Group: optional(d.Group), Root: pack.Root(d.Root), Commit: pack.Commit(d.Commit),
	}
	if a := d.Anchor; a != nil {
		out.Anchor = &pack.Anchor{
			Print: r.print(a.Print, where+".anchor.print"), Before: r.print(a.Before, where+".anchor.before"), After: r.print(a.After, where+".anchor.after")}
		hash, err := canon.Parse(need(r, a.Hash, where+".anchor.hash"))
		r.take(where+".anchor.hash", err)
		out.Anchor.Hash = hash
	}
	if n := d.Snapshot; n != nil {
		out.Snapshot = &pack.Snapshot{Lines: r.lines(n.Lines, where+".snapshot.lines"), Text: need(r, n.Text, where+".snapshot.text"), Masked: n.Masked}
	}
	return out
}

func (r *reader) lines(d *lines, where string) pack.LineRange {
	l := need(r, d, where)
	return pack.LineRange{Start: need(r, l.Start, where+".start"), End: need(r, l.End, where+".end")}
}

func (r *reader) print(text *string, where string) (p pack.Fingerprint) {
	r.take(where, p.UnmarshalText([]byte(need(r, text, where))))
	return p
}

// take notes an error, unless something is missing anyway.
func (r *reader) take(where string, err error) {
	if err != nil && len(r.problems) == 0 {
		r.problems = append(r.problems, fmt.Sprintf("%s: %v", where, err))
	}
}

func optional(p *string) pack.Optional {
	if p == nil {
		return ""
	}
	return pack.Optional(*p)
}

func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
