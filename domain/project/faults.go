package project

import "github.com/countersign-dev/countersign/domain/fault"

// The errors of this capability. On the wire each code is in capitals (packageflow contract §2.3).
var (
	ErrNotFound          = fault.New(fault.NotFound, "project_not_found", "there is no such project; list_projects shows those that are registered")
	ErrWorktreeNotFound  = fault.New(fault.NotFound, "worktree_not_found", "there is no such worktree; list_worktrees shows those there are")
	ErrWorkflowNotFound  = fault.New(fault.NotFound, "workflow_not_found", "there is no such workflow; list_workflows shows those there are")
	ErrScriptNotFound    = fault.New(fault.NotFound, "script_not_found", "there is no such script; list_project_scripts shows those there are")
	ErrActionNotFound    = fault.New(fault.NotFound, "action_not_found", "there is no such action; list_actions shows those there are")
	ErrTemplateNotFound  = fault.New(fault.NotFound, "template_not_found", "there is no such step template; list_step_templates shows those there are")
	ErrExecutionNotFound = fault.New(fault.NotFound, "execution_not_found", "there is no such execution; list_action_executions shows those there are")
	ErrActionDisabled    = fault.New(fault.State, "action_disabled", "the action is switched off; countersign action enable switches it on")
	ErrPath              = fault.New(fault.Denied, "path_not_allowed", "the path does not lead to anything inside a registered project; countersign project add registers one")
	ErrNotRepository     = fault.New(fault.State, "not_a_git_repo", "the directory is no git repository")
	ErrCommandBlocked    = fault.New(fault.Denied, "command_blocked", "the command is never run from here")
	ErrURLBlocked        = fault.New(fault.Denied, "url_blocked", "requests to this address are not made from here")
	ErrExecutionFailed   = fault.New(fault.State, "execution_failed", "it ran and failed")
	ErrExecutionTimeout  = fault.New(fault.Timeout, "execution_timeout", "the call timed out and was stopped")
	ErrCancelled         = fault.New(fault.Canceled, "user_cancelled", "it was cancelled, and stopped")
	ErrArgument          = fault.New(fault.Invalid, "project_argument_invalid", "an argument is not acceptable")
	ErrConflict          = fault.New(fault.Conflict, "project_conflict", "it was changed by somebody else meanwhile; read it again")
	ErrUnreadable        = fault.New(fault.State, "project_unreadable", "it was stored sealed and cannot be read any more; remove it and store it anew")
	ErrRegistration      = fault.New(fault.Invalid, "project_registration_refused", "this directory cannot be registered as a project")
	ErrManifest          = fault.New(fault.Invalid, "package_json_invalid", "the project's package.json cannot be read")
)
