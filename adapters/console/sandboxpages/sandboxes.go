package sandboxpages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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

// mostCompared is the maximum number of sandboxes on a page that are compared with their base.
const mostCompared = 12

// cards returns a card for each sandbox. Those with changes are compared with their base.
func (s *section) cards(r *http.Request, v httpauth.Identity, of sandboxes.ProjectItem, all []sandboxes.SandboxItem) ui.Node {
	if len(all) == 0 {
		return ui.Empty("No sandboxes. Create one below: each agent works in its own.")
	}
	sizes := make([]*sandboxes.SandboxComparison, len(all))
	var g errgroup.Group
	g.SetLimit(4)
	compared := 0
	for i, b := range all {
		if !recorded(b) || b.Prunable || !b.Dirty && b.Ahead == 0 || compared >= mostCompared {
			continue
		}
		compared++
		g.Go(func() error {
			var d sandboxes.SandboxComparison
			if s.Calls.Read(r.Context(), v, sandboxes.SandboxDiff.Name, ui.Args{"git_url": of.URL, "name": b.Name, "stat": true}, &d) == nil {
				sizes[i] = &d
			}
			return nil // a card without a size is complete
		})
	}
	_ = g.Wait() // its functions return no errors
	cards := make(ui.Group, len(all))
	for i, b := range all {
		cards[i] = card(v, of, b, sizes[i])
	}
	return ui.Div(ui.Class("grid"), cards)
}

// card returns one sandbox with its status, the size of its changes, and links to its pages; size may be nil.
func card(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem, size *sandboxes.SandboxComparison) ui.Node {
	var facts []string
	if size != nil {
		facts = append(facts, fmt.Sprintf("%s, +%d −%d", ui.Count(size.FileCount, "file", "files"), size.Added, size.Deleted))
	}
	if b.Ahead > 0 || b.Behind > 0 {
		facts = append(facts, fmt.Sprintf("%d ahead, %d behind", b.Ahead, b.Behind))
	}
	if b.Isolation != "" {
		facts = append(facts, ui.Printable(b.Isolation))
	}
	var line, agent, made ui.Node
	if len(facts) > 0 {
		line = ui.P(ui.Text(strings.Join(facts, " · ")))
	}
	if b.Agent != nil {
		agent = ui.P(working(b.Agent))
	}
	if b.CreatedAt != nil {
		made = ui.P(ui.Class("quiet"), ui.Text("Created "), ui.When(*b.CreatedAt))
	}
	return ui.Article(ui.Class("panel"), ui.H2(titled(of, b)), ui.P(state(b)), ui.P(ui.OptionalCode(b.Branch)), line, agent, made, cardActions(v, of, b))
}

// cardActions returns the buttons and links of a card.
func cardActions(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	switch {
	case !recorded(b):
		return ui.P(ui.Class("quiet"), ui.Text("Not created by Countersign."))
	case b.Prunable:
		return ui.Div(ui.Class("buttons"), ui.PostForm(v, at(of.Name, "/delete"), ui.Hidden("box", b.Name), ui.Danger("Delete", ui.Aria("label", "Delete sandbox "+ui.Printable(b.Name)))))
	}
	link := func(href, text string) ui.Node {
		return ui.A(ui.Class("button"), ui.Href(href), ui.Aria("label", text+" sandbox "+ui.Printable(b.Name)), ui.Text(text))
	}
	return ui.Div(ui.Class("buttons"), link(workPath(of, b.Name), "Review"), link(workPath(of, b.Name)+"/manage", "Manage"))
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
	out := ui.Group{ui.Badge(tone, text)}
	if a.LastLine != "" {
		out = append(out, ui.Br(), ui.OptionalCode(a.LastLine))
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

// manage shows the directory, agent and isolation of a sandbox, and the forms that reset and delete it.
func (s *section) manage(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		all, err := s.sandboxList(r, v, of.URL)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		i := slices.IndexFunc(all, func(b sandboxes.SandboxItem) bool { return b.Name == r.PathValue("box") && recorded(b) })
		if i < 0 {
			s.Fail(w, v, errSandbox)
			return
		}
		s.showWork(w, r, v, of, all[i].Name, "/manage", more(all[i]), agentPart(v, of, all[i]), ownServer(v, of, all[i]), isolating(all[i], v, of),
			ui.DangerPanel("Reset or delete", resetting(v, of, all[i]), deleting(v, of, all[i])))
	})
}

// more returns the directory and the leases of the sandbox.
func more(b sandboxes.SandboxItem) ui.Node {
	facts := []ui.Fact{{Name: "Status", Value: state(b)}, {Name: "Branch", Value: ui.OptionalCode(b.Branch)}, {Name: "Commit", Value: ui.OptionalCode(b.Head[:min(len(b.Head), 12)])},
		{Name: "Directory", Value: ui.OptionalCode(b.Directory)}, {Name: "Created", Value: moment(b.CreatedAt)}}
	var leases []ui.Fact
	for _, name := range slices.Sorted(maps.Keys(b.Leases)) {
		leases = append(leases, ui.Fact{Name: ui.Printable(name), Value: ui.OptionalCode(b.Leases[name])})
	}
	if len(leases) == 0 {
		return ui.Facts(facts...)
	}
	return ui.Group{ui.Facts(facts...), ui.Disclosure("Ports and names", false, ui.Facts(leases...))}
}

// agentPart returns the status of the sandbox's agent, and the form that starts or stops it.
func agentPart(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	box, called := ui.Hidden("box", b.Name), "sandbox "+ui.Printable(b.Name)
	start := ui.PostForm(v, at(of.Name, "/agent"), box, agentField("agent", ""), promptField("prompt"), ui.SubmitButton("Start agent", ui.Aria("label", "Start agent in "+called)))
	if b.Agent == nil {
		return ui.Part("Agent", start)
	}
	if b.Agent.Running() && b.Agent.Session == "" {
		start = ui.ActionForm(v, at(of.Name, "/agent"), "Stop "+b.Agent.Agent, "in "+called, box, ui.Hidden("stop", "true"))
	}
	return ui.Part("Agent", ui.Facts(ui.Fact{Name: "Status", Value: working(b.Agent)}, ui.Fact{Name: "Log", Value: ui.OptionalCode(b.Agent.Log)}), agentOutput(b.Agent.Log), start)
}

// agentOutput returns the last lines of an agent's log; nil if it is empty.
func agentOutput(path string) ui.Node {
	text, before, err := end(path, fewBytes)
	if err != nil {
		return ui.ErrorNotice(err)
	}
	if text == "" {
		return nil
	}
	return ui.Disclosure("Last output", false, ui.LeftOut(int(before)), ui.CodeBlock("Last output of the agent", ui.Output(text)))
}

// ownServer returns the server of an isolated sandbox, and the buttons that start and stop it; nil for a sandbox that uses the server of its project.
func ownServer(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	if b.Isolation == "" && b.Server == nil {
		return nil
	}
	do := func(word, label string) ui.Node {
		return ui.ActionForm(v, at(of.Name, "/server"), label, "the server of sandbox "+ui.Printable(b.Name), ui.Hidden("do", word), ui.Hidden("sandbox", b.Name))
	}
	if b.Server == nil {
		return ui.Part("Agent server", ui.P(ui.Text("An isolated sandbox can have its own agent server.")), do("start", "Start"))
	}
	buttons := do("start", "Start")
	if b.Server.Running {
		buttons = ui.Group{do("restart", "Restart"), do("stop", "Stop")}
	}
	return ui.Part("Agent server", ui.Facts(ui.Fact{Name: "Status", Value: ui.OptionalText(b.Server.Status)}, ui.Fact{Name: "Address", Value: ui.OptionalCode(ui.Deref(b.Server.URL))},
		ui.Fact{Name: "Last error", Value: ui.OptionalText(b.Server.Error)}, ui.Fact{Name: "Log", Value: ui.OptionalCode(b.Server.Log)}), ui.Div(ui.Class("buttons"), buttons))
}

// resetting returns the forms that reset the sandbox.
func resetting(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	box, called := ui.Hidden("box", b.Name), "sandbox "+ui.Printable(b.Name)
	return ui.Group{ui.P(ui.Text("Resets the sandbox to its default branch. Its work is backed up first.")),
		ui.ActionForm(v, at(of.Name, "/reset"), "Reset", called, box),
		ui.Disclosure("Force reset …", false, ui.PostForm(v, at(of.Name, "/reset"), box,
			ui.CheckboxField("ignored", "ignored", "Also delete ignored files (node_modules, .env), without a backup", true),
			ui.Danger("Reset", ui.Aria("label", "Reset "+called+" with ignored files"))))}
}

// deleting returns the forms that delete the sandbox.
func deleting(v httpauth.Identity, of sandboxes.ProjectItem, b sandboxes.SandboxItem) ui.Node {
	box, called := ui.Hidden("box", b.Name), "sandbox "+ui.Printable(b.Name)
	return ui.Group{ui.P(ui.Text("Deletes the sandbox and its directory. If it has unsaved work, nothing is deleted and the work is listed.")),
		ui.PostForm(v, at(of.Name, "/delete"), box, ui.Danger("Delete", ui.Aria("label", "Delete "+called))),
		ui.Disclosure("Delete with unsaved work …", false, ui.PostForm(v, at(of.Name, "/delete"), box, ui.Hidden("force", "true"),
			ui.P(ui.Text("Shows the unsaved work first, and keeps a backup of it.")),
			ui.Danger("Delete with force", ui.Aria("label", "Delete with force: "+called))))}
}

// isolating returns the form that changes the isolation of the sandbox.
func isolating(b sandboxes.SandboxItem, v httpauth.Identity, of sandboxes.ProjectItem) ui.Node {
	now := b.Isolation
	if now == "" {
		now = "none"
	}
	return ui.Part("Isolation", ui.Facts(ui.Fact{Name: "Current isolation", Value: ui.OptionalText(now)}),
		ui.PostForm(v, at(of.Name, "/isolate"), ui.Hidden("box", b.Name), isolationFields("isolation", "none"),
			ui.SubmitButton("Change isolation", ui.Aria("label", "Change isolation of sandbox "+ui.Printable(b.Name)))))
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
		s.Calls.Do(w, r, v, ui.Task{Title: "Change the isolation of sandbox " + ui.Printable(name), Tool: sandboxes.SandboxIsolate.Name, Back: workPath(of, name) + "/manage",
			Args: ui.Args{"git_url": of.URL, "name": name, "isolate": isolation(r)}})
	})
}

// creating returns the form that creates a sandbox.
func creating(v httpauth.Identity, of sandboxes.ProjectItem, open bool) ui.Node {
	return ui.Disclosure("New sandbox …", open, ui.PostForm(v, at(of.Name, "/create"),
		ui.Field("box-name", "box", "Name (letters, digits, _ and -)", "", ui.Required(), ui.MaxLength("64")),
		ui.Field("box-branch", "branch", "Branch (default: new; pr:NUMBER for a pull request)", ""),
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
		s.Calls.Do(w, r, v, ui.Task{Title: title + ui.Printable(name), Tool: sandboxes.SandboxAgent.Name, Back: workPath(of, name) + "/manage",
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
		s.Calls.Do(w, r, v, ui.Task{Title: "Reset sandbox " + ui.Printable(name), Tool: sandboxes.SandboxReset.Name, Back: workPath(of, name) + "/manage",
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
		return ui.Empty("The tool sandbox_backups is not enabled.")
	}
	var all sandboxes.BackupList

	if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxBackups.Name, ui.Args{"git_url": of.URL}, &all); err != nil {
		return ui.ErrorNotice(err)
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
	return ui.DataTable("Backups", []string{"Sandbox", "Content", "Saved", "Commit", "Ref", "Actions"}, rows, "No backups.")
}

func (s *section) restore(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		s.Calls.Do(w, r, v, ui.Task{Title: "Restore backup", Tool: sandboxes.SandboxRestore.Name, Back: at(of.Name, "/backups"), Show: made,
			Args: ui.Args{"git_url": of.URL, "ref": r.PostFormValue("ref")}.Set("name", r.PostFormValue("box"))})
	})
}
