package pack

import (
	"strconv"
	"strings"
	"unicode"
)

// OneLine makes text fit one line: every run of line breaks, with the blanks around it, becomes one space, so that a field cannot forge a line.
func OneLine(s string) string {
	if !strings.ContainsFunc(s, breaks) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, breaks), " ")
}

// breaks reports whether r ends a line for any reader: the Unicode line breaks, and the control characters that terminals obey.
func breaks(r rune) bool {
	switch r {
	case '\u0085', '\u2028', '\u2029':
		return true
	}
	return r != '\t' && unicode.IsControl(r)
}

// The two lines that structure a document.
const (
	legendMark  = "[LEGEND]"
	contentMark = "[CONTENT]"
)

// block returns free text of several lines in a form safe for a document: a marker line is escaped, and a code fence that the text leaves open is
// closed.
func block(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(s, "\n")
	open := ""
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if t == legendMark || t == contentMark {
			lines[i] = `\` + t
		}
		switch f := fenceOf(l); {
		case open == "":
			open = f
		case strings.HasPrefix(f, open) && strings.Trim(t, open[:1]) == "":
			open = ""
		}
	}
	if open != "" {
		lines = append(lines, open)
	}
	return strings.Join(lines, "\n")
}

// fenceOf returns the run of backticks or tildes that makes l a fence line, or empty.
func fenceOf(l string) string {
	t := strings.TrimLeft(l, " ")
	if len(l)-len(t) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(t, c)
		if n := len(t) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return t[:n]
		}
	}
	return ""
}

// fence returns a run of backticks longer than any inside the texts, at least three.
func fence(texts ...string) string {
	longest := 2
	for _, t := range texts {
		for at := strings.Index(t, "```"); at >= 0; {
			n := len(t[at:]) - len(strings.TrimLeft(t[at:], "`"))
			longest = max(longest, n)
			t = t[at+n:]
			at = strings.Index(t, "```")
		}
	}
	return strings.Repeat("`", longest+1)
}

const (
	numberWidth = 4 // columns of a line number, at least
	blanks      = "    "
)

// excerptSize returns roughly the size of what excerpt writes, and of the little that follows.
func excerptSize(e Evidence) int {
	size := 64
	for _, l := range e.Text {
		size += len(l) + numberWidth + 5
	}
	return size
}

// renderExcerpt writes numbered lines in a fence.
func renderExcerpt(b *strings.Builder, language string, e Evidence) {
	f := fence(e.Text...)
	b.WriteString(f + language + "\n")
	var room [numberWidth + 24]byte
	for i, l := range e.Text {
		n := strconv.AppendInt(append(room[:0], blanks...), int64(e.Lines.Start+i), 10)
		n = append(n[min(len(n)-numberWidth, numberWidth):], ": "...)
		b.Write(n)
		b.WriteString(l)
		b.WriteByte('\n')
	}
	b.WriteString(f + "\n")
}

// shorten cuts text to n runes and marks the cut with an ellipsis.
func shorten(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return strings.TrimSpace(s[:i]) + "…"
		}
		count++
	}
	return s
}

// Language returns a fence's info string for a path, by its extension and case-sensitive (context-pack contract §3.2); unknown is empty.
func Language(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 {
		return ""
	}
	switch ext := base[dot+1:]; ext {
	case "go", "java", "toml", "json", "sql", "css":
		return ext
	case "rs":
		return "rust"
	case "ts", "tsx":
		return "typescript"
	case "js", "jsx":
		return "javascript"
	case "py":
		return "python"
	case "kt":
		return "kotlin"
	case "c", "h":
		return "c"
	case "cpp", "cc", "cxx", "hpp":
		return "cpp"
	case "cs":
		return "csharp"
	case "rb":
		return "ruby"
	case "sh", "bash":
		return "bash"
	case "yaml", "yml":
		return "yaml"
	case "md":
		return "markdown"
	case "html", "htm":
		return "html"
	case "proto":
		return "protobuf"
	}
	return ""
}
