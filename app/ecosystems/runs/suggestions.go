package runs

import (
	"cmp"
	"slices"
)

// Levels that an action requires (amof contract §15): what makes something can be tried as a dry run, what may destroy is only suggested where it
// can be carried out.
const (
	readOnly  = "read-only"
	safeWrite = "safe-write"
	dangerous = "dangerous-write"
)

// suggestion is an action without what a call adds: its ecosystem, its arguments.
type suggestion struct {
	id, label, tool, scope string
	safety, confirm        string
	priority               int
	description, condition string
}

// suggestions returns the actions that suggest themselves besides those about runs, by their ids (amof contract §15).
func suggestions() []suggestion {
	return []suggestion{
		{"list_ecosystems", "List ecosystems", "amof_list_ecosystems", "global", readOnly, "none", 3, "See which ecosystems there are.", ""},
		{"create_ecosystem", "Create ecosystem", "amof_create_ecosystem", "global", safeWrite, "none", 3, "Make an ecosystem of several repositories.", "there is none"},
		{"switch_ecosystem", "Switch ecosystem", "amof_switch_ecosystem", "global", readOnly, "none", 2, "Work on this ecosystem.", ""},
		{"scope_global", "Leave the ecosystem", "amof_scope_global", "global", readOnly, "none", 4, "Work on no ecosystem in particular.", ""},
		{"describe", "Describe", "amof_describe_ecosystem", "ecosystem", readOnly, "none", 3, "See what the manifest says.", ""},
		{"status", "Status", "amof_get_ecosystem_status", "ecosystem", readOnly, "none", 2, "See branch, changes and unpushed commits of every repository.", ""},
		{"validate", "Validate manifest", "amof_validate_manifest", "ecosystem", readOnly, "none", 1, "See what is wrong with the manifest, and how to put it right.", "the manifest has problems"},
		{"install", "Install", "amof_install_ecosystem", "ecosystem", dangerous, "simple", 1, "Make the workspace and clone every repository.", "the ecosystem is not installed"},
		{"sync", "Sync repositories", "amof_sync_ecosystem", "ecosystem", safeWrite, "none", 1, "Clone what is missing, and fast-forward the rest.", "a repository is missing"},
		{"push", "Push", "amof_push_ecosystem", "ecosystem", dangerous, "simple", 1, "Push what no remote has.", "there are commits that no remote has"},
		{"ticket_list", "List tickets", "amof_ticket_list", "ecosystem", readOnly, "none", 4, "See the tickets and their worktrees.", ""},
		{"ticket_start", "Start a ticket", "amof_ticket_start", "ecosystem", safeWrite, "none", 3, "Begin a feature branch across the repositories.", "no ticket is active"},
		{"ticket_switch", "Switch ticket", "amof_ticket_switch", "ecosystem", safeWrite, "none", 2, "Bring the repositories to where the work is.", "a repository is on another branch than it should be"},
		{"spin_deploy", "Deploy", "amof_spin_deploy", "ecosystem", dangerous, "preview", 3, "Deploy the environment through its provisioner.", "nothing is deployed"},
		{"spin_destroy", "Destroy environment", "amof_spin_destroy", "ecosystem", dangerous, "type", 4, "Take the environment down.", "it is deployed"},
		{"archive", "Archive", "amof_archive_ecosystem", "ecosystem", dangerous, "simple", 2, "Save everything, then remove the workspace.", ""},
		{"discard", "Discard", "amof_discard_ecosystem", "ecosystem", dangerous, "type", 5, "Remove the workspace without saving it.", ""},
		{"release_status", "Release status", "amof_release_status", "release", readOnly, "none", 2, "See version, stage and what is not released.", ""},
		{"release_validate", "Validate release", "amof_release_validate", "release", readOnly, "none", 2, "See whether a release could be made.", ""},
		{"release_log", "Release log", "amof_release_log", "release", readOnly, "none", 3, "See the releases so far.", "the release is stable"},
		{"release_bump", "Start an alpha", "amof_release_bump", "release", dangerous, "preview", 2, "Make an alpha of what is not released.", "there are commits since the last release"},
		{"release_promote", "Promote release", "amof_release_promote", "release", dangerous, "preview", 1, "Bring the pre-release to its next stage.", "there is a pre-release"},
		{"server_start", "Start listener", "amof_server_start", "server", safeWrite, "none", 3, "Have this process listen on a loopback address.", "it does not listen"},
	}
}

// SuggestAction returns the action of that id about that ecosystem (empty: none), with arguments of its own. An id that is unknown is list_ecosystems, which is
// never wrong.
func SuggestAction(id, ecosystemName string, args map[string]any) Action {
	all := suggestions()
	s := all[max(slices.IndexFunc(all, func(s suggestion) bool { return s.id == id }), 0)]
	a := Action{ID: s.id, Label: s.label, Tool: s.tool, Args: map[string]any{}, Scope: s.scope, ModeRequired: "ask", Safety: s.safety, Confirm: s.confirm, Priority: s.priority,
		Description: s.description, Condition: s.condition}
	switch s.safety {
	case safeWrite:
		a.ModeRequired = "plan"
	case dangerous:
		a.ModeRequired = "execute"
	}
	if ecosystemName != "" && s.scope != "global" || s.id == "switch_ecosystem" {
		a.Args["ecosystem"] = ecosystemName
	}
	for k, v := range args {
		a.Args[k] = v
	}
	return a
}

// Observations is the state of an ecosystem as far as it leads to suggestions. The numbers count repositories.
type Observations struct {
	Ecosystem   string
	Invalid     bool // the manifest has errors
	Installed   bool
	Ticket      string // the active one; empty for none
	Missing     int
	WrongBranch int
	Dirty       int
	Unpushed    int
}

// Actions returns the suggested actions (amof contract §15), the most urgent first.
func (n Observations) Actions() []Action {
	if n.Invalid {
		return []Action{SuggestAction("validate", n.Ecosystem, nil), SuggestAction("describe", n.Ecosystem, nil)}
	}
	if !n.Installed {
		return PrioritizeActions([]Action{SuggestAction("install", n.Ecosystem, nil), SuggestAction("validate", n.Ecosystem, nil), SuggestAction("describe", n.Ecosystem, nil)})
	}
	var out []Action
	if n.Missing > 0 {
		out = append(out, SuggestAction("sync", n.Ecosystem, nil))
	}
	if n.Unpushed > 0 {
		out = append(out, SuggestAction("push", n.Ecosystem, nil))
	}
	if n.Dirty > 0 {
		a := SuggestAction("push", n.Ecosystem, nil)
		a.Priority, a.Label, a.Description, a.Condition = 2, "Commit and push", "Push; changes are committed only with commit_all and a message.", "there are changes that are not committed"
		out = append(out, a)
	}
	if n.WrongBranch > 0 {
		out = append(out, SuggestAction("ticket_switch", n.Ecosystem, map[string]any{"ticket_id": cmp.Or(n.Ticket, "main")}))
	}
	if n.Ticket == "" {
		out = append(out, SuggestAction("ticket_start", n.Ecosystem, nil))
	}
	return PrioritizeActions(append(out, SuggestAction("ticket_list", n.Ecosystem, nil)))
}

// AfterRelease returns the suggested actions at that stage of a release (alpha, beta, rc, stable, or empty for none), with that number of commits since (amof
// contract §15).
func AfterRelease(ecosystemName, stage string, unreleased int) []Action {
	promote := func(label string, args map[string]any) Action {
		a := SuggestAction("release_promote", ecosystemName, args)
		a.Label = label
		return a
	}
	var out []Action
	switch stage {
	case "alpha":
		out = append(out, promote("Promote to beta", map[string]any{"target": "beta"}))
	case "beta":
		out = append(out, promote("Promote to rc", map[string]any{"target": "rc"}))
	case "rc":
		out = append(out, promote("Promote to stable", nil))
	default:
		out = append(out, SuggestAction("release_log", ecosystemName, nil))
	}
	if unreleased > 0 {
		out = append(out, SuggestAction("release_bump", ecosystemName, map[string]any{"bump_type": "patch", "pre_release": "alpha"}))
	}
	return PrioritizeActions(out)
}

// AfterRemoval returns the suggested actions after an ecosystem was discarded or archived or its environment destroyed (amof contract §15).
func AfterRemoval() []Action { return []Action{SuggestAction("list_ecosystems", "", nil)} }

// PrioritizeActions sorts actions by priority, 1 first, and keeps the most urgent one of each ID.
func PrioritizeActions(actions []Action) []Action {
	out := make([]Action, 0, len(actions))
	for priority := 1; priority <= 5; priority++ {
		for i := range actions {
			if actions[i].Priority == priority && !slices.ContainsFunc(out, func(a Action) bool { return a.ID == actions[i].ID }) {
				out = append(out, actions[i])
			}
		}
	}
	return out
}
