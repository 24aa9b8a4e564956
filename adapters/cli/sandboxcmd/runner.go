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
	const logs = "for the server's log: countersign sandbox logs PROJECT"
	for _, command := range []string{"countersign sandbox init", "countersign sandbox archive"} {
		if strings.Contains(f.Message, command) { // the message names the way out
			return ""
		}
	}
	return map[fault.Code]command.Hint{
		"sandbox_project_not_found":      "countersign sandbox list shows the projects; to create one: countersign sandbox clone URL",
		"sandbox_invalid_git_url":        "use a git URL, the path of a repository (./shop or /src/shop), or a project of countersign sandbox list",
		"sandbox_configuration_error":    "to create the settings file: countersign sandbox init",
		"sandbox_opencode_not_installed": "npm install -g opencode-ai, or OPENCODE_BIN=/path/to/opencode; sandboxes work without it: countersign sandbox create",
		"sandbox_opencode_start_failed":  logs,
		"sandbox_opencode_unhealthy":     logs,
		"sandbox_not_found":              "to list the sandboxes: countersign sandbox ls; the backups: countersign sandbox restore",
		"sandbox_exists":                 "to open a shell in it: countersign sandbox enter; or use another name",
		"sandbox_dirty":                  "commit and push it, or repeat with --force: it is backed up, and countersign sandbox restore restores it",
		"sandbox_merge_conflict":         "for the sandbox's changes: countersign sandbox diff",
		"sandbox_unpushed_work":          "push it, or repeat with --force, which deletes it for good after you type the project's name",
		"sandbox_ssh_key_not_found":      "without --ssh-key a deploy key is created; to see it: countersign sandbox key URL",
		"sandbox_busy":                   "wait until it ends; to clean up after a crashed process: countersign sandbox orphans",
		"sandbox_state_damaged":          "repair the file, or move it away; the projects' directories are not changed",
	}[f.Code]
}
