package authoring

import (
	"bytes"
	"strings"
)

// GitignoreFile is the name of the file.
const GitignoreFile = ".gitignore"

// The lines that keep ownership manifests and desktop files out of a repository's history (agentpack contract §5.1, §5.7).
const (
	ManifestIgnoreLine = ".agentpack.manifest*.json"
	DesktopIgnoreLine  = ".DS_Store"
)

// EnsureIgnoreLines returns text with the missing ones of the lines appended, and whether that changed anything. Lines are compared without
// surrounding blanks. The line endings of the text are kept.
func EnsureIgnoreLines(text []byte, lines ...string) (out []byte, changed bool) {
	have := map[string]bool{}
	for line := range bytes.Lines(text) {
		have[string(bytes.TrimSpace(line))] = true
	}
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	out = bytes.Clone(text)
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || have[line] {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, end...)
		}
		out, have[line], changed = append(append(out, line...), end...), true, true
	}
	return out, changed
}
