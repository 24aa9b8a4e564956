package overlay

import (
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of patches; a message names the line of the patch, or the hunk.
var (
	// ErrFormat is returned for text that is not a unified diff of exactly one changed text file.
	ErrFormat = fault.New(fault.Invalid, "patch_invalid", "the patch is not a unified diff of one text file; create it again with git diff")
	// ErrPath is returned for a patch whose headers name a file other than the one it is for.
	ErrPath = fault.New(fault.Invalid, "patch_path_mismatch", "the patch names a different file than the one it is for")
	// ErrApply is returned for a hunk that fits nowhere in the file.
	ErrApply = fault.New(fault.Conflict, "patch_not_applicable", "the patch does not apply; create it again from the current file")
)

// FilePatch is a unified diff of one file.
type FilePatch struct {
	Old, New string // the paths of the two header lines, unquoted, with their a/ and b/
	Hunks    []Hunk // at least one in a patch from ParsePatch, in the order of the text
}

// Hunk is a range of changes with the lines around it. Line numbers start at 1; a start of 0 goes with a side of 0 lines.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Lines              []HunkLine
}

// HunkLine is one line of a hunk.
type HunkLine struct {
	Op    byte   // ' ' is on both sides, '-' only in the old file, '+' only in the new one
	Text  string // without the line feed; a carriage return before it is part of the text
	NoEOL bool   // the line is the file's last and has no line feed
}

// String returns the patch as text: two header lines and the hunks. ParsePatch returns an equal patch for it.
func (p FilePatch) String() string {
	var b strings.Builder
	b.WriteString("--- " + quote(p.Old) + "\n+++ " + quote(p.New) + "\n")
	for _, h := range p.Hunks {
		b.WriteString(h.header() + "\n")
		for _, l := range h.Lines {
			b.WriteByte(l.Op)
			b.WriteString(l.Text + "\n")
			if l.NoEOL {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

func (h Hunk) header() string {
	span := func(start, lines int) string {
		if lines == 1 {
			return strconv.Itoa(start)
		}
		return strconv.Itoa(start) + "," + strconv.Itoa(lines)
	}
	return "@@ -" + span(h.OldStart, h.OldLines) + " +" + span(h.NewStart, h.NewLines) + " @@"
}

// CheckPaths checks that both header paths, without one leading "a/" or "b/", equal the slash path rel. It fails with ErrPath, also for /dev/null,
// because a patch of an overlay neither creates nor deletes files (agentpack contract §3.5).
func CheckPaths(p FilePatch, rel string) error {
	for _, side := range []struct{ mark, path string }{{"---", p.Old}, {"+++", p.New}} {
		switch {
		case side.path == "/dev/null":
			return ErrPath.WithMessage("the %s line of the patch is /dev/null, but a patch cannot create or delete a file; both sides must be %q", side.mark, rel)
		case bare(side.path) != rel:
			return ErrPath.WithMessage("the %s line of the patch names %q, but the patch is for %q; correct the line or move the patch", side.mark, side.path, rel)
		}
	}
	return nil
}

// bare returns path without the letter that git puts before either side.
func bare(path string) string {
	if rest, ok := strings.CutPrefix(path, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(path, "b/")
}
