// Package document is a whole pack as one JSON document, as people and agents write it, and its way into a pack's content.
//
// It refuses to know where the document came from and whether its refs can be read.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

// Err reports a document that cannot be read; its derivatives name the field.
var Err = fault.New(fault.Invalid, "pack_document_invalid", "the document cannot be read")

// Document is a whole pack without what only the store decides.
type Document struct {
	Name       string    `json:"name,omitempty"`
	Title      string    `json:"title,omitempty"`
	Brief      string    `json:"brief,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	TTLMinutes *uint64   `json:"ttl_minutes,omitempty"`
	Status     string    `json:"status,omitempty"`
	Sections   []Section `json:"sections,omitempty"`
}

// Section is one section of a Document.
type Section struct {
	Key         string    `json:"key,omitempty"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Refs        []Ref     `json:"refs,omitempty"`
	Diagrams    []Diagram `json:"diagrams,omitempty"`
}

// Ref is one ref of a Section.
type Ref struct {
	Key       string `json:"key,omitempty"`
	Path      string `json:"path,omitempty"`
	LineStart int    `json:"line_start,omitempty"`
	LineEnd   int    `json:"line_end,omitempty"`
	Title     string `json:"title,omitempty"`
	Why       string `json:"why,omitempty"`
	Group     string `json:"group,omitempty"`
	Root      string `json:"root,omitempty"`
	Commit    string `json:"commit,omitempty"`
}

// Diagram is one diagram of a Section.
type Diagram struct {
	Key     string `json:"key,omitempty"`
	Title   string `json:"title,omitempty"`
	Mermaid string `json:"mermaid,omitempty"`
	Why     string `json:"why,omitempty"`
}

// fieldNames are the names a document, its sections, refs and diagrams know.
func fieldNames() []string {
	return []string{"name", "title", "brief", "tags", "ttl_minutes", "status", "sections", "key", "description", "refs", "diagrams",
		"path", "line_start", "line_end", "why", "group", "root", "commit", "mermaid"}
}

// Parse is strict: an unknown field or a wrong type anywhere in the document is refused by name.
func Parse(raw json.RawMessage) (Document, error) {
	var d Document
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&d)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &wrong):
		return d, Err.Sayf("'document.%s' cannot hold a JSON %s", wrong.Field, wrong.Value)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		if near := fault.Nearest(name, fieldNames()); near != "" {
			return d, Err.Sayf("'%s' is not supported in 'document'; did you mean '%s'?", name, near)
		}
		return d, Err.Sayf("'%s' is not supported in 'document'", name)
	}
	return d, Err.Sayf("'document' cannot be read: %v", err)
}

// Content checks every value, saying where the first bad one stands. roots are the named source roots that refs may use.
func (d Document) Content(roots []pack.Root) (pack.Content, error) {
	c := pack.Content{Title: pack.Text(d.Title), Brief: pack.Text(d.Brief), Tags: []string{}}
	for _, t := range d.Tags {
		c.Tags = append(c.Tags, strings.TrimSpace(t))
	}
	for i, ds := range d.Sections {
		sec, err := ds.content(roots)
		if err != nil {
			return c, at("document.sections["+strconv.Itoa(i)+"]", err)
		}
		c.Sections = append(c.Sections, sec)
	}
	return c, nil
}

func (d Section) content(roots []pack.Root) (pack.Section, error) {
	sec := pack.Section{Title: strings.TrimSpace(d.Title), Description: pack.Text(d.Description)}
	var err error
	if sec.Key, err = pack.ParseKey("key", d.Key); err != nil {
		return sec, err
	}
	for i, dr := range d.Refs {
		r, err := dr.Content(roots)
		if err != nil {
			return sec, at("refs["+strconv.Itoa(i)+"]", err)
		}
		sec.Refs = append(sec.Refs, r)
	}
	for i, dd := range d.Diagrams {
		g := pack.Diagram{Title: strings.TrimSpace(dd.Title), Mermaid: strings.TrimSpace(dd.Mermaid), Why: pack.Text(dd.Why)}
		if g.Key, err = pack.ParseKey("key", dd.Key); err != nil {
			return sec, at("diagrams["+strconv.Itoa(i)+"]", err)
		}
		sec.Diagrams = append(sec.Diagrams, g)
	}
	return sec, nil
}

// Content checks every value of a ref.
func (d Ref) Content(roots []pack.Root) (pack.Ref, error) {
	r := pack.Ref{Title: pack.Text(d.Title), Why: pack.Text(d.Why), Group: pack.Text(d.Group)}
	var err error
	if r.Key, err = pack.ParseKey("ref_key", d.Key); err != nil {
		return r, err
	}
	if r.Path, err = pack.ParsePath(d.Path); err != nil {
		return r, err
	}
	if r.Lines, err = pack.NewLineRange(d.LineStart, d.LineEnd); err != nil {
		return r, err
	}
	if r.Root, err = pack.ParseRoot(d.Root); err != nil {
		return r, err
	}
	if r.Root != "" && !slices.Contains(roots, r.Root) {
		return r, pack.ErrValue.Sayf("root %q is not configured; there is %s", r.Root, known(roots))
	}
	r.Commit, err = pack.ParseCommit(d.Commit)
	return r, err
}

func known(roots []pack.Root) string {
	names := "the default root (leave root out)"
	for _, r := range roots {
		names += ", " + string(r)
	}
	return names
}

// at puts a place before a fault's message.
func at(place string, err error) error {
	f := fault.From(err)
	return f.Sayf("%s", place+": "+f.Message)
}
