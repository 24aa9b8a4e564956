// Package redact masks secrets in text and JSON: tokens with a known form, credentials that a name or a header gives away, private
// keys, and values the process knows to be secret. What is masked reads [REDACTED:name].
//
// A single pass of a keyword automaton finds the places worth looking at; only there a rule's matcher runs, so clean text costs about
// a table look-up a byte. The matchers are written by hand: each looks at a bounded piece of text unless it masks it, so hostile input
// costs no more than a constant a byte, and there is no pattern to compile. The rules are those of the PackageFlow security contract
// §4.2. The package refuses to know where text comes from.
package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// Options is what a Redactor knows beyond the rules.
type Options struct {
	Known []string // exact secrets this process holds; masked in URL-encoded, base64 and JSON-escaped form as well, ignored below 8 bytes
	Home  string   // the home directory, shown as ~ by Paths; empty leaves paths alone
}

// Redactor masks secrets. It is immutable and safe for concurrent use.
type Redactor struct {
	machine *automaton
	known   []string // every form, longest first
	home    string
}

// New builds a Redactor. That takes a fraction of a millisecond; build it when it is first needed, and once.
func New(o Options) *Redactor {
	r := &Redactor{machine: newAutomaton(keywords()), home: strings.TrimRight(o.Home, "/")}
	return r.With(o.Known...)
}

const minKnown = 8 // bytes of an exact secret below which masking would hit ordinary words

// With is a Redactor that knows more secrets.
func (r *Redactor) With(known ...string) *Redactor {
	c := *r
	c.known = slices.Clone(r.known)
	for _, k := range known {
		if len(k) < minKnown {
			continue
		}
		for _, form := range []string{k, url.QueryEscape(k), url.PathEscape(k), escaped(k),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(k)), "="), strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(k)), "=")} {
			if !slices.Contains(c.known, form) {
				c.known = append(c.known, form)
			}
		}
	}
	slices.SortFunc(c.known, func(a, b string) int { return len(b) - len(a) })
	return &c
}

// Text masks the secrets in s and reports how many there were. Clean text is returned as it is, without allocating; masking masked
// text changes nothing.
func (r *Redactor) Text(s string) (masked string, n int) {
	found := r.find(s)
	if len(found) == 0 {
		return s, 0
	}
	return render(s, found, false), len(found)
}

// Lines masks across lines and returns as many as it was given: every line of a masked private key is masked on its own.
func (r *Redactor) Lines(lines []string) (masked []string, n int) {
	whole := strings.Join(lines, "\n")
	found := r.find(whole)
	if len(found) == 0 {
		return lines, 0
	}
	masked = strings.Split(render(whole, found, true), "\n")
	if len(masked) == len(lines) {
		return masked, len(found)
	}
	masked = make([]string, len(lines)) // a line held a newline of its own: mask each alone, so that none is lost
	for i, l := range lines {
		var hits int
		masked[i], hits = r.Text(l)
		n += hits
	}
	return masked, n
}

// Paths shows the home directory as ~; for errors, logs and exports only, because results need real paths (row 22).
func (r *Redactor) Paths(s string) string {
	if r.home == "" || !strings.Contains(s, r.home) {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, r.home)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if (before == "" || !named(before[len(before)-1])) && (after == "" || !named(after[0])) {
			b.WriteString("~")
		} else {
			b.WriteString(r.home)
		}
		s = after
	}
}

// named reports a byte that makes a path next to it another path.
func named(c byte) bool { return isWord(c) || c == '-' || c == '.' }
