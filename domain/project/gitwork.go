package project

import "strconv"

// WorkTree is how a working tree stands, with the lines that differ.
type WorkTree struct {
	Top           string // of the repository's working tree
	Branch        string // empty when detached
	Head          string // commit; empty before the first
	Upstream      string // "origin/main"; empty without
	Ahead, Behind int    // of the upstream, as far as it was fetched
	Doing         string // what git was stopped in the middle of: merge, rebase, …
	Staged        []FilePatch
	Unstaged      []FilePatch // untracked files among them
	Conflicted    []string
	MoreUntracked int         // untracked files that were not looked into
	Filters       []string    // that the repository's own configuration names, and that therefore do not run
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

// GitStash is changes that were laid aside.
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

// StagedWork is what a commit would hold.
type StagedWork struct {
	Top     string
	Branch  string // empty when detached
	Head    string // that it stands on; empty for the first
	Other   string // that a merge in progress brings along
	Digest  string // of everything staged: modes, contents and names
	Author  string // "Name <mail>"
	Signed  bool   // the user's configuration has commits signed
	Files   []FilePatch
	Hooks   []GitHook
	LFSHere bool
	Amends  *AmendedCommit // the commit that this one takes the place of; Files are then all that the new one holds
}

// AmendedCommit is a commit about to be replaced by another.
type AmendedCommit struct {
	GitCommit
	Message string
	Remotes []string // branches of remotes that have it, as last seen
	Nothing bool     // nothing is staged beyond it
}

// GitCommit is one commit in a line.
type GitCommit struct {
	Commit  string
	Subject string
	Author  string
}

// BranchMove is a working tree that would stand on another branch.
type BranchMove struct {
	Top    string
	From   string   // branch or commit that is left
	Branch string   // that it would stand on
	Create bool     // it is made
	Track  string   // remote branch that it is made from and follows
	Old    string   // commit before
	Commit string   // and after
	Files  []string // that change
	Dirty  []string // that differ from the last commit, and come along
}

// BranchChange is a branch that would be made or deleted.
type BranchChange struct {
	Top    string
	Name   string
	Commit string
	Delete bool
	Into   string // what has all of it, of one that is deleted
}

// StashPlan is changes that would be laid aside or taken out again.
type StashPlan struct {
	Top    string
	Head   string
	Branch string
	Files  []FilePatch
	Stash  GitStash // that is taken out
}

// PushPlan is commits that would be pushed.
type PushPlan struct {
	Top      string
	Remote   string // its name
	URL      string // that is pushed to, as it is used
	Branch   string // local
	Target   string // branch of the remote
	Commit   string
	Old      string // where the remote's branch stood when it was last seen; empty when it had none
	Commits  []GitCommit
	More     int // commits that are not listed
	Replaced []GitCommit
	Lost     int // commits of the remote's branch that a push would take off it
	Upstream bool
	Hooks    []GitHook
	LFSHere  bool
}

// PullPlan is commits that would be brought in.
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
