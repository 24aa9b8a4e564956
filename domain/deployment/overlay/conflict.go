package overlay

import (
	"bytes"
	"fmt"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The lines around the sides of a conflict, in the style of diff3. The labels distinguish them from the markers in a text about git.
const (
	oursMark   = "<<<<<<< overlay"
	baseMark   = "||||||| baseline"
	splitMark  = "======="
	theirsMark = ">>>>>>> upstream"
)

// CountMarkers counts the labelled marker lines in text. A line of equals signs alone is not counted, because Markdown underlines headings with it.
func CountMarkers(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		switch string(bytes.TrimRight(line, "\r\n")) {
		case oursMark, baseMark, theirsMark:
			n++
		}
	}
	return n
}

// MergeSides are the three versions of a file.
type MergeSides struct {
	Base, Ours, Theirs []byte
	Gone               bool // upstream removed the file; Theirs is empty
}

// MergeFunc merges three texts. If conflicts is not 0, merged has the conflicts between the marker lines.
type MergeFunc func(base, ours, theirs []byte) (merged []byte, conflicts int, err error)

// Merge returns the merged text, or one with conflict markers if the merge is not clean. If two of the sides are equal, no merge is needed. Otherwise
// a file that is not text, or that upstream removed, is not merged: the whole file is the conflict.
func (s MergeSides) Merge(lines MergeFunc) (merged []byte, clean bool, err error) {
	switch {
	case s.Gone:
		return s.whole(), false, nil
	case bytes.Equal(s.Ours, s.Theirs), bytes.Equal(s.Base, s.Theirs):
		return s.Ours, true, nil
	case bytes.Equal(s.Base, s.Ours):
		return s.Theirs, true, nil
	case !deployment.IsText(s.Base), !deployment.IsText(s.Ours), !deployment.IsText(s.Theirs):
		return s.whole(), false, nil
	}
	merged, conflicts, err := lines(s.Base, s.Ours, s.Theirs)
	if err == nil && conflicts != 0 && CountMarkers(merged) <= CountMarkers(s.Theirs) {
		merged = s.whole() // a conflict without markers would be taken for a resolution
	}
	return merged, conflicts == 0, err
}

// whole returns the conflict text for versions that cannot be merged by lines. Content that is not text is named, not shown, so that people can read
// the file; to resolve the conflict, they replace the whole file.
func (s MergeSides) whole() []byte {
	var out bytes.Buffer
	show := func(mark string, data []byte) {
		out.WriteString(mark + "\n")
		if !deployment.IsText(data) {
			data = fmt.Appendf(nil, "(not text: %d bytes, sha256 %s)", len(data), deployment.SumOf(data))
		}
		out.Write(data)
		if len(data) > 0 && data[len(data)-1] != '\n' {
			out.WriteByte('\n')
		}
	}
	show(oursMark, s.Ours)
	show(baseMark, s.Base)
	show(splitMark, s.Theirs)
	out.WriteString(theirsMark + "\n")
	return out.Bytes()
}
