package ecosystem

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Checkout is a working tree to look at.
type Checkout struct {
	Name   string
	Dir    string // absolute
	Pushed string // the commit that was last pushed, in full; may be empty
}

// GitStatus is what git says of a checkout. Commits are in full.
type GitStatus struct {
	Name      string
	Dir       string
	Missing   bool   // there is no repository; Problem says what there is instead, if anything
	Problem   string // why it could not be looked at, or not wholly; for people
	Branch    string // empty when detached
	Head      string // commit; empty before the first one
	Detached  bool
	Operation string // what git is in the middle of: rebase, am, merge, cherry-pick, revert, bisect; empty for nothing
	Taken     string // the branch that a rebase took the tree off
	Upstream  string // "origin/main"; empty without one
	Tracked   bool   // the upstream is there, so that Ahead and Behind are known
	Ahead     int    // of the upstream, commits
	Behind    int
	Dirty     int    // paths that differ from HEAD or are not tracked, .amof/ aside
	Conflicts int    // of them, those that are not merged
	Unpushed  bool   // no remote branch known here has Head, and it is not what was last pushed
	Porcelain string // SHA-256, hex, over git's records of those paths
}

// Readable reports a repository that could be looked at.
func (s GitStatus) Readable() bool { return !s.Missing && s.Porcelain != "" }

// private is Countersign's own directory in a checkout, which is nobody's change.
const private = ".amof/"

// ParseGitStatus reads what `git status --porcelain=v2 -z --branch` prints. It fails with ecosystem.ErrGit for a record that is not as git promises; headers
// that it does not know are left out.
func ParseGitStatus(out []byte) (GitStatus, error) {
	var s GitStatus
	hash := sha256.New()
	for rest := string(out); rest != ""; {
		record, after, ended := strings.Cut(rest, "\x00")
		rest = after
		if !ended || len(record) < 3 || record[1] != ' ' {
			return GitStatus{}, unexpected(record)
		}
		if record[0] == '#' {
			if !s.header(record[2:]) {
				return GitStatus{}, unexpected(record)
			}
			continue
		}
		path, ok := pathOf(record)
		if !ok {
			return GitStatus{}, unexpected(record)
		}
		if record[0] == '2' { // the old name follows
			var old string
			old, rest, ok = strings.Cut(rest, "\x00")
			if !ok {
				return GitStatus{}, unexpected(record)
			}
			record += "\x00" + old
		}
		if record[0] == '!' || strings.HasPrefix(path, private) {
			continue
		}
		s.Dirty++
		if record[0] == 'u' {
			s.Conflicts++
		}
		hash.Write([]byte(record))
		hash.Write([]byte{0})
	}
	s.Porcelain = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

func unexpected(record string) error {
	return ErrGit.Sayf("git status says %q, which is no record of its second form; git 2.39 or newer is needed", record[:min(len(record), 80)])
}

// The blank-separated fields before the path of each kind of record.
const (
	changed   = 8
	renamed   = 9
	unmerged  = 10
	untracked = 1
)

func pathOf(record string) (string, bool) {
	fields := untracked
	switch record[0] {
	case '1':
		fields = changed
	case '2':
		fields = renamed
	case 'u':
		fields = unmerged
	case '?', '!':
	default:
		return "", false
	}
	for range fields {
		_, after, ok := strings.Cut(record, " ")
		if !ok {
			return "", false
		}
		record = after
	}
	return record, record != ""
}

func (s *GitStatus) header(text string) bool {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if s.Detached = value == "(detached)"; !s.Detached {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		var okA, okB bool
		s.Ahead, okA = signed(ahead, "+")
		s.Behind, okB = signed(behind, "-")
		s.Tracked = okA && okB
		return s.Tracked
	}
	return true
}

func signed(text, sign string) (int, bool) {
	digits, ok := strings.CutPrefix(text, sign)
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}
