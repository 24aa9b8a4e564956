package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrDocument reports a document that cannot be read; derived errors name the field.
var Err = fault.New(fault.Invalid, "pack_document_invalid", "the document cannot be read")

// Document is a whole pack except what the store decides.
type Document struct {
	Name       string            `json:"name,omitempty"`
	Title      string            `json:"title,omitempty"`
	Brief      string            `json:"brief,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	TTLMinutes *uint64           `json:"ttl_minutes,omitempty"`
	Status     string            `json:"status,omitempty"`
	Sections   []documentSection `json:"sections,omitempty"`
}

// documentSection is one section of a Document.
type documentSection struct {
	Key         string            `json:"key,omitempty"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Refs        []DocumentRef     `json:"refs,omitempty"`
	Diagrams    []documentDiagram `json:"diagrams,omitempty"`
}

// DocumentRef is one ref of a Section.
type DocumentRef struct {
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

// documentDiagram is one diagram of a Section.
type documentDiagram struct {
	Key     string `json:"key,omitempty"`
	Title   string `json:"title,omitempty"`
	Mermaid string `json:"mermaid,omitempty"`
	Why     string `json:"why,omitempty"`
}

// fieldNames returns the names a document, its sections, refs and diagrams know.
func fieldNames() []string {
	return []string{"name", "title", "brief", "tags", "ttl_minutes", "status", "sections", "key", "description", "refs", "diagrams",
		"path", "line_start", "line_end", "why", "group", "root", "commit", "mermaid"}
}

// ParseDocument returns strict: it fails for an unknown field or a wrong type anywhere in the document and names it.
func ParseDocument(raw json.RawMessage) (Document, error) {
	var d Document
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&d)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &wrong):
		return d, Err.WithMessage("'document.%s' cannot hold a JSON %s", wrong.Field, wrong.Value)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		if near := fault.Nearest(name, fieldNames()); near != "" {
			return d, Err.WithMessage("'%s' is not supported in 'document'; did you mean '%s'?", name, near)
		}
		return d, Err.WithMessage("'%s' is not supported in 'document'", name)
	}
	return d, Err.WithMessage("'document' cannot be read: %v", err)
}

// Content checks every value and returns the content; an error names the place of the first invalid value. roots are the named source roots that refs
// may use.
func (d Document) Content(roots []Root) (Content, error) {
	c := Content{Title: OptionalText(d.Title), Brief: OptionalText(d.Brief), Tags: []string{}}
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

func (d documentSection) content(roots []Root) (Section, error) {
	sec := Section{Title: strings.TrimSpace(d.Title), Description: OptionalText(d.Description)}
	var err error
	if sec.Key, err = ParseKey("key", d.Key); err != nil {
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
		g := Diagram{Title: strings.TrimSpace(dd.Title), Mermaid: strings.TrimSpace(dd.Mermaid), Why: OptionalText(dd.Why)}
		if g.Key, err = ParseKey("key", dd.Key); err != nil {
			return sec, at("diagrams["+strconv.Itoa(i)+"]", err)
		}
		sec.Diagrams = append(sec.Diagrams, g)
	}
	return sec, nil
}

// Content checks every value of a ref.
func (d DocumentRef) Content(roots []Root) (Ref, error) {
	r := Ref{Title: OptionalText(d.Title), Why: OptionalText(d.Why), Group: OptionalText(d.Group)}
	var err error
	if r.Key, err = ParseKey("ref_key", d.Key); err != nil {
		return r, err
	}
	if r.Path, err = ParsePath(d.Path); err != nil {
		return r, err
	}
	if r.Lines, err = NewLineRange(d.LineStart, d.LineEnd); err != nil {
		return r, err
	}
	if r.Root, err = ParseRoot(d.Root); err != nil {
		return r, err
	}
	if r.Root != "" && !slices.Contains(roots, r.Root) {
		return r, ErrValue.WithMessage("root %q is not configured; there is %s", r.Root, known(roots))
	}
	r.Commit, err = ParseCommit(d.Commit)
	return r, err
}

func known(roots []Root) string {
	names := "the default root (leave root out)"
	for _, r := range roots {
		names += ", " + string(r)
	}
	return names
}

// at prefixes an error's message with a place.
func at(place string, err error) error {
	f := fault.From(err)
	return f.WithMessage("%s", place+": "+f.Message)
}
