package ecopages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/tool"
)

// formAction is an action with a form: a call of a tool about the ecosystem of the address, with the fields of the form.
type formAction struct {
	path  string // below the ecosystem's own
	title string // followed by the ecosystem's name
	tool  tool.Name
	from  string // the page of its form, which a preview returns to
	back  string // the page that follows
	// fields of the form, which are members of the arguments: a text; "x?" a checkbox; "x*" the names of checked x.NAME; "x/" the lines of a
	// text. Empty fields are left out.
	fields []string
}

func formActions() []formAction {
	release := []string{"message", "push?", "strict?", "skip_validation?", "independent?", "github?"}
	return []formAction{
		{"use", "Select", "ecosystem_use", "manifest", "manifest", nil},
		{"install", "Install", "amof_install_ecosystem", "", "runs", []string{"push?"}},
		{"sync", "Sync", "amof_sync_ecosystem", "", "runs", []string{"repos*"}},
		{"push", "Push", "amof_push_ecosystem", "", "runs", []string{"message", "commit_all?", "repos*"}},
		{"exec", "Run a command in", "ecosystem_exec", "", "runs", []string{"saved", "command/", "changed", "dirty?", "repos*"}},
		{"journal", "Add a journal entry to", "amof_create_journal", "manifest", "manifest", []string{"title", "body"}},
		{"ticket-start", "Start a ticket of", "amof_ticket_start", "tickets", "tickets", []string{"ticket_id", "repos*"}},
		{"ticket-switch", "Switch the ticket of", "amof_ticket_switch", "tickets", "tickets", []string{"ticket_id"}},
		{"ticket-sync", "Update a ticket of", "ecosystem_ticket_sync", "tickets", "tickets", []string{"ticket_id"}},
		{"ticket-merge", "Merge a ticket of", "ecosystem_ticket_merge", "tickets", "tickets", []string{"ticket_id", "message", "squash?", "push?", "committed_only?"}},
		{"ticket-end", "End a ticket of", "amof_ticket_end", "tickets", "tickets", []string{"ticket_id", "cleanup", "force?"}},
		{"ticket-pr", "Open pull requests for a ticket of", "ecosystem_ticket_propose", "tickets", "tickets", []string{"ticket_id", "title"}},
		{"cancel", "Cancel a run of", "amof_cancel_run", "runs", "runs", []string{"run_id"}},
		{"bump", "Release a new version of", "amof_release_bump", "releases", "runs", append([]string{"bump_type", "pre_release"}, release...)},
		{"promote", "Promote the version of", "amof_release_promote", "releases", "runs", append([]string{"target"}, release...)},
		{"deploy", "Deploy the environment of", "amof_spin_deploy", "environment", "runs", []string{"environment", "args/"}},
		{"destroy", "Destroy the environment of", "amof_spin_destroy", "environment", "runs", []string{"environment"}},
		{"ask", "Check the provisioner status of", "ecosystem_spin_ask", "environment", "environment", []string{"action", "environment"}},
		{"archive", "Archive", "amof_archive_ecosystem", "trash", "runs", []string{"message", "delete_workspace?", "cleanup_features?", "offline?"}},
		{"discard", "Discard", "amof_discard_ecosystem", "trash", "runs", nil},
		{"restore", "Restore", "ecosystem_restore", "trash", "runs", []string{"trash_id"}},
	}
}

// Handlers returns the handlers of the forms and of the session mode.
func (k Base) Handlers() ui.Handlers {
	all := ui.Handlers{"GET " + RootPath + "/-/policy": k.policy, "POST " + RootPath + "/-/mode": k.setMode, "POST " + RootPath + "/-/create": k.create}
	for _, d := range formActions() {
		all["POST "+RootPath+"/{name}/"+d.path] = k.doing(d)
	}
	return all
}

// doing returns the handler of an action.
func (k Base) doing(d formAction) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		if err := r.ParseForm(); err != nil {
			k.Fail(w, v, errForm.WithCause(err))
			return
		}
		name := r.PathValue("name")
		args := d.arguments(name, r.PostForm)
		k.Calls.Do(w, r, v, ui.Task{Title: d.title + " " + name, Tool: d.tool, Args: args, Back: d.next(name, r.PostForm)})
	}
}

// next returns the path of the page that follows.
func (d formAction) next(name string, form url.Values) string {
	to := d.back
	if form.Get("mode") == "plan" || form.Get(fieldPreview) != "" {
		to = d.from
	}
	if id := form.Get("run_id"); d.path == "cancel" && id != "" {
		return PagePath(name, "runs", id)
	}
	return (&EcosystemPage{Name: name}).place(to)
}

// fieldPreview is the field of forms that only preview because of the session mode.
const fieldPreview = "preview"

// arguments returns the arguments of the tool from the fields of a form.
func (d formAction) arguments(name string, form url.Values) map[string]any {
	args := map[string]any{"ecosystem": name}
	fields := d.fields
	switch d.path {
	case "cancel": // a run is known by its own id
		args = map[string]any{}
		fields = append([]string{"mode"}, fields...)
	case "use":
	default:
		fields = append([]string{"mode"}, fields...)
	}
	for _, f := range fields {
		if member, value := given(f, form); value != nil {
			args[member] = value
		}
	}
	return args
}

// given returns the name and the value of an argument; the value is nil if the form has none.
func given(field string, form url.Values) (string, any) {
	member := strings.TrimRight(field, "?*/")
	switch value := form.Get(member); field[len(member):] {
	case "?":
		if value == "true" {
			return member, true
		}
	case "*":
		if names := ticked(member, form); len(names) > 0 {
			return member, names
		}
	case "/":
		if lines := linesOf(value); len(lines) > 0 {
			return member, lines
		}
	default:
		if value = strings.TrimSpace(strings.ReplaceAll(value, "\r\n", "\n")); value != "" {
			return member, value
		}
	}
	return member, nil
}

// ticked returns the names of a form's checked boxes, sorted.
func ticked(member string, form url.Values) []string {
	var names []string
	for key := range form {
		if name, ok := strings.CutPrefix(key, member+"."); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// linesOf returns the non-blank lines of a text.
func linesOf(text string) []string {
	var out []string
	for _, line := range ui.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// ActionForm returns the form of an action: its fields, its button, a preview button, and what the mode allows. what distinguishes buttons with
// the same text for screen readers.
func (a *EcosystemPage) ActionForm(path, label, what string, fields ...ui.Node) ui.Node {
	var d formAction
	for _, each := range formActions() {
		if each.path == path {
			d = each
		}
	}
	spoken := ui.Aria("label", label+" "+what)
	button := ui.SubmitButton(label, spoken)
	if path == "discard" || path == "destroy" || path == "archive" || path == "ticket-end" {
		button = ui.Danger(label, spoken)
	}
	if a.Gate.Mode == "plan" {
		fields = append(fields, ui.Hidden(fieldPreview, "true"))
	}
	return ui.PostForm(a.V, PagePath(a.Name, path), ui.Group(fields), a.Gate.buttons(button, label+" "+what, d.tool))
}

// RepoCheckboxes returns checkboxes that select repositories for an action; doing is its verb. No selection means all repositories.
func RepoCheckboxes(path, doing string, names []string) ui.Node {
	var boxes ui.Group
	for i, n := range names {
		boxes = append(boxes, ui.CheckboxField(path+"-repo-"+number(&i), "repos."+n, n, false))
	}
	if len(boxes) == 0 {
		return nil
	}
	return ui.Disclosure(doing+" selected repositories", false, ui.FieldSet(ui.Legend(ui.Text("Default: all repositories")), boxes))
}
