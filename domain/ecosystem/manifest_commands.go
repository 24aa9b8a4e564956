package ecosystem

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/visible"
)

const (
	maxCommands = 64
	maxArgs     = 128
)

// SavedCommand is a command that a manifest names, for running it in several repositories.
type SavedCommand struct {
	Name    string   `json:"name"`
	Command []string `json:"command"` // argv; what stands as one text in the manifest is given to sh -c
}

// Command returns the saved command of that name. It fails with ErrArguments.
func (m Manifest) Command(name string) ([]string, error) {
	names := make([]string, 0, len(m.Commands))
	for _, c := range m.Commands {
		if c.Name == name {
			return c.Command, nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return nil, ErrArguments.WithMessage("ecosystem %s has no saved commands; write commands: {%s: …} into its ecosystem.yaml, or name the program", m.Name, name)
	}
	return nil, ErrArguments.WithMessage("ecosystem %s has no saved command %q; it has: %s", m.Name, name, strings.Join(names, ", "))
}

// commands reads the saved commands, sorted by name: each a list, which is an argv, or a text, which the shell reads.
func (o object) commands() (out []SavedCommand) {
	if len(o.members) > maxCommands {
		o.wrong("", "shorten the list", "%d commands; at most %d are allowed", len(o.members), maxCommands)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		c := SavedCommand{Name: name}
		switch o.members[name].(type) {
		case string:
			if text := o.prose(name, maxProse); text != "" {
				c.Command = []string{"sh", "-c", text}
			}
		case []any:
			c.Command = o.argv(name)
		default:
			o.wrong(manifestClip(name), `write the command as text, or as a list: [go, test, ./...]`, "%s where a command is expected", kind(o.members[name]))
			continue
		}
		if o.named(manifestClip(name), name) && len(c.Command) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// argv returns a list of arguments; they may be empty, but for the program.
func (o object) argv(key string) (out []string) {
	items := o.list(key)
	if len(items) == 0 || len(items) > maxArgs {
		o.wrong(key, "name a program and its arguments", "the list has %d entries; 1 to %d are allowed", len(items), maxArgs)
		return nil
	}
	for i, item := range items {
		s, ok := item.(string)
		if !ok || i == 0 && strings.TrimSpace(s) == "" {
			o.wrong(key+"["+strconv.Itoa(i)+"]", `put it in quotes: "…"`, "%s where an argument is expected", kind(item))
			return nil
		}
		if s != "" && o.checked(key, s, maxText) == "" && strings.TrimSpace(s) != "" {
			return nil // said already
		}
		out = append(out, s)
	}
	return out
}

// branchProblem says why a name is none for a branch that people read, and what to write instead; empty where it is one.
func branchProblem(name string) (problem, fix string) {
	if _, err := git.ParseBranch(name); err != nil {
		return "not a valid branch name: " + strconv.Quote(manifestClip(name)), "name a branch as git shows it, like main"
	}
	if rest, full := strings.CutPrefix(name, "refs/"); full {
		kind, short, _ := strings.Cut(rest, "/")
		if kind != "heads" || short == "" {
			short = standardBranch
		}
		return strconv.Quote(manifestClip(name)) + " is the full name of a ref; it would create the branch refs/heads/" + manifestClip(name), "write " + manifestClip(short)
	}
	for _, what := range visible.Hidden(name) {
		if strings.HasPrefix(what, "U+") {
			return strconv.Quote(manifestClip(name)) + " contains an invisible character, or one that changes the text direction (" + what + ")", "type the name again without that character; if the branch really has it, rename the branch (git branch -m)"
		}
	}
	return "", ""
}
