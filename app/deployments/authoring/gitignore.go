package authoring

import (
	"bytes"
	"strings"
)

// GitignoreFile is the name of the file.
const GitignoreFile = ".gitignore"

// The lines that keep what deployments and desktops leave behind out of a repository's history (agentpack contract §5.1, §5.7).
const (
	ManifestIgnoreLine = ".agentpack.manifest*.json"
	DesktopIgnoreLine  = ".DS_Store"
)

// EnsureIgnoreLines is text with those of the lines at its end that it did not have, and whether that changed anything. Lines are compared without
// surrounding blanks. Line ends stay as they are in the text.
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
