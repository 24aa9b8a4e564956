package redact

import (
	"slices"
	"strings"
)

// Options is what a Redactor knows in addition to the rules. The zero Options is usable.
type Options struct {
	// Known are exact secrets of this process (row 21). Their URL-encoded, base64 and JSON-escaped forms are redacted too; values shorter than 8
	// bytes are ignored, because redacting them would hit ordinary words.
	Known []string
	// Home is the home directory that Paths shows as ~ (row 22). If empty, paths stay unchanged.
	Home string
}

// Redactor redacts secrets. It is immutable, safe for concurrent use, and made by New.
type Redactor struct {
	finder *Detector
	known  *knownValues // nil if there are none
	home   []string     // the forms of the home directory
}

// New builds a Redactor. It takes a few hundred microseconds, so programs that may not need one should build it on first use.
func New(o Options) *Redactor {
	r := &Redactor{finder: newDetector(), home: homeForms(o.Home)}
	return r.With(o.Known...)
}

// With returns a Redactor that knows more secrets; r is unchanged.
func (r *Redactor) With(known ...string) *Redactor {
	c := *r
	c.known = r.known.with(known)
	return &c
}

// maxPasses is how often redacted text is read again at most. A pass can uncover a secret that started in the middle of a word before; two passes
// suffice for every known text.
const maxPasses = 6

// Text redacts the secrets in s and returns their number. Clean text is returned unchanged, without allocating. A private key is replaced as a whole,
// line ends included (Lines keeps them). Redacted text is clean: redacting it again changes nothing.
func (r *Redactor) Text(s string) (masked string, n int) {
	for range maxPasses {
		spans := merge(s, r.scan(s))
		if len(spans) == 0 {
			break
		}
		var b strings.Builder
		b.Grow(len(s))
		done := 0
		for _, sp := range spans {
			b.WriteString(s[done:sp.From])
			b.WriteString(sp.Rule.Placeholder())
			done = sp.To
		}
		b.WriteString(s[done:])
		s, n = b.String(), n+len(spans)
	}
	return s, n
}

// merge sorts spans and joins those that overlap. The widest one determines the name; of equally wide ones the first row.
func merge(s string, spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return b.To - a.To
	})
	out := spans[:1]
	for _, sp := range spans[1:] {
		last := &out[len(out)-1]
		if sp.From >= last.To {
			out = append(out, sp)
			continue
		}
		width, room := sp.To-sp.From, last.To-last.From
		if width > room || width == room && sp.Rule < last.Rule || sp.Rule < last.Rule && !wordIn(s[last.From:sp.From]) && !wordIn(s[min(sp.To, last.To):last.To]) {
			last.Rule = sp.Rule
		}
		last.To = max(last.To, sp.To)
	}
	return out
}

// wordIn reports whether s contains more than punctuation.
func wordIn(s string) bool {
	for i := range len(s) {
		if isWord(s[i]) || s[i] >= 0x80 {
			return true
		}
	}
	return false
}

// Lines redacts across lines and always returns the same number of lines: a secret that spans several, such as a private key, is redacted on each of
// them. Clean lines are returned unchanged. n counts secrets, not lines.
func (r *Redactor) Lines(lines []string) (masked []string, n int) {
	if r.known == nil && !slices.ContainsFunc(lines, r.finder.Wanted) {
		return lines, 0
	}
	for range maxPasses {
		whole := strings.Join(lines, "\n")
		spans := merge(whole, r.scan(whole))
		if len(spans) == 0 {
			break
		}
		lines, n = maskLines(lines, spans), n+len(spans)
	}
	return lines, n
}

func (r *Redactor) scan(s string) []span {
	found := r.finder.Find(s)
	if r.known != nil {
		found = r.known.spans(s, found)
	}
	return found
}

// maskLines applies spans, whose offsets count the bytes of all lines and one between two lines.
func maskLines(lines []string, spans []span) []string {
	out := slices.Clone(lines)
	begin := 0
	for i, line := range lines {
		var b strings.Builder
		done := 0
		for len(spans) > 0 && spans[0].From < begin+len(line)+1 {
			sp := spans[0]
			from, to := max(sp.From-begin, 0), min(sp.To-begin, len(line))
			if from < to {
				b.WriteString(line[done:from])
				b.WriteString(sp.Rule.Placeholder())
				done = to
			}
			if sp.To > begin+len(line)+1 {
				break
			}
			spans = spans[1:]
		}
		if done > 0 {
			b.WriteString(line[done:])
			out[i] = b.String()
		}
		begin += len(line) + 1
	}
	return out
}
