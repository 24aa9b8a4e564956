package agentpages

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

func (s *Section) overview(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	kinds := slices.DeleteFunc(r.URL.Query()["only"], func(k string) bool { return k == "" })
	look := s.reading(r, v, p)
	body := []ui.Node{p.form("", ui.SelectField("only", "only", "Drift", first(kinds), ui.Choice{Text: "all of it"}, ui.Choice{Value: "missing", Text: "missing"},
		ui.Choice{Value: "modified", Text: "modified"}, ui.Choice{Value: "extra", Text: "extra"})), look.interrupted()}
	extra := ui.Args{}
	if len(kinds) > 0 {
		extra["only"] = kinds
	}
	doctor, ill := read[deployments.DoctorData](look, "doctor", nil)
	status, err := read[status](look, "status", extra)
	if err != nil { // there may be no config repository yet: the page says so, and where else to look
		s.Show(w, r, v, ui.Page{Title: "Deployments", Body: append(body, trouble(err), ui.P(ui.Text("A config repository is made with "),
			ui.InlineCode("countersign agents init"), ui.Text("; or name another one above.")), look.health(doctor, ill))})
		return
	}
	preview, err := read[Preview](look, "preview", ui.Args{"diff": true})
	var unplanned ui.Node
	if err != nil {
		unplanned = trouble(err)
	}
	body = append(body, unplanned, look.ways(status.Data, preview.Data.Plan), warned(status.Warnings, preview.Warnings),
		agents(status.Data, doctor.Data), look.drift(status.Data, preview.Data), look.health(doctor, ill))
	s.Show(w, r, v, ui.Page{Title: "Deployments", Body: body})
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// ways leads to what can be done.
func (r reading) ways(st status, p Plan) ui.Node {
	links := ui.Group{ui.LinkTo(r.at.at("/plan"), "Plan and deploy: "+p.Files().Words())}
	for _, l := range []ui.PageLink{{Text: "Take edits back into the config repository", Href: r.at.at("/evolve")}, {Text: "Snapshots and rollback", Href: r.at.at("/snapshots")},
		{Text: "Modules and overlays", Href: r.at.at("/modules")}} {
		links = append(links, ui.Text(" · "), ui.LinkTo(l.Href, l.Text))
	}
	return ui.Group{ui.Nav(ui.Aria("label", "What you can do"), ui.P(links)),
		ui.Facts(ui.Fact{Name: "Profile", Value: ui.OptionalText(st.Profile)}, ui.Fact{Name: "Agents", Value: ui.OptionalText(strings.Join(st.Targets, ", "))},
			ui.Fact{Name: "Files now", Value: stateBadges(st.States, ui.Badge(ui.Plain, "none"))})}
}

// agents is each agent's directories, and how the files in them are.
func agents(st status, doctor deployments.DoctorData) ui.Node {
	differ := map[string]ui.Node{}
	for _, c := range st.ByRoot {
		differ[c.Target+" "+c.Root] = stateBadges(c.States, nil)
	}
	var rows []ui.Node
	for _, d := range doctor.Roots {
		state := ui.Badge(ui.Good, "there")
		switch {
		case slices.Equal(d.Issues, []string{"missing"}):
			state = ui.Badge(ui.Plain, "not made yet")
		case len(d.Issues) > 0:
			state = ui.Badge(ui.Bad, strings.ReplaceAll(strings.Join(d.Issues, ", "), "_", " "))
		}
		rows = append(rows, ui.Row(ui.Text(ui.Printable(d.Target)), ui.InlineCode(ui.Printable(d.Root)), state, orUpToDate(differ[d.Target+" "+d.Root])))
	}
	return ui.Part("Agents", ui.DataTable("Directories of agents", []string{"Agent", "Directory", "Directory is", "Files in it"}, rows, "No agent is configured."))
}

// orUpToDate is what differs in a directory, or that nothing does.
func orUpToDate(differs ui.Node) ui.Node {
	if differs == nil {
		return ui.Badge(stateTone("up_to_date"), present.StateWords("up_to_date"))
	}
	return differs
}

// drift is every file that is not as it should be, with what a deployment would make of it.
func (r reading) drift(st status, pv Preview) ui.Node {
	explained, _ := read[deployments.ExplainData](r, deployments.Explain.Name, ui.Args{"kind": "status"}) // without it, only the modules are not named
	modules := map[string][]string{}
	for _, d := range explained.Data.Drift {
		modules[fileKey(d.Target, d.Path)] = d.Modules
	}
	changes := map[string]present.Change{}
	for _, c := range pv.Diff.Changes {
		changes[c.Key()] = c
	}
	diffs := pv.Diffs(pv.Diff.Changes)
	items := slices.Clone(st.Drift)
	slices.SortStableFunc(items, func(a, b planner.DriftItem) int { return cmp.Compare(a.Target, b.Target) })
	var out ui.Group
	left, target := MaxLines, ""
	for _, d := range items {
		if d.Target != target {
			target = d.Target
			out = append(out, ui.H3(ui.Text(ui.Printable(target))))
		}
		out = append(out, ui.P(driftBadge(d), ui.Text(" "), ui.InlineCode(ui.Printable(d.Path)), ui.Text(" "),
			ui.Span(ui.Class("quiet"), ui.Text(ui.Printable(strings.Join(modules[fileKey(d.Target, d.Path)], ", "))))))
		c, planned := changes[fileKey(d.Target, d.Path)]
		size := diffs[fileKey(d.Target, d.Path)].Size()
		if left -= size; planned && left >= 0 && size > 0 {
			out = append(out, ui.Disclosure("What a deployment would change in "+ui.Printable(d.Path), false, diff(c, diffs)))
		} else if planned && size > 0 {
			out = append(out, ui.P(ui.LinkTo(r.at.at("/plan", "file", fileKey(d.Target, d.Path)), "What a deployment would change in "+ui.Printable(d.Path))))
		}
	}
	if st.Omitted > 0 {
		out = append(out, ui.Notice(ui.Warn, ui.P(ui.Text(strconv.Itoa(st.Omitted)+" more files are too many to be listed here."))))
	}
	if len(out) == 0 {
		out = append(out, ui.Empty("Every deployed file is up to date."))
	}
	return ui.Part("Drift", out)
}

// health is what stands in the way of deployments, and what to do about it.
func (r reading) health(doctor planner.Report[deployments.DoctorData], ill error) ui.Node {
	if ill != nil {
		return ui.Part("Health", trouble(ill))
	}
	var next ui.Group
	mends := false
	for _, command := range doctor.Data.NextActions {
		mends = mends || strings.Contains(command, "doctor --fix")
		next = append(next, ui.Li(ui.InlineCode(ui.Printable(present.Command(command)))))
	}
	var todo, mend ui.Node
	if len(next) > 0 {
		todo = ui.Group{ui.P(ui.Text("What doctor suggests (directories are also made by a deployment):")), ui.Ul(next)}
	}
	if mends && r.serves("agents_doctor_fix") {
		mend = ui.ActionForm(r.v, root+"/mend", "Have git ignore the manifests of deployments", "", r.at.hidden())
	}
	return ui.Part("Health", ui.Facts(ui.Fact{Name: "Machine", Value: ui.OptionalText(doctor.Data.MachineID)}), warned(doctor.Warnings), todo, mend)
}

// interrupted is an operation that was begun and never finished, with the two ways to go on.
func (r reading) interrupted() ui.Node {
	if !r.serves("agents_pending") {
		return nil
	}
	pending, err := read[deployments.PendingData](r, deployments.Pending.Name, nil)
	if err != nil {
		return trouble(err)
	}
	i := pending.Data.Interrupted
	if i == nil {
		return nil
	}
	of := "the interrupted " + ui.Printable(string(i.Kind))
	return ui.Notice(ui.Bad, ui.P(ui.Text("The "+ui.Printable(string(i.Kind))+" of "), ui.When(i.StartedAt), ui.Text(" was interrupted after "+strconv.Itoa(i.Done)+" of "+
		strconv.Itoa(i.Total)+" writes. Nothing can be deployed before it is finished or taken back.")),
		ui.ActionForm(r.v, root+"/recover", "Finish it", of, r.at.hidden(), ui.Hidden("kind", "resume")),
		ui.ActionForm(r.v, root+"/recover", "Take it back", of, r.at.hidden(), ui.Hidden("kind", "undo")))
}

func (s *Section) settle(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	kind := r.PostFormValue("kind")
	title := map[string]string{"resume": "Finish what was interrupted", "undo": "Take back what was interrupted"}[kind]
	args := p.args("agents_recover").Set("kind", kind)
	args["yes"] = true
	s.Calls.Do(w, r, v, ui.Task{Title: cmp.Or(title, "Recover"), Tool: "agents_recover", Args: args, Back: p.at("")})
}

func (s *Section) mend(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	args := p.args("agents_doctor_fix")
	args["yes"] = true
	s.Calls.Do(w, r, v, ui.Task{Title: "Have git ignore the manifests of deployments", Tool: "agents_doctor_fix", Args: args, Back: p.at("")})
}
