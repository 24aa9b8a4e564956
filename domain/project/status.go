package project

import (
	"strconv"
	"strings"
)

// GitStatus is how a working tree differs from its last commit (packageflow contract §2.5). Names are relative to the top of the working
// tree, in valid UTF-8; its lists are never nil, hold MaxNames names at most, and Counts has the true numbers.
type GitStatus struct {
	Branch   string // empty when detached
	Head     string // full ID of the commit; empty when there is none yet
	Detached bool

	Upstream      string // as the branch's configuration says; empty when it says nothing
	HasUpstream   bool   // the upstream exists, so that Ahead and Behind were counted
	Ahead, Behind int    // commits

	Staged     []string // anything in the index that is not as committed, deletions and renames (by their new name) too
	Modified   []string // anything in the working tree that is not as in the index, deletions too
	Untracked  []string // ends with a slash where a whole directory is
	Conflicted []string // in neither Staged nor Modified
	Renamed    []RenamedFile
	Counts     ChangeCounts
	Clean      bool // nothing of all that
}

// RenamedFile is a file that has another name than before. A copy is one too.
type RenamedFile struct{ From, To string }

// ChangeCounts is how many names of each kind there are, whether they are listed or not.
type ChangeCounts struct{ Staged, Modified, Untracked, Conflicted, Renamed int }

// Cut reports whether a list leaves names out.
func (s GitStatus) Cut() bool {
	return s.Counts.Staged > len(s.Staged) || s.Counts.Modified > len(s.Modified) || s.Counts.Untracked > len(s.Untracked) ||
		s.Counts.Conflicted > len(s.Conflicted) || s.Counts.Renamed > len(s.Renamed)
}

// How many blank-separated fields the records have; the last one is the name, blanks and all.
const (
	changedFields  = 9
	renamedFields  = 10
	unmergedFields = 11
)

// ParseStatus reads what `git status --porcelain=v2 -z --branch` prints. It fails with project.ErrExecutionFailed when a record is not
// what git promises. Headers that it does not know are left out.
func ParseStatus(out []byte) (GitStatus, error) {
	s := GitStatus{Staged: []string{}, Modified: []string{}, Untracked: []string{}, Conflicted: []string{}, Renamed: []RenamedFile{}}
	for rest := string(out); rest != ""; {
		record, after, ended := strings.Cut(rest, "\x00")
		rest = after
		from, ok := "", ended && len(record) > 2 && record[1] == ' '
		if ok && record[0] == '2' {
			from, rest, ok = strings.Cut(rest, "\x00")
		}
		if !ok || !s.take(record, from) {
			return GitStatus{}, unexpected("status", record)
		}
	}
	s.Clean = s.Counts == ChangeCounts{}
	return s, nil
}

// take adds one record; from is the old name in one of a rename.
func (s *GitStatus) take(record, from string) bool {
	switch record[0] {
	case '#':
		name, value, _ := strings.Cut(record[2:], " ")
		return s.header(name, value)
	case '1':
		return s.changed(strings.SplitN(record, " ", changedFields), changedFields)
	case '2':
		fields := strings.SplitN(record, " ", renamedFields)
		if from == "" || !s.changed(fields, renamedFields) {
			return false
		}
		if s.Counts.Renamed++; len(s.Renamed) < MaxListedNames {
			s.Renamed = append(s.Renamed, RenamedFile{From: plain(from), To: plain(fields[renamedFields-1])})
		}
	case 'u':
		fields := strings.SplitN(record, " ", unmergedFields)
		if len(fields) < unmergedFields || fields[unmergedFields-1] == "" {
			return false
		}
		named(&s.Conflicted, &s.Counts.Conflicted, fields[unmergedFields-1])
	case '?':
		named(&s.Untracked, &s.Counts.Untracked, record[2:])
	case '!': // ignored, and only there when asked for
	default:
		return false
	}
	return true
}

func (s *GitStatus) header(name, value string) bool {
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if s.Detached = value == "(detached)"; !s.Detached {
			s.Branch = plain(value)
		}
	case "branch.upstream":
		s.Upstream = plain(value)
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		var signs [2]bool
		ahead, signs[0] = strings.CutPrefix(ahead, "+")
		behind, signs[1] = strings.CutPrefix(behind, "-")
		a, errA := strconv.ParseUint(ahead, 10, 31)
		b, errB := strconv.ParseUint(behind, 10, 31)
		if errA != nil || errB != nil || signs != [2]bool{true, true} {
			return false
		}
		s.Ahead, s.Behind, s.HasUpstream = int(a), int(b), true
	}
	return true
}

// changed adds a record whose second field says, in two letters, what is not as committed and what is not as in the index.
func (s *GitStatus) changed(fields []string, want int) bool {
	if len(fields) < want || len(fields[1]) != 2 || fields[want-1] == "" {
		return false
	}
	name := fields[want-1]
	if fields[1][0] != '.' {
		named(&s.Staged, &s.Counts.Staged, name)
	}
	if fields[1][1] != '.' {
		named(&s.Modified, &s.Counts.Modified, name)
	}
	return fields[1] != ".."
}
