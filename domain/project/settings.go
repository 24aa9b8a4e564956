package project

import (
	"encoding/json"
	"strings"
)

// ManagerSetting is a line of a project's package manager settings that decides what runs besides package.json: with script-shell=./evil every script
// is another one (packageflow-security contract §5.1: the user sees what really runs).
type ManagerSetting struct {
	File  string `json:"file"` // its name, or its path if it is not in the directory of the script
	Key   string `json:"key"`
	Value string `json:"value"`
	Usual bool   `json:"usual,omitempty"` // common in projects; it is shown without a warning
}

// The files with such settings.
const (
	SettingsINI  = ".npmrc" // npm and pnpm
	SettingsYarn = ".yarnrc"
	SettingsBun  = "bunfig.toml"
)

// SettingsYAML returns the YAML files: that of yarn since version 2, and pnpm's.
func SettingsYAML() []string { return []string{".yarnrc.yml", "pnpm-workspace.yaml"} }

// decides reports whether a setting with that name decides what runs; true for a name that is only known when it is read.
func decides(key string) bool {
	if strings.Contains(key, "${") {
		return true
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key)) {
	case "scriptshell", "shell", "shellemulator", "nodeoptions", "onloadscript", "usenodeversion", "nodeversion", "git", "pnpmfile", "globalpnpmfile", "configdependencies", "ignorescripts",
		"enablescripts", "enableprepostscripts", "scriptsprependnodepath", "userconfig", "globalconfig", "yarnpath", "preload", "run.shell", "run.bun", "run.preload", "run", "<<":
		return true
	}
	return false
}

// NewSetting returns the setting if it decides what runs.
func NewSetting(file, key, value string) (ManagerSetting, bool) {
	s := ManagerSetting{File: file, Key: key, Value: value}
	release := strings.TrimPrefix(strings.TrimPrefix(value, "./"), "/")
	s.Usual = strings.EqualFold(strings.ReplaceAll(key, "-", ""), "yarnpath") && strings.HasPrefix(release, ".yarn/releases/") && !strings.Contains(release, "..")
	return s, decides(key)
}

// OfUser returns the setting as one of the user's own files. Some settings are ordinary there that are not in a project, because they omit what would
// run.
func (s ManagerSetting) OfUser() ManagerSetting {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s.Key)) {
	case "ignorescripts", "enablescripts", "enableprepostscripts":
		s.Usual = true
	}
	return s
}

// LineSettings returns the settings that decide what runs from a file of lines: key = value of .npmrc, key "value" of .yarnrc, and the part of TOML
// that bunfig.toml needs. It parses them as the programs do: either line ending, keys may be quoted, later ones count too.
func LineSettings(file string, text []byte) []ManagerSetting {
	var out []ManagerSetting
	section := ""
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(string(text), "\ufeff"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[] \t")
			continue
		}
		key, value, given := strings.Cut(line, "=")
		if !given && file == SettingsYarn {
			key, value, _ = strings.Cut(line, " ")
		}
		if at := strings.IndexAny(key, ";#"); at > 0 { // npm takes what precedes them as the key
			key = key[:at]
		}
		key, value = unquoted(strings.TrimSuffix(strings.TrimSpace(key), "[]")), unquoted(strings.TrimSpace(value))
		if section != "" && file == SettingsBun {
			key = section + "." + key
		}
		if s, yes := NewSetting(file, key, value); yes {
			out = append(out, s)
		}
	}
	return out
}

// unquoted returns a text without the quotes around it.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != text[len(text)-1] || text[0] != '"' && text[0] != '\'' {
		return text
	}
	var plain string
	if text[0] == '"' && json.Unmarshal([]byte(text), &plain) == nil {
		return plain
	}
	return text[1 : len(text)-1]
}
