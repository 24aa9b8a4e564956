package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// lostPath says what is lost when a path is deleted with everything in it, or "" when that is an ordinary loss: the file system, a
// first-level directory, a home directory, and what is all of these.
func (c *check) lostPath(p string) string {
	base, contents := p, false
	for strings.Trim(path.Base(base), MarkGlob+".") == "" && strings.Contains(path.Base(base), MarkGlob) {
		base, contents = path.Dir(base), true // /usr/* is /usr
	}
	depth := strings.Count(base, "/")
	switch {
	case base == "/":
		return "the whole file system"
	case depth == 1 && !contents, depth == 1 && !temporary(p) && !c.inProject(base):
		return "the first-level directory " + DisplayText(base)
	case under(c.home, base), depth == 2 && strings.HasPrefix(base, "/"+markHome+"/"):
		return "a home directory"
	}
	return ""
}

// under reports whether p is dir or something in it.
func under(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

func (c *check) inProject(p string) bool { return c.Project != "" && under(p, path.Clean(c.Project)) }

// temporary reports whether p is something in a directory for temporary files.
func temporary(p string) bool {
	for _, dir := range []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm"} {
		if p != dir && under(p, dir) {
			return true
		}
	}
	return false
}

// device reports whether p is a device that is not made to be written to by anybody.
func device(p string) bool {
	if p == "/proc/sysrq-trigger" {
		return true
	}
	if !under(p, "/dev") || p == "/dev" || under(p, "/dev/shm") || under(p, "/dev/fd") {
		return false
	}
	return !slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, p)
}

// owned returns the file or directory of OwnDirs that writing p changes, or "". Deleting a directory changes also what is in it.
func (c *check) owned(p string, recursive bool) string {
	mine := strings.Split(p, "/")
	for _, own := range c.own {
		theirs := strings.Split(path.Clean(own), "/")
		if len(mine) < len(theirs) && (!recursive || c.inProject(own) && under(c.Project, p)) {
			continue // deleting the project is not aimed at the client's file in it
		}
		if matches(mine, theirs) {
			return own
		}
	}
	return ""
}

// matches reports whether the shorter path is the beginning of the longer one. In mine a pattern counts that begins like the name:
// .cla* is meant for it, * is not.
func matches(mine, theirs []string) bool {
	for i := range min(len(mine), len(theirs)) {
		prefix, _, glob := strings.Cut(mine[i], MarkGlob)
		if mine[i] != theirs[i] && (!glob || len(prefix) < 2 || !strings.HasPrefix(theirs[i], prefix)) {
			return false
		}
	}
	return true
}

// clientFiles returns the files in which AI clients keep which servers they start and what they may do without asking: those of the
// user and those of the project.
func clientFiles(home, project string) []string {
	var out []string
	if home != "" {
		for _, name := range []string{
			".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".codeium", ".windsurf", ".continue", ".config/opencode", ".opencode",
			".config/claude", ".config/Claude", ".config/Code/User/mcp.json", ".config/Code/User/settings.json", ".config/zed/settings.json",
			"Library/Application Support/Claude", "Library/Application Support/Code/User/mcp.json", "Library/Application Support/Code/User/settings.json",
		} {
			out = append(out, path.Join(home, name))
		}
	}
	if project != "" {
		for _, name := range []string{
			".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json",
			".codex/config.toml", "opencode.json", "opencode.jsonc",
		} {
			out = append(out, path.Join(project, name))
		}
	}
	return out
}
