package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/redact/detect"
)

// ErrJSON reports a document that is no JSON.
var ErrJSON = fault.New(fault.Invalid, "redact_not_json", "the document is not JSON")

// maxDepth bounds how deep JSON inside JSON strings is followed.
const maxDepth = 8

// JSON masks the string leaves of a document and reports how many secrets there were: by their text, and by the name they stand
// under (SecretKey). Strings that are JSON themselves are walked too. Order, numbers and layout stay byte for byte; a clean document
// is returned as it is, after one pass. It fails with ErrJSON.
func (r *Redactor) JSON(doc []byte) (masked []byte, n int, err error) {
	if !r.suspicious(doc) {
		return doc, 0, nil
	}
	if !json.Valid(doc) {
		return nil, 0, ErrJSON
	}
	masked, n = r.walk(doc, 0)
	return masked, n, nil
}

// suspicious is false if nothing in a document can be secret. What \u spells is not looked at here.
func (r *Redactor) suspicious(doc []byte) bool {
	return r.rules.Wanted(doc) || bytes.Contains(doc, []byte(`\u`)) ||
		slices.ContainsFunc(r.bytes, func(k []byte) bool { return bytes.Contains(doc, k) })
}

// walk masks a valid document.
func (r *Redactor) walk(doc []byte, depth int) ([]byte, int) {
	w := walker{r: r, doc: doc, depth: depth}
	w.value(open)
	if w.n == 0 {
		return doc, 0
	}
	w.out.Write(doc[w.copied:])
	return w.out.Bytes(), w.n
}

// walker copies a valid document and replaces leaves on the way.
type walker struct {
	r          *Redactor
	doc        []byte
	at, copied int
	depth, n   int
	out        bytes.Buffer
}

// secrecy is what a name says about the values under it.
type secrecy uint8

const (
	open       secrecy = iota
	secretText         // strings are secret
	secretAll          // numbers and booleans as well
)

// under is the secrecy of what stands under a key, itself inside of something of the outer secrecy.
func (w *walker) under(key []byte, outer secrecy) secrecy {
	if outer == secretAll || bytes.IndexByte(key, '\\') < 0 && !w.r.rules.Hit(key) {
		return outer
	}
	switch name := decode(key); {
	case numeric(name):
		return secretAll
	case SecretKey(name):
		return secretText
	}
	return outer
}

func (w *walker) space() {
	for w.at < len(w.doc) && w.doc[w.at] <= ' ' {
		w.at++
	}
}

// value walks one value.
func (w *walker) value(s secrecy) {
	w.space()
	switch w.doc[w.at] {
	case '{':
		w.members(s)
	case '[':
		w.elements(s)
	case '"':
		w.leaf(s)
	default:
		start := w.at
		for w.at < len(w.doc) && w.doc[w.at] > ' ' && w.doc[w.at] != ',' && w.doc[w.at] != ']' && w.doc[w.at] != '}' {
			w.at++
		}
		if s == secretAll && w.doc[start] != 'n' {
			w.replace(start, detect.SecretKey.Mark())
		}
	}
}

// next steps to the next item of an object or array and reports whether there is one.
func (w *walker) next(end byte) bool {
	w.space()
	if w.doc[w.at] == ',' {
		w.at++
		w.space()
	}
	if w.doc[w.at] == end {
		w.at++
		return false
	}
	return true
}

func (w *walker) members(s secrecy) {
	for w.at++; w.next('}'); {
		key := w.token()
		w.space()
		w.at++ // the colon
		w.value(w.under(key, s))
	}
}

// elements walks an array. In the arguments of a command, what follows --token is secret, and so is the password that follows curl's -u.
func (w *walker) elements(s secrecy) {
	flag, curl := "", false
	for w.at++; w.next(']'); {
		if w.doc[w.at] != '"' {
			w.value(s)
			flag = ""
			continue
		}
		start := w.at
		raw := w.token()
		w.at = start
		switch {
		case strings.HasPrefix(flag, "--") && SecretKey(flag[2:]) && raw[1] != '-':
			w.leaf(max(s, secretText))
		case curl && (flag == "-u" || flag == "--user"):
			w.user(s)
		default:
			w.leaf(s)
		}
		flag = ""
		if raw[1] == '-' {
			flag = string(raw[1 : len(raw)-1])
		}
		curl = curl || bytes.HasSuffix(raw, []byte(`curl"`))
	}
}

// user masks the password of a user:password string.
func (w *walker) user(s secrecy) {
	start := w.at
	v := decode(w.token())
	name, password, ok := strings.Cut(v, ":")
	if !ok || s != open || detect.Skipped(password, true) {
		w.at = start
		w.leaf(s)
		return
	}
	w.replace(start, name+":"+detect.CLIUser.Mark())
}

// token consumes a string and returns it as it stands.
func (w *walker) token() []byte {
	start := w.at
	for w.at++; w.doc[w.at] != '"'; w.at++ {
		if w.doc[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.doc[start:w.at]
}

// decode is what a JSON string says.
func decode(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// leaf masks one string.
func (w *walker) leaf(s secrecy) {
	start := w.at
	raw := w.token()
	if s == open && !w.r.suspicious(raw) {
		return
	}
	text := decode(raw)
	if s != open {
		if v := strings.TrimSpace(text); v != "" && !detect.Variable(v) {
			w.replace(start, detect.SecretKey.Mark())
		}
		return
	}
	if masked, n := w.nested(text); n > 0 {
		w.n += n - 1
		w.replace(start, masked)
	}
}

// nested masks a string as JSON when it is some, else as text.
func (w *walker) nested(s string) (string, int) {
	if t := strings.TrimSpace(s); w.depth < maxDepth && len(t) > 1 && (t[0] == '{' || t[0] == '[' || t[0] == '"') && json.Valid([]byte(s)) {
		masked, n := w.r.walk([]byte(s), w.depth+1)
		return string(masked), n
	}
	return w.r.Text(s)
}

// replace puts a string in the place of what was consumed since start.
func (w *walker) replace(start int, s string) {
	w.out.Write(w.doc[w.copied:start])
	w.out.WriteString(encode(s))
	w.copied = w.at
	w.n++
}

// encode is a JSON string without HTML escapes.
func encode(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `"` + detect.SecretKey.Mark() + `"`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// escaped is s as it stands inside a JSON string.
func escaped(s string) string {
	e := encode(s)
	return e[1 : len(e)-1]
}
