package admincmd

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/visible"
)

// line is one line of the screen and what it means; zero is nothing in particular.
type line struct {
	text string
	tint command.Tint
}

// tabStop is how far a tab goes.
const tabStop = 4

// clean is text as a screen may show it: what others wrote never moves the cursor, and hides nothing.
func clean(s string) string {
	return drawable(strings.ReplaceAll(visible.Text(s), "\t", strings.Repeat(" ", tabStop)))
}

// oneLine is clean text in one line.
func oneLine(s string) string { return drawable(visible.OneLine(s)) }

// drawable returns a text of which the library drops nothing: it draws no mark upon a character of ASCII, nor one that belongs to none. Such a mark is put upon a circle
// of its own, and what stands on no circle is named.
func drawable(s string) string {
	if strings.IndexFunc(s, isMark) < 0 {
		return s
	}
	var out strings.Builder
	for s != "" {
		n := 0
		if r, size := utf8.DecodeRuneInString(s); !isMark(r) {
			n = size + marks(s[:size], s[size:])
			out.WriteString(s[:n])
		} else if n = marks(circle, s); n > 0 {
			out.WriteString(circle + s[:n])
		} else {
			fmt.Fprintf(&out, "␣U+%04X", r)
			n = size
		}
		s = s[n:]
	}
	return out.String()
}

// circle is what a mark is put upon that would stand upon nothing.
const circle = "◌"

// isMark reports a character that takes no cell, and is drawn upon the one before it.
func isMark(r rune) bool { return r >= utf8.RuneSelf && text.RuneWidth(r) == 0 }

// marks returns how many bytes of a text are marks that the library draws upon a character.
func marks(on, s string) int {
	if len(on) == 1 {
		return 0
	}
	end := strings.IndexFunc(s, func(r rune) bool { return !isMark(r) })
	if end < 0 {
		end = len(s)
	}
	cluster, _ := ansi.FirstGraphemeCluster(on+s[:end], ansi.WcWidth)
	return len(cluster) - len(on)
}

// cells returns how many cells a text takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += text.RuneWidth(r)
	}
	return n
}

// cut is as much of a text as fits into width cells, with a mark where something is missing.
func cut(s string, width int) string {
	if cells(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	head, _ := split(s, width-1)
	return head + "…"
}

// apart is as much of texts[i] as fits into width cells. Where another one would look the same, its middle is left out instead of its end, so that what
// follows shows where they differ.
func apart(texts []string, i, width int) string {
	s := texts[i]
	short := cut(s, width)
	same := 0 // bytes that the text has in common with the one that is most like it
	for j, other := range texts {
		if j == i || other == s || cut(other, width) != short {
			continue
		}
		same = max(same, common(s, other))
	}
	if same == 0 {
		return short
	}
	head, rest := split(s, width/3)
	rest = rest[max(same-len(head), 0):]
	return head + "…" + cut(rest, width-cells(head)-1)
}

// common returns how many bytes two texts begin with in common, up to the beginning of the word in which they differ.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], ' ') + 1
}

// split is as much of a text as fits into width cells, and the rest. A character and the marks upon it stay together.
func split(s string, width int) (head, rest string) {
	used := 0
	for i, r := range s {
		if used += text.RuneWidth(r); used > width {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// apiece returns a text of which every character that takes cells is drawn into cells of its own. The library would put a syllable of several such characters into
// one cell, as few terminals do; the rest of the line would then stand elsewhere than it believes. What keeps them apart is a sequence that changes nothing.
func apiece(s string) string {
	if strings.IndexFunc(s, joinable) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if joinable(r) {
			out.WriteString("\x1b[23m") // not italic, as it is
		}
		out.WriteRune(r)
	}
	return out.String()
}

// joinable reports a character that takes cells, and may be drawn as one with what stands before it.
func joinable(r rune) bool { return r >= '\u0300' && text.RuneWidth(r) > 0 }

// padded returns a text that takes exactly width cells.
func padded(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(width-cells(s), 0))
}

// wrap returns a line in as many as it takes. The later ones are set in as deep as the first, and one step more; those of a quoted text keep its bar, so that
// none passes for what stands outside it.
func wrap(l line, width int) []line {
	width, l.text = max(width, 8), drawable(l.text)
	if cells(l.text) <= width {
		return []line{l}
	}
	lead := l.text[:len(l.text)-len(strings.TrimLeft(l.text, " "))]
	if strings.HasPrefix(l.text[len(lead):], "| ") {
		lead += "| "
	}
	if lead += "  "; cells(lead) > width/2 {
		lead = "  "
	}
	var out []line
	rest := l.text
	for room := width; ; room = width - cells(lead) {
		head, tail := split(rest, room)
		if tail != "" {
			if at := strings.LastIndexByte(head, ' '); at > room/2 && strings.TrimSpace(head[:at]) != "" { // between words, where one ends nearby
				head, tail = head[:at], strings.TrimLeft(rest[at:], " ")
			}
		}
		if head == "" { // not one character fits
			break
		}
		if len(out) > 0 {
			head = lead + head
		}
		out = append(out, line{head, l.tint})
		if rest = tail; rest == "" {
			break
		}
	}
	return out
}
