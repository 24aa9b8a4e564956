// Package sandboxcmd is the command group sandbox: projects by their git URL, each with an agent server, and sandboxes, which are git
// worktrees to work in side by side. All but two of the commands are calls of tools, so a person and an agent get the same answers and the
// same refusals; those two, init and migrate, make and mend files that no tool may touch.
//
//   - sandboxcmd.go: Command, and init and migrate; project.go, status.go: projects and their servers; upkeep.go: the gateway, the model,
//     duplicates and orphans
//   - sandboxes.go, enter.go, keep.go: sandboxes: create, ls, enter, reset, rm, restoring backups, clean
//   - logs.go, logtail.go: the log of a server, which another process appends to and rotates (to name.1): its last lines, and following it
//     (Position)
//   - runner.go, naming.go, spoken.go: Runner: calls of tools whose refusals are explained in words of the command line, and projects and
//     sandboxes found by what the user names
package sandboxcmd
