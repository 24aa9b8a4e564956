package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// DefaultCleanupAge is the minimum age of a sandbox for cleanup.
const DefaultCleanupAge = 7 * 24 * time.Hour

// CleanupCandidate is the state of a sandbox that cleanup judges.
type CleanupCandidate struct {
	Sandbox  Sandbox
	Changes  int    // files that are not committed
	Unpushed int    // commits that no remote has
	Locked   bool   // locked in git
	Missing  bool   // its directory is gone
	Busy     bool   // an operation is in progress
	Problem  string // why it could not be examined
}

// CleanupDecision is the decision of cleanup about a sandbox, with the reason.
type CleanupDecision struct {
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Remove    bool   `json:"remove"`
	Reason    string `json:"reason"`
}

// PlanCleanup judges each sandbox, by name. Sandboxes stay if they have unsaved work, could not be examined or are younger than age; everything that
// is deleted can be fetched again from the remote.
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
		return false, "an operation on it is in progress"
	case f.Locked:
		return false, "it is locked in git; git worktree unlock unlocks it"
	case f.Problem != "":
		return false, "its status is unknown: " + f.Problem
	case f.Changes > 0:
		return false, counted(f.Changes, "file has", "files have") + " uncommitted changes"
	case f.Unpushed > 0:
		return false, counted(f.Unpushed, "commit is", "commits are") + " on no remote"
	case f.Missing:
		return true, "its directory is missing; only its record remains"
	case f.Sandbox.CreatedAt.IsZero():
		return false, "its age is unknown"
	case old < age:
		return false, "it is less than " + days(age) + " old"
	}
	return true, fmt.Sprintf("it is clean, all its commits are on a remote, and it was created %s ago", days(old))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// days returns d in whole days, or in hours if that is zero.
func days(d time.Duration) string {
	if d < 24*time.Hour {
		return counted(max(0, int(d.Hours())), "hour", "hours")
	}
	return counted(int(d.Hours()/24), "day", "days")
}
