package agentpages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// errAction is returned for an action that these pages do not have.
var errAction = fault.New(fault.NotFound, "deployment_action_unknown", "unknown action; open the deployments page and choose one there")

// action is an action with a form: a call of a tool about a place, with the fields of the form.
type action struct {
	title string
	tool  tool.Name
	back  string // the page that follows, below the section
	// fields are the arguments that come from the form: a text; "x?" a checkbox; "x/" one entry per line; "x#" a number.
	fields []string
}

func actions() map[string]action {
	return map[string]action{
		"init":      {"Create config repository", "agents_init", "", []string{"from", "targets/", "git?"}},
		"update":    {"Update modules", "agents_update", "/maintenance", []string{"latest?", "modules/"}},
		"sync":      {"Sync config repository", "agents_sync", "/maintenance", []string{"rebase?", "remote"}},
		"add":       {"Add module", "agents_add", "/modules", []string{"module_type", "source", "id", "tags/", "targets/"}},
		"remove":    {"Remove module", "agents_remove", "/modules", []string{"module_id"}},
		"assets":    {"Write operator assets", "agents_bootstrap", "/maintenance", []string{"remove?", "adopt?"}},
		"edit":      {"Create overlay", "agents_overlay_edit", "/modules", []string{"module_id", "scope"}},
		"rebase":    {"Rebase overlay", "agents_overlay_rebase", "/modules", []string{"module_id", "scope"}},
		"prune":     {"Delete snapshots", "agents_snapshots_prune", "/snapshots", []string{"keep#"}},
		"manifests": {"Write ownership manifests", "agents_manifests_write", "/maintenance", nil},
	}
}

// act does one of the actions.
func (s *Section) act(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	form := posted(r)
	p, a := placeOf(form), actions()[r.PathValue("action")]
	if a.tool == "" {
		s.Fail(w, v, errAction)
		return
	}
	args := with(p.args(a.tool), "yes")
	for _, f := range a.fields {
		name := strings.TrimRight(f, "?/#")
		switch value := form.Get(name); f[len(name):] {
		case "?":
			args.Flag(name, value)
		case "#":
			args.Number(name, value)
		case "/":
			if lines := ui.Lines(value); len(lines) > 0 {
				args[name] = lines
			}
		default:
			args.Set(name, value)
		}
	}
	s.Calls.Do(w, r, v, ui.Task{Title: a.title, Tool: a.tool, Args: args, Back: p.at(a.back)})
}

// actionForm returns the form of an action; nil if its tool is not enabled. context names its object for screen readers.
func (r reading) actionForm(path, context string, danger bool, fields ...ui.Node) ui.Node {
	a := actions()[path]
	if !r.serves(a.tool) {
		return nil
	}
	label := a.title
	if context != "" {
		label += ": " + ui.Printable(context)
	}
	button := ui.SubmitButton(a.title, ui.Aria("label", label))
	if danger {
		button = ui.Danger(a.title, ui.Aria("label", label))
	}
	return ui.PostForm(r.v, root+"/do/"+path, r.at.hidden(), ui.Group(fields), ui.Div(ui.Class("buttons"), button))
}

// maintenance shows the actions on the config repository.
func (s *Section) maintenance(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	card := func(title, text string, form ui.Node) ui.Node {
		if form == nil {
			return nil
		}
		return ui.Panel(title, ui.P(ui.Text(text)), form)
	}
	body := []ui.Node{p.tabs("/maintenance"), p.form("/maintenance")}
	if !look.serves("agents_update") {
		body = append(body, unserved("Maintenance tools"))
	} else {
		body = append(body, s.Calls.PolicyNotice(r.Context(), v, "Maintenance", "agents_update"), ui.Div(ui.Class("grid"),
			card("Modules", "Locks and fetches the versions of all modules, or only of the listed ones.", look.actionForm("update", "", false,
				ui.CheckboxField("update-latest", "latest", "Lock to the current commits", false), ui.TextareaField("update-modules", "modules", "Modules, one per line (optional)", ""))),
			card("Remote", "Pulls and pushes the config repository.", look.actionForm("sync", "", false, ui.Field("sync-remote", "remote", "Remote (default: origin)", ""),
				ui.CheckboxField("sync-rebase", "rebase", "Rebase instead of merge", false))),
			card("Operator assets", "Writes the commands and skills with which agents use Countersign.", look.actionForm("assets", "", false,
				ui.CheckboxField("assets-remove", "remove", "Remove them instead", false), ui.CheckboxField("assets-adopt", "adopt", "Overwrite unmanaged files", false))),
			card("Ownership manifests", "Writes the ownership manifests beside the deployed files, for earlier versions and the original tool.", look.actionForm("manifests", "", false))))
	}
	s.Show(w, r, v, ui.Page{Title: "Maintenance of deployments", Crumbs: p.crumbs(), Body: body})
}

// adding returns the form that adds a module; nil if its tool is not enabled.
func (r reading) adding() ui.Node {
	form := r.actionForm("add", "", false, ui.SelectField("add-type", "module_type", "Type", "", ui.Choice{Value: "instructions", Text: "Instructions"}, ui.Choice{Value: "skill", Text: "Skill"},
		ui.Choice{Value: "prompt", Text: "Prompt"}, ui.Choice{Value: "command", Text: "Command"}, ui.Choice{Value: "mcp", Text: "MCP server"}, ui.Choice{Value: "settings", Text: "Settings"},
		ui.Choice{Value: "agent", Text: "Agent"}, ui.Choice{Value: "hooks", Text: "Hooks"}, ui.Choice{Value: "permissions", Text: "Permissions"},
		ui.Choice{Value: "output_style", Text: "Output style"}, ui.Choice{Value: "plugins", Text: "Plugins"}),
		ui.Field("add-source", "source", "Source (local:PATH or git:URL#ref=REF&subdir=DIR)", "", ui.Required()), ui.Field("add-id", "id", "ID (optional)", ""),
		ui.TextareaField("add-tags", "tags", "Tags, one per line (optional)", ""), ui.TextareaField("add-targets", "targets", "Agents, one per line (default: all)", ""))
	if form == nil {
		return nil
	}
	return ui.Disclosure("New module …", false, form)
}
