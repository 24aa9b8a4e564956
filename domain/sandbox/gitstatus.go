package sandbox

import (
	"strconv"
	"strings"
	"unicode"
)

// WorktreeStatus is how a working tree differs from its last commit, and its branch from the one it follows.
type WorktreeStatus struct {
	Ahead, Behind int // of the upstream; 0 without one
	Changes       []Change
}

// Change is a file, or a whole directory that is not tracked.
type Change struct {
	Code string // two characters: index and working tree, as in git's short form
	Path string // bytes as on disk, relative to the top; ends with a slash for a directory
}

// String is the line that git's short form has for it, with control characters quoted.
func (c Change) String() string {
	path := plain(c.Path)
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path)
	}
	return c.Code + " " + path
}

// How many blank-separated fields the records have; the last one is the path, blanks and all.
const (
	changedFields  = 9
	renamedFields  = 10
	unmergedFields = 11
)

// ParseGitStatus reads what `git status --porcelain=v2 -z --branch` prints. It fails with sandbox.ErrGit for a record that is not as git promises;
// headers that it does not know are left out.
func ParseGitStatus(out []byte) (WorktreeStatus, error) {
	var s WorktreeStatus
	for rest := string(out); rest != ""; {
		record, after, ended := strings.Cut(rest, "\x00")
		rest = after
		ok := ended && len(record) > 2 && record[1] == ' '
		if ok && record[0] == '2' { // the old name follows
			_, rest, ok = strings.Cut(rest, "\x00")
		}
		if !ok || !s.take(record) {
			return WorktreeStatus{}, unexpected("status", record)
		}
	}
	return s, nil
}

func (s *WorktreeStatus) take(record string) bool {
	switch record[0] {
	case '#':
		return s.header(record[2:])
	case '1':
		return s.changed(record, changedFields)
	case '2':
		return s.changed(record, renamedFields)
	case 'u':
		return s.changed(record, unmergedFields)
	case '?':
		s.Changes = append(s.Changes, Change{Code: "??", Path: record[2:]})
	case '!':
	default:
		return false
	}
	return true
}

func (s *WorktreeStatus) header(text string) bool {
	value, ok := strings.CutPrefix(text, "branch.ab ")
	if !ok {
		return true
	}
	ahead, behind, _ := strings.Cut(value, " ")
	var okA, okB bool
	s.Ahead, okA = signed(ahead, "+")
	s.Behind, okB = signed(behind, "-")
	return okA && okB
}

func signed(text, sign string) (int, bool) {
	digits, ok := strings.CutPrefix(text, sign)
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}

func (s *WorktreeStatus) changed(record string, count int) bool {
	fields := strings.SplitN(record, " ", count)
	if len(fields) < count || len(fields[1]) != 2 || fields[count-1] == "" {
		return false
	}
	s.Changes = append(s.Changes, Change{Code: strings.ReplaceAll(fields[1], ".", " "), Path: fields[count-1]})
	return true
}
