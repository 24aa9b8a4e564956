// Package projectcmd implements the commands for registered projects: project, run, ps, logs, stop, workflow, template and action. All of
// them are tool calls, so users and agents get the same results and errors.
//
//   - projectcmd.go: Commands, and project: add, list, show, set, remove; git.go: project scripts, status, diff, worktrees
//   - run.go, liveoutput.go, background.go: run, with the script's output as it comes, and ps, logs and stop for background processes
//   - workflow.go, workflow_run.go: workflow: steps that run in order, and their executions
//   - hooks.go, serve.go: completion and incoming webhooks of a workflow, step templates, and the server of incoming
//     webhooks
//   - action.go, action_run.go, action_save.go: action: stored programs, webhooks and workflows, the rules that say whether they run, and
//     triggering them
//   - hints.go: Runner, and errors with the command line's names; resolve.go, complete.go: projects, workflows, actions, processes and templates
//     by id, name or path, and shell completion of them; result.go: the output of programs
//
// Its API may change at any time.
package projectcmd
