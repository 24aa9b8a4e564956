package sandbox

import (
	"fmt"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of this capability. On the wire each code has no prefix (opencode contract §14).
var (
	ErrURL             = fault.New(fault.Invalid, "sandbox_invalid_git_url", "not a git URL or repository path")
	ErrArguments       = fault.New(fault.Invalid, "sandbox_invalid_arguments", "invalid argument")
	ErrName            = fault.New(fault.Invalid, "sandbox_invalid_name", "invalid sandbox name; use letters, digits, _ and -, at most 64 characters")
	ErrProjectNotFound = fault.New(fault.NotFound, "sandbox_project_not_found", "project not found; call opencode_project_list to list the recorded projects")
	ErrNotRunning      = fault.New(fault.State, "sandbox_project_not_running", "the project's server is not running; call opencode_project_start to start it")
	ErrConfiguration   = fault.New(fault.State, "sandbox_configuration_error", "the settings file is missing or incomplete; to create it, run: countersign sandbox init")
	ErrConfig          = fault.New(fault.State, "sandbox_invalid_config", "the project's settings are invalid")
	ErrKeyNotFound     = fault.New(fault.NotFound, "sandbox_ssh_key_not_found", "SSH key not found")
	ErrKeyInvalid      = fault.New(fault.Invalid, "sandbox_invalid_ssh_key", "the SSH key cannot be used")
	ErrClone           = fault.New(fault.Unavailable, "sandbox_clone_failed", "the repository could not be cloned")
	ErrBaseDir         = fault.New(fault.Conflict, "sandbox_base_dir_conflict", "the project's directory contains other files")
	ErrNoPort          = fault.New(fault.Unavailable, "sandbox_no_free_port", "no port is free for another server")
	ErrPort            = fault.New(fault.Conflict, "sandbox_port_in_use", "the port is used by another program")
	ErrNotInstalled    = fault.New(fault.State, "sandbox_opencode_not_installed", "the agent server's program is not installed; run npm install -g opencode-ai, or set OPENCODE_BIN")
	ErrAgentMissing    = fault.New(fault.State, "sandbox_agent_not_installed", "the agent's program is not installed")
	ErrAgentRuns       = fault.New(fault.Conflict, "sandbox_agent_runs", "an agent is already running in this sandbox")
	ErrIsolation       = fault.New(fault.State, "sandbox_isolation_missing", "this machine does not support this isolation")
	ErrStart           = fault.New(fault.Unavailable, "sandbox_opencode_start_failed", "the agent server did not start")
	ErrUnhealthy       = fault.New(fault.Unavailable, "sandbox_opencode_unhealthy", "the agent server started but does not answer")
	ErrAuth            = fault.New(fault.Unavailable, "sandbox_opencode_auth_failed", "the server on this port rejected the password: it is a different server, or the password was changed")
	ErrExists          = fault.New(fault.Conflict, "sandbox_exists", "a sandbox with this name already exists")
	ErrNotFound        = fault.New(fault.NotFound, "sandbox_not_found", "sandbox not found")
	ErrDirty           = fault.New(fault.Conflict, "sandbox_dirty", "the sandbox has unsaved work; force states that it may be lost")
	ErrBranch          = fault.New(fault.NotFound, "sandbox_branch_not_found", "branch not found")
	ErrGit             = fault.New(fault.Unavailable, "sandbox_git_failed", "git failed")
	ErrBaseDirty       = fault.New(fault.Conflict, "sandbox_base_dirty", "the working tree of the branch has uncommitted changes")
	ErrConflicts       = fault.New(fault.Conflict, "sandbox_merge_conflict", "the two sides change the same lines")
	ErrUncommitted     = fault.New(fault.Conflict, "sandbox_uncommitted", "the sandbox has uncommitted changes")
	ErrApplied         = fault.New(fault.Conflict, "sandbox_applied", "the working tree already has these changes")
	ErrCheckedOut      = fault.New(fault.Conflict, "sandbox_branch_checked_out", "the branch is checked out in the destination repository")
	ErrMoved           = fault.New(fault.Conflict, "sandbox_moved", "a branch moved since the plan was computed; call again to get a new plan")
	ErrUnmerged        = fault.New(fault.Conflict, "sandbox_unmerged", "the sandbox has work that is not in its base branch")
	ErrUnpushed        = fault.New(fault.Conflict, "sandbox_unpushed_work", "the project has unsaved work; force states that it may be lost")
	ErrGateway         = fault.New(fault.Unavailable, "sandbox_gateway_failed", "the gateway could not be started or stopped")
	ErrBusy            = fault.New(fault.Unavailable, "sandbox_busy", "another operation on this project is in progress; retry later")
	ErrTimeout         = fault.New(fault.Timeout, "sandbox_timeout", "the call timed out")
	ErrReviewGone      = fault.New(fault.NotFound, "sandbox_review_gone", "the sandbox's state at the last review is no longer stored")
	ErrState           = fault.New(fault.Conflict, "sandbox_state_damaged", "the state file cannot be read; repair it or move it away")
)

// LargeSetup returns an addition to the error about unsaved work, if so many of the changes are files that the set-up left; empty for none.
func LargeSetup(files int) string {
	if files == 0 {
		return ""
	}
	return fmt.Sprintf("; the setup (.worktreesetup) created %d of the changes, more than 32 MiB, which is too large to back up without asking; add downloads and build output to .gitignore", files)
}
