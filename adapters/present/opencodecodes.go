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
		return "ask the person to type the name again, and repeat the call with the same confirm_token"
	case "rate_limited":
		return "wait for retry_after_ms milliseconds, then repeat the call"
	case "mode_forbids":
		return "ask the person whether set_mode may choose a mode that allows it"
	}
	return opencodeSuggestions()[code]
}

func opencodeSuggestions() map[string]string {
	const anew = "call again without a token to ask anew"
	return map[string]string{
		"project_not_found":      "opencode_project_list shows the projects there are; opencode_project_start sets one up",
		"project_not_running":    "opencode_project_start starts its server",
		"invalid_git_url":        "give https://host/owner/repo, git@host:owner/repo, or the absolute path of a repository on this machine",
		"configuration_error":    "a person runs countersign sandbox init on this machine, or mends the settings file: it holds secrets, which no tool takes",
		"invalid_config":         "a person mends the file that the message names; it was left as it is",
		"ssh_key_not_found":      "give the path of a private key that exists, or leave user_ssh_key out to use the project's deploy key",
		"invalid_ssh_key":        "make it a regular file that only its owner may read (chmod 600) with its .pub beside it, or leave user_ssh_key out",
		"clone_failed":           "see that the repository exists and that its key may read it (opencode_get_deploy_key shows the public key), then call again",
		"base_dir_conflict":      "move away what is there, or give another base_dir",
		"bootstrap_failed":       "call again once what the message names is mended; it goes on where it stopped",
		"no_free_port":           "opencode_project_list shows which servers run; stop one that nobody needs with opencode_project_stop",
		"port_in_use":            "ask the person to end the program on that port, or to set OPENCODE_PORT in the project's settings",
		"opencode_not_installed": "a person installs it (npm install -g opencode-ai) or names it in OPENCODE_BIN; sandboxes work without it",
		"opencode_start_failed":  "read the end of the server's log in the details, mend what it names, and start the project again",
		"opencode_unhealthy":     "opencode_project_status shows whether it has come up since; opencode_project_restart starts it anew",
		"opencode_auth_failed":   "opencode_project_restart starts a server of ours with the password as it is now",
		"sandbox_exists":         "choose another name, or work in the one there is: opencode_sandbox_list shows where",
		"sandbox_not_found":      "opencode_sandbox_list shows the names there are",
		"sandbox_dirty":          "commit and push what the details list, or ask the person and call again with force: true",
		"base_dirty":             "ask the person to commit or stash what the details list, then call again",
		"merge_conflict":         "merge the base in the sandbox's directory (git merge), resolve what the details list, commit, and call again",
		"uncommitted":            "commit in the sandbox's directory what the details list, then call again",
		"moved":                  "call again to see what would be done now",
		"unmerged":               "sandbox_diff shows the work; sandbox_merge proposes to merge it",
		"agent_not_installed":    "ask the person to install the agent, or choose another one; agent: none starts none",
		"agent_runs":             "opencode_sandbox_list shows what it is doing; sandbox_agent with stop: true stops it",
		"isolation_missing":      "ask the person to install what the message names, or choose another kind of isolation",
		"applied":                "the working tree has the work already; sandbox_diff shows it",
		"review_gone":            "leave since_review out: nobody has marked the work as seen, or what was seen is not kept any more",
		"branch_checked_out":     "ask the person to check out another branch there, or propose sandbox_merge",
		"branch_not_found":       "use a branch that the details name, or leave branch out",
		"invalid_name":           "use letters, digits, _ and -, at most 64 of them",
		"git_failed":             "git's own words are in the details; mend what they name and call again",
		"unpushed_work":          "push what the details list, or ask the person and call again with force: true",
		"server_not_found":       "opencode_servers lists the servers there are",
		"server_failed":          "opencode_servers shows whether the server is active; repeat the call once",
		"request_not_found":      "list sessions, permissions or questions again, and use an id that is there now",
		"request_refused":        "correct what the message names, and call again",
		"gateway_failed":         "opencode_mcp_restart tries again; projects and sandboxes work without the gateway",
		"busy":                   "wait a little, then repeat the same call",
		"timeout":                "look at how far it came (opencode_project_status, opencode_sandbox_list) before you call again",
		"invalid_arguments":      "correct the argument that the message names, and call again",
		"internal":               "repeat the call once; if it fails again, tell the person that the log has the cause",
		"state_damaged":          "a person mends the file that the message names, or moves it away; nothing is changed until then",
		"conflict":               "look at how things are now, then call anew",
		"unavailable":            "see that what the message names can be used, then repeat the call",
		"permission_denied":      "do not look for a way around this; tell the person which permission the call needs",
		"confirmation_required":  "show the plan to a person; once they agree, repeat the very same call with confirm_token",
		"confirmation_pending":   "wait until the person has answered, then repeat the very same call",
		"confirmation_expired":   anew,
		"confirmation_used":      "look at whether the change was made already; if it was not, " + anew,
		"confirmation_mismatch":  "look at how things are now, then " + anew,
		"confirmation_denied":    "a person refused this call; do not repeat it, ask what they want instead",
	}
}
