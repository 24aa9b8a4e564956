package deployment

import (
	"strings"
)

// PosixPath is the companion of a native path: backslashes become slashes (agentpack contract §1.7).
func PosixPath(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// maxKey is how much of a module's name its key keeps, in bytes (agentpack contract §1.5).
const maxKey = 64

// ModuleKey is a directory name for a module: what is safe of its identifier, and the beginning of the identifier's sum.
func ModuleKey(id string) string {
	safe := SafeName(id)
	return safe[:min(len(safe), maxKey)] + longKeyTail(id)
}

// longModuleKey is the key that was in use before names were bounded; overlays are still found under it.
func longModuleKey(id string) string { return SafeName(id) + longKeyTail(id) }

func longKeyTail(id string) string { return "--" + SumOf([]byte(id)).Short(10) }

// SafeName keeps ASCII letters, digits, - and _; every other character becomes one _. Nothing becomes "module".
func SafeName(id string) string {
	safe := strings.Map(func(r rune) rune {
		if safeRune(r) {
			return r
		}
		return '_'
	}, id)
	if safe == "" {
		return "module"
	}
	return safe
}

func safeRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// MachineID is a machine's name in its normal form: lower case, runs of anything but letters, digits, - and _ become one -, none at
// either end (agentpack contract §1.3). It may be empty.
func MachineID(name string) string {
	var out strings.Builder
	gap := false
	for _, r := range strings.ToLower(strings.TrimSpace(name)) {
		if !safeRune(r) {
			gap = true
			continue
		}
		if gap {
			out.WriteByte('-')
			gap = false
		}
		out.WriteRune(r)
	}
	return strings.Trim(out.String(), "-")
}

// ProjectID names a project by its remote: 16 hex digits of the sum of the remote in a short form, or of the project's absolute path
// when it has no remote (agentpack contract §1.4).
func ProjectID(origin, root string) string {
	basis := root
	if origin = strings.TrimSpace(origin); origin != "" {
		basis = projectBasis(origin)
	}
	return SumOf([]byte(basis)).Short(16)
}

// projectBasis is the short form of a remote.
func projectBasis(origin string) string {
	s := strings.TrimSpace(origin)
	for strings.HasSuffix(s, ".git") {
		s = strings.TrimSuffix(s, ".git")
	}
	if rest, ok := strings.CutPrefix(s, "git@"); ok {
		s = strings.ReplaceAll(rest, ":", "/")
	} else {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	}
	return strings.ToLower(s)
}

// Place is where one call works: everything it depends on, resolved (agentpack contract §1). All paths are absolute and native.
type Place struct {
	Home        string `json:"home"` // AGENTPACK_HOME
	Repo        string `json:"repo"` // the config repository
	UserHome    string `json:"user_home"`
	CodexHome   string `json:"codex_home"` // $CODEX_HOME, empty when unset
	ProjectRoot string `json:"project_root"`
	ProjectID   string `json:"project_id"`
	Origin      string `json:"origin"`  // the project's remote; empty when it has none
	Remote      string `json:"remote"`  // what the config repository's remote is known by; empty when it has none
	Marked      bool   `json:"marked"`  // the project root is a git work tree, or was named explicitly
	Machine     string `json:"machine"` // normal form, never empty
	Only        Scope  `json:"scope"`   // user or project: nothing else is deployed; empty is what the targets say

	Env map[string]string `json:"env,omitempty"` // those variables that are set of the ones that move directories of agents
}

// OverlayScope is a layer that overlays live in.
type OverlayScope string

// The overlay scopes, lowest first.
const (
	GlobalScope  OverlayScope = "global"
	MachineScope OverlayScope = "machine"
	ProjectScope OverlayScope = "project"
)

// OverlayScopes is every scope, in the order in which layers are applied (agentpack contract §3.1).
func OverlayScopes() []OverlayScope { return []OverlayScope{GlobalScope, MachineScope, ProjectScope} }

// OverlayParent is the slash path, below the config repository, of the directory that holds a scope's overlays.
func (p Place) OverlayParent(s OverlayScope) string {
	switch s {
	case MachineScope:
		return "overlays/machines/" + p.Machine
	case ProjectScope:
		return "projects/" + p.ProjectID + "/overlays"
	}
	return "overlays"
}

// OverlayNames are the directory names under which a module's overlay is looked for; the first one that exists is used, and the first
// is the one to make (agentpack contract §1.5).
func OverlayNames(id string) []string {
	names := []string{ModuleKey(id)}
	if long := longModuleKey(id); long != names[0] {
		names = append(names, long)
	}
	if id != "" && id != "." && id != ".." && !strings.ContainsAny(id, `/\`) {
		names = append(names, id)
	}
	return names
}
