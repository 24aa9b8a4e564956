package redact

import (
	"encoding/json"
	"strings"
)

// walker copies a valid JSON document and replaces leaves. It has its own stack, so depth costs no goroutine stack.
type walker struct {
	r     *Redactor
	doc   string
	depth int // number of strings that this document is nested in

	i     int // the current byte
	done  int // everything before it is in out
	out   strings.Builder
	n     int
	stack []container
}

// container is an open object or array.
type container struct {
	object bool
	value  bool   // object: the next string is a value
	secret bool   // it is under a secret name, at any depth
	plain  bool   // object: its keys are the property names of a schema, not names of values
	key    string // object: the key of that value; array: the key of the array
	named  bool   // object: a member called name or key contained a secret name, which applies to "value"
	last   string // array: the previous string
	curl   bool   // array: the command line of curl
}

func (w *walker) walk() {
	for w.i < len(w.doc) {
		switch c := w.doc[w.i]; c {
		case '{', '[':
			key := w.key()
			w.stack = append(w.stack, container{object: c == '{', key: key, secret: w.named(key), plain: key == "properties"})
			w.i++
		case '}', ']':
			w.stack = w.stack[:len(w.stack)-1]
			w.i++
		case ',':
			w.top().value = false
			w.i++
		case ':':
			w.top().value = true
			w.i++
		case '"':
			w.text()
		case ' ', '\t', '\r', '\n':
			w.i++
		default:
			w.scalar()
		}
	}
}

func (w *walker) top() *container { return &w.stack[len(w.stack)-1] }

// key returns the name of the current value: its own, or that of the arrays around it.
func (w *walker) key() string {
	if len(w.stack) == 0 {
		return ""
	}
	return w.top().key
}

// text handles a string: an object's key, or a leaf.
func (w *walker) text() {
	start := w.i
	for w.i++; w.doc[w.i] != '"'; w.i++ {
		if w.doc[w.i] == '\\' {
			w.i++
		}
	}
	w.i++
	s := decoded(w.doc[start:w.i])
	if len(w.stack) > 0 && w.top().object && !w.top().value {
		w.top().key = s
		return
	}
	if w.secret(s) {
		w.replace(start, SecretKeyRule.Placeholder(), 1)
		return
	}
	masked, n := w.command(s)
	if n == 0 {
		masked, n = w.r.leaf(s, w.depth)
	}
	if n > 0 {
		w.replace(start, masked, n)
	}
	w.remember(s)
}

// secret reports whether the leaf s is redacted because of its name.
func (w *walker) secret(s string) bool {
	key := w.key()
	if len(w.stack) == 0 || strings.TrimSpace(s) == "" || redacted(s) || wholeReference(s) {
		return false
	}
	if name := normal(key); name.Is("value") && w.top().named {
		return true
	} else if name.Is("pwd") && (s[0] == '/' || filePath(s)) {
		return false // the working directory
	}
	return w.top().secret || IsSecretKey(key)
}

// named reports whether everything under key is secret because of this name or an outer one.
func (w *walker) named(key string) bool {
	if len(w.stack) == 0 {
		return false
	}
	return w.top().secret || !w.top().plain && IsSecretKey(key)
}

// command redacts an array element because of the previous one: ["--password", "…"], ["curl", "-u", "user:…"].
func (w *walker) command(s string) (string, int) {
	if len(w.stack) == 0 || w.top().object || w.top().last == "" {
		return s, 0
	}
	last := w.top().last
	if strings.HasPrefix(last, "--") && IsSecretKey(last[2:]) && s != "" && s[0] != '-' && !harmless(s) {
		return cliFlag.Placeholder(), 1
	}
	if (last == "-u" || last == "--user") && w.top().curl {
		if user, password, ok := strings.Cut(s, ":"); ok && password != "" && !harmless(password) {
			return user + ":" + cliUser.Placeholder(), 1
		}
	}
	return s, 0
}

// remember stores what the next element or member needs to know about s.
func (w *walker) remember(s string) {
	if len(w.stack) == 0 {
		return
	}
	top := w.top()
	if !top.object {
		top.last = s
		top.curl = top.curl || s == "curl" || strings.HasSuffix(s, "/curl")
		return
	}
	if name := normal(top.key); name.Is("name") || name.Is("key") {
		top.named = IsSecretKey(s)
	}
}

// scalar handles a number or a literal, which is redacted only under a password, secret or pin.
func (w *walker) scalar() {
	start := w.i
	for w.i < len(w.doc) && strings.IndexByte(",]} \t\r\n", w.doc[w.i]) < 0 {
		w.i++
	}
	if w.doc[start] != 'n' && numericKey(w.key()) {
		w.replace(start, SecretKeyRule.Placeholder(), 1)
	}
}

// replace writes s, as a JSON string, in place of what was read since start.
func (w *walker) replace(start int, s string, n int) {
	w.out.WriteString(w.doc[w.done:start])
	w.out.WriteString(quoteJSON(s))
	w.done, w.n = w.i, w.n+n
}

// decoded returns the text of a JSON string, given with its quotes.
func decoded(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw[1 : len(raw)-1]
	}
	return s
}

// harmless reports a value that is already redacted or clearly not secret.
func harmless(v string) bool { return redacted(v) || Harmless(v) }
