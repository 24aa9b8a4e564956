package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// DefaultCleanupAge is how old a sandbox is before a clean-up takes it.
const DefaultCleanupAge = 7 * 24 * time.Hour

// CleanupCandidate is what was found of a sandbox, for a clean-up to judge.
type CleanupCandidate struct {
	Sandbox  Sandbox
	Changes  int    // files that are not committed
	Unpushed int    // commits that no remote has
	Locked   bool   // git was told to keep it
	Missing  bool   // its directory is gone
	Busy     bool   // something is being done with it
	Problem  string // why it could not be looked at
}

// CleanupDecision is what a clean-up does with a sandbox, and why.
type CleanupDecision struct {
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Remove    bool   `json:"remove"`
	Reason    string `json:"reason"`
}

// PlanCleanup judges each sandbox, by name. What holds work that is nowhere else, what could not be looked at and what is younger than age stays; whatever
// goes can be made again from the remote.
func PlanCleanup(found []CleanupCandidate, now time.Time, age time.Duration) []CleanupDecision {
	verdicts := make([]CleanupDecision, 0, len(found))
	for _, f := range found {
		remove, reason := f.judge(now, age)
		verdicts = append(verdicts, CleanupDecision{Name: f.Sandbox.Name, Directory: f.Sandbox.Directory, Remove: remove, Reason: reason})
	}
	slices.SortStableFunc(verdicts, func(a, b CleanupDecision) int { return cmp.Compare(a.Name, b.Name) })
	return verdicts
}

func (f CleanupCandidate) judge(now time.Time, age time.Duration) (remove bool, reason string) {
	old := now.Sub(f.Sandbox.CreatedAt)
	switch {
	case f.Busy:
		return false, "something is being done with it"
	case f.Locked:
		return false, "git was told to keep it; git worktree unlock lifts that"
	case f.Problem != "":
		return false, "it could not be looked at: " + f.Problem
	case f.Changes > 0:
		return false, counted(f.Changes, "file has", "files have") + " changes that are not committed"
	case f.Unpushed > 0:
		return false, counted(f.Unpushed, "commit is", "commits are") + " on no remote"
	case f.Missing:
		return true, "its directory is gone, and only its record is left"
	case f.Sandbox.CreatedAt.IsZero():
		return false, "it is not known since when it is there"
	case old < age:
		return false, "it is less than " + days(age) + " old"
	}
	return true, fmt.Sprintf("it is clean, every commit of it is on a remote, and it was made %s ago", days(old))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// days is d in whole days, or in hours when that is none.
func days(d time.Duration) string {
	if d < 24*time.Hour {
		return counted(max(0, int(d.Hours())), "hour", "hours")
	}
	return counted(int(d.Hours()/24), "day", "days")
}
