package tasks

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Documents are the files of one directory. Names may be paths below it ("a/b"), never above.
type Documents interface {
	// Has reports whether a file or directory with that name exists.
	Has(name string) bool
	// Text returns a file's content, or an error that wraps fs.ErrNotExist if it does not exist.
	Text(name string) ([]byte, error)
	// Tree returns the content of a JSON, TOML or YAML document (by its extension): maps by text, lists, text, booleans and numbers.
	Tree(name string) (any, error)
}

// Tree is a directory with what is below it.
type Tree interface {
	// At returns the files of the directory with that path below the top; "." is the top.
	At(dir string) Documents
	// Dirs returns the names of the directories in a directory, sorted: without links, directories of installed or built files, and names that begin
	// with a dot.
	Dirs(dir string) []string
}

// first returns the name, of those given, of the first file that is there; empty without one.
func first(d Documents, names ...string) string {
	for _, name := range names {
		if d.Has(name) {
			return name
		}
	}
	return ""
}

// The limits for files that others load.
const (
	maxLoads     = 20 // of one runner, in total
	maxLoadDepth = 5  // one in another
)

// beside returns the name, from the top, of a file that another file names; false if it is not below the directory, or if its name is only known when
// the runner runs.
func beside(file, name string) (string, bool) {
	if name == "" || strings.ContainsAny(name, "{}$`\\:") || name[0] == '/' || name[0] == '~' {
		return "", false
	}
	at := path.Join(path.Dir(file), name)
	return at, at != ".." && !strings.HasPrefix(at, "../")
}

// branch returns the value below a tree's keys; nil where there is none.
func branch(v any, keys ...string) any {
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// leaf returns a value's text; empty for anything else.
func leaf(v any) string {
	s, _ := v.(string)
	return s
}

// leaves returns the texts of a list, or a text as a list of one.
func leaves(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// branches returns a map's entries by name.
func branches(v any) (names []string, entries map[string]any) {
	entries, _ = v.(map[string]any)
	return slices.Sorted(maps.Keys(entries)), entries
}
