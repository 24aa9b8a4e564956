package packfile

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/pack"
)

// Encode returns the file that stores s: front matter between two lines ---, and nothing after. It fails on text that is not UTF-8.
//
// The form is fixed, so its lines are written as they come; only unusual text goes through the YAML library. The library alone takes
// twenty times as long, and a pack is written whole at every change.
func Encode(s pack.State) ([]byte, error) {
	var e encoder
	refs := 0
	for i := range s.Sections {
		refs += len(s.Sections[i].Refs)
	}
	e.Grow(1024 + 512*refs)
	e.WriteString(delimiter + "\n")
	e.state(s)
	e.WriteString(delimiter + "\n")
	if e.err != nil {
		return nil, e.err
	}
	return e.Bytes(), nil
}

// encoder writes the document of format.go line by line. The first error stays.
type encoder struct {
	bytes.Buffer
	err error
}

// key begins a line: indented by that many spaces, its key, and the colon.
func (e *encoder) key(indent int, key string) {
	e.indent(indent)
	e.WriteString(key)
	e.WriteByte(':')
}

func (e *encoder) indent(n int) { e.WriteString(spaces[:n]) }

const spaces = "          "

// text is a field that holds text.
func (e *encoder) text(indent int, key, value string) {
	e.key(indent, key)
	e.scalar(indent, value)
}

// item begins an item of a list with its key.
func (e *encoder) item(indent int, value pack.Key) {
	e.key(indent, "- key")
	e.scalar(indent+2, string(value))
}

// nullable is a field that holds text or null.
func (e *encoder) nullable(indent int, key string, value pack.Optional) {
	if value == "" {
		e.key(indent, key)
		e.WriteString(" null\n")
		return
	}
	e.text(indent, key, string(value))
}

func (e *encoder) number(indent int, key string, value uint64) {
	e.key(indent, key)
	e.WriteByte(' ')
	e.Write(strconv.AppendUint(e.AvailableBuffer(), value, 10))
	e.WriteByte('\n')
}

// scalar ends a line with text. What follows in further lines stands two spaces further in than indent.
func (e *encoder) scalar(indent int, value string) {
	switch formOf(value) {
	case bare:
		e.WriteByte(' ')
		e.WriteString(value)
		e.WriteByte('\n')
	case quoted:
		e.WriteString(" '")
		e.WriteString(strings.ReplaceAll(value, "'", "''"))
		e.WriteString("'\n")
	case escaped:
		e.WriteString(" \"")
		e.WriteString(strings.NewReplacer("\\", `\\`, `"`, `\"`, "\t", `\t`, "\n", `\n`).Replace(value))
		e.WriteString("\"\n")
	default:
		e.library(indent, value)
	}
}

// library ends a line with text as the library writes it.
func (e *encoder) library(indent int, value string) {
	encoded, err := yamlcodec.Encode(struct {
		K string `yaml:"k"`
	}{value})
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	first, more, _ := strings.Cut(strings.TrimPrefix(string(encoded), "k:"), "\n")
	e.WriteString(first + "\n")
	for line := range strings.Lines(more) {
		if line != "\n" {
			e.indent(indent)
		}
		e.WriteString(line)
	}
}

// form is how a text is written.
type form int

const (
	other   form = iota // as the library decides
	bare                // plain
	quoted              // in single quotes, which are doubled inside
	escaped             // in double quotes: text of several lines that has tabs, as code has
)

// formOf returns the form in which the library would write a text, where that is easily told: for printable ASCII. Words and numbers that mean something else
// are left to it, as is all that begins like neither a word nor an indicator.
func formOf(s string) form {
	if s == "" {
		return other
	}
	tabs, breaks, marked := false, false, s[len(s)-1] == ':'
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\t':
			tabs = true
		case c == '\n':
			breaks = true
		case c < ' ' || c > '~':
			return other
		case c == '#' && i > 0 && s[i-1] == ' ', c == ' ' && i > 0 && s[i-1] == ':':
			marked = true
		}
	}
	first, last := s[0], s[len(s)-1]
	switch {
	case tabs:
		return escaped
	case breaks, first == ' ', last == ' ':
		return other
	case strings.IndexByte("#,[]{}&*!|>'\"%@`", first) >= 0:
		return quoted
	case first != '/' && (first|0x20 < 'a' || first|0x20 > 'z'):
		return other
	case marked:
		return quoted
	}
	switch s {
	case "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE":
		return other
	}
	return bare
}

func (e *encoder) state(s pack.State) {
	e.key(0, "schema_version")
	e.WriteString(" " + strconv.Itoa(s.SchemaVersion) + "\n")
	e.text(0, "id", string(s.ID))
	e.nullable(0, "name", s.Name)
	e.nullable(0, "title", s.Title)
	e.nullable(0, "brief", s.Brief)
	e.text(0, "status", s.Status.String())
	e.tags(s.Tags)
	if e.list(0, "sections", len(s.Sections)) {
		for i := range s.Sections {
			e.section(&s.Sections[i])
		}
	}
	e.number(0, "revision", s.Revision)
	e.time("created_at", s.CreatedAt)
	e.time("updated_at", s.UpdatedAt)
	e.time("expires_at", s.ExpiresAt)
	if len(s.Removed) > 0 {
		e.WriteString("removed:\n")
	}
	for _, r := range s.Removed {
		e.item(0, r.Key)
		e.number(2, "revision", r.Revision)
	}
}

// list begins a list, and reports whether it has items. An empty one is whole.
func (e *encoder) list(indent int, key string, items int) bool {
	e.key(indent, key)
	if items == 0 {
		e.WriteString(" []\n")
		return false
	}
	e.WriteByte('\n')
	return true
}

func (e *encoder) tags(tags []string) {
	if !e.list(0, "tags", len(tags)) {
		return
	}
	for _, t := range tags {
		e.WriteByte('-')
		e.scalar(0, t)
	}
}

func (e *encoder) time(key string, at time.Time) {
	if y := at.UTC().Year(); (y < 0 || y > 9999) && e.err == nil {
		e.err = yamlcodec.ErrEncode.WithMessage("%s: the year %d cannot be written", key, y)
	}
	e.key(0, key)
	e.WriteByte(' ')
	e.WriteString(yamlcodec.Timestamp{Time: at}.String())
	e.WriteByte('\n')
}

func (e *encoder) section(s *pack.Section) {
	e.item(0, s.Key)
	e.text(2, "title", s.Title)
	e.nullable(2, "description", s.Description)
	if e.list(2, "refs", len(s.Refs)) {
		for i := range s.Refs {
			e.ref(&s.Refs[i])
		}
	}
	if e.list(2, "diagrams", len(s.Diagrams)) {
		for _, d := range s.Diagrams {
			e.item(2, d.Key)
			e.text(4, "title", d.Title)
			e.text(4, "mermaid", d.Mermaid)
			e.nullable(4, "why", d.Why)
		}
	}
	if s.ChangedAt != 0 {
		e.number(2, "changed_at_revision", s.ChangedAt)
	}
}

func (e *encoder) ref(r *pack.Ref) {
	e.item(2, r.Key)
	e.text(4, "path", string(r.Path))
	e.lines(4, r.Lines)
	e.nullable(4, "title", r.Title)
	e.nullable(4, "why", r.Why)
	e.nullable(4, "group", r.Group)
	if r.Root != "" {
		e.text(4, "root", string(r.Root))
	}
	if r.Commit != "" {
		e.text(4, "commit", string(r.Commit))
	}
	if a := r.Anchor; a != nil {
		e.WriteString("    anchor:\n")
		e.text(6, "hash", a.Hash.String())
		e.print("print", a.Print)
		e.print("before", a.Before)
		e.print("after", a.After)
	}
	if n := r.Snapshot; n != nil {
		e.WriteString("    snapshot:\n")
		e.lines(6, n.Lines)
		e.text(6, "text", n.Text)
		if n.Masked != 0 {
			e.WriteString("      masked: " + strconv.Itoa(n.Masked) + "\n")
		}
	}
}

func (e *encoder) lines(indent int, l pack.LineRange) {
	e.key(indent, "lines")
	e.WriteByte('\n')
	e.number(indent+2, "start", uint64(l.Start))
	e.number(indent+2, "end", uint64(l.End))
}

// print is a fingerprint. Sixteen hex digits without a letter, or with no other than one e, would read as a number and need quotes: which do, the
// library decides.
func (e *encoder) print(key string, p pack.Fingerprint) {
	digits, err := p.MarshalText()
	if err != nil || !bytes.ContainsAny(digits, "abcdf") || bytes.HasPrefix(digits, []byte("0b")) {
		e.text(6, key, string(digits))
		return
	}
	e.key(6, key)
	e.WriteByte(' ')
	e.Write(digits)
	e.WriteByte('\n')
}
