package ecocmd

import (
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// CommandText returns a text in words of the command line: what agents are told to call, users type.
func CommandText(text string) string {
	if !strings.Contains(text, "_") && !strings.Contains(text, "execute mode") && !strings.Contains(text, ": true") {
		return text
	}
	return strings.NewReplacer(
		"name one as ecosystem, or select one with amof_switch_ecosystem", "name one, or select one with countersign eco use NAME",
		"amof_push_ecosystem with commit_all and message", "countersign eco push --commit-all --message TEXT",
		"commit_all needs a message for the commits it makes; call again with message", "--commit-all needs --message for the commits it makes",
		"cleanup: local", "--cleanup local", "cleanup: all", "--cleanup all", "force: true", "--force", "offline: true", "--offline", "skip_validation: true", "--skip-validation",
		"commit_all", "--commit-all", "delete_workspace", "--delete-workspace", "cleanup_features", "--cleanup-features",
		"amof_set_mode", "the mode",
		"amof_list_ecosystems", "countersign eco list", "amof_switch_ecosystem", "countersign eco use", "amof_create_ecosystem", "countersign eco create",
		"amof_describe_ecosystem", "countersign eco describe", "amof_validate_manifest", "countersign eco validate", "amof_get_ecosystem_status", "countersign eco status",
		"amof_install_ecosystem", "countersign eco install", "amof_sync_ecosystem", "countersign eco sync", "amof_push_ecosystem", "countersign eco push",
		"amof_archive_ecosystem", "countersign eco archive", "amof_discard_ecosystem", "countersign eco discard", "amof_create_journal", "countersign eco journal",
		"amof_ticket_", "countersign eco ticket ", "amof_spin_", "countersign eco spin ", "amof_release_", "countersign eco release ",
		"amof_get_run_status", "countersign eco runs status", "amof_get_run_logs", "countersign eco runs logs", "amof_summarize_run", "countersign eco runs summary",
		"amof_list_runs", "countersign eco runs list", "amof_get_active_runs", "countersign eco runs list", "amof_cancel_run", "countersign eco runs cancel",
		"ecosystem_ticket_propose", "countersign eco ticket pr", "ecosystem_ticket_pr", "countersign eco ticket status", "(committed_only)", "(--committed-only)", "ecosystem_ticket_", "countersign eco ticket ", "ecosystem_exec", "countersign eco exec", "ecosystem_spin_status", "countersign eco spin status", "ecosystem_spin_ask", "countersign eco spin plan", "ecosystem_trash", "countersign eco trash",
		"ecosystem_restore", "countersign eco restore", "ecosystem_use", "countersign eco use",
	).Replace(text)
}

// hint returns the way out behind refusals that the user meets often and that say none.
func hint(f *fault.Error) command.Hint {
	if strings.Contains(f.Message, "countersign eco") && f.Code != "eco_no_ecosystem" {
		return ""
	}
	return map[fault.Code]command.Hint{
		"eco_no_ecosystem":           "to list them: countersign eco list; to create one: countersign eco create NAME --repo NAME=URL",
		"eco_ecosystem_not_found":    "to list them: countersign eco list; to create one: countersign eco create NAME",
		"eco_ecosystem_exists":       "see countersign eco describe",
		"eco_not_installed":          "to install it: countersign eco install",
		"eco_already_installed":      "to update it: countersign eco sync; to remove it: countersign eco discard",
		"eco_manifest_invalid":       "for details: countersign eco validate",
		"eco_workspace_root_invalid": "change to the workspace, or set AMOF_WORKSPACE_ROOT",
		"eco_ticket_not_found":       "to list them: countersign eco ticket list",
		"eco_repo_not_found":         "to list them: countersign eco describe",
		"eco_unsaved_work":           "see countersign eco status; to push it: countersign eco push",
		"eco_run_not_found":          "to list them: countersign eco runs list",
		"eco_run_ambiguous":          "to list them: countersign eco runs list",
		"eco_trash_not_found":        "to list the entries: countersign eco trash",
		"eco_release_not_ready":      "for details: countersign eco release validate",
		"eco_release_step_invalid":   "for the possible versions: countersign eco release status",
		"eco_busy":                   "for running operations: countersign eco runs list --status running",
		"eco_preview_changed":        "check the plan with --dry-run, then repeat the command",
	}[f.Code]
}
