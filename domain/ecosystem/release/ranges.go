package release

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// RangeChange is the rewritten version range of one dependency.
type RangeChange struct{ Name, Old, New string }

// PackageName returns what package.json or Cargo.toml, by name, calls the package that it is about; empty for any other file.
func PackageName(file string, text []byte) string {
	switch file {
	case "package.json":
		if places := jsonPlaces(text, []string{"name"}); len(places) > 0 {
			return unquoted(text, places[0])
		}
	case "Cargo.toml":
		name := ""
		tomlLines(text, func(_ int, table string, line []byte) {
			if m := tomlName.FindSubmatch(line); m != nil && table == "package" && name == "" {
				name = string(m[1])
			}
		})
		return name
	}
	return ""
}

// unquoted returns a string of a JSON text.
func unquoted(text []byte, at span) (s string) {
	if json.Unmarshal(text[at.from-1:at.to+1], &s) != nil {
		return ""
	}
	return s
}

// SetRanges has a package.json or Cargo.toml depend on packages, by their names, as they are released now. Only a range that is one version, with ^, ~ or = before it or
// nothing, is written anew, with the same sign and as many numbers; what is open upward, comes from elsewhere, or is computed, stays as it is.
func SetRanges(file string, text []byte, packages map[string]Version) ([]byte, []RangeChange) {
	var places []span
	var names []string
	add := func(name string, at span) {
		if _, is := packages[name]; is {
			names, places = append(names, name), append(places, at)
		}
	}
	switch file {
	case "package.json":
		jsonStrings(text, func(at []string, s span) {
			if len(at) == 2 && slices.Contains([]string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"}, at[0]) {
				add(at[1], s)
			}
		})
	case "Cargo.toml":
		tomlLines(text, func(at int, table string, line []byte) {
			cargoRange(table, line, func(name string, s span) { add(name, span{at + s.from, at + s.to}) })
		})
	}
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return places[b].from - places[a].from }) // from the end, so that the places stay what they are
	var changes []RangeChange
	for _, i := range order {
		old := string(text[places[i].from:places[i].to])
		if next, ok := rangeOf(old, packages[names[i]]); ok && next != old {
			text = slices.Concat(text[:places[i].from], []byte(next), text[places[i].to:])
			changes = append(changes, RangeChange{names[i], old, next})
		}
	}
	slices.Reverse(changes)
	return text, changes
}

var (
	oneVersion = regexp.MustCompile(`^(workspace:)?([\^~=]?\s*)(\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)
	cargoDeps  = regexp.MustCompile(`^(?:workspace\.|target\..+\.)?(?:dev-|build-)?dependencies(?:\.["']?([A-Za-z0-9_-]+)["']?)?$`)
	cargoLine  = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_-]+)["']?\s*=\s*(?:["']([^"'\r\n]+)["']|\{(.*)\})`)
	cargoField = regexp.MustCompile(`\bversion\s*=\s*["']([^"'\r\n]+)["']`)
	cargoAlias = regexp.MustCompile(`\bpackage\s*=\s*["']([^"'\r\n]+)["']`)
)

// cargoRange calls found with the range of a dependency that a line of a Cargo.toml states, and with the package's name.
func cargoRange(table string, line []byte, found func(name string, at span)) {
	in := cargoDeps.FindStringSubmatch(table)
	if in == nil {
		return
	}
	if in[1] != "" { // its own table
		if m := tomlVersion.FindSubmatchIndex(line); m != nil {
			found(in[1], span{m[2], m[3]})
		}
		return
	}
	m := cargoLine.FindSubmatchIndex(line)
	switch {
	case m == nil:
	case m[4] >= 0:
		found(string(line[m[2]:m[3]]), span{m[4], m[5]})
	default:
		name, inner := string(line[m[2]:m[3]]), line[m[6]:m[7]]
		if alias := cargoAlias.FindSubmatch(inner); alias != nil {
			name = string(alias[1])
		}
		if v := cargoField.FindSubmatchIndex(inner); v != nil && !bytes.Contains(inner, []byte("registry")) {
			found(name, span{m[6] + v[2], m[6] + v[3]})
		}
	}
}

// rangeOf returns a range as it names the version, in the same form; false for one of another form.
func rangeOf(old string, v Version) (string, bool) {
	m := oneVersion.FindStringSubmatch(old)
	if m == nil {
		return "", false
	}
	next := v.String()
	if parts := strings.Count(strings.SplitN(m[3], "-", 2)[0], ".") + 1; parts < 3 && v.Pre == "" && !strings.Contains(m[3], "-") {
		next = strings.Join(strings.SplitN(next, ".", 3)[:parts], ".")
	}
	return m[1] + m[2] + next, true
}
