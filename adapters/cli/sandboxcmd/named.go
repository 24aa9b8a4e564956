package sandboxcmd

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// newSubject returns the project and the name of a sandbox to make. With an issue the name can be left out.
func (g sandboxGroup) newSubject(ctx context.Context, args []string, issue int) (url, name string, err error) {
	if issue <= 0 || len(args) == 2 {
		return g.Subject(ctx, args)
	}
	url, err = g.URL(ctx, command.First(args))
	if err != nil && len(args) == 1 { // it names the sandbox, then
		if here, wrong := g.URL(ctx, ""); wrong == nil {
			return here, args[0], nil
		}
	}
	if err != nil {
		return "", "", err
	}
	return url, IssueName(issue, issueTitle(ctx, url, issue)), nil
}

// issueTitle returns what gh says of an issue; empty where that is not known.
func issueTitle(ctx context.Context, at string, number int) string {
	if strings.HasPrefix(at, "file:") {
		return ""
	}
	program, err := exec.LookPath("gh")
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return ""
	}
	run := exec.CommandContext(ctx, program, "issue", "view", strconv.Itoa(number), "--repo", at, "--json", "title", "--jq", ".title")
	run.Dir = string(filepath.Separator)
	said, err := run.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(said))
}

// requested returns the number of the pull request that a word like pr:12 names.
func requested(word string) (number string, ok bool) {
	number, ok = strings.CutPrefix(word, "pr:")
	if !ok {
		number, ok = strings.CutPrefix(word, "mr:")
	}
	return number, ok
}

// IssueName returns the name of a sandbox for an issue: its number, and the words of its title as far as they fit.
func IssueName(number int, title string) string {
	const most = 50
	name := strconv.Itoa(number)
	for word := range strings.FieldsFuncSeq(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if len(name)+1+len(word) > most {
			break
		}
		name += "-" + word
	}
	if name == strconv.Itoa(number) {
		return "issue-" + name
	}
	return name
}
