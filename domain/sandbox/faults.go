package sandbox

import (
	"fmt"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of this capability. On the wire each code has no prefix (opencode contract §14).
var (
	ErrURL             = fault.New(fault.Invalid, "sandbox_invalid_git_url", "not a git URL or repository path")
	ErrArguments       = fault.New(fault.Invalid, "sandbox_invalid_arguments", "invalid argument")
	ErrName            = fault.New(fault.Invalid, "sandbox_invalid_name", "a sandbox is named with letters, digits, _ and -, at most 64 of them")
	ErrProjectNotFound = fault.New(fault.NotFound, "sandbox_project_not_found", "there is no such project; opencode_project_list lists the recorded projects")
	ErrNotRunning      = fault.New(fault.State, "sandbox_project_not_running", "the project's server does not run; opencode_project_start starts it")
	ErrConfiguration   = fault.New(fault.State, "sandbox_configuration_error", "the settings file is missing or incomplete; countersign sandbox init makes one")
	ErrConfig          = fault.New(fault.State, "sandbox_invalid_config", "the project's settings cannot be used")
	ErrKeyNotFound     = fault.New(fault.NotFound, "sandbox_ssh_key_not_found", "there is no such SSH key")
	ErrKeyInvalid      = fault.New(fault.Invalid, "sandbox_invalid_ssh_key", "the SSH key cannot be used as it is")
	ErrClone           = fault.New(fault.Unavailable, "sandbox_clone_failed", "the repository could not be cloned")
	ErrBaseDir         = fault.New(fault.Conflict, "sandbox_base_dir_conflict", "the project's directory holds something else")
	ErrNoPort          = fault.New(fault.Unavailable, "sandbox_no_free_port", "no port is free for another server")
	ErrPort            = fault.New(fault.Conflict, "sandbox_port_in_use", "the port is used by another program, which is left alone")
	ErrNotInstalled    = fault.New(fault.State, "sandbox_opencode_not_installed", "the agent server's program is not installed; npm install -g opencode-ai installs it, OPENCODE_BIN names another place")
	ErrAgentMissing    = fault.New(fault.State, "sandbox_agent_not_installed", "the agent's program is not installed")
	ErrAgentRuns       = fault.New(fault.Conflict, "sandbox_agent_runs", "an agent runs in this sandbox already")
	ErrIsolation       = fault.New(fault.State, "sandbox_isolation_missing", "this machine cannot keep programs inside of a sandbox in this way")
	ErrStart           = fault.New(fault.Unavailable, "sandbox_opencode_start_failed", "the agent server did not start")
	ErrUnhealthy       = fault.New(fault.Unavailable, "sandbox_opencode_unhealthy", "the agent server started and does not answer")
	ErrAuth            = fault.New(fault.Unavailable, "sandbox_opencode_auth_failed", "the server on this port does not take the password: it is somebody else's, or the password was changed")
	ErrExists          = fault.New(fault.Conflict, "sandbox_exists", "there is a sandbox of this name already")
	ErrNotFound        = fault.New(fault.NotFound, "sandbox_not_found", "there is no such sandbox")
	ErrDirty           = fault.New(fault.Conflict, "sandbox_dirty", "the sandbox has unsaved work; force states that it may be lost")
	ErrBranch          = fault.New(fault.NotFound, "sandbox_branch_not_found", "there is no such branch")
	ErrGit             = fault.New(fault.Unavailable, "sandbox_git_failed", "git failed")
	ErrBaseDirty       = fault.New(fault.Conflict, "sandbox_base_dirty", "the working tree of the branch has changes that are not committed")
	ErrConflicts       = fault.New(fault.Conflict, "sandbox_merge_conflict", "the two sides change the same lines")
	ErrUncommitted     = fault.New(fault.Conflict, "sandbox_uncommitted", "the sandbox has changes that are not committed")
	ErrApplied         = fault.New(fault.Conflict, "sandbox_applied", "the working tree has these changes already")
	ErrCheckedOut      = fault.New(fault.Conflict, "sandbox_branch_checked_out", "the branch is checked out in the repository that is pushed to")
	ErrMoved           = fault.New(fault.Conflict, "sandbox_moved", "a branch was moved since it was looked at; call again to see what would be done now")
	ErrUnmerged        = fault.New(fault.Conflict, "sandbox_unmerged", "the sandbox has work that its base branch does not have")
	ErrUnpushed        = fault.New(fault.Conflict, "sandbox_unpushed_work", "the project has unsaved work; force states that it may be lost")
	ErrGateway         = fault.New(fault.Unavailable, "sandbox_gateway_failed", "the gateway could not be started or stopped")
	ErrBusy            = fault.New(fault.Unavailable, "sandbox_busy", "something else is being done with this project; try again when it is over")
	ErrTimeout         = fault.New(fault.Timeout, "sandbox_timeout", "the call timed out")
	ErrReviewGone      = fault.New(fault.NotFound, "sandbox_review_gone", "what the sandbox held at the last review is not kept any more")
	ErrState           = fault.New(fault.Conflict, "sandbox_state_damaged", "the state file cannot be read; nothing is changed until it is mended or moved away")
)

// LargeSetup returns an addition to the error about unsaved work, if so many of the changes are files that the set-up left; empty for none.
func LargeSetup(files int) string {
	if files == 0 {
		return ""
	}
	return fmt.Sprintf("; the set-up (.worktreesetup) left %d of the changes behind, over 32 MiB together and so too large to be backed up unasked: have git ignore what a set-up downloads or builds (.gitignore)", files)
}
