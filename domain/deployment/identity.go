package deployment

import (
	"strings"
)

// PosixPath returns a native path with slashes instead of backslashes (agentpack contract §1.7).
func PosixPath(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// maxKey is the number of bytes of a module's name that its key keeps (agentpack contract §1.5).
const maxKey = 64

// ModuleKey returns a directory name for a module: the safe characters of its identifier, and the beginning of the identifier's sum.
func ModuleKey(id string) string {
	safe := SafeName(id)
	return safe[:min(len(safe), maxKey)] + longKeyTail(id)
}

// longModuleKey returns the key in its form before names were bounded; overlays may still have it.
func longModuleKey(id string) string { return SafeName(id) + longKeyTail(id) }

func longKeyTail(id string) string { return "--" + SumOf([]byte(id)).Short(10) }

// SafeName keeps ASCII letters, digits, - and _; every other character becomes one _. An empty name becomes "module".
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

// MachineID returns a machine's name in normal form: lower case, runs of anything but letters, digits, - and _ become one -, none at either end
// (agentpack contract §1.3). It may be empty.
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

// ProjectID identifies a project by its remote: 16 hex digits of the sum of the remote in a short form, or of the project's absolute path if it has
// no remote (agentpack contract §1.4).
func ProjectID(origin, root string) string {
	basis := root
	if origin = strings.TrimSpace(origin); origin != "" {
		basis = projectBasis(origin)
	}
	return SumOf([]byte(basis)).Short(16)
}

// projectBasis returns the short form of a remote.
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

// Locations holds everything that one call depends on, resolved (agentpack contract §1). All paths are absolute and native.
type Locations struct {
	Home        string `json:"home"` // AGENTPACK_HOME
	Repo        string `json:"repo"` // the config repository
	UserHome    string `json:"user_home"`
	CodexHome   string `json:"codex_home"` // $CODEX_HOME, empty when unset
	ProjectRoot string `json:"project_root"`
	ProjectID   string `json:"project_id"`
	Origin      string `json:"origin"`  // the project's remote; empty when it has none
	Remote      string `json:"remote"`  // identity of the config repository's remote; empty when it has none
	Marked      bool   `json:"marked"`  // the project root is a git work tree, or was named explicitly
	Machine     string `json:"machine"` // normal form, never empty
	Only        Scope  `json:"scope"`   // user or project: only that is deployed; empty: as the targets say

	Env map[string]string `json:"env,omitempty"` // the variables that move directories of agents, if they are set
}

// OverlayScope is the scope of an overlay layer.
type OverlayScope string

// The overlay scopes, lowest first.
const (
	GlobalScope  OverlayScope = "global"
	MachineScope OverlayScope = "machine"
	ProjectScope OverlayScope = "project"
)

// OverlayScopes returns every scope, in the order in which layers are applied (agentpack contract §3.1).
func OverlayScopes() []OverlayScope { return []OverlayScope{GlobalScope, MachineScope, ProjectScope} }

// OverlayParent returns the slash path, below the config repository, of the directory that holds a scope's overlays.
func (p Locations) OverlayParent(s OverlayScope) string {
	switch s {
	case MachineScope:
		return "overlays/machines/" + p.Machine
	case ProjectScope:
		return "projects/" + p.ProjectID + "/overlays"
	}
	return "overlays"
}

// OverlayNames returns the directory names that a module's overlay may have; the first that exists is used, and the first is the one to create
// (agentpack contract §1.5).
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
