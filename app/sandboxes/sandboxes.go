// Package sandboxes is the toolset of projects keyed by their git URL: cloned, served by an agent server of their own, and worked on in git
// worktrees side by side. It is the whole of seed 003 and three tools more.
//
// The contract, opencode.v1. Every answer is one JSON object with status; a failure has status "error", a code under error, message, and where there
// is a way out, suggestion. The codes: project_not_found project_not_running invalid_git_url configuration_error invalid_config ssh_key_not_found
// invalid_ssh_key clone_failed base_dir_conflict no_free_port port_in_use opencode_not_installed opencode_start_failed opencode_unhealthy
// opencode_auth_failed sandbox_exists sandbox_not_found sandbox_dirty branch_not_found invalid_name git_failed unpushed_work gateway_failed busy timeout
// invalid_arguments internal.
//
// A project is named by its canonical URL, however it was spelled; credentials in a URL are dropped and never stored. Its clone is
// ~/.opencode-projects/{owner}-{repo}/repo, its sandboxes are in worktrees beside it. Starting does every step that is missing, and calling again
// resumes: settings, key, access, clone, record, server, health, gateway. A key the host does not know yet is status waiting_for_key.
//
// Sandboxes are our own git worktrees and need no server. Nothing asks before a clean one is deleted; one with work that is nowhere else is refused
// with the list, force has a person confirm what is shown, and the work is kept under refs/opencode-backup. Destroying a project with such work has
// its name typed. A start_command, and a .worktreesetup that was not approved as it is, are confirmed with their text.
//
// Ports: 4100 to 4199, the first choice given by the URL; nothing that listens already is ever ended. A process is only signalled when it is known
// to be ours.
package sandboxes

import (
	"slices"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Name is the toolset's name.
const Name = "sandboxes"

// Contract is the contract of these tools.
const Contract tool.Contract = "opencode.v1"

// Capability is the toolset.
func Capability(d Deps) tool.Capability {
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute,
		Entries: slices.Concat(ProjectEntries(d), SandboxEntries(d), ForPeople(d), Entries(d), AdminEntries(d))}
}
