package sandboxcmd

import "strings"

// commandText returns a message in words of the command line: what agents are told to call, users type.
func commandText(message string) string {
	return strings.NewReplacer(
		"opencode_sandbox_create without branch", "countersign sandbox create without --branch",
		"; push it, or call again with force: true, which the user then approves by typing the project's name", "", // the hint says it
		"; commit and push it, or call again with force: true, which the user then approves", "",
		"opencode_project_start", "countersign sandbox start",
		"opencode_project_status", "countersign sandbox status",
		"opencode_project_stop", "countersign sandbox stop",
		"opencode_project_restart", "countersign sandbox restart",
		"opencode_project_destroy", "countersign sandbox destroy",
		"opencode_project_list", "countersign sandbox list",
		"opencode_sandbox_create", "countersign sandbox create",
		"opencode_sandbox_list", "countersign sandbox ls",
		"opencode_sandbox_delete", "countersign sandbox rm",
		"opencode_sandbox_reset", "countersign sandbox reset",
		"or merge what is committed alone (committed_only)", "or merge what is committed alone (--committed-only)",
		"or call again with force: true to replace them", "or repeat with --force to replace them",
		"sandbox_merge", "countersign sandbox merge",
		"sandbox_archive", "countersign sandbox archive",
		"sandbox_update with from: ", "countersign sandbox update --from ",
		"sandbox_update", "countersign sandbox update",
		"delete the sandbox with force", "countersign sandbox rm --force",
		"opencode_mcp_status", "countersign sandbox gateway status",
		"opencode_mcp_restart", "countersign sandbox gateway restart",
		"opencode_stop_mcp_tool", "countersign sandbox gateway stop",
		"opencode_llm_config", "countersign sandbox llm",
		"opencode_llm_set_model", "countersign sandbox llm",
		"opencode_get_deploy_key", "countersign sandbox key",
		"opencode_detect_duplicates", "countersign sandbox duplicates",
		"opencode_cleanup_orphaned", "countersign sandbox orphans",
		"call again", "repeat this command",
	).Replace(message)
}
