package deployment

import "time"

// LockVersion is the only version of agentpack.lock.json there is.
const LockVersion = 1

// LocalVersion is the resolved version of a module that lives in the config repository itself.
const LocalVersion = "local"

// Lock is agentpack.lock.json (agentpack contract §2.4): what every enabled module was resolved to.
type Lock struct {
	Version     int            `json:"version"`
	GeneratedAt time.Time      `json:"generated_at"`
	Modules     []LockedModule `json:"modules"`
}

// LockedModule is one module of a lock. Its JSON keys stand in the order of the format.
type LockedModule struct {
	ID       string         `json:"id"`
	Type     ModuleType     `json:"type"`
	Source   ResolvedSource `json:"resolved_source"`
	Version  string         `json:"resolved_version"`
	Sum      Sum            `json:"sha256"`
	Manifest []Entry        `json:"file_manifest"`
}

// ResolvedSource is where the files came from: exactly one of the two is set, the other is written as null.
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

// Module is the locked module of that identifier.
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

// Same reports whether two locks say the same, apart from when they were made. A lock that says nothing new keeps its time, so that
// locking twice changes no byte.
func (l *Lock) Same(other *Lock) bool {
	if l == nil || other == nil || len(l.Modules) != len(other.Modules) {
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
