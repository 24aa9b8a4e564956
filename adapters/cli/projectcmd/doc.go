// Package projectcmd is the commands about registered projects for people: project, run, ps, logs, stop, workflow, template and action.
// Every one of them is a call of tools, so a person and an agent get the same answers and the same refusals.
//
//   - projectcmd.go: Commands, and project: add, list, show, set, remove; look.go: project scripts, status, diff, worktrees
//   - run.go, live.go, background.go: run, with the script's output as it comes, and ps, logs and stop for background processes
//   - workflow.go, workflow_run.go: workflow: steps that run in order, and their executions
//   - hooks.go, serve.go: completion and incoming webhooks of a workflow, templates (commands worth keeping), and the server of incoming
//     webhooks
//   - action.go, action_run.go, save.go: action: stored programs, webhooks and workflows, the rules that say whether they run, and
//     triggering them
//   - words.go: Runner, and refusals in words of the command line; find.go, complete.go: projects, workflows, actions, processes and templates
//     by id, name or path, and shell completion of them; ran.go: what a program printed
package projectcmd
