// Package sandboxcmd implements the command group sandbox: projects by their git URL, each with an agent server, and sandboxes, which are git
// worktrees. All commands but two are tool calls, so users and agents get the same results and errors; init and migrate create and convert
// files that no tool may change.
//
//   - sandboxcmd.go: Command, and init and migrate; project.go, status.go: projects and their servers; maintenance.go: the gateway, the model,
//     duplicates and orphans
//   - sandboxes.go, enter.go, restoreclean.go: sandboxes: create, ls, enter, reset, rm, restoring backups, clean
//   - work.go: the work of a sandbox: diff, log, update, merge, archive, and exec; publish.go: push, pr, apply; review.go: comments on it
//   - logs.go, logtail.go: the log of a server, which another process appends to and rotates (to name.1): its last lines, and following it
//     (Position)
//   - runner.go, resolve.go, hints.go: Runner: tool calls whose errors use the command line's names, and projects and sandboxes found by
//     what the user typed
//
// Its API may change at any time.
package sandboxcmd
