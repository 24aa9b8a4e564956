package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/domain/tool"
)

// gate is the session mode and what each mode allows for each tool (amof contract §11, §12).
type gate struct {
	Mode    string // ask, plan or execute: of calls without a mode
	Most    string // the maximum mode of the server
	problem string // why the settings cannot be read; then no change is allowed
	rows    []ecosystems.PolicyRow
}

// Gate returns the session mode of a user.
func (d Base) Gate(r *http.Request, v httpauth.Identity) (gate, error) {
	var scope ecosystems.ScopeAnswer
	var matrix ecosystems.PublishedPolicy
	if err := d.Calls.Read(r.Context(), v, ecosystems.ScopeInfo.Name, nil, &scope); err != nil {
		return gate{}, err
	}
	err := d.Calls.Read(r.Context(), v, ecosystems.Policy.Name, nil, &matrix)
	return gate{Mode: scope.Mode, Most: scope.MaxMode, problem: scope.Problem, rows: matrix.Rows}, err
}

// modes returns all modes with their meanings.
func modes() []ui.Choice {
	return []ui.Choice{{Value: "ask", Text: "ask: explain changes"}, {Value: "plan", Text: "plan: preview changes"},
		{Value: "execute", Text: "execute: make changes"}}
}

// upTo returns the modes up to the maximum mode.
func (g gate) upTo() []ui.Choice {
	all := modes()
	for i, m := range all {
		if m.Value == g.Most {
			return all[:i+1]
		}
	}
	return all
}

// Panel returns the form that shows and changes the session mode; back is the page that follows.
func (g gate) Panel(v httpauth.Identity, back string) ui.Node {
	var wrong, ceiling, raise ui.Node
	if g.problem != "" {
		wrong = ui.Notice(ui.Bad, ui.P(ui.Text("Cannot read the settings, so no changes are allowed: "+g.problem)))
	}
	if g.Most != "" && g.Most != "execute" {
		ceiling = ui.P(ui.Class("quiet"), ui.Text("The maximum mode of this server is "+g.Most+". To raise it, restart the server with --max-mode."))
	}
	most := g.upTo()[len(g.upTo())-1].Value
	if effect := map[string]string{"ask": "Mode ask: changes are explained, not made. ", "plan": "Mode plan: changes are previewed, not made. "}[g.Mode]; effect != "" && most == "execute" {
		raise = ui.Notice(ui.Plain, ui.P(ui.Text(effect)), ui.PostForm(v, RootPath+"/-/mode", ui.Hidden("back", back), ui.Hidden("mode", most), ui.SubmitButton("Set mode to execute")))
	}
	return ui.Section(ui.Aria("label", "Session mode"), wrong, raise,
		ui.PostForm(v, RootPath+"/-/mode", ui.Class("filter"), ui.Hidden("back", back), ui.SelectField("mode", "mode", "Session mode", g.Mode, g.upTo()...),
			ui.SubmitButton("Change mode"), ui.LinkTo(RootPath+"/-/policy", "Tools and modes")), ceiling)
}

func (d Base) setMode(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	back, mode := r.PostFormValue("back"), r.PostFormValue("mode")
	if back != RootPath && !strings.HasPrefix(back, RootPath+"/") {
		back = RootPath
	}
	d.Calls.Do(w, r, v, ui.Task{Title: "Change mode to " + mode, Tool: "amof_set_mode", Args: map[string]any{"mode": mode}, Back: back})
}

// buttons returns the button of an action on what, a preview button, and what the mode allows.
func (g gate) buttons(button ui.Node, what string, name tool.Name) ui.Node {
	var preview ui.Node
	if g.Most != "ask" && g.Mode != "plan" {
		preview = ui.SubmitButton("Preview", ui.Name("mode"), ui.Value("plan"), ui.Aria("label", "Preview: "+what))
	}
	return ui.Group{ui.Div(ui.Class("buttons"), button, preview), g.hint(name)}
}

// hint returns the Hint of a tool. If the mode does not make the change, a link leads to the field that sets the mode.
func (g gate) hint(name tool.Name) ui.Node {
	words := g.Hint(name)
	if words == "" {
		return nil
	}
	if g.Mode == "execute" {
		return ui.P(ui.Class("quiet"), said(words))
	}
	return ui.P(ui.Class("quiet"), said(words+" "), ui.LinkTo("#mode", "Change session mode"))
}

// Hint describes what the button of that tool does in the current mode.
func (g gate) Hint(name tool.Name) string {
	for _, r := range g.rows {
		if r.Tool == string(name) {
			return inMode(r, g.Mode)
		}
	}
	switch g.Mode {
	case "ask":
		return "Mode ask denies it."
	case "plan":
		return "Mode plan previews it."
	}
	return ""
}

// inMode describes what that mode does with a call of the tool.
func inMode(r ecosystems.PolicyRow, mode string) string {
	does := map[string]string{"ask": r.Ask, "plan": r.Plan, "execute": r.Execute}[mode]
	words := map[string]string{"blocked": "denies it", "explain": "explains it and changes nothing", "dry-run": "previews it and changes nothing",
		"execute": "runs it", "yes": "runs it"}[does]
	if does == "execute" {
		words = FirstNonEmpty(map[string]string{"simple": "runs it after you approve", "preview": "runs it after you approve its plan",
			"type": "runs it after you type the ecosystem name to approve"}[r.Confirm], words)
	}
	if words == "" {
		return ""
	}
	return "Mode " + mode + " " + words + "."
}

// policy shows what each mode does with every tool.
func (d Base) policy(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	g, err := d.Gate(r, v)
	if err != nil {
		d.Fail(w, v, err)
		return
	}
	rows := ui.Map(g.rows, func(r ecosystems.PolicyRow) ui.Node {
		return ui.Row(mono(r.Tool), said(r.Safety), said(r.Ask), said(r.Plan), said(r.Execute), said(r.Confirm))
	})
	ui.Page{Title: "Tools and modes", Section: RootPath, Crumbs: []ui.PageLink{{Text: "Ecosystems", Href: RootPath}}, Notice: d.Came(r), Body: []ui.Node{
		g.Panel(v, RootPath+"/-/policy"),
		ui.Part("Modes", ui.Facts(
			ui.Fact{Name: "ask", Value: ui.Text("The default. Reads run. Changes are denied; for dangerous changes, the plan and the alternatives are shown.")},
			ui.Fact{Name: "plan", Value: ui.Text("Changes are computed and shown as a dry run. Nothing is changed.")},
			ui.Fact{Name: "execute", Value: ui.Text("Safe changes run. Dangerous changes need your approval: yes or no, with the plan, or by typing the ecosystem name.")})),
		ui.P(ui.Class("quiet"), ui.Text("The mode of a call overrides the session mode, which overrides the default. Preview buttons call in mode plan.")),
		ui.Part("Tools", ui.DataTable("Tools and modes", []string{"Tool", "Class", "Mode ask", "Mode plan", "Mode execute", "Approval"}, rows, "No tools.")),
	}}.Write(w, http.StatusOK, v)
}
