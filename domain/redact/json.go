package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrJSON is returned for a document that is not JSON. Do not show its text: it could not be searched for secrets.
var ErrJSON = fault.New(fault.Invalid, "redact_not_json", "the document is not JSON")

// maxNesting is the maximum depth of JSON within JSON strings; deeper strings are redacted as text.
const maxNesting = 8

// JSON redacts the string leaves of a document, by their text and by their name (IsSecretKey), in arrays too, and returns the number of secrets.
// Strings that contain JSON are searched as well. Under a password, secret or pin, numbers and booleans are redacted too; otherwise they stay
// unchanged, as do keys, order and layout.
//
// A clean document is returned unchanged after one pass without parsing, so JSON is not a validator: it fails with ErrJSON only if it has to parse
// the structure.
func (r *Redactor) JSON(doc []byte) (masked []byte, n int, err error) {
	if !r.finder.Suspicious(doc) && !(r.known != nil && (r.known.in(doc) || bytes.Contains(doc, []byte(`\u`)))) {
		return doc, 0, nil
	}
	if !json.Valid(doc) {
		return nil, 0, ErrJSON
	}
	out, n := r.document(string(doc), 0)
	if n == 0 {
		return doc, 0, nil
	}
	return []byte(out), n, nil
}

// document walks a valid document. It returns doc itself if there is nothing to redact.
func (r *Redactor) document(doc string, depth int) (string, int) {
	w := walker{r: r, doc: doc, depth: depth}
	w.walk()
	if w.n == 0 {
		return doc, 0
	}
	w.out.WriteString(doc[w.done:])
	return w.out.String(), w.n
}

// leaf redacts one decoded string, as JSON if it is JSON, else as text, until nothing is left to redact.
func (r *Redactor) leaf(s string, depth int) (string, int) {
	total := 0
	for range maxPasses {
		var masked string
		var n int
		if depth < maxNesting && nested(s) {
			masked, n = r.document(s, depth+1)
		} else {
			masked, n = r.Text(s)
		}
		if n == 0 {
			break
		}
		s, total = masked, total+n
	}
	return s, total
}

// nested reports whether s is a JSON object, array or string.
func nested(s string) bool {
	t := strings.TrimLeft(s, " \t\r\n")
	return len(t) > 1 && (t[0] == '{' || t[0] == '[' || t[0] == '"') && json.Valid([]byte(s))
}

// quoteJSON returns s as a JSON string without HTML escapes.
func quoteJSON(s string) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
