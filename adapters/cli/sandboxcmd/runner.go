package sandboxcmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Runner is where the commands of one shell work.
type Runner struct{ command.Runner }

// NewRunner returns the runner of a shell.
func NewRunner(s *command.Shell) Runner {
	return Runner{command.Runner{Shell: s, Words: command.Words{Text: commandText, Hint: hint, Details: drawDetails}}}
}

// UnsavedWork is work in one place that is nowhere else.
type UnsavedWork struct {
	Directory string   `json:"directory"`
	Branch    string   `json:"branch"`
	Changes   []string `json:"changes"`
	Commits   []string `json:"unpushed_commits"`
	More      int      `json:"more"`
}

// ProjectCommand makes c a command that takes [URL] alone and makes one call about that project.
func ProjectCommand[T any](d Runner, c *cobra.Command, name tool.Name, draw func(T)) *cobra.Command {
	c.Args, c.ValidArgsFunction = command.Args(0, 1), d.CompleteURL
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, err := d.URL(cmd.Context(), command.First(args))
		if err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), d, name, command.Arguments{"git_url": url}, draw)
	}
	return c
}

// drawDetails shows work that stands in the way, and a program's last words, on the error stream.
func drawDetails(d command.Runner, err error) {
	var said struct {
		Trees  []UnsavedWork `json:"trees"`
		Stderr string        `json:"stderr"`
		Output string        `json:"output"`
		UnsavedWork
	}
	if !command.FailureDetails(err, &said) {
		return
	}
	for _, loss := range append(said.Trees, said.UnsavedWork) {
		drawUnsavedWork(d, loss)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(said.Stderr+said.Output), "\n") {
		if line != "" {
			d.Note("  | %s", command.Block(line))
		}
	}
}

func drawUnsavedWork(d command.Runner, l UnsavedWork) {
	if len(l.Changes)+len(l.Commits) == 0 {
		return
	}
	if l.Directory != "" {
		d.Step("%s", command.Plain(strings.TrimSuffix(l.Directory+" ("+l.Branch+")", " ()")))
	}
	for _, c := range l.Changes {
		d.Note("  changed   %s", command.Plain(c))
	}
	for _, c := range l.Commits {
		d.Note("  unpushed  %s", command.Plain(c))
	}
	if l.More > 0 {
		d.Note("  … and %d more", l.More)
	}
}

// hint returns the way out behind refusals that the user meets often.
func hint(f *fault.Error) command.Hint {
	const logs = "countersign sandbox logs PROJECT shows what the server printed"
	for _, command := range []string{"countersign sandbox init", "countersign sandbox archive"} {
		if strings.Contains(f.Message, command) { // the message names the way out
			return ""
		}
	}
	return map[fault.Code]command.Hint{
		"sandbox_project_not_found":      "countersign sandbox list shows the projects; countersign sandbox clone URL makes one",
		"sandbox_invalid_git_url":        "name a git URL, the path of a repository (./shop or /src/shop), or a project that countersign sandbox list shows",
		"sandbox_configuration_error":    "countersign sandbox init makes the settings file where there is none",
		"sandbox_opencode_not_installed": "npm install -g opencode-ai, or OPENCODE_BIN=/path/to/opencode; meanwhile countersign sandbox create makes sandboxes without a server",
		"sandbox_opencode_start_failed":  logs,
		"sandbox_opencode_unhealthy":     logs,
		"sandbox_not_found":              "countersign sandbox ls shows the sandboxes, countersign sandbox restore the work that was kept",
		"sandbox_exists":                 "countersign sandbox enter goes there; another name makes another one",
		"sandbox_dirty":                  "commit and push it, or repeat with --force: it is kept, and countersign sandbox restore brings it back",
		"sandbox_merge_conflict":         "countersign sandbox diff shows the sandbox's side",
		"sandbox_unpushed_work":          "push it, or repeat with --force: then it is gone for good, and the project's name has to be typed",
		"sandbox_ssh_key_not_found":      "without --ssh-key a deploy key is made: countersign sandbox key URL shows it",
		"sandbox_busy":                   "wait until it is over; countersign sandbox orphans settles what a dead process left",
		"sandbox_state_damaged":          "mend the file, or move it away: its projects' directories stay",
	}[f.Code]
}
