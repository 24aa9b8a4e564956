package target

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Header is the content of the frontmatter before a module's text.
type Header struct {
	Description string   // empty omits the line, if that is allowed
	Globs       []string // the files the text is about
	Always      bool     // whether it applies to every file
}

// Cursor returns the frontmatter of a Cursor rule, with the blank line after it (agentpack contract §2.7). Cursor reads globs literally, with commas
// between them: quotes and brackets would be part of them.
func (h Header) Cursor() string {
	globs := strings.Join(h.Globs, ",")
	if globs == "" {
		globs = "[]"
	}
	return "---\ndescription: " + quote(h.Description) + "\nglobs: " + globs + "\nalwaysApply: " + strconv.FormatBool(h.Always) + "\n---\n\n"
}

// Claude returns the frontmatter of a Claude Code rule, with the blank line after it; a rule without it applies everywhere.
func (h Header) Claude() string {
	var b strings.Builder
	b.WriteString("---\n")
	if h.Description != "" {
		b.WriteString("description: " + quote(h.Description) + "\n")
	}
	b.WriteString("paths:\n")
	for _, g := range h.Globs {
		b.WriteString("  - " + quote(g) + "\n")
	}
	return b.String() + "---\n\n"
}

// Copilot returns the frontmatter of a VS Code instructions file, with the blank line after it. Without globs the text applies everywhere.
func (h Header) Copilot() string {
	globs := "**"
	if len(h.Globs) > 0 {
		globs = strings.Join(h.Globs, ",")
	}
	description := ""
	if h.Description != "" {
		description = "description: " + quote(h.Description) + "\n"
	}
	return "---\n" + description + "applyTo: " + quote(globs) + "\n---\n\n"
}

// WrapHeader returns the header and the text, with a final newline.
func WrapHeader(header string, text []byte) []byte {
	out := make([]byte, 0, len(header)+len(text)+1)
	out = append(append(out, header...), text...)
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	return out
}

// UnwrapHeader returns the text after the header, with the ending of original, the text that was wrapped once. It is false when wrapped does not
// begin with exactly that header.
func UnwrapHeader(header string, original, wrapped []byte) ([]byte, bool) {
	text, ok := bytes.CutPrefix(wrapped, []byte(header))
	if !ok {
		return nil, false
	}
	return TrimAddedNewline(original, text), true
}

// TrimAddedNewline removes the one newline that was appended to a text when original has none at its end.
func TrimAddedNewline(original, text []byte) []byte {
	if !bytes.HasSuffix(original, []byte("\n")) {
		return bytes.TrimSuffix(text, []byte("\n"))
	}
	return text
}

// quote returns text as a JSON string, which is also a YAML scalar; it escapes only what JSON requires.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
