package release

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// StandardFiles are the files at the top of a repository that state its version where nobody says which do. Lock files follow what they lock.
var StandardFiles = []string{"package.json", "package-lock.json", "pyproject.toml", "uv.lock", "Cargo.toml", "Cargo.lock", "VERSION"}

// span is a version in a text.
type span struct{ from, to int }

// SetStandard writes a version into those of the standard files, by name, that state one, and returns what each stated before: of several places in one
// file the first. Files that state none, or none of the form MAJOR.MINOR.PATCH, are left out, and so are lock files beside them.
func SetStandard(files map[string][]byte, version string) (out map[string][]byte, was map[string]string) {
	out, was = map[string][]byte{}, map[string]string{}
	set := func(name string, places []span) {
		text := files[name]
		places = slices.DeleteFunc(places, func(p span) bool { return !states(text[p.from:p.to]) })
		if len(places) == 0 {
			return
		}
		was[name] = strings.TrimPrefix(string(text[places[0].from:places[0].to]), "v")
		next := slices.Clone(text)
		for _, p := range slices.Backward(places) {
			to := version
			if text[p.from] == 'v' {
				to = "v" + version
			}
			next = slices.Concat(next[:p.from], []byte(to), next[p.to:])
		}
		out[name] = next
	}
	set("package.json", jsonPlaces(files["package.json"], []string{"version"}))
	if out["package.json"] != nil {
		set("package-lock.json", jsonPlaces(files["package-lock.json"], []string{"version"}, []string{"packages", "", "version"}))
	}
	for manifest, lock := range map[string]string{"pyproject.toml": "uv.lock", "Cargo.toml": "Cargo.lock"} {
		place, name := tomlPlace(files[manifest])
		if set(manifest, place); out[manifest] != nil {
			set(lock, lockedPlaces(files[lock], name))
		}
	}
	if text := bytes.TrimSpace(files["VERSION"]); len(text) > 0 {
		at := bytes.Index(files["VERSION"], text)
		set("VERSION", []span{{at, at + len(text)}})
	}
	return out, was
}

// states reports a text that is a version, perhaps with a v.
func states(text []byte) bool {
	_, err := ParseVersion(strings.TrimPrefix(string(text), "v"))
	return err == nil
}

// jsonPlaces returns where the strings at those paths of a JSON object are, in their order in the text.
func jsonPlaces(text []byte, paths ...[]string) (places []span) {
	jsonStrings(text, func(at []string, s span) {
		if slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, at) }) {
			places = append(places, s)
		}
	})
	return places
}

// jsonStrings calls do with every string of a JSON text that is in no list: the keys on the way to it, and where it stands.
func jsonStrings(text []byte, do func(at []string, s span)) {
	dec := json.NewDecoder(bytes.NewReader(text))
	var at []string  // keys on the way to where the decoder is
	var lists []bool // whether each level is a list
	key := false     // a key comes next
	for {
		before := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return
		}
		end := int(dec.InputOffset())
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				lists, key = append(lists, v == '['), v == '{'
				at = append(at, "")
				continue
			default:
				lists, at = lists[:len(lists)-1], at[:len(at)-1]
			}
		case string:
			if key {
				at[len(at)-1], key = v, false
				continue
			}
			if !slices.Contains(lists, true) {
				do(at, span{before + bytes.IndexByte(text[before:end], '"') + 1, end - 1})
			}
		}
		key = len(lists) > 0 && !lists[len(lists)-1]
	}
}

var (
	tomlTable   = regexp.MustCompile(`^\s*\[+\s*([^\]]+?)\s*\]+`)
	tomlVersion = regexp.MustCompile(`^\s*version\s*=\s*["']([^"'\r\n]+)["']`)
	tomlName    = regexp.MustCompile(`^\s*name\s*=\s*["']([^"'\r\n]+)["']`)
)

// tomlLines calls do with every line of a TOML text that is in no string of several lines: where it begins, and the table that it is in.
func tomlLines(text []byte, do func(at int, table string, line []byte)) {
	at, table, inside := 0, "", false
	for line := range bytes.Lines(text) {
		if quotes := bytes.Count(line, []byte(`"""`)) + bytes.Count(line, []byte("'''")); !inside {
			if found := tomlTable.FindSubmatch(line); found != nil {
				table = string(found[1])
			}
			do(at, table, line)
			inside = quotes%2 == 1
		} else if quotes%2 == 1 {
			inside = false
		}
		at += len(line)
	}
}

// tomlPlace returns where a pyproject.toml or Cargo.toml states the version of what it is about, and its name.
func tomlPlace(text []byte) (places []span, name string) {
	tomlLines(text, func(at int, table string, line []byte) {
		if !slices.Contains([]string{"project", "tool.poetry", "package", "workspace.package"}, table) {
			return
		}
		if m := tomlVersion.FindSubmatchIndex(line); m != nil {
			places = append(places, span{at + m[2], at + m[3]})
		}
		if m := tomlName.FindSubmatch(line); m != nil && name == "" {
			name = string(m[1])
		}
	})
	return places, name
}

// lockedPlaces returns where a lock file states the version of the package of that name that is the repository's own.
func lockedPlaces(text []byte, name string) (places []span) {
	var own *span
	mine := false
	end := func() {
		if mine && own != nil {
			places = append(places, *own)
		}
		own, mine = nil, false
	}
	tomlLines(text, func(at int, table string, line []byte) {
		if bytes.HasPrefix(line, []byte("[")) {
			end()
		}
		if table != "package" {
			return
		}
		if m := tomlName.FindSubmatch(line); m != nil {
			mine = name != "" && plainName(string(m[1])) == plainName(name)
		}
		if m := tomlVersion.FindSubmatchIndex(line); m != nil {
			own = &span{at + m[2], at + m[3]}
		}
		if bytes.HasPrefix(line, []byte("source")) && !bytes.Contains(line, []byte(`= "." }`)) {
			own = nil // one of that name from elsewhere
		}
	})
	end()
	return places
}

// plainName returns a package's name in the form that lock files have.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }
