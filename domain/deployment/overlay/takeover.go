package overlay

import (
	"bytes"
	"slices"
)

// TakeOurs resolves the conflicts in merged that the user has already resolved: those in which our lines contain every line of upstream's, in order,
// and none that upstream removed. They become our lines. It returns the text and the number of conflicts left in it. Conflicts in which upstream only
// removed lines stay conflicts.
func TakeOurs(merged []byte) (text []byte, left int) {
	var out bytes.Buffer
	var h hunk
	for line := range bytes.Lines(merged) {
		mark := string(bytes.TrimRight(line, "\r\n"))
		switch {
		case mark == oursMark:
			h = hunk{side: inOurs}
		case h.side == inOurs && mark == baseMark:
			h.side = inBase
		case h.side == inBase && mark == splitMark:
			h.side = inTheirs
		case h.side == inTheirs && mark == theirsMark:
			if h.side = outside; h.resolved() {
				out.Write(bytes.Join(h.ours, nil))
				continue
			}
			left++
			out.Write(h.text)
			out.Write(line)
			continue
		case h.side == inOurs:
			h.ours = append(h.ours, line)
		case h.side == inBase:
			h.base = append(h.base, line)
		case h.side == inTheirs:
			h.theirs = append(h.theirs, line)
		default:
			out.Write(line)
			continue
		}
		h.text = append(h.text, line...)
	}
	if h.side != outside { // marks that do not pair up
		return merged, max(left, 1)
	}
	return out.Bytes(), left
}

// hunk is one conflict, read into the lines of its sides.
type hunk struct {
	side               side
	text               []byte // with its marks
	ours, base, theirs [][]byte
}

type side int

const (
	outside side = iota
	inOurs
	inBase
	inTheirs
)

// resolved reports whether our lines took over upstream's.
func (h hunk) resolved() bool {
	next := 0
	for _, line := range h.ours {
		if next < len(h.theirs) && bytes.Equal(line, h.theirs[next]) {
			next++
		}
	}
	if len(h.theirs) == 0 || next < len(h.theirs) {
		return false
	}
	return !slices.ContainsFunc(h.base, func(line []byte) bool { return !holds(h.theirs, line) && holds(h.ours, line) })
}

func holds(lines [][]byte, line []byte) bool {
	return slices.ContainsFunc(lines, func(l []byte) bool { return bytes.Equal(l, line) })
}
