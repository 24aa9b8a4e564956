package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/domain/tool"
)

// gate is how far this session may go, and how each tool is treated on the way (amof contract §11, §12).
type gate struct {
	Mode    string // ask, plan or execute: of a call that says none
	Most    string // the operator's ceiling
	problem string // why the settings cannot be read: no change is allowed then
	rows    []ecosystems.PolicyRow
}

// Gate asks how far the session of a visitor may go.
func (d Base) Gate(r *http.Request, v httpauth.Identity) (gate, error) {
	var scope ecosystems.ScopeAnswer
	var matrix ecosystems.PublishedPolicy
	if err := d.Calls.Read(r.Context(), v, ecosystems.ScopeInfo.Name, nil, &scope); err != nil {
		return gate{}, err
	}
	err := d.Calls.Read(r.Context(), v, ecosystems.Policy.Name, nil, &matrix)
	return gate{Mode: scope.Mode, Most: scope.MaxMode, problem: scope.Problem, rows: matrix.Rows}, err
}

// modes returns all of them, each with what it means.
func modes() []ui.Choice {
	return []ui.Choice{{Value: "ask", Text: "ask: changes are only explained"}, {Value: "plan", Text: "plan: changes are only shown"},
		{Value: "execute", Text: "execute: changes are made"}}
}

// upTo returns the modes that nothing forbids.
func (g gate) upTo() []ui.Choice {
	all := modes()
	for i, m := range all {
		if m.Value == g.Most {
			return all[:i+1]
		}
	}
	return all
}

// Panel says which mode the session is in, and changes it; back is the page to come back to.
func (g gate) Panel(v httpauth.Identity, back string) ui.Node {
	var wrong, ceiling ui.Node
	if g.problem != "" {
		wrong = ui.Notice(ui.Bad, ui.P(ui.Text("The settings cannot be read, so nothing may be changed: "+g.problem)))
	}
	if g.Most != "" && g.Most != "execute" {
		ceiling = ui.P(ui.Class("quiet"), ui.Text("This server was started with a ceiling of "+g.Most+"; only its operator can raise that (--max-mode)."))
	}
	return ui.Section(ui.Class("card"), ui.Aria("label", "Mode of this session"), wrong,
		ui.PostForm(v, RootPath+"/-/mode", ui.Class("filter"), ui.Hidden("back", back), ui.SelectField("mode", "mode", "Mode of this session", g.Mode, g.upTo()...),
			ui.SubmitButton("Change the mode"), ui.LinkTo(RootPath+"/-/policy", "What each mode does with every tool")), ceiling)
}

func (d Base) setMode(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	back, mode := r.PostFormValue("back"), r.PostFormValue("mode")
	if back != RootPath && !strings.HasPrefix(back, RootPath+"/") {
		back = RootPath
	}
	d.Calls.Do(w, r, v, ui.Task{Title: "Change the mode to " + mode, Tool: "amof_set_mode", Args: map[string]any{"mode": mode}, Back: back})
}

// buttons are that of an action, which is about what, one for a preview of it, and what the mode makes of it.
func (g gate) buttons(button ui.Node, what string, name tool.Name) ui.Node {
	var preview ui.Node
	if g.Most != "ask" && g.Mode != "plan" {
		preview = ui.SubmitButton("Preview", ui.Name("mode"), ui.Value("plan"), ui.Aria("label", "Preview: "+what))
	}
	return WithNote(ui.Div(ui.Class("buttons"), button, preview), g.Hint(name))
}

// Hint says what a press on the button of that tool does, in the mode there is.
func (g gate) Hint(name tool.Name) string {
	for _, r := range g.rows {
		if r.Tool == string(name) {
			return inMode(r, g.Mode)
		}
	}
	switch g.Mode {
	case "ask":
		return "In mode ask it is refused."
	case "plan":
		return "In mode plan it is a dry run."
	}
	return ""
}

// inMode returns what becomes of the tool in that mode.
func inMode(r ecosystems.PolicyRow, mode string) string {
	does := map[string]string{"ask": r.Ask, "plan": r.Plan, "execute": r.Execute}[mode]
	words := map[string]string{"blocked": "it is refused", "explain": "it is not done, only explained", "dry-run": "it is a dry run, which shows what it would do",
		"execute": "it is done at once", "yes": "it is done at once"}[does]
	if does == "execute" {
		words = FirstNonEmpty(map[string]string{"simple": "you confirm it, then it is done", "preview": "you confirm its plan, then it is done",
			"type": "you type the ecosystem's name to confirm it, then it is done"}[r.Confirm], words)
	}
	if words == "" {
		return ""
	}
	return "In mode " + mode + " " + words + "."
}

// policy shows how every tool is treated in each mode.
func (d Base) policy(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	g, err := d.Gate(r, v)
	if err != nil {
		d.Fail(w, v, err)
		return
	}
	rows := ui.Map(g.rows, func(r ecosystems.PolicyRow) ui.Node {
		return ui.Row(mono(r.Tool), said(r.Safety), said(r.Ask), said(r.Plan), said(r.Execute), said(r.Confirm))
	})
	ui.Page{Title: "What each mode does", Section: RootPath, Crumbs: []ui.PageLink{{Text: "Ecosystems", Href: RootPath}}, Notice: d.Came(r), Body: []ui.Node{
		g.Panel(v, RootPath+"/-/policy"),
		ui.Part("Modes", ui.Facts(
			ui.Fact{Name: "ask", Value: ui.Text("The default. What reads runs. What would change something is refused; what is dangerous is explained: what it would do, to what, and what else there is.")},
			ui.Fact{Name: "plan", Value: ui.Text("What would change something is worked out and shown as a dry run. Nothing is changed, also nothing that is safe.")},
			ui.Fact{Name: "execute", Value: ui.Text("Safe changes are made at once. Dangerous ones are confirmed first: simply, after a look at the plan, or by typing the name.")})),
		ui.P(ui.Class("quiet"), ui.Text("A call's own mode beats the session's, which beats the default. The preview buttons of these pages call in mode plan.")),
		ui.Part("Tools", ui.DataTable("Tools and modes", []string{"Tool", "Class", "In ask", "In plan", "In execute", "Confirmation"}, rows, "There are none.")),
	}}.Write(w, http.StatusOK, v)
}
