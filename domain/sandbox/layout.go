package sandbox

import "path"

// The names of files and directories in the two roots (opencode contract §4.2).
const (
	SecretsDir   = "opencode-sandboxes" // below RootDirs.Memory: one directory per project, with its settings
	keysDir      = "opencode-keys"
	LogsDir      = "opencode-logs"
	MarkerFile   = ".opencode-project.json" // in a base directory: Countersign may delete it
	deploySuffix = "-deploy"
)

// RootDirs are the two roots, absolute.
type RootDirs struct {
	Projects string // OPENCODE_PROJECTS_DIR: base directories
	Memory   string // MEMORY_PATH: settings, keys, logs, state
}

// LayoutOf returns the directories of the project with that name; base is its recorded base directory, empty for the default one.
func LayoutOf(d RootDirs, name, base string) Layout {
	if base == "" {
		base = path.Join(d.Projects, name)
	}
	return Layout{
		Base:      base,
		Repo:      path.Join(base, "repo"),
		Worktrees: path.Join(base, "worktrees"),
		Secrets:   path.Join(d.Memory, SecretsDir, name, ".env"),
		Key:       path.Join(d.Memory, keysDir, name+deploySuffix),
		ServerLog: path.Join(d.Memory, LogsDir, name+"-opencode.log"),
		PIDFile:   path.Join(base, "opencode.pid"),
	}
}
