package tasks

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Documents are the files of one directory. Names may lead below it ("a/b"), never above.
type Documents interface {
	// Has reports whether there is a file or directory of that name.
	Has(name string) bool
	// Text is a file's content, or an error that wraps fs.ErrNotExist where there is none.
	Text(name string) ([]byte, error)
	// Tree is what a JSON, TOML or YAML document comes to (its ending says which): maps by text, lists, text, booleans and numbers.
	Tree(name string) (any, error)
}

// Tree is a directory with what is below it.
type Tree interface {
	// At is the files of the directory of that name below the top; "." is the top.
	At(dir string) Documents
	// Dirs is the names of the directories in a directory, sorted: no links, and none that holds what was installed or built, or whose name begins with a dot.
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

// The bounds of following files that others load.
const (
	maxLoads     = 20 // files of one runner, together
	maxLoadDepth = 5  // one in another
)

// beside returns the name, from the top, of a file that another names; false for one that is not below the directory, or whose name shows only when the runner runs.
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

// leaf returns a value's text; of anything else there is none.
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
