package ecodesk

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Gate is how far this session may go, and how each tool is treated on the way (amof contract §11, §12).
type Gate struct {
	Mode    string // ask, plan or execute: of a call that says none
	Most    string // the operator's ceiling
	problem string // why the settings cannot be read: then nothing may change
	rows    []row
}

// row is one tool in the matrix of modes.
type row struct {
	Number  int    `json:"num"`
	Tool    string `json:"tool"`
	Scope   string `json:"scope"`
	Safety  string `json:"safety"`
	Ask     string `json:"ask"`
	Plan    string `json:"plan"`
	Execute string `json:"execute"`
	Confirm string `json:"confirm"`
}

// Gate asks how far the session of a visitor may go.
func (d Desk) Gate(r *http.Request, v httpguard.Visitor) (Gate, error) {
	var scope struct {
		Mode    string `json:"mode"`
		MaxMode string `json:"max_mode"`
		Problem string `json:"settings_problem"`
	}
	var matrix struct {
		Rows []row `json:"rows"`
	}
	if err := d.Desk.Read(r.Context(), v, "amof_scope_info", nil, &scope); err != nil {
		return Gate{}, err
	}
	err := d.Desk.Read(r.Context(), v, "amof_policy", nil, &matrix)
	return Gate{Mode: scope.Mode, Most: scope.MaxMode, problem: scope.Problem, rows: matrix.Rows}, err
}

// modes are all of them, each with what it means.
func modes() []page.Choice {
	return []page.Choice{{Value: "ask", Text: "ask: changes are only explained"}, {Value: "plan", Text: "plan: changes are only shown"},
		{Value: "execute", Text: "execute: changes are made"}}
}

// upTo are the modes that nothing forbids.
func (g Gate) upTo() []page.Choice {
	all := modes()
	for i, m := range all {
		if m.Value == g.Most {
			return all[:i+1]
		}
	}
	return all
}

// Panel says which mode the session is in, and changes it; back is the page to come back to.
func (g Gate) Panel(v httpguard.Visitor, back string) markup.Node {
	var wrong, ceiling markup.Node
	if g.problem != "" {
		wrong = page.Notice(page.Bad, markup.P(page.Text("The settings cannot be read, so nothing may be changed: "+g.problem)))
	}
	if g.Most != "" && g.Most != "execute" {
		ceiling = markup.P(markup.Class("quiet"), page.Text("This server was started with a ceiling of "+g.Most+"; only its operator can raise that (--max-mode)."))
	}
	return markup.Section(markup.Class("card"), markup.Aria("label", "Mode of this session"), wrong,
		page.Form(v, Root+"/-/mode", markup.Class("filter"), page.Hidden("back", back), page.Select("mode", "mode", "Mode of this session", g.Mode, g.upTo()...),
			page.Button("Change the mode"), page.To(Root+"/-/policy", "What each mode does with every tool")), ceiling)
}

func (d Desk) setMode(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	back, mode := r.PostFormValue("back"), r.PostFormValue("mode")
	if back != Root && !strings.HasPrefix(back, Root+"/") {
		back = Root
	}
	d.Desk.Do(w, r, v, work.Task{Title: "Change the mode to " + mode, Tool: "amof_set_mode", Args: map[string]any{"mode": mode}, Back: back})
}

// buttons are that of a deed, which is about what, one for a preview of it, and what the mode makes of it.
func (g Gate) buttons(button markup.Node, what string, name tool.Name) markup.Node {
	var preview markup.Node
	if g.Most != "ask" && g.Mode != "plan" {
		preview = page.Button("Preview", markup.Name("mode"), markup.Value("plan"), markup.Aria("label", "Preview: "+what))
	}
	return Under(markup.Div(markup.Class("buttons"), button, preview), g.Hint(name))
}

// Hint says what a press on the button of that tool does, in the mode there is.
func (g Gate) Hint(name tool.Name) string {
	for _, r := range g.rows {
		if r.Tool == string(name) {
			return r.said(g.Mode)
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

// said is what becomes of the tool in that mode.
func (r row) said(mode string) string {
	does := map[string]string{"ask": r.Ask, "plan": r.Plan, "execute": r.Execute}[mode]
	words := map[string]string{"blocked": "it is refused", "explain": "it is not done, only explained", "dry-run": "it is a dry run, which shows what it would do",
		"execute": "it is done at once", "yes": "it is done at once"}[does]
	if does == "execute" {
		words = First(map[string]string{"simple": "you confirm it, then it is done", "preview": "you confirm its plan, then it is done",
			"type": "you type the ecosystem's name to confirm it, then it is done"}[r.Confirm], words)
	}
	if words == "" {
		return ""
	}
	return "In mode " + mode + " " + words + "."
}

// policy shows how every tool is treated in each mode.
func (d Desk) policy(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	g, err := d.Gate(r, v)
	if err != nil {
		d.Fail(w, v, err)
		return
	}
	rows := markup.Map(g.rows, func(r row) markup.Node {
		return page.Row(Mono(r.Tool), Said(r.Safety), Said(r.Ask), Said(r.Plan), Said(r.Execute), Said(r.Confirm))
	})
	page.Page{Title: "What each mode does", Section: Root, Crumbs: []page.Link{{Text: "Ecosystems", Href: Root}}, Notice: d.Came(r), Body: []markup.Node{
		g.Panel(v, Root+"/-/policy"),
		page.Part("Modes", page.Facts(
			page.Fact{Name: "ask", Value: page.Text("The default. What reads runs. What would change something is refused; what is dangerous is explained: what it would do, to what, and what else there is.")},
			page.Fact{Name: "plan", Value: page.Text("What would change something is worked out and shown as a dry run. Nothing is changed, also nothing that is safe.")},
			page.Fact{Name: "execute", Value: page.Text("Safe changes are made at once. Dangerous ones are confirmed first: simply, after a look at the plan, or by typing the name.")})),
		markup.P(markup.Class("quiet"), page.Text("A call's own mode beats the session's, which beats the default. The preview buttons of these pages call in mode plan.")),
		page.Part("Tools", page.Table("Tools and modes", []string{"Tool", "Class", "In ask", "In plan", "In execute", "Confirmation"}, rows, "There are none.")),
	}}.Write(w, http.StatusOK, v)
}
