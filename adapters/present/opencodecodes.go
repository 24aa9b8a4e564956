package present

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// opencodeCode returns a fault's code in the contract's words: one that stands for it; its own, without the prefix that tells sandboxes' faults
// from those of other capabilities; else one by its kind (opencode contract §14).
func opencodeCode(f *fault.Error) string {
	if code, ok := opencodeCodes()[f.Code]; ok {
		return code
	}
	if own, ok := strings.CutPrefix(string(f.Code), "sandbox_"); ok && f.Kind != fault.Internal {
		return own
	}
	switch f.Kind {
	case fault.Invalid, fault.NotFound: // an argument names what there is not
		return "invalid_arguments"
	case fault.Conflict, fault.State:
		return "conflict"
	case fault.Denied:
		return "permission_denied"
	case fault.Unconfirmed:
		return "confirmation_required"
	case fault.Unavailable:
		return "unavailable"
	case fault.Timeout:
		return "timeout"
	case fault.Canceled:
		return "canceled"
	}
	return "internal"
}

// opencodeCodes returns the faults that do not simply have the code of their kind. The contract has no words for policy and confirmation;
// those here are in its form.
func opencodeCodes() map[fault.Code]string {
	return map[fault.Code]string{
		// With these three the contract itself tells sandboxes from what else there is.
		"sandbox_exists":    "sandbox_exists",
		"sandbox_not_found": "sandbox_not_found",
		"sandbox_dirty":     "sandbox_dirty",

		"project_not_found":     "project_not_found",
		"git_url_invalid":       "invalid_git_url",
		"git_unavailable":       "git_failed",
		"rate_limited":          "busy",
		"document_locked":       "busy",
		"process_limit":         "busy",
		"process_not_started":   "opencode_start_failed",
		"document_invalid":      "invalid_config",
		"document_shape":        "invalid_config",
		"env_file_line_invalid": "configuration_error",
		"sandbox_record_shape":  "state_damaged",

		// Those of the command line, which has them alone.
		"sandbox_clone_waits":       "clone_failed",
		"sandbox_request_failed":    "unavailable",
		"sandbox_directory_missing": "sandbox_not_found",
		"sandbox_log_unreadable":    "unavailable",
		"sandbox_name_unknown":      "project_not_found",
		"sandbox_project_unnamed":   "invalid_arguments",
		"sandbox_shell_failed":      "unavailable",
		"sandbox_unknown":           "sandbox_not_found",
		"sandbox_unnamed":           "invalid_arguments",
		"sandbox_agent_none":        "conflict",
		"sandbox_agent_failed":      "unavailable",
		"sandbox_pane_failed":       "unavailable",
		"sandbox_gateway_stopped":   "gateway_failed",

		"confirm_token_required": "confirmation_required",
		"confirm_pending":        "confirmation_pending",
		// A token without a pending request has expired, for whatever reason.
		"confirm_token_expired": "confirmation_expired",
		"confirm_token_unknown": "confirmation_expired",
		"confirm_token_burnt":   "confirmation_expired",
		"confirm_canceled":      "confirmation_expired",
		// Another call used it first.
		"confirm_token_used": "confirmation_used",
		// The plan changed after the approval.
		"confirm_token_mismatch": "confirmation_mismatch",
		// The approval stays valid; the value sent with it is wrong.
		"confirm_typed_value_wrong": "invalid_arguments",
		// A user denied this call; denials of policy are permission_denied.
		"confirm_denied": "confirmation_denied",
	}
}

// opencodeSuggestion returns the standing way on from a failure, for the model that reads it; empty where only the message can say one.
func opencodeSuggestion(f fault.Code, code string) string {
	switch f {
	case "confirm_typed_value_wrong":
		return "ask the user to type the name again, then repeat the call with the same confirm_token"
	case "rate_limited":
		return "wait for retry_after_ms milliseconds, then repeat the call"
	case "mode_forbids":
		return "ask the user whether you may call set_mode with a mode that allows this call"
	}
	return opencodeSuggestions()[code]
}

func opencodeSuggestions() map[string]string {
	const anew = "call again without a token to request a new approval"
	return map[string]string{
		"project_not_found":      "call opencode_project_list to list the projects, or opencode_project_start to set one up",
		"project_not_running":    "call opencode_project_start to start its server",
		"invalid_git_url":        "give https://host/owner/repo, git@host:owner/repo, or the absolute path of a repository on this machine",
		"configuration_error":    "ask the user to run countersign sandbox init on this machine or to correct the settings file; it holds secrets, so tools cannot change it",
		"invalid_config":         "ask the user to correct the file that the message names; it was not changed",
		"ssh_key_not_found":      "give the path of a private key that exists, or leave user_ssh_key out to use the project's deploy key",
		"invalid_ssh_key":        "make it a regular file that only its owner may read (chmod 600) with its .pub beside it, or leave user_ssh_key out",
		"clone_failed":           "make sure that the repository exists and that its key can read it (opencode_get_deploy_key shows the public key), then call again",
		"base_dir_conflict":      "move the existing files away, or pass another base_dir",
		"bootstrap_failed":       "fix what the message names, then call again; the setup continues where it stopped",
		"no_free_port":           "call opencode_project_list to list the running servers, and stop an unused one with opencode_project_stop",
		"port_in_use":            "ask the user to stop the program on that port or to set OPENCODE_PORT in the project's settings",
		"opencode_not_installed": "ask the user to install it (npm install -g opencode-ai) or to set OPENCODE_BIN to its path; sandboxes work without it",
		"opencode_start_failed":  "read the end of the server log in the details, fix the cause, and start the project again",
		"opencode_unhealthy":     "call opencode_project_status to see whether it has started since, or opencode_project_restart to restart it",
		"opencode_auth_failed":   "call opencode_project_restart to start a server with the current password",
		"sandbox_exists":         "choose another name, or use the existing sandbox; opencode_sandbox_list shows its directory",
		"sandbox_not_found":      "call opencode_sandbox_list to list the sandboxes",
		"sandbox_dirty":          "commit and push what the details list, or ask the user and call again with force: true",
		"base_dirty":             "ask the user to commit or stash what the details list, then call again",
		"merge_conflict":         "merge the base in the sandbox's directory (git merge), resolve what the details list, commit, and call again",
		"uncommitted":            "commit in the sandbox's directory what the details list, then call again",
		"moved":                  "call again to get the new plan",
		"unmerged":               "sandbox_diff shows the work; sandbox_merge proposes to merge it",
		"agent_not_installed":    "ask the user to install the agent, or choose another one; agent: none starts no agent",
		"agent_runs":             "opencode_sandbox_list shows what it is doing; sandbox_agent with stop: true stops it",
		"isolation_missing":      "ask the user to install what the message names, or choose another kind of isolation",
		"applied":                "the working tree already has the changes; call sandbox_diff to see them",
		"review_gone":            "omit since_review: the work was never marked as reviewed, or the reviewed files are no longer stored",
		"branch_checked_out":     "ask the user to check out another branch there, or call sandbox_merge",
		"branch_not_found":       "use a branch that the details list, or omit branch",
		"invalid_name":           "use letters, digits, _ and -, at most 64 of them",
		"git_failed":             "read git's output in the details, fix the cause, and call again",
		"unpushed_work":          "push what the details list, or ask the user and call again with force: true",
		"server_not_found":       "call opencode_servers to list the servers",
		"server_failed":          "call opencode_servers to see whether the server is active, then repeat the call once",
		"request_not_found":      "list sessions, permissions or questions again and use a current id",
		"request_refused":        "correct what the message names, and call again",
		"gateway_failed":         "call opencode_mcp_restart to try again; projects and sandboxes work without the gateway",
		"busy":                   "wait a few seconds, then repeat the call",
		"timeout":                "check how far it got (opencode_project_status, opencode_sandbox_list) before you call again",
		"invalid_arguments":      "correct the argument that the message names, and call again",
		"internal":               "repeat the call once; if it fails again, tell the user that the server log has the cause",
		"state_damaged":          "ask the user to correct the file that the message names, or to move it away; until then nothing can change",
		"conflict":               "check the current state, then make a new call",
		"unavailable":            "make sure that what the message names is available, then repeat the call",
		"permission_denied":      "do not work around this; tell the user which permission the call needs",
		"confirmation_required":  "show the plan to the user; after they agree, repeat the call unchanged with confirm_token",
		"confirmation_pending":   "wait for the user's decision, then repeat the call unchanged",
		"confirmation_expired":   anew,
		"confirmation_used":      "check whether the change was already made; if not, " + anew,
		"confirmation_mismatch":  "check the current state, then " + anew,
		"confirmation_denied":    "the user denied this call; do not repeat it, ask what they want instead",
	}
}
