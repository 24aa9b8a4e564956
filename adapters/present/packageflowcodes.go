package present

import "github.com/countersign-dev/countersign/domain/fault"

// packageflowCodes returns the faults that do not simply have the code of their kind (packageflow contract §2.3).
func packageflowCodes() map[fault.Code]string {
	return map[fault.Code]string{
		"project_not_found":   "PROJECT_NOT_FOUND",
		"worktree_not_found":  "WORKTREE_NOT_FOUND",
		"workflow_not_found":  "WORKFLOW_NOT_FOUND",
		"script_not_found":    "SCRIPT_NOT_FOUND",
		"action_not_found":    "ACTION_NOT_FOUND",
		"execution_not_found": "EXECUTION_NOT_FOUND",
		"process_not_found":   "PROCESS_NOT_FOUND",
		"action_disabled":     "ACTION_DISABLED",
		"not_a_git_repo":      "NOT_A_GIT_REPO",
		"path_not_allowed":    "PATH_NOT_ALLOWED",
		"command_blocked":     "COMMAND_BLOCKED",
		"url_blocked":         "URL_BLOCKED",
		"process_limit":       "PROCESS_LIMIT",
		"rate_limited":        "RATE_LIMITED",
		"confirm_limit":       "RATE_LIMITED", // users read only so much
		"server_disabled":     "SERVER_DISABLED",
		"tool_unknown":        "UNKNOWN_TOOL",
		"execution_failed":    "EXECUTION_FAILED",
		"execution_timeout":   "EXECUTION_TIMEOUT",
		"user_cancelled":      "USER_CANCELLED",

		"confirm_token_required": "CONFIRMATION_PENDING",
		"confirm_pending":        "CONFIRMATION_PENDING",
		// A token without a pending request has expired, for whatever reason.
		"confirm_token_expired": "CONFIRMATION_EXPIRED",
		"confirm_token_unknown": "CONFIRMATION_EXPIRED",
		"confirm_token_burnt":   "CONFIRMATION_EXPIRED",
		"confirm_canceled":      "CONFIRMATION_EXPIRED",
		// Another call used it first, or the plan changed after the approval.
		"confirm_token_used":     "CONFLICT",
		"confirm_token_mismatch": "CONFLICT",
		"plan_stale":             "CONFLICT",
		// The approval stays valid; the value sent with it is wrong.
		"confirm_typed_value_wrong": "INVALID_ARGUMENT",
		// Policy refuses with PERMISSION_DENIED; this is the user who looked at this very call and said no (packageflow contract: deny cancels).
		"confirm_denied": "USER_CANCELLED",
	}
}

// packageflowHint returns the standing way on from a failure, for the model that reads it; empty where the message has said it all.
func packageflowHint(f fault.Code, code string) string {
	if f == "confirm_denied" {
		return "the user denied this call; do not repeat it, ask what they want instead"
	}
	if f == "confirm_limit" {
		return "do not request more approvals until the user has decided the pending ones"
	}
	if f == "confirm_typed_value_wrong" {
		return "ask the user to type the name again, then repeat the call with the same confirm_token"
	}
	switch code {
	case "CONFIRMATION_PENDING":
		return "show the context to the user; after they agree, repeat the call unchanged with confirm_token"
	case "CONFIRMATION_EXPIRED":
		return "call again to request a new approval; earlier tokens are no longer valid"
	case "CONFLICT":
		return "check the current state, then make a new call; earlier tokens are no longer valid"
	case "RATE_LIMITED":
		return "wait for retryAfterMs milliseconds before the next call"
	case "PROCESS_LIMIT":
		return "call list_background_processes to list running processes and stop_background_process to stop one"
	case "PERMISSION_DENIED":
		return "do not work around this; tell the user which permission the call needs"
	case "PATH_NOT_ALLOWED", "PROJECT_NOT_FOUND":
		return "use a path from list_projects; only the user can register another project"
	case "WORKTREE_NOT_FOUND":
		return "use a path from list_worktrees"
	case "EXECUTION_TIMEOUT":
		return "request less, allow more time, or run it in the background"
	case "UNKNOWN_TOOL":
		return "use only tools from the tool list"
	}
	return ""
}
