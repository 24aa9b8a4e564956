package agentpages

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/agentpages/agentview"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/adapters/present/spoken"
	"github.com/countersign-dev/countersign/domain/sorting"
)

func (s *Section) overview(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	kinds := slices.DeleteFunc(r.URL.Query()["only"], func(k string) bool { return k == "" })
	look := s.reading(r, v, p)
	body := []markup.Node{p.form("", page.Select("only", "only", "Drift", first(kinds), page.Choice{Text: "all of it"}, page.Choice{Value: "missing", Text: "missing"},
		page.Choice{Value: "modified", Text: "modified"}, page.Choice{Value: "extra", Text: "extra"})), look.interrupted()}
	extra := arguments{}
	if len(kinds) > 0 {
		extra["only"] = kinds
	}
	doctor, ill := read[agentview.Doctor](look, "doctor", nil)
	status, err := read[agentview.Status](look, "status", extra)
	if err != nil { // there may be no config repository yet: the page says so, and where else to look
		s.Show(w, r, v, page.Page{Title: "Deployments", Body: append(body, trouble(err), markup.P(page.Text("A config repository is made with "),
			page.Code("countersign agents init"), page.Text("; or name another one above.")), look.health(doctor, ill))})
		return
	}
	preview, err := read[agentview.Preview](look, "preview", arguments{"diff": true})
	var unplanned markup.Node
	if err != nil {
		unplanned = trouble(err)
	}
	body = append(body, unplanned, look.ways(status.Data, preview.Data.Plan), warned(status.Warnings, preview.Warnings),
		agents(status.Data, doctor.Data), look.drift(status.Data, preview.Data), look.health(doctor, ill))
	s.Show(w, r, v, page.Page{Title: "Deployments", Body: body})
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// ways leads to what can be done.
func (r reading) ways(st agentview.Status, p agentview.Plan) markup.Node {
	links := markup.Group{page.To(r.at.at("/plan"), "Plan and deploy: "+p.Summary.Words())}
	for _, l := range []page.Link{{Text: "Take edits back into the config repository", Href: r.at.at("/evolve")}, {Text: "Snapshots and the way back", Href: r.at.at("/snapshots")},
		{Text: "Modules and overlays", Href: r.at.at("/modules")}} {
		links = append(links, page.Text(" · "), page.To(l.Href, l.Text))
	}
	return markup.Group{markup.Nav(markup.Aria("label", "What you can do"), markup.P(links)),
		page.Facts(page.Fact{Name: "Profile", Value: sectionpage.Text(st.Profile)}, page.Fact{Name: "Agents", Value: sectionpage.Text(strings.Join(st.Targets, ", "))},
			page.Fact{Name: "Files now", Value: cmp.Or(st.Total, &st.Summary).Badges()})}
}

// agents is each agent's directories, and how the files in them are.
func agents(st agentview.Status, doctor agentview.Doctor) markup.Node {
	counts := map[string]agentview.Counts{}
	for _, c := range st.ByRoot {
		counts[c.Target+" "+c.Root] = c.Summary
	}
	var rows []markup.Node
	for _, d := range doctor.Roots {
		state := page.Badge(page.Good, "there")
		switch {
		case slices.Equal(d.Issues, []string{"missing"}):
			state = page.Badge(page.Plain, "not made yet")
		case len(d.Issues) > 0:
			state = page.Badge(page.Bad, strings.ReplaceAll(strings.Join(d.Issues, ", "), "_", " "))
		}
		rows = append(rows, page.Row(page.Text(page.Printable(d.Target)), page.Code(page.Printable(d.Root)), state, counts[d.Target+" "+d.Root].Badges()))
	}
	return page.Part("Agents", page.Table("Directories of agents", []string{"Agent", "Directory", "Directory is", "Files in it"}, rows, "No agent is configured."))
}

// drift is every file that is not as it should be, with what a deployment would make of it.
func (r reading) drift(st agentview.Status, pv agentview.Preview) markup.Node {
	explained, _ := read[agentview.Status](r, "explain", arguments{"kind": "status"}) // without it, only the modules are not named
	modules := map[string][]string{}
	for _, d := range explained.Data.Drift {
		modules[d.Key()] = d.Modules
	}
	changes := map[string]answers.Change{}
	for _, c := range pv.Diff.Changes {
		changes[c.Key()] = c
	}
	diffs := pv.Diffs(pv.Diff.Changes)
	items := slices.Clone(st.Drift)
	sorting.Stable(items, func(a, b agentview.Drift) int { return cmp.Compare(a.Target, b.Target) })
	var out markup.Group
	left, target := agentview.MaxLines, ""
	for _, d := range items {
		if d.Target != target {
			target = d.Target
			out = append(out, markup.H3(page.Text(page.Printable(target))))
		}
		out = append(out, markup.P(d.Badge(), page.Text(" "), page.Code(page.Printable(d.Path)), page.Text(" "),
			markup.Span(markup.Class("quiet"), page.Text(page.Printable(strings.Join(modules[d.Key()], ", "))))))
		c, planned := changes[d.Key()]
		size := diffs[d.Key()].Size()
		if left -= size; planned && left >= 0 && size > 0 {
			out = append(out, page.Fold("What a deployment would change in "+page.Printable(d.Path), false, agentview.Diff(c, diffs)))
		} else if planned && size > 0 {
			out = append(out, markup.P(page.To(r.at.at("/plan", "file", d.Key()), "What a deployment would change in "+page.Printable(d.Path))))
		}
	}
	if st.Omitted > 0 {
		out = append(out, page.Notice(page.Warn, markup.P(page.Text(strconv.Itoa(st.Omitted)+" more files are too many to be listed here."))))
	}
	if len(out) == 0 {
		out = append(out, page.Empty("Every deployed file is as it should be."))
	}
	return page.Part("Drift", out)
}

// health is what stands in the way of deployments, and what to do about it.
func (r reading) health(doctor report[agentview.Doctor], ill error) markup.Node {
	if ill != nil {
		return page.Part("Health", trouble(ill))
	}
	var next markup.Group
	mends := false
	for _, command := range doctor.Data.Next {
		mends = mends || strings.Contains(command, "doctor --fix")
		next = append(next, markup.Li(page.Code(page.Printable(spoken.Command(command)))))
	}
	var todo, mend markup.Node
	if len(next) > 0 {
		todo = markup.Group{markup.P(page.Text("What doctor suggests (directories are also made by a deployment):")), markup.Ul(next)}
	}
	if mends && r.serves("agents_doctor_fix") {
		mend = page.Deed(r.v, root+"/mend", "Have git ignore the manifests of deployments", "", r.at.hidden())
	}
	return page.Part("Health", page.Facts(page.Fact{Name: "Machine", Value: sectionpage.Text(doctor.Data.Machine)}), warned(doctor.Warnings), todo, mend)
}

// interrupted is an operation that was begun and never finished, with the two ways to go on.
func (r reading) interrupted() markup.Node {
	if !r.serves("agents_pending") {
		return nil
	}
	pending, err := read[struct {
		Interrupted *agentview.Interrupted `json:"interrupted"`
	}](r, "agents_pending", nil)
	if err != nil {
		return trouble(err)
	}
	i := pending.Data.Interrupted
	if i == nil {
		return nil
	}
	of := "the interrupted " + page.Printable(i.Kind)
	return page.Notice(page.Bad, markup.P(page.Text("The "+page.Printable(i.Kind)+" of "), page.When(i.Started), page.Text(" was interrupted after "+strconv.Itoa(i.Done)+" of "+
		strconv.Itoa(i.Total)+" writes. Nothing can be deployed before it is finished or taken back.")),
		page.Deed(r.v, root+"/recover", "Finish it", of, r.at.hidden(), page.Hidden("kind", "resume")),
		page.Deed(r.v, root+"/recover", "Take it back", of, r.at.hidden(), page.Hidden("kind", "undo")))
}

func (s *Section) settle(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(posted(r))
	kind := r.PostFormValue("kind")
	title := map[string]string{"resume": "Finish what was interrupted", "undo": "Take back what was interrupted"}[kind]
	args := p.args("agents_recover").Set("kind", kind)
	args["yes"] = true
	s.Desk.Do(w, r, v, work.Task{Title: cmp.Or(title, "Recover"), Tool: "agents_recover", Args: args, Back: p.at("")})
}

func (s *Section) mend(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(posted(r))
	args := p.args("agents_doctor_fix")
	args["yes"] = true
	s.Desk.Do(w, r, v, work.Task{Title: "Have git ignore the manifests of deployments", Tool: "agents_doctor_fix", Args: args, Back: p.at("")})
}
