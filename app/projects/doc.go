// Package projects is the toolset of registered projects: looking at them and at git, running scripts, background processes, workflows, step
// templates, stored actions and webhooks. It is the whole of the packageflow contract: 18 tools that read, 5 that run something, 3 that store something; and of two more, which list and run tasks of other
// kinds than package.json scripts.
//
// Capability makes the toolset for agents, WorkbenchCapability the one whose tools only users may call.
//
//   - projects and git, read only: project_info.go, git.go
//   - package.json scripts and the background processes that come of them: scripts.go, npm.go, processes.go
//   - tasks of Makefiles and the like, and workspaces: tasks.go, run_task.go
//   - stored actions, their rules and executions, and triggering webhooks and programs: actions.go, trigger.go, call_history.go
//   - tools for users only (AdminEntries in project_admin.go, action_admin.go, workflow_admin.go): registering projects and their settings, changing and deleting
//     workflows, actions, rules and templates, and letting requests from outside start a workflow. They belong to the command line and the console;
//     no agent is served them, whatever toolsets the server configuration enables. None of them runs anything
//   - the tools of workflows and step templates are in package workflows; what all tools share, and how programs are started, in package runner
//
// # The contract: packageflow.v1
//
// A success is one JSON object; over MCP it is given as text and as structured content, on a command line and over HTTP in {success, output, error,
// duration_ms}, with output being the object's text. A failure has one of these codes: PROJECT_NOT_FOUND WORKTREE_NOT_FOUND WORKFLOW_NOT_FOUND
// SCRIPT_NOT_FOUND ACTION_NOT_FOUND ACTION_DISABLED EXECUTION_NOT_FOUND PROCESS_NOT_FOUND PROCESS_LIMIT PERMISSION_DENIED USER_CANCELLED
// EXECUTION_TIMEOUT EXECUTION_FAILED INVALID_ARGUMENT UNKNOWN_TOOL RATE_LIMITED PATH_NOT_ALLOWED NOT_A_GIT_REPO COMMAND_BLOCKED URL_BLOCKED
// CONFIRMATION_PENDING CONFIRMATION_EXPIRED CONFLICT INTERNAL. Arguments are advertised in the seed's spelling, and taken in the other casing too
// (project_path, projectPath); names that are unknown in both are refused.
//
// What reads never asks. What runs or stores something asks for a simple approval, bound to what it would do: the text of the script in package.json,
// every step of a workflow, the request of a webhook with the addresses its host has. When any of that changes in between, the approval no longer
// fits. Risk is medium for what runs and low for what stores, and high when the linter says so, when an argument leaves the project, or when the
// address is private; a high risk is never approved automatically.
//
// Paths lead into registered projects, links resolved, or into linked worktrees that a project's own list names. A path anywhere else, and one that
// does not exist, are both PATH_NOT_ALLOWED in the same words. Projects are registered by users alone.
//
// Programs are started from argument vectors, in a process group of their own, with a chosen environment. A foreground call ends when its group is
// gone; a background process outlives the server, and every client can list, read and stop it.
package projects
