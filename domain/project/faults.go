package project

import "github.com/countersign-dev/countersign/domain/fault"

// The errors of this capability. On the wire each code is in capitals (packageflow contract §2.3).
var (
	ErrNotFound          = fault.New(fault.NotFound, "project_not_found", "project not found; call list_projects to list the registered projects")
	ErrWorktreeNotFound  = fault.New(fault.NotFound, "worktree_not_found", "worktree not found; call list_worktrees to list worktrees")
	ErrWorkflowNotFound  = fault.New(fault.NotFound, "workflow_not_found", "workflow not found; call list_workflows to list workflows")
	ErrScriptNotFound    = fault.New(fault.NotFound, "script_not_found", "script not found; call list_project_scripts to list scripts")
	ErrActionNotFound    = fault.New(fault.NotFound, "action_not_found", "action not found; call list_actions to list actions")
	ErrTemplateNotFound  = fault.New(fault.NotFound, "template_not_found", "step template not found; call list_step_templates to list step templates")
	ErrExecutionNotFound = fault.New(fault.NotFound, "execution_not_found", "execution not found; call list_action_executions to list executions")
	ErrActionDisabled    = fault.New(fault.State, "action_disabled", "the action is disabled; to enable it, run: countersign action enable")
	ErrPath              = fault.New(fault.Denied, "path_not_allowed", "the path is not in a registered project; to register one, run: countersign project add")
	ErrNotRepository     = fault.New(fault.State, "not_a_git_repo", "the directory is not a git repository")
	ErrCommandBlocked    = fault.New(fault.Denied, "command_blocked", "the command is blocked")
	ErrURLBlocked        = fault.New(fault.Denied, "url_blocked", "requests to this address are blocked")
	ErrExecutionFailed   = fault.New(fault.State, "execution_failed", "the execution failed")
	ErrExecutionTimeout  = fault.New(fault.Timeout, "execution_timeout", "the execution timed out and was stopped")
	ErrCancelled         = fault.New(fault.Canceled, "user_cancelled", "the execution was cancelled")
	ErrArgument          = fault.New(fault.Invalid, "project_argument_invalid", "invalid argument")
	ErrConflict          = fault.New(fault.Conflict, "project_conflict", "it changed since you read it; read it again and retry")
	ErrUnreadable        = fault.New(fault.State, "project_unreadable", "the encrypted value cannot be decrypted; delete it and create it again")
	ErrRegistration      = fault.New(fault.Invalid, "project_registration_refused", "this directory cannot be registered as a project")
	ErrManifest          = fault.New(fault.Invalid, "package_json_invalid", "the project's package.json cannot be read")
)
