// Package worktree is git for sandboxes: it reaches and clones repositories, and adds, surveys, resets and removes their worktrees, keeping
// under refs what would be lost. Every git is started on a pinned repository (gitcli.Repo).
//
// Client is sandboxport.Repositories. Where no other error is named it fails with sandbox.ErrGit, in git's own
// words, redacted, with sandbox.ErrTimeout, and with sandbox.ErrBusy, whose details are gitcli.Held, for a lock that another git did not
// give up. Limits that are 0 in Options are the contract's.
//
//   - client.go: Options, Client, New
//   - remotes.go, clone.go: Remotes reaches, clones and fetches repositories. Nothing of their content is run, and a clone is there whole or
//     not at all
//   - localobjects.go: what a clone of a repository on this machine takes from it: no file of it, and nothing that no branch or tag reaches
//   - add.go, remove.go, reset.go: worktrees with their branches; a removal or reset keeps what would be lost, or refuses
//   - list.go, status.go, unsaved.go: what a clone and its worktrees hold: changes, commits that no remote has, branches, what git
//     is in the middle of (Survey, Losses, FindUnsavedWork). Nothing is changed
//   - backup_commit.go: CommitWork commits the uncommitted changes of a worktree, untracked files included, and RestoreWork restores them. The commit
//     has the form of git's own stashes, so that `git stash apply` takes it too. The tree, its index and its HEAD stay as they are
//     meanwhile
//   - backup_set.go, backups.go: backups under the refs of a sandbox, listed and restored
//   - compare.go: how a worktree differs from the branch that it goes back to (Compare): commits, and files as they are now
//   - merge.go, joiner.go: moving a branch onto the work of another (PlanMerge, Merge, FinishMerge). Trees are merged in git's object store, without a
//     working tree; a plan's objects go to a directory of their own, so that planning stores nothing. The files are put in place first, then the branch is
//     moved
//   - included.go, script.go, setup.go: what a repository wants in every worktree: files that git ignores and that it lists, copied from
//     the clone within MaxFiles and MaxBytes, and the text of its setup commands as they stand in a commit. Nothing is run, and nothing
//     outside the two directories is read or written
//
// Its API may change at any time.
package worktree
