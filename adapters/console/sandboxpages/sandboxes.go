package sandboxpages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/tool"
)

// box is a sandbox as it is listed.
type box struct {
	Name      string            `json:"name"`
	Branch    string            `json:"branch"`
	Directory string            `json:"directory"`
	Head      string            `json:"head"`
	Dirty     bool              `json:"dirty"`
	Changes   int               `json:"changes"`
	Ahead     int               `json:"ahead"`
	Behind    int               `json:"behind"`
	Unpushed  int               `json:"unpushed"`
	Locked    bool              `json:"locked"`
	Gone      bool              `json:"prunable"`
	CreatedAt *time.Time        `json:"created_at"`
	Leases    map[string]string `json:"leases"`
	Removable bool              `json:"removable"`
	Cleanup   string            `json:"cleanup"`
}

func (s *section) boxes(r *http.Request, v httpauth.Visitor, url string) ([]box, error) {
	var all struct {
		Sandboxes []box `json:"sandboxes"`
	}
	err := s.Calls.Read(r.Context(), v, "opencode_sandbox_list", ui.Args{"git_url": url}, &all)
	return all.Sandboxes, err
}

// state is what a sandbox holds beside what it was made from.
func (b box) state() ui.Node {
	var words []string
	for _, n := range []struct {
		count int
		what  string
	}{{b.Changes, "changed"}, {b.Unpushed, "unpushed"}, {b.Ahead, "ahead"}, {b.Behind, "behind"}} {
		if n.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if b.Dirty && b.Changes == 0 {
		words = append(words, "changed")
	}
	tone := ui.Good
	if b.Dirty || b.Unpushed > 0 {
		tone = ui.Warn
	}
	out := ui.Group{}
	if len(words) == 0 {
		words = []string{"clean"}
	}
	out = append(out, ui.Badge(tone, strings.Join(words, ", ")))
	if b.Locked {
		out = append(out, ui.Text(" "), ui.Badge(ui.Plain, "locked"))
	}
	if b.Gone {
		out = append(out, ui.Text(" "), ui.Badge(ui.Bad, "directory gone"))
	}
	return out
}

// recorded reports a sandbox that was made here, and can be changed here.
func (b box) recorded() bool { return b.CreatedAt != nil || len(b.Leases) > 0 }

func table(v httpauth.Visitor, of item, all []box) ui.Node {
	var rows []ui.Node
	for i, b := range all {
		rows = append(rows, ui.Row(ui.OptionalText(b.Name), ui.OptionalText(b.Branch), b.state(), ui.OptionalCode(b.Head[:min(len(b.Head), 12)]), b.more(), b.deeds(v, of, fmt.Sprint("box-", i))))
	}
	return ui.Part("Worktrees", ui.DataTable("worktrees", []string{"Name", "Branch", "State", "Commit", "More", "Change"}, rows, "It has no worktrees. Make one below: agents work there side by side."))
}

// more is where the sandbox is, and what it has leased for itself.
func (b box) more() ui.Node {
	facts := []ui.Fact{{Name: "Directory", Value: ui.OptionalCode(b.Directory)}, {Name: "Made", Value: moment(b.CreatedAt)}}
	for _, name := range slices.Sorted(maps.Keys(b.Leases)) {
		facts = append(facts, ui.Fact{Name: ui.Printable(name), Value: ui.OptionalCode(b.Leases[name])})
	}
	return ui.Disclosure("Directory and leases of "+ui.Printable(b.Name), false, ui.Facts(facts...))
}

// deeds is what can be done with the sandbox. ids of fields begin with id.
func (b box) deeds(v httpauth.Visitor, of item, id string) ui.Node {
	if !b.recorded() {
		return ui.Text("It was not made here.")
	}
	box, called := ui.Hidden("box", b.Name), "sandbox "+ui.Printable(b.Name)
	return ui.Group{ui.ActionForm(v, at(of.Name, "/reset"), "Reset", called, box), ui.ActionForm(v, at(of.Name, "/delete"), "Delete", called, box),
		ui.Disclosure("Although something is lost …", false,
			ui.PostForm(v, at(of.Name, "/reset"), box, ui.CheckboxField(id+"-ignored", "ignored", "Delete ignored files too (node_modules, .env); they are kept nowhere", true),
				ui.Danger("Reset", ui.Aria("label", "Reset "+called+" with ignored files"))),
			ui.PostForm(v, at(of.Name, "/delete"), box, ui.Hidden("force", "true"),
				ui.P(ui.Text("Work that is nowhere else may go; it is shown first, and kept under a backup ref.")),
				ui.Danger("Delete with force", ui.Aria("label", "Delete with force: "+called))))}
}

func creating(v httpauth.Visitor, of item) ui.Node {
	return ui.Part("Make a worktree", ui.PostForm(v, at(of.Name, "/create"),
		ui.Field("box-name", "box", "Name (letters, digits, _ and -)", "", ui.Required(), ui.MaxLength("64")),
		ui.Field("box-branch", "branch", "Branch to stand on (empty: a new one of its own)", ""),
		ui.Field("box-command", "command", "Command to run in it once it is there (may be empty; it is shown before it runs)", ""), ui.SubmitButton("Make worktree")))
}

func (s *section) create(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.about(w, r, v, func(of item) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Make sandbox " + ui.Printable(name), Tool: "opencode_sandbox_create", Back: at(of.Name, ""), Show: made,
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("branch", r.PostFormValue("branch")).Set("start_command", r.PostFormValue("command"))})
	})
}

// ran is a command that was run in a new sandbox.
type ran struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out"`
	Output   string `json:"output"`
}

// show is what the command printed, and how it ended.
func (c ran) show() ui.Node {
	end := fmt.Sprintf("exit code %d", c.ExitCode)
	if c.TimedOut {
		end = "it took too long and was ended"
	}
	return ui.Group{ui.Facts(ui.Fact{Name: "Command", Value: ui.OptionalCode(c.Command)}, ui.Fact{Name: "End", Value: ui.Text(end)}), ui.Printed("output of "+ui.Printable(c.Command), c.Output)}
}

// made is work.Task.Show for a sandbox that was made, or restored.
func made(o tool.Outcome) ui.Node {
	var b struct {
		Status  string `json:"status"`
		Project string `json:"project"`
		Message string `json:"message"`
		Note    string `json:"note"`
		Warning string `json:"warning"`
		Tree    struct {
			Name      string `json:"name"`
			Branch    string `json:"branch"`
			Directory string `json:"directory"`
		} `json:"worktree"`
		Copied []string `json:"copied"`
		Setup  []ran    `json:"setup"`
		Start  *ran     `json:"start_command"`
	}
	if o.Err != nil || decode(o.Value, &b) != nil || b.Tree.Name == "" {
		return nil
	}
	tone := ui.Good
	if b.Status != "success" {
		tone = ui.Warn
	}
	body := ui.Group{ui.Notice(tone, ui.P(ui.OptionalText(b.Message)), ui.P(ui.LinkTo(at(b.Project, ""), "See "+ui.Printable(b.Project)))),
		ui.Facts(ui.Fact{Name: "Name", Value: ui.OptionalText(b.Tree.Name)}, ui.Fact{Name: "Branch", Value: ui.OptionalText(b.Tree.Branch)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(b.Tree.Directory)},
			ui.Fact{Name: "Copied", Value: ui.OptionalText(strings.Join(b.Copied, ", "))}, ui.Fact{Name: "Note", Value: ui.OptionalText(b.Note)}, ui.Fact{Name: "Warning", Value: ui.OptionalText(b.Warning)})}
	for _, c := range b.Setup {
		body = append(body, ui.Part("Set-up", c.show()))
	}
	if b.Start != nil {
		body = append(body, ui.Part("Start command", b.Start.show()))
	}
	return body
}

func (s *section) reset(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.about(w, r, v, func(of item) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Reset sandbox " + ui.Printable(name), Tool: "opencode_sandbox_reset", Back: at(of.Name, ""),
			Args: ui.Args{"git_url": of.URL, "name": name}.Flag("clean_ignored", r.PostFormValue("ignored"))})
	})
}

func (s *section) remove(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Calls.Do(w, r, v, deletion(of, r.PostFormValue("box"), r.PostFormValue("force")))
	})
}

// deletion is the task that deletes a sandbox.
func deletion(of item, name, force string) ui.Task {
	return ui.Task{Title: "Delete sandbox " + ui.Printable(name), Tool: toolDelete, Args: ui.Args{"git_url": of.URL, "name": name}.Flag("force", force), Back: at(of.Name, "")}
}

// kept is the work that was kept of sandboxes that were deleted or reset.
func (s *section) kept(r *http.Request, v httpauth.Visitor, of item) ui.Node {
	if !s.Calls.Serves(v, "sandbox_backups") {
		return nil
	}
	var all struct {
		Backups []struct {
			Ref    string    `json:"ref"`
			Box    string    `json:"sandbox"`
			Commit string    `json:"commit"`
			Stash  bool      `json:"stash"`
			At     time.Time `json:"at"`
		} `json:"backups"`
	}
	if err := s.Calls.Read(r.Context(), v, "sandbox_backups", ui.Args{"git_url": of.URL}, &all); err != nil {
		return ui.Part("Kept work", ui.ErrorNotice(err))
	}
	var rows []ui.Node
	for i, b := range all.Backups {
		what := "commits"
		if b.Stash {
			what = "changes that were not committed"
		}
		rows = append(rows, ui.Row(ui.OptionalText(b.Box), ui.Text(what), ui.When(b.At), ui.OptionalCode(b.Commit[:min(len(b.Commit), 12)]), ui.OptionalCode(b.Ref),
			ui.PostForm(v, at(of.Name, "/restore"), ui.Hidden("ref", b.Ref), ui.Field(fmt.Sprint("kept-", i), "box", "As sandbox", b.Box), ui.SubmitButton("Restore", ui.Aria("label", "Restore "+ui.Printable(b.Ref))))))
	}
	return ui.Part("Kept work", ui.DataTable("work that was kept", []string{"Sandbox", "What", "When", "Commit", "Ref", "Restore"}, rows, "No work was kept: none was deleted or reset away."))
}

func (s *section) restore(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Calls.Do(w, r, v, ui.Task{Title: "Restore kept work", Tool: "sandbox_restore", Back: at(of.Name, ""), Show: made,
			Args: ui.Args{"git_url": of.URL, "ref": r.PostFormValue("ref")}.Set("name", r.PostFormValue("box"))})
	})
}
