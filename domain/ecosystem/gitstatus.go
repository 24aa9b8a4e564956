package ecosystem

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
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
	Problem   string // why it could not be looked at, or not wholly; for users
	Branch    string // empty when detached
	Head      string // commit; empty before the first one
	Detached  bool
	Operation string // what git is in the middle of: rebase, am, merge, cherry-pick, revert, bisect; empty for nothing
	Taken     string // the branch that is being rebased
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

// IsOwnFile reports whether a path is in Countersign's own directory of a checkout; such files are not changes.
func IsOwnFile(path string) bool { return strings.HasPrefix(path, ".amof/") }

// NewGitStatus returns what git says of a checkout, which is not named yet.
func NewGitStatus(of git.Status) GitStatus {
	s := GitStatus{Branch: of.Branch, Head: of.Head, Detached: of.Detached, Upstream: of.Upstream, Tracked: of.Tracked, Ahead: of.Ahead, Behind: of.Behind}
	hash := sha256.New()
	for _, c := range of.Changes {
		if c.Kind == git.Ignored || IsOwnFile(c.Path) {
			continue
		}
		s.Dirty++
		if c.Kind == git.Unmerged {
			s.Conflicts++
		}
		hash.Write([]byte(c.Record))
		hash.Write([]byte{0})
	}
	s.Porcelain = hex.EncodeToString(hash.Sum(nil))
	return s
}
