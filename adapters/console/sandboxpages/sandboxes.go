package sandboxpages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (s *section) sandboxList(r *http.Request, v httpauth.Identity, url string) ([]sandboxes.SandboxItem, error) {
	var all sandboxes.SandboxListing
	err := s.Calls.Read(r.Context(), v, sandboxes.SandboxList.Name, ui.Args{"git_url": url}, &all)
	return all.Sandboxes, err
}

// state returns badges for the changes and commits of a sandbox.
func state(b sandboxes.SandboxItem) ui.Node {
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
	if b.Prunable {
		out = append(out, ui.Text(" "), ui.Badge(ui.Bad, "directory gone"))
	}
	return out
}

// recorded reports whether Countersign created the sandbox and can change it.
func recorded(b sandboxes.SandboxItem) bool { return b.CreatedAt != nil || len(b.Leases) > 0 }

func table(v httpauth.Identity, of sandboxes.ProjectItem, all []sandboxes.SandboxItem) ui.Node {
	var rows []ui.Node
	for i, b := range all {
		rows = append(rows, ui.Row(titled(of, b), ui.OptionalText(b.Branch), ui.Group{state(b), working(b.Agent)}, ui.OptionalCode(b.Head[:min(len(b.Head), 12)]), more(b), sandboxActions(b, v, of, fmt.Sprint("box-", i))))
	}
	return ui.Part("Sandboxes", ui.DataTable("sandboxes", []string{"Name", "Branch", "Status", "Commit", "Details", "Actions"}, rows, "No sandboxes. Create one below: each agent works in its own."))
}

// working returns the status of the sandbox's agent.
func working(a *sandboxes.AgentView) ui.Node {
	if a == nil {
		return nil
	}
	tone, text := ui.Plain, a.Agent+": "+a.Status
	switch {
	case a.Running():
		tone = ui.Good
	case a.ExitCode != nil && *a.ExitCode != 0:
		tone, text = ui.Bad, fmt.Sprintf("%s, exit code %d", text, *a.ExitCode)
	}
	out := ui.Group{ui.Text(" "), ui.Badge(tone, text)}
	if a.LastLine != "" {
		out = append(out, ui.P(ui.OptionalCode(a.LastLine)))
	}
	return out
}

// titled returns the sandbox's name, with a link to its page if Countersign created it.
func titled(of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	if !recorded(b) || b.Prunable {
		return ui.OptionalText(b.Name)
	}
	return ui.LinkTo(workPath(of, b.Name), ui.Printable(b.Name))
}

// more returns the directory and the leases of the sandbox.
func more(b sandboxes.SandboxItem) ui.Node {
	facts := []ui.Fact{{Name: "Directory", Value: ui.OptionalCode(b.Directory)}, {Name: "Created", Value: moment(b.CreatedAt)}}
	if b.Isolation != "" {
		facts = append(facts, ui.Fact{Name: "Isolation", Value: ui.OptionalText(b.Isolation)})
	}
	if b.Agent != nil {
		facts = append(facts, ui.Fact{Name: "Log of " + b.Agent.Agent, Value: ui.OptionalCode(b.Agent.Log)})
	}
	for _, name := range slices.Sorted(maps.Keys(b.Leases)) {
		facts = append(facts, ui.Fact{Name: ui.Printable(name), Value: ui.OptionalCode(b.Leases[name])})
	}
	return ui.Disclosure("Directory and leases of "+ui.Printable(b.Name), false, ui.Facts(facts...))
}

// sandboxActions returns the actions on the sandbox. IDs of fields begin with id.
func sandboxActions(b sandboxes.SandboxItem, v httpauth.Identity, of sandboxes.ProjectItem, id string) ui.Node {
	if !recorded(b) {
		return ui.Text("Not created by Countersign.")
	}
	box, called := ui.Hidden("box", b.Name), "sandbox "+ui.Printable(b.Name)
	agent := ui.Node(ui.Disclosure("Agent …", false, ui.PostForm(v, at(of.Name, "/agent"), box, agentField(id+"-agent", ""), promptField(id+"-prompt"), ui.SubmitButton("Start agent", ui.Aria("label", "Start an agent in "+called)))))
	if b.Agent != nil && b.Agent.Running() && b.Agent.Session == "" {
		agent = ui.ActionForm(v, at(of.Name, "/agent"), "Stop "+b.Agent.Agent, "in "+called, box, ui.Hidden("stop", "true"))
	}
	return ui.Group{ui.ActionForm(v, at(of.Name, "/reset"), "Reset", called, box), ui.ActionForm(v, at(of.Name, "/delete"), "Delete", called, box),
		ui.Disclosure("Force reset or delete …", false,
			ui.PostForm(v, at(of.Name, "/reset"), box, ui.CheckboxField(id+"-ignored", "ignored", "Also delete ignored files (node_modules, .env), without a backup", true),
				ui.Danger("Reset", ui.Aria("label", "Reset "+called+" with ignored files"))),
			ui.PostForm(v, at(of.Name, "/delete"), box, ui.Hidden("force", "true"),
				ui.P(ui.Text("Shows the unsaved work first, and keeps a backup of it.")),
				ui.Danger("Delete with force", ui.Aria("label", "Delete with force: "+called)))), agent, isolating(b, v, of, id+"-isolate")}
}

// isolating returns the form that changes the isolation of the sandbox.
func isolating(b sandboxes.SandboxItem, v httpauth.Identity, of sandboxes.ProjectItem, id string) ui.Node {
	return ui.Disclosure("Isolation …", false, ui.PostForm(v, at(of.Name, "/isolate"), ui.Hidden("box", b.Name), isolationFields(id, "none"),
		ui.SubmitButton("Change isolation", ui.Aria("label", "Change the isolation of sandbox "+ui.Printable(b.Name)))))
}

// isolationFields returns the fields that choose an isolation; none is the value for no isolation.
func isolationFields(id, none string) ui.Node {
	return ui.Group{ui.SelectField(id, "isolate", "Isolation (the plan shows its limits)", "", ui.Choice{Value: none, Text: "None"}, ui.Choice{Value: "landlock", Text: "Landlock"},
		ui.Choice{Value: "landlock-offline", Text: "Landlock, no TCP"}, ui.Choice{Value: "bubblewrap", Text: "Bubblewrap"}, ui.Choice{Value: "bubblewrap-offline", Text: "Bubblewrap, no network"},
		ui.Choice{Value: "container", Text: "Container"}, ui.Choice{Value: "container-offline", Text: "Container, no network"}),
		ui.Field(id+"-image", "image", "Container image (default: docker.io/library/buildpack-deps:scm)", "", ui.MaxLength("255"))}
}

func (s *section) isolate(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Change the isolation of sandbox " + ui.Printable(name), Tool: sandboxes.SandboxIsolate.Name, Back: at(of.Name, ""),
			Args: ui.Args{"git_url": of.URL, "name": name, "isolate": isolation(r)}})
	})
}

func creating(v httpauth.Identity, of sandboxes.ProjectItem) ui.Node {
	return ui.Part("Create sandbox", ui.PostForm(v, at(of.Name, "/create"),
		ui.Field("box-name", "box", "Name (letters, digits, _ and -)", "", ui.Required(), ui.MaxLength("64")),
		ui.Field("box-branch", "branch", "Branch (default: new)", ""),
		ui.Field("box-command", "command", "Start command (optional; shown before it runs)", ""),
		isolationFields("box-isolate", ""),
		agentField("box-agent", "none"), promptField("box-prompt"), ui.SubmitButton("Create sandbox")))
}

// agentField returns the field that chooses an agent; none is the text for no agent, empty for the last started agent.
func agentField(id, none string) ui.Node {
	choices := []ui.Choice{{Value: "claude", Text: "claude"}, {Value: "codex", Text: "codex"}, {Value: "opencode", Text: "opencode, in an agent server"}}
	first := ui.Choice{Text: "Last started agent"}
	if none != "" {
		first = ui.Choice{Text: none}
	}
	return ui.SelectField(id, "agent", "Agent", "", append([]ui.Choice{first}, choices...)...)
}

func promptField(id string) ui.Node {
	return ui.Field(id, "prompt", "Prompt (optional; the command is shown before it runs)", "")
}

func (s *section) agent(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name, title := r.PostFormValue("box"), "Start an agent in sandbox "
		if r.PostFormValue("stop") != "" {
			title = "Stop the agent in sandbox "
		}
		s.Calls.Do(w, r, v, ui.Task{Title: title + ui.Printable(name), Tool: sandboxes.SandboxAgent.Name, Back: at(of.Name, ""),
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("agent", r.PostFormValue("agent")).Set("prompt", r.PostFormValue("prompt")).Flag("stop", r.PostFormValue("stop"))})
	})
}

func (s *section) create(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Create sandbox " + ui.Printable(name), Tool: sandboxes.SandboxCreate.Name, Back: at(of.Name, ""), Show: made,
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("branch", r.PostFormValue("branch")).Set("start_command", r.PostFormValue("command")).
				Set("agent", r.PostFormValue("agent")).Set("prompt", r.PostFormValue("prompt")).Set("isolate", isolation(r))})
	})
}

// isolation returns the isolation that the form chooses, with the image of a container.
func isolation(r *http.Request) string {
	kind, image := r.PostFormValue("isolate"), strings.TrimSpace(r.PostFormValue("image"))
	if image != "" && strings.HasPrefix(kind, "container") {
		kind += ":" + image
	}
	return kind
}

// ran returns the output and the exit status of the command.
func ran(c sandboxes.CommandResult) ui.Node {
	end := fmt.Sprintf("exit code %d", c.ExitCode)
	if c.TimedOut {
		end = "timed out and was stopped"
	}
	return ui.Group{ui.Facts(ui.Fact{Name: "Command", Value: ui.OptionalCode(c.Command)}, ui.Fact{Name: "Status", Value: ui.Text(end)}), ui.Printed("output of "+ui.Printable(c.Command), c.Output)}
}

// made is the Task.Show of a sandbox that was created or restored.
func made(o tool.Outcome) ui.Node {
	var b sandboxes.SandboxCreated

	if o.Err != nil || decode(o.Value, &b) != nil || b.Worktree.Name == "" {
		return nil
	}
	tone := ui.Good
	if b.Status != "success" {
		tone = ui.Warn
	}
	body := ui.Group{ui.Notice(tone, ui.P(ui.OptionalText(b.Message)), ui.P(ui.LinkTo(at(b.Project, ""), "Open "+ui.Printable(b.Project)))),
		ui.Facts(ui.Fact{Name: "Name", Value: ui.OptionalText(b.Worktree.Name)}, ui.Fact{Name: "Branch", Value: ui.OptionalText(b.Worktree.Branch)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(b.Worktree.Directory)},
			ui.Fact{Name: "Copied", Value: ui.OptionalText(strings.Join(b.Copied, ", "))}, ui.Fact{Name: "Note", Value: ui.OptionalText(b.Note)}, ui.Fact{Name: "Warning", Value: ui.OptionalText(b.Warning)})}
	if b.Agent != nil {
		body = append(body, ui.Part("Agent", working(b.Agent)))
	}
	for _, c := range b.Setup {
		body = append(body, ui.Part("Setup", ran(c)))
	}
	if b.Start != nil {
		body = append(body, ui.Part("Start command", ran(*b.Start)))
	}
	return body
}

func (s *section) reset(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Reset sandbox " + ui.Printable(name), Tool: sandboxes.SandboxReset.Name, Back: at(of.Name, ""),
			Args: ui.Args{"git_url": of.URL, "name": name}.Flag("clean_ignored", r.PostFormValue("ignored"))})
	})
}

func (s *section) remove(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		s.Calls.Do(w, r, v, deletion(of, r.PostFormValue("box"), r.PostFormValue("force")))
	})
}

// deletion returns the task that deletes a sandbox.
func deletion(of sandboxes.ProjectItem, name, force string) ui.Task {
	return ui.Task{Title: "Delete sandbox " + ui.Printable(name), Tool: sandboxes.SandboxDelete.Name, Args: ui.Args{"git_url": of.URL, "name": name}.Flag("force", force), Back: at(of.Name, "")}
}

// kept returns the backups of deleted and reset sandboxes.
func (s *section) kept(r *http.Request, v httpauth.Identity, of sandboxes.ProjectItem) ui.Node {
	if !s.Calls.Serves(v, sandboxes.SandboxBackups.Name) {
		return nil
	}
	var all sandboxes.BackupList

	if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxBackups.Name, ui.Args{"git_url": of.URL}, &all); err != nil {
		return ui.Part("Backups", ui.ErrorNotice(err))
	}
	var rows []ui.Node
	for i, b := range all.Backups {
		what := "commits"
		if b.Stash {
			what = "uncommitted changes"
		}
		rows = append(rows, ui.Row(ui.OptionalText(b.Sandbox), ui.Text(what), ui.When(b.At), ui.OptionalCode(b.Commit[:min(len(b.Commit), 12)]), ui.OptionalCode(b.Ref),
			ui.PostForm(v, at(of.Name, "/restore"), ui.Hidden("ref", b.Ref), ui.Field(fmt.Sprint("kept-", i), "box", "Sandbox name", b.Sandbox), ui.SubmitButton("Restore", ui.Aria("label", "Restore "+ui.Printable(b.Ref))))))
	}
	return ui.Part("Backups", ui.DataTable("Backups", []string{"Sandbox", "Content", "Saved", "Commit", "Ref", "Actions"}, rows, "No backups."))
}

func (s *section) restore(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		s.Calls.Do(w, r, v, ui.Task{Title: "Restore backup", Tool: sandboxes.SandboxRestore.Name, Back: at(of.Name, ""), Show: made,
			Args: ui.Args{"git_url": of.URL, "ref": r.PostFormValue("ref")}.Set("name", r.PostFormValue("box"))})
	})
}
