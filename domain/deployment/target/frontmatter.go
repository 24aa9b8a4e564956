package target

import (
	"encoding/json"
	"strings"
)

// split cuts Markdown into its frontmatter, including the blank lines after it, and the rest. Frontmatter begins with a first line --- and ends with
// the next one (agentpack contract §2.5); without both there is none.
func split(markdown string) (head, body string) {
	if first, _, _ := strings.Cut(markdown, "\n"); !fence(first) {
		return "", markdown
	}
	end, closed := 0, false
	for line := range strings.Lines(markdown) {
		if closed && strings.TrimSpace(line) != "" {
			break
		}
		closed = closed || end > 0 && fence(strings.TrimSuffix(line, "\n"))
		end += len(line)
	}
	if !closed {
		return "", markdown
	}
	return markdown[:end], markdown[end:]
}

func fence(line string) bool { return strings.TrimSuffix(line, "\r") == "---" }

// description returns the value of that key in frontmatter, on one line. It understands YAML scalars in all their styles; aliases, tags and comments
// within quotes stay unchanged.
func description(head string) string {
	var value []string
	inside := false
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		switch rest, begins := strings.CutPrefix(line, "description:"); {
		case begins && !inside:
			value, inside = append(value, strings.TrimSpace(rest)), true
		case inside && line != "" && line[0] != ' ' && line[0] != '\t':
			return scalar(value)
		case inside:
			value = append(value, strings.TrimSpace(line))
		}
	}
	return scalar(value)
}

// scalar folds the lines of a YAML scalar into one.
func scalar(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	if style := lines[0]; style != "" && (style[0] == '|' || style[0] == '>') {
		return strings.Join(strings.Fields(strings.Join(lines[1:], " ")), " ")
	}
	text := strings.TrimSpace(strings.Join(lines, " "))
	switch {
	case strings.HasPrefix(text, `"`):
		var plain string
		if d := json.NewDecoder(strings.NewReader(text)); d.Decode(&plain) == nil {
			return strings.TrimSpace(plain)
		}
	case strings.HasPrefix(text, "'"):
		return singleQuoted(text[1:])
	case text == "~" || text == "null" || strings.HasPrefix(text, "#"):
		return ""
	default:
		text, _, _ = strings.Cut(text, " #")
	}
	return strings.TrimSpace(text)
}

// singleQuoted reads up to the closing quote; two quotes stand for one.
func singleQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 >= len(text) || text[i+1] != '\'' {
				break
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return strings.TrimSpace(b.String())
}
