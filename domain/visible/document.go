package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON returns a document in which Text is applied to every string, including names, whatever its notation; carriage returns before line ends stay.
// Input that is not JSON is treated as text.
func JSON(doc json.RawMessage) json.RawMessage {
	if untouched(doc) {
		return doc
	}
	if !json.Valid(doc) {
		return json.RawMessage(shown(string(doc), true))
	}
	var b bytes.Buffer
	done := 0
	for i := 0; i < len(doc); i++ {
		if doc[i] != '"' {
			continue
		}
		from := i
		for i++; doc[i] != '"'; i++ {
			if doc[i] == '\\' {
				i++
			}
		}
		var s string
		if untouched(doc[from:i+1]) || json.Unmarshal(doc[from:i+1], &s) != nil {
			continue
		}
		if t := shown(s, true); t != s {
			b.Write(doc[done:from])
			quote(&b, t)
			done = i + 1
		}
	}
	if done == 0 {
		return doc
	}
	b.Write(doc[done:])
	return b.Bytes()
}

// untouched reports whether nothing can be hidden in the document: it is plain, and its escapes are those of plain text.
func untouched(doc []byte) bool {
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c >= 0x7f, c < ' ' && c != '\n' && c != '\t' && c != '\r':
			return false
		case c == '\\':
			if i++; i == len(doc) || strings.IndexByte(`nt"\/`, doc[i]) < 0 {
				return false
			}
		}
	}
	return true
}

// quote writes s as a JSON string.
func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ':
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// Finding is a text that contains something invisible or misleading.
type Finding struct {
	What  []string // as Hidden returns it
	Where string   // the document member that contains it ("path"), with the name of its file if the document states one
	Text  string   // the first line that contains it, made visible and shortened around it
}

// String describes the finding: U+202E in path "…/x".
func (f Finding) String() string {
	what := strings.Join(f.What[:min(len(f.What), mostNamed)], ", ")
	if more := len(f.What) - mostNamed; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	if f.Where == "" {
		return fmt.Sprintf("%s in %q", what, f.Text)
	}
	return fmt.Sprintf("%s in %s %q", what, f.Where, f.Text)
}

// Limits of findings: named characters, named findings, bytes of text on each side.
const (
	mostNamed  = 4
	mostTold   = 3
	around     = 40
	mostLooked = 1000
)

// FindHidden returns what is invisible or misleading in the text of that name; false if there is nothing.
func FindHidden(where, s string) (f Finding, found bool) {
	first := -1
	hiddenAt(s, func(what string, at int) {
		if f.What = append(f.What, what); first < 0 {
			first = at
		}
	})
	if first < 0 {
		return f, false
	}
	from := strings.LastIndexByte(s[:first], '\n') + 1
	to := len(s)
	if n := strings.IndexByte(s[first+1:], '\n'); n >= 0 {
		to = first + 1 + n
	}
	if to < len(s) && s[to-1] == '\r' && to-1 > first {
		to--
	}
	f.Where, f.Text = where, behind(within(s, from, first, false), around)+ahead(within(s, first, to, false), around)
	return f, true
}

func behind(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n:])
}

func ahead(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// ScanJSON returns what is invisible or misleading in a JSON document, including member names, in order. Input that is not JSON is scanned as text.
func ScanJSON(doc json.RawMessage) []Finding {
	if untouched(doc) {
		return nil
	}
	var out []Finding
	err := Strings(doc, func(where, s string) {
		if f, found := FindHidden(where, s); found && len(out) < mostLooked {
			out = append(out, f)
		}
	})
	if err != nil {
		out = nil
		if f, found := FindHidden("", string(doc)); found {
			out = []Finding{f}
		}
	}
	return out
}

// Strings passes every string of a JSON document to give, with the name of its member, and member names themselves. If the object has an earlier
// member path, the name includes its value.
func Strings(doc json.RawMessage, give func(where, s string)) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	type level struct {
		object, value bool
		name, path    string
	}
	var stack []level
	for n := 0; ; n++ {
		t, err := dec.Token()
		if err != nil {
			if len(stack) == 0 && n > 0 && err == io.EOF {
				return nil
			}
			return err
		}
		var top *level
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				stack = stack[:len(stack)-1]
				continue
			}
			next := level{object: t == '{'}
			if top != nil {
				next.name, next.path = top.name, top.path
				top.value = false
			}
			stack = append(stack, next)
			continue
		case string:
			if top != nil && top.object && !top.value {
				give("the name", t)
				top.name, top.value = t, true
				continue
			}
			where := ""
			if top != nil {
				if where = top.name; top.name == "path" && top.object {
					top.path = t
				} else if top.path != "" && where != "" {
					where += " of " + OneLine(behind(top.path, 2*around))
				}
			}
			give(OneLine(where), t)
		}
		if top != nil {
			top.value = false
		}
	}
}

// FindingsReason explains in one sentence, without a final period, why the findings matter; empty if there are none.
func FindingsReason(found []Finding) string {
	if len(found) == 0 {
		return ""
	}
	var out []string
	for _, f := range found[:min(len(found), mostTold)] {
		out = append(out, f.String())
	}
	words := "contains invisible or misleading characters: " + strings.Join(out, "; ")
	if more := len(found) - mostTold; more > 0 {
		words += fmt.Sprintf("; and in %d more places", more)
	}
	return words
}
