// Package project implements the rules of registered projects: what a project is, what its directory and git say about it, workflows, executions, and
// the errors of the capability (faults.go). Shell commands are in package shellcmd, stored actions and webhooks in package webhook.
//
//   - Project, its Settings (set only by the user; packageflow-security contract §4.7, §4.8) and limits of names and paths: project.go
//   - the type of a project's directory, its package manager and scripts: Facts and DetectFacts (facts.go; packageflow contract §1.2), package.json parsed
//     as npm does (Manifest in manifest.go), and settings of package managers that decide what runs besides package.json (settings.go)
//   - git: HEAD (head.go), status (status.go; §2.5), diffs (diff.go), worktrees (git.ParseWorktrees; §1.10), remotes without secrets (url.go).
//     Pure functions parse git's output or its files; no input makes them panic
//   - workflows: named sequences of steps, each a command or another workflow (workflow.go), expanded to the steps of an execution; cycles and excessive
//     depths are errors (expand.go; §1.3, §2.4)
//   - executions: script and webhook actions and workflows that ran for users and agents, with their steps and the output worth keeping
//     (execution.go; §1.4, §1.8); long text is truncated in the middle (truncate.go; §2.4)
//
// The package is pure: the contents of directories and git's output are arguments.
//
// Its API may change at any time.
package project
