package overlay

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParsePatch parses a unified diff of one file. The two header lines may follow prose and git's own header (diff --git, index and mode lines, which
// are irrelevant for text); after the last hunk there may be blank lines and the signature of git format-patch.
//
// It fails with ErrFormat on everything else: text that is not UTF-8, binary patches, a second file, a file that is renamed, copied, created or
// deleted, a hunk whose number of lines differs from its header. Lines are counted by hunk, so a removed line that begins with "-- " is not a header
// (agentpack contract §3.5).
func ParsePatch(text []byte) (FilePatch, error) {
	if !utf8.Valid(text) {
		return FilePatch{}, ErrFormat.WithMessage("the patch is not valid UTF-8; only text can be patched")
	}
	r := reader{lines: strings.SplitAfter(string(text), "\n")}
	if last := len(r.lines) - 1; r.lines[last] == "" {
		r.lines = r.lines[:last]
	}
	p, err := r.header()
	if err != nil {
		return FilePatch{}, err
	}
	for r.sees("@@ -") {
		h, err := r.hunk()
		if err != nil {
			return FilePatch{}, err
		}
		p.Hunks = append(p.Hunks, h)
	}
	if len(p.Hunks) == 0 {
		return FilePatch{}, r.fail("a hunk (@@ -1,3 +1,4 @@) must follow the file header")
	}
	return p, r.trailer()
}

// reader reads the lines of a patch, each with its line feed.
type reader struct {
	lines []string
	next  int
}

// fail returns ErrFormat for the next line.
func (r *reader) fail(format string, args ...any) error {
	if r.next >= len(r.lines) {
		return ErrFormat.WithMessage("the patch ends at line %d: "+format, append([]any{len(r.lines)}, args...)...)
	}
	return ErrFormat.WithMessage("line %d of the patch: "+format, append([]any{r.next + 1}, args...)...)
}

func (r *reader) sees(prefix string) bool {
	return r.next < len(r.lines) && strings.HasPrefix(r.lines[r.next], prefix)
}

// header reads up to and including the line that starts with +++.
func (r *reader) header() (p FilePatch, err error) {
	git := false
	for ; r.next < len(r.lines); r.next++ {
		if r.sees("--- ") {
			return r.paths()
		}
		if problem := preamble(r.lines[r.next], git); problem != "" {
			return FilePatch{}, r.fail("%s", problem)
		}
		git = git || r.sees(gitHeader)
	}
	return FilePatch{}, r.fail("the file header is missing (--- a/path, then +++ b/path)")
}

// gitHeader starts what git writes before the header lines of each file.
const gitHeader = "diff --git "

// preamble returns what is wrong with a line before the file header; git is whether git's own header has begun.
func preamble(line string, git bool) string {
	begins := func(prefixes ...string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case begins("GIT binary patch"), begins("Binary files ") && strings.HasSuffix(strings.TrimSpace(line), " differ"):
		return "this is a binary patch; only text can be patched"
	case begins("@@ -"):
		return "a hunk comes before the file header (--- a/path, then +++ b/path)"
	case begins("+++ "):
		return "the header line that starts with --- is missing before this one"
	case !git:
		return ""
	case begins(gitHeader):
		return "a second file begins; a patch can change only one file"
	case begins("rename ", "copy "):
		return "the file is renamed or copied; a patch can only change the text of one file"
	case begins("new file mode", "deleted file mode"):
		return "the file is created or deleted; a patch can only change the text of one file"
	}
	return ""
}

// paths reads the two header lines.
func (r *reader) paths() (p FilePatch, err error) {
	for _, side := range []struct {
		prefix string
		path   *string
	}{{"--- ", &p.Old}, {"+++ ", &p.New}} {
		if !r.sees(side.prefix) {
			return FilePatch{}, r.fail("the header line that starts with %smust follow the one that starts with ---", side.prefix)
		}
		path, problem := pathIn(strings.TrimSuffix(r.lines[r.next][len(side.prefix):], "\n"))
		if problem != "" {
			return FilePatch{}, r.fail("%s", problem)
		}
		*side.path = path
		r.next++
	}
	return p, nil
}

// hunkHeader parses a line "@@ -1,3 +1,4 @@": where each side starts and how many lines it has. An omitted count is 1.
func hunkHeader(line string) (h Hunk, ok bool) {
	oldStart, oldLines, rest, okOld := span(line, "@@ -")
	newStart, newLines, rest, okNew := span(rest, " +")
	return Hunk{OldStart: oldStart, OldLines: oldLines, NewStart: newStart, NewLines: newLines}, okOld && okNew && strings.HasPrefix(rest, " @@")
}

// span reads "1,3" after the prefix.
func span(text, prefix string) (start, lines int, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, prefix)
	if !ok {
		return 0, 0, "", false
	}
	if start, rest, ok = number(text); !ok || !strings.HasPrefix(rest, ",") {
		return start, 1, rest, ok
	}
	lines, rest, ok = number(rest[1:])
	return start, lines, rest, ok
}

// number reads one to nine digits, small enough for any int.
func number(text string) (n int, rest string, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(text[:digits])
	return n, text[digits:], err == nil && digits <= 9
}

// hunk reads one hunk: its header and exactly the lines that the header announces.
func (r *reader) hunk() (Hunk, error) {
	h, ok := hunkHeader(r.lines[r.next])
	if !ok {
		return Hunk{}, r.fail("not a hunk header; use the form @@ -1,3 +1,4 @@")
	}
	start := r.next
	r.next++
	for left, right := h.OldLines, h.NewLines; left > 0 || right > 0; r.next++ {
		if err := r.line(&h, &left, &right); err != nil {
			return Hunk{}, err
		}
	}
	if r.sees(`\`) { // after the last line; the only line of a patch that needs no line feed
		if err := r.noEOL(&h); err != nil {
			return Hunk{}, err
		}
		r.next++
	}
	if problem := h.problem(); problem != "" {
		r.next = start
		return Hunk{}, r.fail("%s", problem)
	}
	return h, nil
}

// line reads one line of a hunk; left and right are the numbers of lines still missing on the two sides.
func (r *reader) line(h *Hunk, left, right *int) error {
	if r.next >= len(r.lines) {
		return r.fail("the hunk %s lacks lines (%d old, %d new)", h.header(), *left, *right)
	}
	text, whole := strings.CutSuffix(r.lines[r.next], "\n")
	if !whole {
		return r.fail("the line is incomplete: the patch ends without a line feed")
	}
	if text == "" {
		text = " " // some tools write an empty line of context without its blank
	}
	op := text[0]
	switch op {
	case '\\':
		return r.noEOL(h)
	case ' ', '-', '+':
	default:
		return r.fail("a line of a hunk must begin with a space, -, + or \\; or the header of hunk %s counts too many lines", h.header())
	}
	if op != '+' {
		*left--
	}
	if op != '-' {
		*right--
	}
	if *left < 0 || *right < 0 {
		return r.fail("the hunk %s has more lines than its header counts", h.header())
	}
	h.Lines = append(h.Lines, HunkLine{Op: op, Text: text[1:]})
	return nil
}

// noEOL reads the line saying that the line before it has no line feed. Its words depend on the language, so only their beginning and least length
// are checked, as in git.
func (r *reader) noEOL(h *Hunk) error {
	if !r.sees(`\ `) || len(r.lines[r.next]) < len(`\ No newline`) {
		return r.fail(`this should be "\ No newline at end of file"`)
	}
	last := len(h.Lines) - 1
	if last < 0 || h.Lines[last].NoEOL {
		return r.fail("no line comes before this one")
	}
	h.Lines[last].NoEOL = true
	return nil
}

// problem returns what is wrong with a hunk as a whole: it changes nothing, or a line continues after the end of the file.
func (h Hunk) problem() string {
	changes, old, new := false, false, false // old and new: there are further lines on that side
	for i := len(h.Lines) - 1; i >= 0; i-- {
		l := h.Lines[i]
		if l.NoEOL && (l.Op != '+' && old || l.Op != '-' && new) {
			return "the hunk has a line without a line feed that is not the last line of its side"
		}
		changes = changes || l.Op != ' '
		old = old || l.Op != '+'
		new = new || l.Op != '-'
	}
	if !changes {
		return "the hunk changes nothing"
	}
	return ""
}

// trailer rejects everything after the hunks that could be meant as a part of them: a hunk with too small a count must not lose lines.
func (r *reader) trailer() error {
	signed := false
	for words := 0; r.next < len(r.lines); r.next++ {
		line := strings.TrimRight(r.lines[r.next], "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
		case r.sees("--- "), r.sees(gitHeader):
			return r.fail("a second file begins; a patch can change only one file")
		case line == "-- " && !signed: // git format-patch ends with this, then its version
			signed = true
		case signed && words == 0:
			words++
		default:
			return r.fail("there is text after the last hunk; remove it, or correct the line count in the hunk header")
		}
	}
	return nil
}
