package sandboxcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Runner is where the commands of one shell work.
type Runner struct{ command.Runner }

// Project is a project in the list of them (opencode contract §13.1).
type Project struct {
	URL       string `json:"git_url"`
	Name      string `json:"name"`
	Base      string `json:"base_dir"`
	Running   bool   `json:"opencode_running"`
	Port      *int   `json:"opencode_port"`
	Sandboxes int    `json:"worktrees"`
}

// Sandbox is a sandbox in the list of a project's (opencode contract §12.3).
type Sandbox struct {
	Name      string            `json:"name"`
	Branch    string            `json:"branch"`
	Directory string            `json:"directory"`
	Head      string            `json:"head"`
	Changes   int               `json:"changes"`
	Dirty     bool              `json:"dirty"`
	Ahead     int               `json:"ahead"`
	Behind    int               `json:"behind"`
	Unpushed  int               `json:"unpushed"`
	Locked    bool              `json:"locked"`
	Gone      bool              `json:"prunable"`
	CreatedAt time.Time         `json:"created_at,omitzero"`
	Leases    map[string]string `json:"leases,omitempty"`
	Removable bool              `json:"removable"`
	Cleanup   string            `json:"cleanup"`
}

// SandboxList is a project's sandboxes.
type SandboxList struct {
	Project   string    `json:"project"`
	URL       string    `json:"git_url"`
	Sandboxes []Sandbox `json:"sandboxes"`
}

// UnsavedWork is work in one place that is nowhere else.
type UnsavedWork struct {
	Directory string   `json:"directory"`
	Branch    string   `json:"branch"`
	Changes   []string `json:"changes"`
	Commits   []string `json:"unpushed_commits"`
	More      int      `json:"more"`
}

// Ask makes a call and reads its answer. A failure is shown as far as a program reads it, and comes back with the way out.
func (d Runner) Ask(ctx context.Context, name tool.Name, args command.Arguments, into any) (tool.Outcome, error) {
	o, err := d.Send(ctx, name, args, nil)
	if err != nil {
		return o, d.Refused(o, err)
	}
	return o, command.DecodeAnswer(o, into)
}

// verdict is an answer that can be a failure although the call succeeded: nothing is there, or a person has something to do first.
type verdict interface{ Verdict() error }

// CallAndShow is a call whose answer is shown: as JSON, or as draw makes of it for people. It ends with the answer's verdict if it has one.
func CallAndShow[T any](ctx context.Context, d Runner, name tool.Name, args command.Arguments, draw func(T)) error {
	var answer T
	o, err := d.Ask(ctx, name, args, &answer)
	if err != nil {
		return err
	}
	if !d.JSON {
		draw(answer)
	} else if err := d.Show(o); err != nil {
		return err
	}
	if v, ok := any(answer).(verdict); ok {
		return v.Verdict()
	}
	return nil
}

// ProjectCommand makes c a command that takes [URL] alone and makes one call about that project.
func ProjectCommand[T any](d Runner, c *cobra.Command, name tool.Name, draw func(T)) *cobra.Command {
	c.Args, c.ValidArgsFunction = command.Args(0, 1), d.CompleteURL
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, err := d.URL(cmd.Context(), FirstArg(args))
		if err != nil {
			return err
		}
		return CallAndShow(cmd.Context(), d, name, command.Arguments{"git_url": url}, draw)
	}
	return c
}

// FirstArg is the first argument, or nothing.
func FirstArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// Refused shows what a failure says beside its message, as JSON or for people, and hands it on with the way out.
func (d Runner) Refused(o tool.Outcome, err error) error {
	if !d.JSON {
		d.drawDetails(err)
	}
	return d.Fail(o, ExplainError(err))
}

// drawDetails shows work that stands in the way, and a program's last words, on the error stream.
func (d Runner) drawDetails(err error) {
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
		d.drawLoss(loss)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(said.Stderr+said.Output), "\n") {
		if line != "" {
			d.Note("  | %s", command.Block(line))
		}
	}
}

func (d Runner) drawLoss(l UnsavedWork) {
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

// ExplainError puts the way out in words of the command line behind refusals that a person meets often.
func ExplainError(err error) error {
	f := fault.From(err)
	if f == nil {
		return err
	}
	if said := spoken(f.Message); said != f.Message {
		f = f.Sayf("%s", said)
		err = f
	}
	if _, said := f.Details.(command.Hint); said {
		return err
	}
	if hint := hints()[f.Code]; hint != "" {
		return f.With(hint)
	}
	return err
}

func hints() map[fault.Code]command.Hint {
	const logs = "countersign sandbox logs PROJECT shows what the server printed"
	return map[fault.Code]command.Hint{
		"sandbox_project_not_found":      "countersign sandbox list shows the projects; countersign sandbox start URL starts one",
		"sandbox_invalid_git_url":        "name a git URL, the path of a repository (./shop or /src/shop), or a project that countersign sandbox list shows",
		"sandbox_configuration_error":    "countersign sandbox init makes the settings file where there is none",
		"sandbox_opencode_not_installed": "npm install -g opencode-ai, or OPENCODE_BIN=/path/to/opencode; meanwhile countersign sandbox create makes sandboxes without a server",
		"sandbox_opencode_start_failed":  logs,
		"sandbox_opencode_unhealthy":     logs,
		"sandbox_not_found":              "countersign sandbox ls shows the sandboxes, countersign sandbox restore the work that was kept",
		"sandbox_exists":                 "countersign sandbox enter goes there; another name makes another one",
		"sandbox_dirty":                  "commit and push it, or repeat with --force: it is kept, and countersign sandbox restore brings it back",
		"sandbox_unpushed_work":          "push it, or repeat with --force: then it is gone for good, and the project's name has to be typed",
		"sandbox_ssh_key_not_found":      "without --ssh-key a deploy key is made: countersign sandbox key URL shows it",
		"sandbox_busy":                   "wait until it is over; countersign sandbox orphans settles what a dead process left",
		"sandbox_state_damaged":          "mend the file, or move it away: its projects' directories stay",
	}
}
