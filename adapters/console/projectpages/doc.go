// Package projectpages provides the console's pages for registered projects: their content, their git status, and everything that can be run in
// them. Everything shown and done is a tool call through the core.
//
//   - projectpages.go, project.go, gitstatus.go, git.go, services.go: Section, the list of projects, and the tabs of one project: its details, scripts, tasks
//     and services, its uncommitted changes, its branches and worktrees, and its settings
//   - procpages.go: background processes of all clients, their live output, and the forms that stop them
//   - flowpages.go, workflow.go, workflow_runs.go, workflowwebhooks.go, templates.go: workflows, the graph of their steps with the last execution, their
//     webhooks, and templates for steps
//   - actionpages.go, actionsave.go, action.go, executionlist.go: stored actions, the rules for them, and executions. Requests are sent and programs started
//     only through the core, which shows the plan first
//   - execview.go, execution.go: executions: output while they run, and their results
//
// Its API may change at any time.
package projectpages
