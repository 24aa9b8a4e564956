package pack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// EarlierText is the text that a ref showed earlier, secrets masked: what was kept when the pack was finalized, or the file at the ref's commit.
type EarlierText struct {
	Lines  LineRange
	Text   []string // nil when nothing was kept
	Source string   // where it comes from, for the note
	Reason string   // why there is none
}

// RenderDiff compares the pack with now: a count of refs by status, and for each changed ref what happened to it, with the changed lines where the
// earlier text is known. then is aligned with the evidence.
func RenderDiff(s Shown, then []EarlierText) string {
	ids, refs := s.State.Refs()
	var counts [RefExact + 1]int
	var body strings.Builder
	masked := 0
	for i, e := range s.Evidence {
		counts[e.Standing]++
		masked += e.Masked
		if e.Standing == RefExact {
			continue
		}
		body.WriteString("\n## " + ids[i].String() + " [" + e.Standing.String() + "]\n\n")
		body.WriteString("- path: " + OneLine(string(refs[i].Path)) + "\n- lines: " + refs[i].Lines.String() + "\n")
		if refs[i].Root != "" {
			body.WriteString("- root: " + string(refs[i].Root) + "\n")
		}
		changes(&body, refs[i], e, then[i])
	}
	var b strings.Builder
	b.WriteString(legendMark + "\n# Context pack against now: " + label(s.State.Summary()) + "\n\n")
	fmt.Fprintf(&b, "- id: %s\n- status: %s\n- revision: %d\n", s.State.ID, s.State.Status, s.State.Revision)
	for k := RefExact; ; k-- {
		b.WriteString("- " + k.String() + ": " + strconv.Itoa(counts[k]) + "\n")
		if k == RefUnreadable {
			break
		}
	}
	if masked > 0 {
		fmt.Fprintf(&b, "- masked_secrets: %d\n", masked)
	}
	b.WriteString("\n" + contentMark + "\n" + body.String())
	return b.String()
}

func changes(b *strings.Builder, r Ref, e Evidence, then EarlierText) {
	_, note := standing(Ref{Path: r.Path, Lines: r.Lines}, e)
	b.WriteString("\n> " + OneLine(note) + "\n")
	switch {
	case e.Standing == RefMoved:
		return
	case then.Text == nil:
		b.WriteString("\n> earlier text: " + OneLine(then.Reason) + "\n")
		return
	}
	lines := lineDiff(then.Text, e.Text)
	f := fence(lines...)
	b.WriteString("\n> earlier text: " + OneLine(then.Source) + "\n\n" + f + "diff\n")
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	b.WriteString(f + "\n")
}

// maxDiffCells bounds the table of lineDiff; beyond it the middle is shown as replaced whole.
const maxDiffCells = 4 << 20

// lineDiff compares old with now line by line: " " kept, "-" only in old, "+" only in now.
func lineDiff(old, now []string) []string {
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	out := mark(nil, " ", old[:head])
	out = middle(out, old[head:len(old)-tail], now[head:len(now)-tail])
	return mark(out, " ", old[len(old)-tail:])
}

func mark(out []string, sign string, lines []string) []string {
	for _, l := range lines {
		out = append(out, sign+l)
	}
	return out
}

// middle compares with a table of longest common subsequences.
func middle(out, a, b []string) []string {
	if len(a)*len(b) > maxDiffCells || len(a) == 0 || len(b) == 0 {
		return mark(mark(out, "-", a), "+", b)
	}
	width := len(b) + 1
	table := make([]uint16, (len(a)+1)*width) // a ref has at most 2,000 lines
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return mark(mark(out, "-", a[i:]), "+", b[j:])
}
