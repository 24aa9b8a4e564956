package project

import "strconv"

// WorkTree is the status of a worktree, with the lines that differ.
type WorkTree struct {
	Top           string // of the repository's worktree
	Branch        string // empty when detached
	Head          string // commit; empty before the first
	Upstream      string // "origin/main"; empty without
	Ahead, Behind int    // relative to the upstream as of the last fetch
	Doing         string // the operation that git was stopped in: merge, rebase, …
	Staged        []FilePatch
	Unstaged      []FilePatch // including untracked files
	Conflicted    []string
	MoreUntracked int         // untracked files that were not examined
	Filters       []string    // that the repository's own configuration names and that therefore do not run
	Branches      []GitBranch // local ones
	Stashes       []GitStash
}

// GitBranch is a local branch.
type GitBranch struct {
	Name     string `json:"name"`
	Commit   string `json:"commit"`
	Upstream string `json:"upstream,omitempty"`
	Current  bool   `json:"current,omitempty"`
	Place    string `json:"checked_out_in,omitempty"` // another worktree
}

// GitStash is a stash entry.
type GitStash struct {
	Name    string `json:"name"` // stash@{0}
	Commit  string `json:"commit"`
	Subject string `json:"subject"`
}

// GitHook is a program of the repository that git would start.
type GitHook struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// StagedWork is what a commit would contain.
type StagedWork struct {
	Top     string
	Branch  string // empty when detached
	Head    string // its parent; empty for the first commit
	Other   string // the second parent, of a merge in progress
	Digest  string // of everything staged: modes, contents and names
	Author  string // "Name <mail>"
	Signed  bool   // the user's configuration makes git sign commits
	Files   []FilePatch
	Hooks   []GitHook
	LFSHere bool
	Amends  *AmendedCommit // the commit that this one replaces; Files are then all files of the new one
}

// AmendedCommit is a commit about to be replaced by another.
type AmendedCommit struct {
	GitCommit
	Message string
	Remotes []string // remote branches that contain it, as of the last fetch
	Nothing bool     // nothing is staged in addition
}

// GitCommit is one commit in a line.
type GitCommit struct {
	Commit  string
	Subject string
	Author  string
}

// BranchMove is a switch of a worktree to another branch.
type BranchMove struct {
	Top    string
	From   string   // branch or commit before
	Branch string   // branch after
	Create bool     // the branch is created
	Track  string   // remote branch that it is created from and tracks
	Old    string   // commit before
	Commit string   // and after
	Files  []string // that change
	Dirty  []string // that differ from the last commit, and are carried over
}

// BranchChange is a branch to create or delete.
type BranchChange struct {
	Top    string
	Name   string
	Commit string
	Delete bool
	Into   string // of a deleted branch: what contains all of it
}

// StashPlan is changes to stash or to restore from a stash.
type StashPlan struct {
	Top    string
	Head   string
	Branch string
	Files  []FilePatch
	Stash  GitStash // the stash to restore
}

// PushPlan is commits to push.
type PushPlan struct {
	Top      string
	Remote   string // its name
	URL      string // the URL that is pushed to
	Branch   string // local
	Target   string // branch of the remote
	Commit   string
	Old      string // the remote branch as of the last fetch; empty if it did not exist
	Commits  []GitCommit
	More     int // commits that are not listed
	Replaced []GitCommit
	Lost     int // commits that a push would remove from the remote branch
	Upstream bool
	Hooks    []GitHook
	LFSHere  bool
}

// PullPlan is commits to pull.
type PullPlan struct {
	Top     string
	Remote  string
	URL     string
	Branch  string // local
	Source  string // branch of the remote
	Old     string
	Commit  string // of the remote's branch
	Commits []GitCommit
	More    int
	Files   []FilePatch
	Merge   bool // with a merge commit
	Author  string
	Nothing bool
}

// Counted returns a number with its word.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
