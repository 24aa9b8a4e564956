package deployment

import (
	"cmp"
	"maps"
	"strings"
	"time"
)

// LockVersion is the only version of agentpack.lock.json.
const LockVersion = 1

// LocalVersion is the resolved version of a module in the config repository itself.
const LocalVersion = "local"

// Lock is agentpack.lock.json (agentpack contract §2.4): the resolved version of every enabled module.
type Lock struct {
	Version     int            `json:"version"`
	GeneratedAt time.Time      `json:"generated_at"`
	Modules     []LockedModule `json:"modules"`

	// Refs are the refs that git modules were locked for, by identifier: an extension that other programs ignore. A lockfile of another program has
	// none.
	Refs map[string]string `json:"refs,omitempty"`
}

// RefChanged returns the ref that a module was locked for, if the manifest now names another one, so that the locked commit is not what it asks for.
// If the lockfile does not record the ref, only a commit in the manifest that differs from the locked one is known to be another.
func (l *Lock) RefChanged(m Module) (was string, changed bool) {
	locked, ok := l.Module(m.ID)
	if !ok || m.Source.Git == nil || locked.Source.Git == nil {
		return "", false
	}
	const digits = 40
	now, was := m.Source.Git.Ref, l.Refs[m.ID]
	switch {
	case len(now) == digits && isHex(now):
		return cmp.Or(was, locked.Source.Git.Commit), !strings.EqualFold(now, locked.Source.Git.Commit)
	case was == "":
		return "", false
	}
	return was, was != now
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }

// LockedModule is one module of a lock. Its JSON keys are in the order of the format.
type LockedModule struct {
	ID       string         `json:"id"`
	Type     ModuleType     `json:"type"`
	Source   ResolvedSource `json:"resolved_source"`
	Version  string         `json:"resolved_version"`
	Sum      Sum            `json:"sha256"`
	Manifest []Entry        `json:"file_manifest"`
}

// ResolvedSource is the source of the files: exactly one of the two is set, the other is written as null.
type ResolvedSource struct {
	Local *ResolvedLocal `json:"local_path"`
	Git   *ResolvedGit   `json:"git"`
}

// ResolvedLocal is a path below the config repository, with slashes.
type ResolvedLocal struct {
	Path string `json:"path"`
}

// ResolvedGit is a directory of one commit.
type ResolvedGit struct {
	URL    string `json:"url"`
	Commit string `json:"commit"` // 40 hex digits
	Subdir string `json:"subdir"`
}

// Module returns the locked module with that identifier.
func (l *Lock) Module(id string) (LockedModule, bool) {
	if l == nil {
		return LockedModule{}, false
	}
	for _, m := range l.Modules {
		if m.ID == id {
			return m, true
		}
	}
	return LockedModule{}, false
}

// Same reports whether two locks are equal apart from their time. A lock with nothing new keeps its time, so that locking twice changes no byte.
func (l *Lock) Same(other *Lock) bool {
	if l == nil || other == nil || len(l.Modules) != len(other.Modules) || !maps.Equal(l.Refs, other.Refs) {
		return false
	}
	for i, m := range l.Modules {
		if !m.same(other.Modules[i]) {
			return false
		}
	}
	return true
}

func (m LockedModule) same(o LockedModule) bool {
	git := func(g *ResolvedGit) ResolvedGit {
		if g == nil {
			return ResolvedGit{}
		}
		return *g
	}
	local := func(l *ResolvedLocal) ResolvedLocal {
		if l == nil {
			return ResolvedLocal{}
		}
		return *l
	}
	return m.ID == o.ID && m.Type == o.Type && m.Version == o.Version && m.Sum == o.Sum && len(m.Manifest) == len(o.Manifest) &&
		git(m.Source.Git) == git(o.Source.Git) && local(m.Source.Local) == local(o.Source.Local)
}
