// Package sandboxes implements the toolset of sandbox projects: repositories keyed by their git URL, cloned, served by an agent server of their own,
// and worked on in several git worktrees at the same time. It covers the opencode contract, three further tools (opencode_get_deploy_key,
// opencode_detect_duplicates and opencode_cleanup_orphaned), six to merge or publish the work of a sandbox, and some for users only.
//
// Capability returns the toolset. The tools of the gateway itself are in package gateway.
//
//   - what every tool is built on (common.go): tool specs by class, Plan, the project with a git URL (Deps.Find, Must), and records updated to the
//     processes that really run (Deps.Current)
//   - projects (ProjectEntries in projects.go; project_start.go, project_stop.go): start (every step that is missing), status, stop, restart, destroy, list
//   - sandboxes (SandboxEntries in sandbox_tools.go; sandbox_create.go, sandbox_delete.go): git worktrees created, listed, reset and deleted, whether the
//     project's server runs or not; UserOnlyEntries are sandbox_backups, sandbox_restore, sandbox_isolate and others, for users only
//   - merging and publishing work (WorkEntries in sandbox_tools.go; compare.go, merge.go, push.go, apply.go, review.go): sandbox_diff, sandbox_review,
//     sandbox_merge, sandbox_update, sandbox_push and sandbox_archive. A plan identifies both sides by their commits and the result by its tree, so that
//     nothing else can be applied
//   - the gateway (GatewayManager in gateway_server.go): the MCP server in front of all agent servers, which runs as long as there is a server to
//     route to
//   - recovery (ProjectManager in project_manager.go): it stops servers, removes projects, and finishes or undoes what a process that died had begun: a
//     project that was being destroyed is destroyed, a sandbox that was being created is removed, one that was being deleted is deleted, a merge is
//     finished. Operations of a process that still runs are left alone, and the ProjectManager starts nothing. ProjectManager.StopIdle (idle.go) stops
//     servers that are idle for too long or use too much memory
//   - administration (AdminEntries in admin.go; model.go): deploy keys, duplicates, orphans, and the model that servers use; it starts no server
//
// # The contract: opencode.v1
//
// Every answer is one JSON object with status; a failure has status "error", a code under error, message, and where there is a next step, suggestion.
// The codes: project_not_found project_not_running invalid_git_url configuration_error invalid_config ssh_key_not_found invalid_ssh_key clone_failed
// base_dir_conflict no_free_port port_in_use opencode_not_installed opencode_start_failed opencode_unhealthy opencode_auth_failed sandbox_exists
// sandbox_not_found sandbox_dirty branch_not_found invalid_name git_failed unpushed_work gateway_failed busy timeout invalid_arguments internal; and
// of the tools that are not the contract's: base_dirty merge_conflict uncommitted moved unmerged.
//
// A project is identified by its canonical URL, however it was spelled; credentials in a URL are dropped and never stored. Its clone is
// ~/.opencode-projects/{owner}-{repo}/repo, its sandboxes are in worktrees beside it. Starting does every step that is missing, and calling again
// resumes: settings, key, access, clone, record, server, health, gateway. A key that the host does not know yet is status waiting_for_key.
//
// Sandboxes are Countersign's own git worktrees and need no server. No approval is needed to delete a clean one; one with unsaved work is refused
// with the list, force has the user approve what is shown, and the work is backed up under refs/opencode-backup. Destroying a project with unsaved
// work requires typing its name. A start_command, and a .worktreesetup that was not approved as it is, are approved with their text.
//
// Ports: 4100 to 4199, the first choice given by the URL; a program that already listens on a port is never stopped. A process is only signalled if
// it is known to be Countersign's own.
package sandboxes
