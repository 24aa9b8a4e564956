package target

import (
	"io/fs"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Paths handles the paths of one system. The zero value is for no system.
type Paths struct{ Sep byte }

// Join returns a clean slash path below dir.
func (n Paths) Join(dir, below string) string {
	if below == "" || below == "." {
		return dir
	}
	return strings.TrimSuffix(dir, string(n.Sep)) + string(n.Sep) + n.Slashes(below)
}

// Slashes returns a slash path with the system's separators.
func (n Paths) Slashes(p string) string {
	if n.Sep == '/' {
		return p
	}
	return strings.ReplaceAll(p, "/", string(n.Sep))
}

// Absolute reports whether a path begins at a root: a slash, or on Windows a drive or a share.
func (n Paths) Absolute(p string) bool {
	if n.Sep == '/' {
		return strings.HasPrefix(p, "/")
	}
	p = strings.ReplaceAll(p, `\`, "/")
	return len(p) > 2 && p[1:3] == ":/" || strings.HasPrefix(p, "//")
}

// Clean returns the shortest form of an absolute path.
func (n Paths) Clean(p string) string {
	if n.Sep == '/' {
		return path.Clean(p)
	}
	p = strings.ReplaceAll(p, `\`, "/")
	switch {
	case strings.HasPrefix(p, "//"):
		p = "/" + path.Clean(p)
	case len(p) > 2 && p[1] == ':':
		p = p[:2] + path.Clean("/"+p[2:]) // without the drive: nothing leads above it
	}
	return n.Slashes(p)
}

// Expand replaces a leading ~ with the home directory.
func (n Paths) Expand(p, home string) string {
	if p == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest[0] == '/' || rest[0] == n.Sep) {
		return n.Join(home, strings.TrimLeft(strings.ReplaceAll(rest[1:], string(n.Sep), "/"), "/"))
	}
	return p
}

// Root reports whether the path is the root directory of the system or of a drive.
func (n Paths) Root(p string) bool {
	p = strings.TrimSuffix(p, string(n.Sep))
	return p == "" || n.Sep != '/' && len(p) == 2 && p[1] == ':'
}

// Confined fails with ErrPath unless the slash path below stays below anything it is joined to on this system.
func (n Paths) Confined(below string) error {
	if ordinary(below) {
		return nil
	}
	bad := !fs.ValidPath(below) || below == "." || strings.ContainsRune(below, 0)
	if n.Sep != '/' {
		bad = bad || strings.ContainsAny(below, `\:`)
	}
	if bad {
		return deployment.ErrPath.WithMessage("invalid path %q; a module's file must be below the directory it is deployed to", below).
			WithDetails(deployment.ReasonDetails("output_path_invalid", "fix_path", "retry_command").Add("path", below))
	}
	return nil
}

// ordinary reports whether a path consists of ASCII names that are not special on any system, so that it is confined on all of them. It is called for
// every deployed file.
func ordinary(below string) bool {
	dots, length := 0, 0 // of the present name
	for i := range len(below) {
		switch c := below[i]; {
		case c == '/':
			if length == 0 || dots == length {
				return false
			}
			dots, length = 0, 0
			continue
		case c < ' ' || c > '~' || c == '\\' || c == ':':
			return false
		case c == '.':
			dots++
		}
		length++
	}
	return length > 0 && dots < length
}

// reserved are the directories of version control and of overlays.
var reserved = [...]string{".git", ".agentpack"}

// Component reports whether text can be the name of one directory on this system.
func (n Paths) Component(name string) bool {
	if name == "" || name == "." || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }) {
		return false
	}
	for _, r := range reserved {
		if strings.EqualFold(name, r) {
			return false
		}
	}
	return n.Sep == '/' || !strings.ContainsAny(name, `:*?"<>|`) && !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, " ")
}
