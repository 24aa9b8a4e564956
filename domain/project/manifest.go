package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxManifest bounds a package.json, in bytes. Real ones have a few kilobytes.
const MaxManifest = 5 << 20

const maxNotes = 20 // more would not help

// Manifest is the part of a package.json that is used.
type Manifest struct {
	Name           string
	Version        string
	Description    string
	PackageManager string            // the field as written: "pnpm@9.1.0+sha512.…"
	Scripts        map[string]string // name → command
	Volta          map[string]string // node, npm, yarn, pnpm → version
	EnginesNode    string
	Workspaces     bool
	Dependencies   map[string]bool // names out of dependencies and devDependencies
	Notes          []string        // what the user should know: names that are defined twice
}

// ParseManifest parses a package.json as npm does: exact names, the last of equal ones counts, and members of unexpected types count as absent. It
// fails with ErrManifest for text that is not a JSON object or is longer than MaxManifest.
func ParseManifest(data []byte) (Manifest, error) {
	m := Manifest{Scripts: map[string]string{}, Volta: map[string]string{}, Dependencies: map[string]bool{}}
	if len(data) > MaxManifest {
		return m, ErrManifest.WithMessage("package.json has %d bytes; at most %d are read", len(data), MaxManifest)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := object(data); err != nil {
		return m, ErrManifest.WithMessage("package.json cannot be read: %v", err)
	}
	top, twice := members(data)
	m.note("", twice)
	for name, to := range map[string]*string{"name": &m.Name, "version": &m.Version, "description": &m.Description, "packageManager": &m.PackageManager} {
		*to = text(top[name])
	}
	m.Scripts = m.texts("scripts", top["scripts"])
	m.Volta = m.texts("volta", top["volta"])
	m.EnginesNode = m.texts("engines", top["engines"])["node"]
	for _, field := range []string{"dependencies", "devDependencies"} {
		names, twice := members(top[field])
		m.note(field, twice)
		for name, value := range names {
			if value[0] == '"' {
				m.Dependencies[name] = true
			}
		}
	}
	workspaces := top["workspaces"]
	m.Workspaces = len(workspaces) > 0 && (workspaces[0] == '[' || workspaces[0] == '{')
	return m, nil
}

// ScriptNames returns the names of the scripts, sorted.
func (m Manifest) ScriptNames() []string { return slices.Sorted(maps.Keys(m.Scripts)) }

func (m *Manifest) note(field string, twice []string) {
	for _, name := range twice {
		if len(m.Notes) == maxNotes {
			return
		}
		m.Notes = append(m.Notes, fmt.Sprintf("package.json defines %.80q more than once; the last one counts", strings.TrimPrefix(field+"."+name, ".")))
	}
}

// texts returns an object's members that are strings.
func (m *Manifest) texts(field string, raw []byte) map[string]string {
	values, twice := members(raw)
	m.note(field, twice)
	out := make(map[string]string, len(values))
	for name, value := range values {
		if value[0] == '"' {
			out[name] = text(value)
		}
	}
	return out
}

// object returns why data is not a JSON object.
func object(data []byte) error {
	data = bytes.TrimLeft(data, blanks)
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	var all json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if data[0] != '{' {
		return errors.New("not a JSON object")
	}
	return nil
}

const blanks = " \t\r\n"

// members returns an object's members, the last of equal names, and the names that occur more than once; none for anything but an object. raw is
// valid JSON. A decoder that reports equal names would read every value twice, and this is called for every listed project.
func members(raw []byte) (object map[string][]byte, twice []string) {
	raw = bytes.TrimLeft(raw, blanks)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	object, again := map[string][]byte{}, map[string]bool{}
	for raw = bytes.TrimLeft(raw[1:], blanks); len(raw) > 0 && raw[0] == '"'; raw = bytes.TrimLeft(raw, blanks+",") {
		end := valueEnd(raw)
		name := text(raw[:end])
		raw = bytes.TrimLeft(raw[end:], blanks+":")
		end = valueEnd(raw)
		if _, there := object[name]; there && !again[name] {
			again[name], twice = true, append(twice, name)
		}
		object[name], raw = raw[:end], raw[end:]
	}
	return object, twice
}

// valueEnd returns the end of the value that raw, valid JSON, begins with.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if depth == 0 { // behind a number or a word
				return i
			}
			if c == '}' || c == ']' {
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return len(raw)
}

// text returns the text of a JSON string; empty for other values.
func text(raw []byte) (s string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inside := raw[1 : len(raw)-1]; !bytes.ContainsFunc(inside, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf }) {
		return string(inside)
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
