package redact

import (
	"cmp"
	"slices"
	"strings"
)

// row is a line of the contract's table; where two rules claim the same text, the earlier row names it.
type row uint8

const (
	rowPrivateKey row = iota + 1
	rowURL
	rowAnthropic
	rowOpenAI
	rowStripe
	rowGitHub
	rowGitLab
	rowNPM
	rowSlack
	rowWebhook
	rowAWS
	rowGoogle
	rowJWT
	rowVendor
	rowAuth
	rowBearer
	rowCookie
	rowFlag
	rowUser
	rowAssignment
	rowKnown
	rowKey // a name gives the value away
)

const marked = "[REDACTED:"

// mark is what stands in the place of a secret.
func (r row) mark() string {
	return [...]string{rowPrivateKey: "[REDACTED:private_key]", rowURL: "[REDACTED:url_credentials]", rowAnthropic: "[REDACTED:anthropic_key]",
		rowOpenAI: "[REDACTED:openai_key]", rowStripe: "[REDACTED:stripe_key]", rowGitHub: "[REDACTED:github_token]",
		rowGitLab: "[REDACTED:gitlab_token]", rowNPM: "[REDACTED:npm_token]", rowSlack: "[REDACTED:slack_token]",
		rowWebhook: "[REDACTED:webhook_url]", rowAWS: "[REDACTED:aws_key_id]", rowGoogle: "[REDACTED:google_key]", rowJWT: "[REDACTED:jwt]",
		rowVendor: "[REDACTED:vendor_token]", rowAuth: "[REDACTED:auth_header]", rowBearer: "[REDACTED:bearer]", rowCookie: "[REDACTED:cookie]",
		rowFlag: "[REDACTED:cli_flag]", rowUser: "[REDACTED:cli_user]", rowAssignment: "[REDACTED:assignment]",
		rowKnown: "[REDACTED:known_value]", rowKey: "[REDACTED:secret_key]"}[r]
}

// finding is a secret in a text.
type finding struct {
	from, to int
	row      row
}

// finder looks for the secrets of one text.
type finder struct {
	s       string
	found   []finding
	covered int // where the last finding ends
	by      row // and what it is
	noJWT   int // no JWT begins before this offset
}

// find is every secret in s, in order and without overlap.
func (r *Redactor) find(s string) []finding {
	f := finder{s: s}
	for _, k := range r.known {
		for from := 0; ; {
			i := strings.Index(s[from:], k)
			if i < 0 {
				break
			}
			f.found = append(f.found, finding{from + i, from + i + len(k), rowKnown})
			from += i + len(k)
		}
	}
	r.machine.scan(&f)
	return merge(f.found)
}

// scan is the one pass over the text.
func (a *automaton) scan(f *finder) {
	state := uint16(0)
	for i := 0; i < len(f.s); i++ {
		state = a.next[state|a.classes[f.s[i]]]
		if state >= a.first {
			f.look(a.ending(state), i+1)
		}
	}
}

// look asks the rules of the keywords that end at end.
func (f *finder) look(words []keyword, end int) {
	for i := range words {
		w := &words[i]
		if w.find == nil || end <= f.covered && w.row >= f.by {
			continue
		}
		from, to, ok := w.find(f, end-len(w.text), end)
		if !ok {
			continue
		}
		f.found = append(f.found, finding{from, to, w.row})
		if to >= f.covered {
			f.covered, f.by = to, w.row
		}
	}
}

// merge joins findings that overlap; the name is that of the one that begins first.
func merge(found []finding) []finding {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b finding) int { return cmp.Or(a.from-b.from, int(a.row)-int(b.row)) })
	out := found[:1]
	for _, f := range found[1:] {
		if last := &out[len(out)-1]; f.from < last.to {
			last.to = max(last.to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}

// render writes s with the findings masked. With lines set, a finding over several lines leaves a mark on each.
func render(s string, found []finding, lines bool) string {
	var b strings.Builder
	b.Grow(len(s) + 32*len(found))
	done := 0
	for _, f := range found {
		b.WriteString(s[done:f.from])
		b.WriteString(f.row.mark())
		if lines {
			for range strings.Count(s[f.from:f.to], "\n") {
				b.WriteByte('\n')
				b.WriteString(f.row.mark())
			}
		}
		done = f.to
	}
	b.WriteString(s[done:])
	return b.String()
}
