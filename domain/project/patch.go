package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Hunk is one run of changed lines in a file, with the lines around it.
type Hunk struct {
	ID      string `json:"id"`   // of its lines: it is the same after other hunks are staged
	Head    string `json:"head"` // "@@ -1,3 +1,4 @@ …"
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Text    string `json:"text,omitempty"` // its lines, without the head

	old, oldLen, fresh, freshLen int
	rest                         string // of the head
}

// FilePatch is the part of a diff about one file.
type FilePatch struct {
	Path    string
	Status  string // added, deleted, modified, or "mode changed"
	Binary  bool
	New     bool // the file is untracked
	Added   int
	Deleted int
	Hunks   []Hunk
	head    string // everything before the first hunk; of a binary file everything
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$`)

// ParsePatch parses a git diff without renames. It fails with ErrExecutionFailed for anything else.
func ParsePatch(text string) ([]FilePatch, error) {
	var files []FilePatch
	for text != "" {
		if !strings.HasPrefix(text, fileBegins) {
			line, _, _ := strings.Cut(text, "\n")
			return nil, ErrExecutionFailed.WithMessage("unexpected git output %.80q instead of a diff; use git 2.39 or newer", line)
		}
		one := text
		if end := strings.Index(text, "\n"+fileBegins); end >= 0 {
			one, text = text[:end+1], text[end+1:]
		} else {
			text = ""
		}
		f, err := parseFile(one)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// fileBegins is the beginning of a diff's part about a file. No changed line and no line of a binary patch begins like this.
const fileBegins = "diff --git "

func parseFile(text string) (FilePatch, error) {
	var f FilePatch
	above, below := text, ""
	if at := strings.Index(text, "\n@@ -"); at >= 0 {
		above, below = text[:at+1], text[at+1:]
	}
	f.head, f.Status = above, "modified"
	first, rest, _ := strings.Cut(above, "\n")
	var ok bool
	if f.Path, ok = pathOf(strings.TrimPrefix(first, fileBegins)); !ok {
		return f, ErrExecutionFailed.WithMessage("git printed a diff of %.120q, whose name cannot be parsed; rename the file", first)
	}
	for line := range strings.Lines(rest) {
		switch {
		case strings.HasPrefix(line, "new file mode "):
			f.Status = "added"
		case strings.HasPrefix(line, "deleted file mode "):
			f.Status = "deleted"
		case strings.HasPrefix(line, "new mode ") && below == "" && !strings.Contains(rest, "\nindex "):
			f.Status = "mode changed"
		case strings.HasPrefix(line, "Binary files "), strings.HasPrefix(line, "GIT binary patch"):
			f.Binary = true
		}
	}
	seen := map[string]int{}
	for below != "" {
		head, body, _ := strings.Cut(below, "\n")
		at := strings.Index(body, "\n@@ -")
		if strings.HasPrefix(body, "@@ -") {
			at = -1
		}
		if at >= 0 {
			body, below = body[:at+1], body[at+1:]
		} else {
			below = ""
		}
		h, err := parseHunk(head, body)
		if err != nil {
			return f, err
		}
		seen[body]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", f.Path, seen[body], body))
		h.ID = hex.EncodeToString(sum[:])[:12]
		f.Hunks, f.Added, f.Deleted = append(f.Hunks, h), f.Added+h.Added, f.Deleted+h.Deleted
	}
	return f, nil
}

func parseHunk(head, body string) (Hunk, error) {
	h := Hunk{Head: head, Text: body}
	m := hunkHead.FindStringSubmatch(head)
	if m == nil {
		return h, ErrExecutionFailed.WithMessage("unexpected git output %.80q instead of a hunk; use git 2.39 or newer", head)
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 1 // an omitted length is 1
		}
		return n
	}
	h.old, h.oldLen, h.fresh, h.freshLen, h.rest = number(m[1]), number(m[2]), number(m[3]), number(m[4]), m[5]
	for line := range strings.Lines(body) {
		switch line[0] {
		case '+':
			h.Added++
		case '-':
			h.Deleted++
		}
	}
	return h, nil
}

// pathOf returns the path of "a/PATH b/PATH", either half of which may be in quotes.
func pathOf(names string) (string, bool) {
	if strings.HasPrefix(names, `"`) {
		quoted, err := strconv.QuotedPrefix(names)
		if err != nil {
			return "", false
		}
		name, err := strconv.Unquote(quoted)
		return strings.TrimPrefix(name, "a/"), err == nil && strings.HasPrefix(name, "a/")
	}
	half := (len(names) - len("a/ b/")) / 2
	if half <= 0 || len(names) != 2*half+len("a/ b/") || names != "a/"+names[2:2+half]+" b/"+names[2:2+half] {
		return "", false
	}
	return names[2 : 2+half], true
}

// Line returns the file in one line.
func (f FilePatch) Line() string {
	switch {
	case f.Binary:
		return f.Status + " " + f.Path + " (binary)"
	case len(f.Hunks) == 0:
		return f.Status + " " + f.Path
	}
	return fmt.Sprintf("%s %s (+%d -%d)", f.Status, f.Path, f.Added, f.Deleted)
}

// Text returns the file's part of the diff.
func (f FilePatch) Text() string { return f.Head() + textOf(f.Hunks) }

// Head returns what precedes the first hunk.
func (f FilePatch) Head() string { return f.head }

// Partly reports whether single hunks of the file can be selected: not if it is new, deleted or binary.
func (f FilePatch) Partly() bool { return f.Status == "modified" && !f.Binary && len(f.Hunks) > 0 }

func textOf(hunks []Hunk) string {
	var out strings.Builder
	for _, h := range hunks {
		out.WriteString(h.Head + "\n" + h.Text)
	}
	return out.String()
}

// Only returns the file's patch with only some hunks, at the positions that they have without the others. reverse is for a patch that is reverted.
func (f FilePatch) Only(ids []string, reverse bool) FilePatch {
	out := f
	out.Hunks, out.Added, out.Deleted = nil, 0, 0
	moved := 0
	for _, h := range f.Hunks {
		if !slices.Contains(ids, h.ID) {
			continue
		}
		at, to := h.old, h.old+moved
		if reverse {
			at, to = h.fresh-moved, h.fresh
		}
		h.Head = fmt.Sprintf("@@ -%d,%d +%d,%d @@%s", at, h.oldLen, to, h.freshLen, h.rest)
		moved += h.freshLen - h.oldLen
		out.Hunks, out.Added, out.Deleted = append(out.Hunks, h), out.Added+h.Added, out.Deleted+h.Deleted
	}
	if len(out.Hunks) == len(f.Hunks) {
		return f
	}
	return out
}
