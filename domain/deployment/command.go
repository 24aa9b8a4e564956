package deployment

import (
	"bytes"
	"strings"
)

// RunsShell reports whether a command document runs shell commands by itself, or contains the words that the agentpack contract §2.5 looks for.
func RunsShell(doc []byte) bool {
	return bytes.IndexByte(doc, '!') >= 0 && (bytes.Contains(doc, []byte("!bash")) || shell(string(doc)))
}

// shell reports whether Claude Code would run a command while it reads the file: an exclamation mark and a command in backticks, a fence of backticks
// opened with one, or a line that begins with one and a command. An image (![…]) is not a command.
func shell(doc string) bool {
	for line := range strings.SplitSeq(doc, "\n") {
		for at := strings.IndexByte(line, '!'); at >= 0; {
			before, behind := line[:at], line[at+1:]
			fence := strings.TrimLeft(before, " \t")
			switch quoted, ok := strings.CutPrefix(behind, "`"); {
			case ok && strings.IndexByte(quoted, '`') > 0,
				len(fence) >= 3 && strings.Trim(fence, "`") == "",
				at == 0 && behind != "" && starts(behind[0]):
				return true
			}
			next := strings.IndexByte(behind, '!')
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return false
}

// starts reports whether a command can begin with the byte.
func starts(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_./~$", c) >= 0
}

// command checks a slash command: one file with a description, and permission to use Bash if it runs anything.
func (c check) command() error {
	file, err := c.single()
	if err != nil {
		return err
	}
	doc, fields, err := c.matter(file, "description")
	if err != nil {
		return err
	}
	if RunsShell(doc) && !AllowsBash(fields["allowed-tools"]) {
		return c.refuse(file.Path+" runs shell commands, and its frontmatter is missing allowed-tools with a Bash(…) entry",
			"add an entry for each command, such as allowed-tools: Bash(git status:*)",
			c.details(file.Path).Add("field", "allowed-tools").Add("missing", []string{"allowed-tools"}).Add("expected", "Bash(…)"))
	}
	return nil
}

// AllowsBash reports whether allowed-tools, a text or a list, names Bash and what it may run.
func AllowsBash(tools any) bool {
	switch v := tools.(type) {
	case string:
		return strings.Contains(v, "Bash(")
	case []string:
		return strings.Contains(strings.Join(v, "\n"), "Bash(")
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok && strings.Contains(text, "Bash(") {
				return true
			}
		}
	}
	return false
}
