package governance

import (
	"path"
	"slices"
	"strings"
)

// danger is a command line that changes something without both --json and --yes.
type danger struct {
	line           int
	id, invocation string
	missing        []string
}

// dangers returns those that a document makes Claude Code run.
func dangers(doc string) (out []danger) {
	for _, s := range scripts(doc) {
		words := strings.Fields(s.text)
		for len(words) > 0 {
			var call []string
			if call, words = nextCall(words); call == nil {
				break
			}
			id, flags := commandID(call)
			if !slices.Contains(mutating(), id) || slices.Contains(flags, "--dry-run") {
				continue
			}
			var missing []string
			for _, flag := range []string{"--json", "--yes"} {
				if !slices.Contains(flags, flag) {
					missing = append(missing, flag)
				}
			}
			if len(missing) > 0 {
				out = append(out, danger{s.line, id, strings.Join(call, " "), missing})
			}
		}
	}
	return out
}

// script is one command line and the line of the document where it begins.
type script struct {
	line int
	text string
}

// inline finds the commands that Claude Code runs within text: !`command`, and all of a line that begins with ! and a command.
func inline(line string) (commands []string) {
	const mark = "!`"
	whole, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "!")
	if ok && whole != "" && (isLetterOrDigit(whole[0]) || strings.IndexByte("_./~$", whole[0]) >= 0) {
		return []string{whole}
	}
	for {
		_, rest, found := strings.Cut(line, mark)
		if !found {
			return commands
		}
		line = rest
		if command, behind, closed := strings.Cut(rest, "`"); closed && command != "" {
			commands, line = append(commands, command), behind
		}
	}
}

func isLetterOrDigit(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// scripts returns the command lines that a document makes Claude Code run: the lines after one that says !bash up to the next blank one (the form of
// agentpack contract §5.17), fences opened with an exclamation mark, and inline commands. A backslash at the end joins lines.
func scripts(doc string) (out []script) {
	const fence = "```"
	inside, end := false, ""
	joined := false
	number := 0
	for line := range strings.Lines(doc) {
		number++
		text := strings.TrimSpace(line)
		switch {
		case inside && (text == "" && end == "" || end != "" && strings.HasPrefix(text, end)):
			inside, joined = false, false
		case inside:
			whole, more := strings.CutSuffix(text, `\`)
			if joined {
				out[len(out)-1].text += " " + whole
			} else {
				out = append(out, script{number, whole})
			}
			joined = more
		case text == "!bash" || text == "!`bash`":
			inside, end = true, ""
		case strings.HasPrefix(text, fence) && strings.HasPrefix(strings.TrimLeft(text, "`"), "!"):
			inside, end = true, fence
		default:
			for _, command := range inline(strings.TrimRight(line, "\r\n")) {
				out = append(out, script{number, command})
			}
		}
	}
	return out
}

// nextCall returns the first call of the product in words, without what follows it in the line, and the words after it; nil if there is none.
func nextCall(words []string) (call, rest []string) {
	for i := 0; i < len(words); i++ {
		skip := calls(words[i:])
		if skip == 0 {
			continue
		}
		call = []string{strings.Join(words[i:i+skip], " ")}
		for i += skip; i < len(words); i++ {
			if slices.Contains([]string{"|", "||", "&&", ";", "&"}, words[i]) {
				return call, words[i+1:]
			}
			word, last := strings.CutSuffix(words[i], ";")
			call = append(call, bare(word))
			if last {
				return call, words[i+1:]
			}
		}
		return call, nil
	}
	return nil, nil
}

// calls returns how many words begin a call of the product: agentpack, or countersign agents, in any directory; 0 if they do not.
func calls(words []string) int {
	switch strings.TrimSuffix(path.Base(strings.ReplaceAll(bare(words[0]), `\`, "/")), ".exe") {
	case "agentpack":
		return 1
	case "countersign":
		if len(words) > 1 && bare(words[1]) == "agents" {
			return 2
		}
	}
	return 0
}

// bare returns a word without its quotes.
func bare(word string) string { return strings.Trim(word, "\"'`()") }

// commandID returns the command of a call, in the words of agentpack contract §5, and its flags.
func commandID(call []string) (id string, flags []string) {
	var words []string
	for i := 1; i < len(call); i++ {
		name, _, assigned := strings.Cut(call[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			words = append(words, name)
			continue
		case !assigned && slices.Contains([]string{"--repo", "--profile", "--target", "--machine"}, name):
			i++
		}
		flags = append(flags, name)
	}
	if len(words) == 0 {
		return "", flags
	}
	id = words[0]
	for command, flag := range map[string]string{"deploy": "--apply", "import": "--apply", "doctor": "--fix"} {
		if id == command && slices.Contains(flags, flag) {
			return id + " " + flag, flags
		}
	}
	if len(words) > 1 && slices.Contains([]string{"overlay", "remote", "evolve", "policy", "explain", "snapshots"}, id) {
		id += " " + words[1]
	}
	return id, flags
}

// mutating returns the commands that change something (agentpack contract §5; the last two are additions).
func mutating() []string {
	return []string{"init", "import --apply", "add", "remove", "lock", "fetch", "update", "deploy --apply", "rollback", "bootstrap", "doctor --fix", "overlay edit",
		"overlay rebase", "remote set", "sync", "record", "evolve propose", "evolve restore", "policy lock", "snapshots prune", "recover"}
}
