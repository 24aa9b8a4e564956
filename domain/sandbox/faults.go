package sandbox

import "github.com/countersign-dev/countersign/domain/fault"

// The ways this capability refuses. In answers over the wire each code stands without the prefix that tells it from other capabilities' (opencode
// contract §14).
var (
	ErrURL             = fault.New(fault.Invalid, "sandbox_invalid_git_url", "this is no git URL, nor the path of a repository")
	ErrArguments       = fault.New(fault.Invalid, "sandbox_invalid_arguments", "an argument is not acceptable")
	ErrName            = fault.New(fault.Invalid, "sandbox_invalid_name", "a sandbox is named with letters, digits, _ and -, at most 64 of them")
	ErrProjectNotFound = fault.New(fault.NotFound, "sandbox_project_not_found", "there is no such project; opencode_project_list shows those there are")
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
	ErrStart           = fault.New(fault.Unavailable, "sandbox_opencode_start_failed", "the agent server did not start")
	ErrUnhealthy       = fault.New(fault.Unavailable, "sandbox_opencode_unhealthy", "the agent server started and does not answer")
	ErrAuth            = fault.New(fault.Unavailable, "sandbox_opencode_auth_failed", "the server on this port does not take the password: it is somebody else's, or the password was changed")
	ErrExists          = fault.New(fault.Conflict, "sandbox_exists", "there is a sandbox of this name already")
	ErrNotFound        = fault.New(fault.NotFound, "sandbox_not_found", "there is no such sandbox")
	ErrDirty           = fault.New(fault.Conflict, "sandbox_dirty", "the sandbox holds work that is nowhere else; force states that it may be lost")
	ErrBranch          = fault.New(fault.NotFound, "sandbox_branch_not_found", "there is no such branch")
	ErrGit             = fault.New(fault.Unavailable, "sandbox_git_failed", "git failed")
	ErrUnpushed        = fault.New(fault.Conflict, "sandbox_unpushed_work", "the project holds work that is nowhere else; force states that it may be lost")
	ErrGateway         = fault.New(fault.Unavailable, "sandbox_gateway_failed", "the gateway could not be started or stopped")
	ErrBusy            = fault.New(fault.Unavailable, "sandbox_busy", "something else is being done with this project; try again when it is over")
	ErrTimeout         = fault.New(fault.Timeout, "sandbox_timeout", "it took longer than it may")
	ErrState           = fault.New(fault.Conflict, "sandbox_state_damaged", "the state file cannot be read; nothing is changed until it is mended or moved away")
)
