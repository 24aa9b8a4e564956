package projectport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/project"
)

// WorkTrees changes a repository for a user: index, commits, branches, stashes, and what is pushed and pulled. Every method that changes something first makes sure that
// what was planned still holds, and fails with project.ErrConflict where it does not. No hook runs unless it was asked for, and no filter that the repository's own
// configuration names; where one would change what is stored, methods that read or write the working tree's files fail with project.ErrArgument. Errors are those of
// Repositories.
type WorkTrees interface {
	// Top returns the top of the working tree that dir is in.
	Top(ctx context.Context, dir string) (string, error)
	// Look returns how the working tree stands, with lines that differ.
	Look(ctx context.Context, dir string) (project.WorkTree, error)
	// Patch returns what differs in these files, whole: between the working tree and the index, or with staged between the index and the last commit.
	Patch(ctx context.Context, dir string, staged bool, paths []string) ([]project.FilePatch, error)
	// Stage puts a patch of Patch into the index, or with back takes it out of it.
	Stage(ctx context.Context, dir, patch string, back bool) error
	// PlanCommit returns what a commit of the index would hold; with amend one in place of the last commit.
	PlanCommit(ctx context.Context, dir string, amend bool) (project.StagedWork, error)
	// Commit makes the commit, and returns it.
	Commit(ctx context.Context, p project.StagedWork, message string, hooks bool) (string, error)
	// PlanBranch returns the branch that would be made at a commit ("" is the one checked out), or deleted.
	PlanBranch(ctx context.Context, dir, name, from string, remove bool) (project.BranchChange, error)
	// Branch does it.
	Branch(ctx context.Context, p project.BranchChange) error
	// PlanSwitch returns what checking out a branch would change. With create it is made, at from.
	PlanSwitch(ctx context.Context, dir, name, from string, create bool) (project.BranchMove, error)
	// Switch checks it out.
	Switch(ctx context.Context, p project.BranchMove) error
	// PlanStash returns what would be laid aside, untracked files among it.
	PlanStash(ctx context.Context, dir string) (project.StashPlan, error)
	// Stash lays it aside, and returns the stash.
	Stash(ctx context.Context, p project.StashPlan, message string) (project.GitStash, error)
	// PlanUnstash returns what a stash would bring back; "" is the newest.
	PlanUnstash(ctx context.Context, dir, name string) (project.StashPlan, error)
	// Unstash brings it back, and with drop forgets the stash when that went well.
	Unstash(ctx context.Context, p project.StashPlan, drop bool) error
	// PlanDrop returns what a stash holds; "" is the newest.
	PlanDrop(ctx context.Context, dir, name string) (project.StashPlan, error)
	// Drop forgets the stash.
	Drop(ctx context.Context, p project.StashPlan) error
	// PlanPush returns what a push of a branch would do; "" is the one checked out, and the remote that its configuration names.
	PlanPush(ctx context.Context, dir, remote, branch string) (project.PushPlan, error)
	// Push pushes it. Commits that the remote has beyond those that were seen are never replaced.
	Push(ctx context.Context, p project.PushPlan, hooks bool) error
	// PlanPull fetches the upstream of the branch that is checked out, and returns what bringing it in would change.
	PlanPull(ctx context.Context, dir string, merge bool) (project.PullPlan, error)
	// Pull brings it in, and returns the commit that the branch then stands on.
	Pull(ctx context.Context, p project.PullPlan) (string, error)
}
