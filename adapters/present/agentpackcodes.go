package present

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// agentpackRow is how the contract names a fault: its code, and what stands in the details unless the raising site said otherwise
// (agentpack contract §6.2).
type agentpackRow struct {
	code    string
	reason  string
	actions []string
	hint    string
}

const unexpected = "E_UNEXPECTED"

// rowOf finds the contract's row of a fault. What has none, and no deployment fault either, is unexpected.
func rowOf(o tool.Outcome, f *fault.Error) agentpackRow {
	if f.Code == "confirm_token_required" && o.Request != nil { // waits for the user
		return agentpackRow{"E_CONFIRM_PENDING", "confirmation_pending", []string{"await_approval", "retry_command"}, ""}
	}
	if row, ok := contractRows()[f.Code]; ok {
		return row
	}
	if row, ok := ownRows()[f.Code]; ok {
		return row
	}
	return agentpackRow{code: unexpected}
}

func row(code string, actions ...string) agentpackRow {
	return agentpackRow{code: code, reason: strings.ToLower(strings.TrimPrefix(code, "E_")), actions: actions}
}

func (r agentpackRow) because(reason string) agentpackRow {
	r.reason = reason
	return r
}

func (r agentpackRow) hinting(hint string) agentpackRow {
	r.hint = hint
	return r
}

// contractRows returns the codes of the contract.
func contractRows() map[fault.Code]agentpackRow {
	const retry = "retry_command"
	const fresh = "call deploy, show its plan to the user, then call deploy_apply with yes: true and the new confirm_token"
	mismatch := row("E_CONFIRM_TOKEN_MISMATCH", "call_deploy", "retry_deploy_apply").hinting(fresh)
	return map[fault.Code]agentpackRow{
		"deployment_yes_required":         row("E_CONFIRM_REQUIRED", "retry_with_yes"),
		"confirm_token_required":          row("E_CONFIRM_TOKEN_REQUIRED", "call_deploy", "retry_deploy_apply").hinting(fresh),
		"confirm_token_expired":           row("E_CONFIRM_TOKEN_EXPIRED", "call_deploy", "retry_deploy_apply").hinting(fresh),
		"confirm_token_mismatch":          mismatch,
		"confirm_token_unknown":           mismatch,
		"confirm_token_used":              mismatch,
		"confirm_token_burnt":             mismatch,
		"confirm_canceled":                mismatch,
		"confirm_argument_invalid":        row("E_CONFIG_INVALID", "fix_arguments", retry).because("arguments_invalid"),
		"invalid_arguments":               row("E_CONFIG_INVALID", "fix_arguments", retry).because("arguments_invalid"),
		"deployment_adopt_required":       row("E_ADOPT_CONFIRM_REQUIRED", "retry_with_adopt"),
		"deployment_tty_required":         row("E_TTY_REQUIRED", "retry_in_tty", "retry_without_guided"),
		"guided_tty_required":             row("E_TTY_REQUIRED", "retry_in_tty", "retry_without_guided"),
		"deployment_import_conflict":      row("E_IMPORT_CONFLICT", "resolve_import_conflict", "retry_import_apply"),
		"deployment_config_missing":       row("E_CONFIG_MISSING", "run_init", "retry_with_repo", retry),
		"deployment_config_invalid":       row("E_CONFIG_INVALID", "fix_config", retry),
		"deployment_config_version":       row("E_CONFIG_UNSUPPORTED_VERSION", "upgrade_agentpack", "fix_config_version", retry),
		"deployment_lock_missing":         row("E_LOCKFILE_MISSING", "run_lock", "run_update", retry),
		"deployment_lock_invalid":         row("E_LOCKFILE_INVALID", "regenerate_lockfile", retry).because("lockfile_invalid_json"),
		"deployment_lock_version":         row("E_LOCKFILE_UNSUPPORTED_VERSION", "upgrade_agentpack", "regenerate_lockfile", retry),
		"deployment_target_unsupported":   row("E_TARGET_UNSUPPORTED", "inspect_help_json", "retry_with_supported_target").because("target_filter_unsupported"),
		"deployment_desired_conflict":     row("E_DESIRED_STATE_CONFLICT", "resolve_desired_state_conflict", retry),
		"deployment_overlay_missing":      row("E_OVERLAY_NOT_FOUND", "run_overlay_edit", retry),
		"deployment_baseline_missing":     row("E_OVERLAY_BASELINE_MISSING", "run_overlay_edit", retry),
		"deployment_baseline_unsupported": row("E_OVERLAY_BASELINE_UNSUPPORTED", "init_git_repo", "commit_or_stash", "run_overlay_edit", retry),
		"deployment_rebase_conflict":      row("E_OVERLAY_REBASE_CONFLICT", "resolve_overlay_conflicts", "retry_overlay_rebase"),
		"deployment_patch_failed":         row("E_OVERLAY_PATCH_APPLY_FAILED", "regenerate_patch", "switch_to_dir_overlay", retry),
		"deployment_git_repo_required":    row("E_GIT_REPO_REQUIRED", "init_git_repo", retry),
		"deployment_git_dirty":            row("E_GIT_WORKTREE_DIRTY", "commit_or_stash", retry),
		"deployment_git_detached":         row("E_GIT_DETACHED_HEAD", "checkout_branch", retry),
		"deployment_git_remote_missing":   row("E_GIT_REMOTE_MISSING", "set_git_remote", retry),
		"deployment_git_missing":          row("E_GIT_NOT_FOUND", "install_git", retry),
		"deployment_policy_violations":    row("E_POLICY_VIOLATIONS", "fix_policy_violations", "retry_policy_lint"),
		"deployment_policy_missing":       row("E_POLICY_CONFIG_MISSING", "create_policy_config", retry),
		"deployment_policy_invalid":       row("E_POLICY_CONFIG_INVALID", "fix_policy_config", retry),
		"deployment_policy_version":       row("E_POLICY_CONFIG_UNSUPPORTED_VERSION", "upgrade_agentpack", "fix_policy_config_version", retry),
		"deployment_permission_denied":    row("E_IO_PERMISSION_DENIED", "fix_permissions", retry),
		"deployment_path_invalid":         row("E_IO_INVALID_PATH", "fix_path", retry),
		"deployment_path_long":            row("E_IO_PATH_TOO_LONG", "shorten_path", "enable_long_paths", retry),
	}
}

// ownRows returns the codes for what the contract leaves unclassified, in the same form.
func ownRows() map[fault.Code]agentpackRow {
	const retry = "retry_command"
	denied := row("E_POLICY_DENIED", "ask_operator")
	return map[fault.Code]agentpackRow{
		"policy_denied":                   denied,
		"mode_forbids":                    row("E_POLICY_DENIED", "set_mode", retry).because("mode_forbids"),
		"confirm_denied":                  denied.because("confirmation_denied"),
		"confirm_pending":                 row("E_CONFIRM_PENDING", "await_approval", retry).because("confirmation_pending"),
		"confirm_answered":                row("E_CONFIRM_ANSWERED", retry).because("confirmation_answered"),
		"confirm_limit":                   row("E_RATE_LIMITED", "await_approval", retry).because("confirmation_limit"),
		"confirm_proof_missing":           denied.because("confirmation_proof_missing"),
		"confirm_not_revealed":            denied.because("confirmation_not_revealed"),
		"plan_stale":                      row("E_PLAN_STALE", retry),
		"deployment_plan_stale":           row("E_PLAN_STALE", "call_deploy", retry),
		"deployment_apply_interrupted":    row("E_APPLY_INTERRUPTED", "run_recover_resume", "run_recover_undo"),
		"deployment_snapshot_missing":     row("E_SNAPSHOT_NOT_FOUND", "list_snapshots", retry),
		"deployment_snapshot_damaged":     row("E_SNAPSHOT_DAMAGED", "list_snapshots"),
		"deployment_git_failed":           row("E_GIT_FAILED", retry),
		"deployment_offline":              row("E_OFFLINE", "run_fetch", "retry_online"),
		"deployment_content_changed":      row("E_CONTENT_MISMATCH", "run_fetch", "regenerate_lockfile", retry),
		"deployment_project_unmarked":     row("E_PROJECT_REQUIRED", "name_project_root", retry),
		"deployment_conflicts_unresolved": row("E_OVERLAY_CONFLICTS_UNRESOLVED", "resolve_overlay_conflicts", "retry_overlay_rebase"),
		"deployment_write_failed":         row("E_IO_WRITE_FAILED", retry),
		"host_unknown":                    row("E_HOST_UNKNOWN", "retry_with_supported_host"),
		"host_entry_foreign":              row("E_HOST_ENTRY_FOREIGN", "retry_with_force", "retry_with_name"),
		"host_file_shared":                row("E_HOST_FILE_SHARED", "retry_with_user_scope"),
		"host_server_missing":             row("E_HOST_SERVER_MISSING", "start_server", retry),
		"rate_limited":                    row("E_RATE_LIMITED", "wait", retry),
		"timeout":                         row("E_TIMEOUT", retry),
		"canceled":                        row("E_CANCELED", retry),
	}
}
