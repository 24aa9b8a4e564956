// Package projectpages provides the console's pages for registered projects: their content, their git status, and everything that can be run in
// them. Everything shown and done is a tool call through the core.
//
//   - projectpages.go, project.go, gitstatus.go: Section, the list of projects, one project, and its git status
//   - procpages.go: background processes that any server of this machine has started for a project, their output as it comes, and how they
//     are stopped
//   - flowpages.go, workflow.go, workflow_runs.go, workflowwebhooks.go, templates.go: workflows, how an execution goes on, their webhooks, and templates for
//     steps
//   - actionpages.go, action.go, executionlist.go: stored actions, the rules that say whether each may run, and executions. Requests are made and
//     programs started only through the core, which shows the plan first
//   - execview.go, execution.go: executions: output while they run, and their results
//
// Its API may change at any time.
package projectpages
