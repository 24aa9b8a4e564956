package sandboxpages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
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

func (s *Section) boxes(r *http.Request, v httpguard.Visitor, url string) ([]box, error) {
	var all struct {
		Sandboxes []box `json:"sandboxes"`
	}
	err := s.Desk.Read(r.Context(), v, "opencode_sandbox_list", sectionpage.Args{"git_url": url}, &all)
	return all.Sandboxes, err
}

// state is what a sandbox holds beside what it was made from.
func (b box) state() markup.Node {
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
	tone := page.Good
	if b.Dirty || b.Unpushed > 0 {
		tone = page.Warn
	}
	out := markup.Group{}
	if len(words) == 0 {
		words = []string{"clean"}
	}
	out = append(out, page.Badge(tone, strings.Join(words, ", ")))
	if b.Locked {
		out = append(out, page.Text(" "), page.Badge(page.Plain, "locked"))
	}
	if b.Gone {
		out = append(out, page.Text(" "), page.Badge(page.Bad, "directory gone"))
	}
	return out
}

// recorded reports a sandbox that was made here, and can be changed here.
func (b box) recorded() bool { return b.CreatedAt != nil || len(b.Leases) > 0 }

func table(v httpguard.Visitor, of item, all []box) markup.Node {
	var rows []markup.Node
	for i, b := range all {
		rows = append(rows, page.Row(sectionpage.Text(b.Name), sectionpage.Text(b.Branch), b.state(), sectionpage.Code(b.Head[:min(len(b.Head), 12)]), b.more(), b.deeds(v, of, fmt.Sprint("box-", i))))
	}
	return page.Part("Worktrees", page.Table("worktrees", []string{"Name", "Branch", "State", "Commit", "More", "Change"}, rows, "It has no worktrees. Make one below: agents work there side by side."))
}

// more is where the sandbox is, and what it has leased for itself.
func (b box) more() markup.Node {
	facts := []page.Fact{{Name: "Directory", Value: sectionpage.Code(b.Directory)}, {Name: "Made", Value: moment(b.CreatedAt)}}
	for _, name := range slices.Sorted(maps.Keys(b.Leases)) {
		facts = append(facts, page.Fact{Name: page.Printable(name), Value: sectionpage.Code(b.Leases[name])})
	}
	return page.Fold("Directory and leases of "+page.Printable(b.Name), false, page.Facts(facts...))
}

// deeds is what can be done with the sandbox. ids of fields begin with id.
func (b box) deeds(v httpguard.Visitor, of item, id string) markup.Node {
	if !b.recorded() {
		return page.Text("It was not made here.")
	}
	box, called := page.Hidden("box", b.Name), "sandbox "+page.Printable(b.Name)
	return markup.Group{page.Deed(v, at(of.Name, "/reset"), "Reset", called, box), page.Deed(v, at(of.Name, "/delete"), "Delete", called, box),
		page.Fold("Although something is lost …", false,
			page.Form(v, at(of.Name, "/reset"), box, page.Check(id+"-ignored", "ignored", "Delete ignored files too (node_modules, .env); they are kept nowhere", true),
				page.Danger("Reset", markup.Aria("label", "Reset "+called+" with ignored files"))),
			page.Form(v, at(of.Name, "/delete"), box, page.Hidden("force", "true"),
				markup.P(page.Text("Work that is nowhere else may go; it is shown first, and kept under a backup ref.")),
				page.Danger("Delete with force", markup.Aria("label", "Delete with force: "+called))))}
}

func creating(v httpguard.Visitor, of item) markup.Node {
	return page.Part("Make a worktree", page.Form(v, at(of.Name, "/create"),
		page.Field("box-name", "box", "Name (letters, digits, _ and -)", "", markup.Required(), markup.MaxLength("64")),
		page.Field("box-branch", "branch", "Branch to stand on (empty: a new one of its own)", ""),
		page.Field("box-command", "command", "Command to run in it once it is there (may be empty; it is shown before it runs)", ""), page.Button("Make worktree")))
}

func (s *Section) create(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		name := r.PostFormValue("box")
		s.Desk.Do(w, r, v, work.Task{Title: "Make sandbox " + page.Printable(name), Tool: "opencode_sandbox_create", Back: at(of.Name, ""), Show: made,
			Args: sectionpage.Args{"git_url": of.URL, "name": name}.Set("branch", r.PostFormValue("branch")).Set("start_command", r.PostFormValue("command"))})
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
func (c ran) show() markup.Node {
	end := fmt.Sprintf("exit code %d", c.ExitCode)
	if c.TimedOut {
		end = "it took too long and was ended"
	}
	return markup.Group{page.Facts(page.Fact{Name: "Command", Value: sectionpage.Code(c.Command)}, page.Fact{Name: "End", Value: page.Text(end)}), page.Printed("output of "+page.Printable(c.Command), c.Output)}
}

// made is work.Task.Show for a sandbox that was made, or restored.
func made(o tool.Outcome) markup.Node {
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
	tone := page.Good
	if b.Status != "success" {
		tone = page.Warn
	}
	body := markup.Group{page.Notice(tone, markup.P(sectionpage.Text(b.Message)), markup.P(page.To(at(b.Project, ""), "See "+page.Printable(b.Project)))),
		page.Facts(page.Fact{Name: "Name", Value: sectionpage.Text(b.Tree.Name)}, page.Fact{Name: "Branch", Value: sectionpage.Text(b.Tree.Branch)}, page.Fact{Name: "Directory", Value: sectionpage.Code(b.Tree.Directory)},
			page.Fact{Name: "Copied", Value: sectionpage.Text(strings.Join(b.Copied, ", "))}, page.Fact{Name: "Note", Value: sectionpage.Text(b.Note)}, page.Fact{Name: "Warning", Value: sectionpage.Text(b.Warning)})}
	for _, c := range b.Setup {
		body = append(body, page.Part("Set-up", c.show()))
	}
	if b.Start != nil {
		body = append(body, page.Part("Start command", b.Start.show()))
	}
	return body
}

func (s *Section) reset(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		name := r.PostFormValue("box")
		s.Desk.Do(w, r, v, work.Task{Title: "Reset sandbox " + page.Printable(name), Tool: "opencode_sandbox_reset", Back: at(of.Name, ""),
			Args: sectionpage.Args{"git_url": of.URL, "name": name}.Flag("clean_ignored", r.PostFormValue("ignored"))})
	})
}

func (s *Section) remove(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Desk.Do(w, r, v, deletion(of, r.PostFormValue("box"), r.PostFormValue("force")))
	})
}

// deletion is the task that deletes a sandbox.
func deletion(of item, name, force string) work.Task {
	return work.Task{Title: "Delete sandbox " + page.Printable(name), Tool: toolDelete, Args: sectionpage.Args{"git_url": of.URL, "name": name}.Flag("force", force), Back: at(of.Name, "")}
}

// kept is the work that was kept of sandboxes that were deleted or reset.
func (s *Section) kept(r *http.Request, v httpguard.Visitor, of item) markup.Node {
	if !s.Desk.Serves(v, "sandbox_backups") {
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
	if err := s.Desk.Read(r.Context(), v, "sandbox_backups", sectionpage.Args{"git_url": of.URL}, &all); err != nil {
		return page.Part("Kept work", sectionpage.Tell(err))
	}
	var rows []markup.Node
	for i, b := range all.Backups {
		what := "commits"
		if b.Stash {
			what = "changes that were not committed"
		}
		rows = append(rows, page.Row(sectionpage.Text(b.Box), page.Text(what), page.When(b.At), sectionpage.Code(b.Commit[:min(len(b.Commit), 12)]), sectionpage.Code(b.Ref),
			page.Form(v, at(of.Name, "/restore"), page.Hidden("ref", b.Ref), page.Field(fmt.Sprint("kept-", i), "box", "As sandbox", b.Box), page.Button("Restore", markup.Aria("label", "Restore "+page.Printable(b.Ref))))))
	}
	return page.Part("Kept work", page.Table("work that was kept", []string{"Sandbox", "What", "When", "Commit", "Ref", "Restore"}, rows, "No work was kept: none was deleted or reset away."))
}

func (s *Section) restore(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Desk.Do(w, r, v, work.Task{Title: "Restore kept work", Tool: "sandbox_restore", Back: at(of.Name, ""), Show: made,
			Args: sectionpage.Args{"git_url": of.URL, "ref": r.PostFormValue("ref")}.Set("name", r.PostFormValue("box"))})
	})
}
