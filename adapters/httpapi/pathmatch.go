package httpapi

import "strings"

// Match reports whether a path matches the pattern, and returns the segment for {name}.
func Match(pattern, path string) (name string, ok bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return "", false
	}
	for i := range want {
		switch {
		case want[i] == "{name}" && have[i] != "":
			name = have[i]
		case want[i] != have[i]:
			return "", false
		}
	}
	return name, true
}
