package sandbox

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrLine is returned for a value that such a file cannot hold.
var ErrLine = fault.New(fault.Invalid, "env_file_line_invalid", "a setting must be a name and a value on one line")

// ParseEnvFile returns every setting of text; if a name occurs twice, the last one. Blank lines, comments and invalid lines are skipped; skipped
// lists the numbers of the invalid ones, from 1, for a warning: their text may be a secret.
func ParseEnvFile(text string) (values map[string]string, skipped []int) {
	values = map[string]string{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		switch key, value, kind := read(line); kind {
		case setting:
			values[key] = value
		case noise:
			skipped = append(skipped, number)
		}
	}
	return values, skipped
}

// SetEnvVar returns text with the key set to value: in the last line that sets it, or in a new one at the end. Every other line is unchanged. It
// fails with ErrLine if the line could not be read back as the same value.
func SetEnvVar(text, key, value string) (string, error) {
	line := key + "=" + value
	if k, v, kind := read(line); kind != setting || k != key || v != value {
		line = key + "=\"" + value + "\"" // blanks at its ends, or quotes of its own
	}
	if k, v, kind := read(line); kind != setting || k != key || v != value || strings.ContainsAny(line, "\n\x00") {
		return "", ErrLine.WithMessage("the setting %.80q cannot be written: its name or value contains a line break", key)
	}
	lines := strings.SplitAfter(text, "\n")
	at := -1
	for i, old := range lines {
		if i == 0 {
			old = strings.TrimPrefix(old, "\ufeff")
		}
		if k, _, kind := read(old); kind == setting && k == key {
			at = i
		}
	}
	if at < 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + line + "\n", nil
	}
	end := "\n"
	if at == len(lines)-1 {
		end = ""
	}
	lines[at] = line + end
	return strings.Join(lines, ""), nil
}

type lineKind int

const (
	silence lineKind = iota
	setting
	noise
)

func read(line string) (key, value string, kind lineKind) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", silence
	}
	key, value, ok := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	if name, exported := strings.CutPrefix(key, "export"); exported && strings.TrimLeft(name, " \t") != name {
		key = strings.TrimSpace(name)
	}
	if !ok || key == "" || strings.ContainsAny(key, " \t\"'") {
		return "", "", noise
	}
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		value = value[1 : n-1]
	}
	return key, value, setting
}
