// Package redact masks secrets in text and JSON: tokens with a known form, credentials that a name or a header gives away, private
// keys, and values the process knows to be secret. What is masked reads [REDACTED:name].
// What a secret is and where it ends is known to package detect; this one replaces it, and keeps the structure around it. It refuses
// to know where text comes from.
package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/redact/detect"
)

// Options is what a Redactor knows beyond the rules.
type Options struct {
	Known []string // exact secrets this process holds; masked in URL-encoded, base64 and JSON-escaped form as well, ignored below 8 bytes
	Home  string   // the home directory, shown as ~ by Paths; empty leaves paths alone
}

// Redactor masks secrets. It is immutable and safe for concurrent use.
type Redactor struct {
	rules *detect.Automaton
	known []string // every form, longest first
	bytes [][]byte // the same, to look for in documents
	home  string
}

// New builds a Redactor. That takes a fraction of a millisecond; build it when it is first needed, and once.
func New(o Options) *Redactor {
	r := &Redactor{rules: detect.New(), home: strings.TrimRight(o.Home, "/")}
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
	c.bytes = make([][]byte, len(c.known))
	for i, k := range c.known {
		c.bytes[i] = []byte(k)
	}
	return &c
}

// Text masks the secrets in s and reports how many there were. Clean text is returned as it is, without allocating; masking masked
// text changes nothing.
func (r *Redactor) Text(s string) (masked string, n int) {
	found := r.rules.Find(s, r.known)
	if len(found) == 0 {
		return s, 0
	}
	return render(s, found, false), len(found)
}

// render writes s with the findings masked. With lines set, a finding over several lines leaves a mark on each.
func render(s string, found []detect.Finding, lines bool) string {
	var b strings.Builder
	b.Grow(len(s) + 32*len(found))
	done := 0
	for _, f := range found {
		b.WriteString(s[done:f.From])
		b.WriteString(f.Row.Mark())
		if lines {
			for range strings.Count(s[f.From:f.To], "\n") {
				b.WriteByte('\n')
				b.WriteString(f.Row.Mark())
			}
		}
		done = f.To
	}
	b.WriteString(s[done:])
	return b.String()
}

// Lines masks across lines and returns as many as it was given: every line of a masked private key is masked on its own.
func (r *Redactor) Lines(lines []string) (masked []string, n int) {
	whole := strings.Join(lines, "\n")
	found := r.rules.Find(whole, r.known)
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
	done := 0
	for at := 0; ; {
		i := strings.Index(s[at:], r.home)
		if i < 0 {
			b.WriteString(s[done:])
			return b.String()
		}
		i += at
		at = i + len(r.home)
		if (i == 0 || !named(s[i-1])) && (at == len(s) || !named(s[at])) {
			b.WriteString(s[done:i])
			b.WriteByte('~')
			done = at
		}
	}
}
