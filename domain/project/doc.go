// Package project is the rules of registered projects: what a project is, what its directory and git say of it, workflows, executions, and the errors
// of the capability (faults.go). Shell commands are in package shellcmd, stored actions and webhooks in package webhook.
//
//   - Project, its Settings (set by the user alone; packageflow-security contract §4.7, §4.8) and limits of names and paths: project.go
//   - what kind of project a directory is, its package manager and scripts: Facts and DetectFacts (facts.go; packageflow contract §1.2), package.json read
//     as npm does (Manifest in manifest.go), and settings of package managers that decide what runs besides package.json (settings.go)
//   - what git says: HEAD (head.go), status (status.go; §2.5), diffs (diff.go), worktrees (git.ParseWorktrees; §1.10), remotes without secrets (url.go).
//     Everything is read out of what git printed, or out of its files, by pure functions that take any bytes without a panic
//   - workflows: named sequences of steps, each a command or another workflow (workflow.go), expanded to the steps of a run with cycles and depths
//     refused (expand.go; §1.3, §2.4)
//   - executions: what was run for users and agents, script and webhook actions and workflows with their steps and the output worth keeping
//     (execution.go; §1.4, §1.8); long text cut in the middle (truncate.go; §2.4)
//
// The package is pure: what was found in a directory or printed by git arrives as arguments.
//
// Its API may change at any time.
package project
