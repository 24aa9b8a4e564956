package projectpages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/actionpages"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/flowpages"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// known is what is stored of a project.
type known struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Settings    struct {
		EnvPass       []string `json:"envPass"`
		AllowLoopback bool     `json:"webhookAllowLoopback"`
		AllowHosts    []string `json:"webhookAllowHosts"`
	} `json:"settings"`
}

var errUnknown = fault.New(fault.NotFound, "project_unregistered", "no project of this id is registered; the list of projects shows those that are")

// about is a page about one project that is being made.
type about struct {
	*Section
	r   *http.Request
	v   httpguard.Visitor
	of  known
	dir string // the work tree that is looked at: the project's own, or another one
}

// find is the project of the address.
func (s *Section) find(r *http.Request, v httpguard.Visitor) (known, error) {
	var p known
	id := r.PathValue("id")
	if s.Desk.Serves(v, toolShow) {
		return p, s.Desk.Read(r.Context(), v, toolShow, sectionpage.Args{"project": id}, &p)
	}
	var all struct {
		Projects []item `json:"projects"`
	}
	err := s.Desk.Read(r.Context(), v, "list_projects", nil, &all)
	for _, p := range all.Projects {
		if p.ID == id {
			return known{ID: p.ID, Name: p.Name, Path: p.Path, Description: sectionpage.Deref(p.Description)}, nil
		}
	}
	return p, cmp.Or(err, error(errUnknown))
}

// read calls a tool about this page's project that only reads.
func (a *about) read(name tool.Name, args sectionpage.Args, into any) error {
	return a.Desk.Read(a.r.Context(), a.v, name, args, into)
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	a := &about{Section: s, r: r, v: v, of: of, dir: cmp.Or(r.URL.Query().Get("worktree"), of.Path)}
	p := page.Page{Title: page.Printable(of.Name), Crumbs: []page.Link{{Text: "Projects", Href: root}}, Live: []string{"ai-tool-result"}}
	if a.dir != of.Path {
		p.Crumbs, p.Title = append(p.Crumbs, page.Link{Text: p.Title, Href: at(of.ID)}), "Worktree "+page.Printable(a.dir)
	}
	p.Body = []markup.Node{a.facts(), a.scripts(), a.standing(), a.worktrees()}
	if a.dir == of.Path {
		p.Body = append(p.Body, flowpages.Of(s.Section, r, v, of.ID), actionpages.Of(s.Section, r, v, of.ID), a.settings())
	}
	s.Show(w, r, v, p)
}

// facts is what the directory says of itself.
func (a *about) facts() markup.Node {
	var d struct {
		Remote   *string  `json:"gitRemote"`
		Branch   *string  `json:"currentBranch"`
		Manager  *string  `json:"packageManager"`
		Version  *string  `json:"packageManagerVersion"`
		Type     *string  `json:"projectType"`
		Node     *string  `json:"nodeVersion"`
		Monorepo bool     `json:"isMonorepo"`
		Tool     *string  `json:"monorepoTool"`
		Warnings []string `json:"warnings"`
	}
	if err := a.read("get_project", sectionpage.Args{"path": a.of.Path}, &d); err != nil {
		return sectionpage.Tell(err)
	}
	var warned markup.Group
	for _, w := range d.Warnings {
		warned = append(warned, page.Notice(page.Warn, markup.P(sectionpage.Text(w))))
	}
	manager := strings.TrimSpace(sectionpage.Deref(d.Manager) + " " + sectionpage.Deref(d.Version))
	mono := sectionpage.Deref(d.Tool)
	if d.Monorepo {
		mono = cmp.Or(mono, "yes")
	}
	return markup.Group{warned, page.Facts(page.Fact{Name: "Directory", Value: sectionpage.Code(a.of.Path)}, page.Fact{Name: "Description", Value: sectionpage.Text(a.of.Description)},
		page.Fact{Name: "Type", Value: sectionpage.Text(sectionpage.Deref(d.Type))}, page.Fact{Name: "Package manager", Value: sectionpage.Text(manager)},
		page.Fact{Name: "Node", Value: sectionpage.Text(sectionpage.Deref(d.Node))}, page.Fact{Name: "Monorepo", Value: sectionpage.Text(mono)},
		page.Fact{Name: "Branch", Value: sectionpage.Text(sectionpage.Deref(d.Branch))}, page.Fact{Name: "Remote", Value: sectionpage.Code(sectionpage.Deref(d.Remote))})}
}

// scripts are those of the package.json, each with a button that runs it.
func (a *about) scripts() markup.Node {
	var all struct {
		Scripts []struct {
			Name    string `json:"name"`
			Command string `json:"command"`
		} `json:"scripts"`
	}
	if err := a.read("list_project_scripts", sectionpage.Args{"project_path": a.dir}, &all); err != nil {
		return page.Part("Scripts", sectionpage.Tell(err))
	}
	var rows []markup.Node
	for i, script := range all.Scripts {
		rows = append(rows, page.Row(sectionpage.Text(script.Name), sectionpage.Code(script.Command), a.runs(fmt.Sprint("script-", i), script.Name)))
	}
	return page.Part("Scripts", page.Table("scripts of package.json", []string{"Name", "Command", "Run"}, rows, "There is no package.json here, or it has no scripts."))
}

// runs is what runs a script: at once, in the background, or with more said about it. ids of its fields begin with id.
func (a *about) runs(id, script string) markup.Node {
	to, called := at(a.of.ID)+"/run", page.Printable(script)
	fields := markup.Group{page.Hidden("script", script), page.Hidden("worktree", a.dir)}
	return markup.Group{
		page.Deed(a.v, to, "Run", called, fields),
		page.Deed(a.v, to, "Run in the background", called, fields, page.Hidden("background", "true")),
		page.Fold("With arguments …", false, page.Form(a.v, to, fields,
			page.Area(id+"-args", "args", "Arguments, one a line", ""),
			page.Check(id+"-background", "background", "In the background, where it outlives this server", false),
			page.Field(id+"-pattern", "pattern", "In the background: wait for a line that matches (a regular expression; may be empty)", ""),
			sectionpage.Numeric(id+"-patience", "patience", "… for so many seconds (empty: 30)", ""),
			sectionpage.Numeric(id+"-timeout", "timeout", "End it after so many seconds (empty: 300, in the background never)", ""),
			page.Button("Run", markup.Aria("label", "Run "+called+" with these arguments")))),
	}
}

func (s *Section) run(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	script, dir := r.PostFormValue("script"), cmp.Or(r.PostFormValue("worktree"), of.Path)
	args := sectionpage.Args{"projectPath": dir, "scriptName": script}.Flag("runInBackground", r.PostFormValue("background")).
		Number("timeoutMs", sectionpage.Milliseconds(r.PostFormValue("timeout"))).Set("successPattern", r.PostFormValue("pattern")).
		Number("successTimeoutMs", sectionpage.Milliseconds(r.PostFormValue("patience")))
	if lines := sectionpage.Lines(r.PostFormValue("args")); len(lines) > 0 {
		args["args"] = lines
	}
	s.Desk.Do(w, r, v, work.Task{Title: "Run script " + page.Printable(script) + " of " + page.Printable(of.Name), Tool: "run_npm_script", Args: args, Back: in(of, dir),
		Watch: execview.Watch(s.Desk, v), Show: execview.Script})
}

// in is the page of a project's work tree.
func in(of known, dir string) string {
	if dir == of.Path {
		return at(of.ID)
	}
	return at(of.ID) + "?worktree=" + url.QueryEscape(dir)
}
