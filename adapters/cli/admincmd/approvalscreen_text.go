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

// line is one line of the screen with its meaning; zero is none.
type line struct {
	text string
	tint command.Tint
}

// tabStop is the width of a tab.
const tabStop = 4

// clean returns text that is safe to draw: untrusted text cannot move the cursor or hide anything.
func clean(s string) string {
	return drawable(strings.ReplaceAll(visible.Text(s), "\t", strings.Repeat(" ", tabStop)))
}

// oneLine is clean text in one line.
func oneLine(s string) string { return drawable(visible.OneLine(s)) }

// drawable returns a text that the library draws completely: it drops marks on ASCII characters and marks without a base character. Such a mark is
// put on a circle of its own, and one that does not combine with a circle is named.
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

// circle is the base character for marks that have none.
const circle = "◌"

// isMark reports a zero-width character, which is drawn on the one before it.
func isMark(r rune) bool { return r >= utf8.RuneSelf && text.RuneWidth(r) == 0 }

// marks returns the length in bytes of the marks in s that the library draws on a character.
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

// cells returns the number of cells of a text.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += text.RuneWidth(r)
	}
	return n
}

// cut returns as much of a text as fits into width cells, with a marker if it was cut.
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

// apart returns as much of texts[i] as fits into width cells. If another one would look the same, it cuts the middle instead of the end, so that the
// difference is visible.
func apart(texts []string, i, width int) string {
	s := texts[i]
	short := cut(s, width)
	same := 0 // bytes that the text shares with the most similar one
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

// common returns the length of the common beginning of two texts in bytes, up to the start of the word in which they differ.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], ' ') + 1
}

// split returns as much of a text as fits into width cells, and the rest. A character and its marks stay together.
func split(s string, width int) (head, rest string) {
	used := 0
	for i, r := range s {
		if used += text.RuneWidth(r); used > width {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// apiece returns a text in which every character that takes cells is drawn separately. The library would draw a syllable of several such characters
// into one cell, as few terminals do, and misplace the rest of the line. They are separated by a sequence without effect.
func apiece(s string) string {
	if strings.IndexFunc(s, joinable) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if joinable(r) {
			out.WriteString("\x1b[23m") // "not italic", which is already so
		}
		out.WriteRune(r)
	}
	return out.String()
}

// joinable reports a character that takes cells and may be drawn joined to the previous one.
func joinable(r rune) bool { return r >= '\u0300' && text.RuneWidth(r) > 0 }

// padded returns a text padded to width cells.
func padded(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(width-cells(s), 0))
}

// wrap wraps a line. Continuation lines are indented one step more than the first; those of a quoted text keep its bar, so that none can be mistaken
// for text outside it.
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
