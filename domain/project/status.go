package project

import "github.com/countersign-dev/countersign/domain/git"

// GitStatus is how a worktree differs from its last commit (packageflow contract §2.5). Names are relative to the top of the worktree, in valid
// UTF-8; its lists are never nil and hold at most MaxListedNames names, and Counts has the true numbers.
type GitStatus struct {
	Branch   string // empty when detached
	Head     string // full ID of the commit; empty when there is none yet
	Detached bool

	Upstream      string // as configured for the branch; empty if not configured
	HasUpstream   bool   // the upstream exists, so that Ahead and Behind were counted
	Ahead, Behind int    // commits

	Staged     []string // everything in the index that differs from the commit, including deletions and renames (by their new name)
	Modified   []string // everything in the worktree that differs from the index, including deletions
	Untracked  []string // ends with a slash for a whole directory
	Conflicted []string // in neither Staged nor Modified
	Renamed    []RenamedFile
	Counts     ChangeCounts
	Clean      bool // all lists are empty
}

// RenamedFile is a file with another name than before, or a copy.
type RenamedFile struct{ From, To string }

// ChangeCounts is the number of names of each kind, whether they are listed or not.
type ChangeCounts struct{ Staged, Modified, Untracked, Conflicted, Renamed int }

// Cut reports whether a list omits names.
func (s GitStatus) Cut() bool {
	return s.Counts.Staged > len(s.Staged) || s.Counts.Modified > len(s.Modified) || s.Counts.Untracked > len(s.Untracked) ||
		s.Counts.Conflicted > len(s.Conflicted) || s.Counts.Renamed > len(s.Renamed)
}

// NewGitStatus returns git's status of a worktree in the form for users and JSON.
func NewGitStatus(of git.Status) GitStatus {
	s := GitStatus{Branch: plain(of.Branch), Head: of.Head, Detached: of.Detached, Upstream: plain(of.Upstream), HasUpstream: of.Tracked, Ahead: of.Ahead, Behind: of.Behind,
		Staged: []string{}, Modified: []string{}, Untracked: []string{}, Conflicted: []string{}, Renamed: []RenamedFile{}}
	for _, c := range of.Changes {
		switch c.Kind {
		case git.Unmerged:
			named(&s.Conflicted, &s.Counts.Conflicted, c.Path)
		case git.Untracked:
			named(&s.Untracked, &s.Counts.Untracked, c.Path)
		case git.Modified, git.Renamed:
			if c.Index != git.Same {
				named(&s.Staged, &s.Counts.Staged, c.Path)
			}
			if c.Tree != git.Same {
				named(&s.Modified, &s.Counts.Modified, c.Path)
			}
		}
		if c.Kind != git.Renamed {
			continue
		}
		if s.Counts.Renamed++; len(s.Renamed) < MaxListedNames {
			s.Renamed = append(s.Renamed, RenamedFile{From: plain(c.From), To: plain(c.Path)})
		}
	}
	s.Clean = s.Counts == ChangeCounts{}
	return s
}
