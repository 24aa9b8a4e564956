package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrJSON reports a document that is no JSON. Its text is not to be shown: nobody could look for secrets in it.
var ErrJSON = fault.New(fault.Invalid, "redact_not_json", "the document is not JSON")

// maxNesting bounds how deep JSON within JSON strings is followed; deeper strings are masked as text.
const maxNesting = 8

// JSON masks the string leaves of a document and reports how many secrets there were: by their text, and by the name they stand under
// (IsSecretKey), in arrays too. Strings that are JSON themselves are walked as well. Under a password, secret or pin even numbers and
// booleans are masked; all others stay byte for byte, as do keys, order and layout.
//
// A clean document is returned itself after one pass that parses nothing, so JSON is no validator: it fails with ErrJSON only when
// it has to look at the structure.
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

// document walks a valid document. It returns doc itself when there is nothing to mask.
func (r *Redactor) document(doc string, depth int) (string, int) {
	w := walker{r: r, doc: doc, depth: depth}
	w.walk()
	if w.n == 0 {
		return doc, 0
	}
	w.out.WriteString(doc[w.done:])
	return w.out.String(), w.n
}

// leaf masks one decoded string: as JSON when it is some, else as text, until nothing is left to mask.
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

// quoteJSON is s as a JSON string without the escapes meant for HTML.
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
