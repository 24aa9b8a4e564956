package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// lostPath describes what is lost if a path is deleted with its content: the file system, a first-level directory, a home directory, or all of these.
// It returns "" for an ordinary loss.
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
		return "the top-level directory " + DisplayText(base)
	case under(c.home, base), depth == 2 && strings.HasPrefix(base, "/"+markHome+"/"):
		return "a home directory"
	}
	return ""
}

// under reports whether p is dir or in it.
func under(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

func (c *check) inProject(p string) bool { return c.Project != "" && under(p, path.Clean(c.Project)) }

// temporary reports whether p is in a directory for temporary files.
func temporary(p string) bool {
	for _, dir := range []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm"} {
		if p != dir && under(p, dir) {
			return true
		}
	}
	return false
}

// device reports whether p is a device, except those that are meant to be written to by anybody.
func device(p string) bool {
	if p == "/proc/sysrq-trigger" {
		return true
	}
	if !under(p, "/dev") || p == "/dev" || under(p, "/dev/shm") || under(p, "/dev/fd") {
		return false
	}
	return !slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, p)
}

// owned returns the file or directory of OwnDirs that writing p changes, or "". Deleting a directory also changes what is in it.
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

// matches reports whether the shorter path is a prefix of the longer one. In mine, a pattern counts if it begins like the name: .cla* does, * does
// not.
func matches(mine, theirs []string) bool {
	for i := range min(len(mine), len(theirs)) {
		prefix, _, glob := strings.Cut(mine[i], MarkGlob)
		if mine[i] != theirs[i] && (!glob || len(prefix) < 2 || !strings.HasPrefix(theirs[i], prefix)) {
			return false
		}
	}
	return true
}

// clientFiles returns the files in which AI clients store which servers they start and what they may do without asking: the user's and the project's.
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
