package overlay

import (
	"fmt"
	"slices"
	"strings"
)

// Apply returns base with every hunk applied, in order. A hunk is tried at the position in its header, counted in the file as the earlier hunks left
// it, then at the nearest other position, below before above; its lines must match exactly, line endings included, and no earlier hunk may have
// touched them. A hunk that starts at line 1 fits only at the beginning of the file, one without context at its end only at the end. It fails with
// ErrApply and applies nothing then.
func (p FilePatch) Apply(base []byte) ([]byte, error) {
	image := rows(string(base))
	for i, h := range p.Hunks {
		old, new := h.sides()
		at, problem := h.place(image, old)
		if problem != "" {
			return nil, ErrApply.WithMessage("hunk %d of the patch (%s) does not apply: %s; create the patch again from the current file", i+1, h.header(), problem)
		}
		image = slices.Replace(image, at, at+len(old), new...)
	}
	size := 0
	for _, r := range image {
		size += len(r.text)
	}
	result := make([]byte, 0, size)
	for _, r := range image {
		result = append(result, r.text...)
	}
	return result, nil
}

// row is a line of the file being patched.
type row struct {
	text string // with its line feed, if it has one
	done bool   // a hunk put it there, or matched it
}

func rows(text string) (image []row) {
	image = make([]row, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		image = append(image, row{text: line})
	}
	return image
}

// sides returns the rows that the hunk looks for, and their replacement.
func (h Hunk) sides() (old, new []row) {
	for _, l := range h.Lines {
		text := l.Text + "\n"
		if l.NoEOL {
			text = l.Text
		}
		if l.Op != '+' {
			old = append(old, row{text: text})
		}
		if l.Op != '-' {
			new = append(new, row{text: text, done: true})
		}
	}
	return old, new
}

// place returns the index where the hunk fits, or the reason why it does not fit.
func (h Hunk) place(image, old []row) (at int, problem string) {
	first := h.OldStart <= 1
	last := len(h.Lines) == 0 || h.Lines[len(h.Lines)-1].Op != ' '
	want := min(max(h.NewStart-1, 0), len(image))
	end := len(image) - len(old) // the last index with enough rows
	switch {
	case end < 0:
		return 0, "the file has too few lines"
	case first && last && end > 0:
		return 0, "it replaces the whole file, but the file has more lines"
	case len(old) == 0 && end > 0 && (want < end || !strings.HasSuffix(image[end-1].text, "\n")):
		return 0, "it has no context line" // git would put it at the end, wherever it was meant
	case first:
		return 0, misfit(image, old, 0)
	case last:
		return end, misfit(image, old, end)
	}
	for away := 0; away <= max(want, end-want); away++ {
		for _, at := range [...]int{want + away, want - away} {
			if at >= 0 && at <= end && differs(image[at:], old) < 0 {
				return at, ""
			}
		}
	}
	return 0, misfit(image, old, min(want, end))
}

// differs returns the index of the first row of old that differs from image at the same index, or that an earlier hunk has used; -1 if all fit.
func differs(image, old []row) int {
	for i, r := range old {
		if image[i] != r {
			return i
		}
	}
	return -1
}

// misfit describes in which line old differs from the image; empty if it fits. It does not quote the lines, because they may hold secrets.
func misfit(image, old []row, at int) string {
	i := differs(image[at:], old)
	switch {
	case i < 0:
		return ""
	case image[at+i].done:
		return fmt.Sprintf("line %d of the file, after the previous hunks, is part of a previous hunk", at+i+1)
	case strings.TrimSuffix(image[at+i].text, "\n") == strings.TrimSuffix(old[i].text, "\n"):
		return fmt.Sprintf("line %d of the file, after the previous hunks, differs in its line feed at the end", at+i+1)
	}
	return fmt.Sprintf("line %d of the file, after the previous hunks, differs from old line %d of the hunk", at+i+1, i+1)
}
