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
	"github.com/countersign-dev/countersign/domain/fault"
)

func (s *Section) overview(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	kinds := slices.DeleteFunc(r.URL.Query()["only"], func(k string) bool { return k == "" })
	look := s.reading(r, v, p)
	body := []ui.Node{p.tabs(""), look.interrupted(), s.Calls.PolicyNotice(r.Context(), v, "Deploy", "deploy_apply")}
	extra := ui.Args{}
	if len(kinds) > 0 {
		extra["only"] = kinds
	}
	doctor, ill := read[deployments.DoctorData](look, "doctor", nil)
	status, err := read[status](look, "status", extra)
	if err != nil { // there may be no config repository yet
		health := look.health(doctor, ill)
		if ill != nil && fault.From(ill).Code == fault.From(err).Code {
			health = nil // the same error twice
		}
		s.Show(w, r, v, ui.Page{Title: "Deployments", Body: append(body, trouble(err), look.creating(), p.form(""), health)})
		return
	}
	preview, err := read[Preview](look, "preview", ui.Args{"diff": true})
	var unplanned ui.Node
	if err != nil {
		unplanned = trouble(err)
	}
	explained, _ := read[deployments.ExplainData](look, deployments.Explain.Name, ui.Args{"kind": "status"}) // without it, only the modules are not named
	body = append(body, unplanned, look.summary(status.Data, preview.Data.Plan), p.form(""), look.matrix(status.Data, explained.Data.Drift), look.drift(status.Data, preview.Data, explained.Data, first(kinds)),
		agents(status.Data, doctor.Data), look.health(doctor, ill), look.notes(status.Warnings, preview.Warnings))
	s.Show(w, r, v, ui.Page{Title: "Deployments", Body: body})
}

// creating returns the form that creates a config repository, or the command that does.
func (r reading) creating() ui.Node {
	form := r.actionForm("init", "", false, ui.Field("init-from", "from", "Clone from (optional: owner/repo or URL)", ""),
		ui.TextareaField("init-targets", "targets", "Agents, one per line (default: all)", ""), ui.CheckboxField("init-git", "git", "Make it a git repository", true))
	if form == nil {
		return ui.P(ui.Text("To create a config repository, run "), ui.InlineCode("countersign agents init"), ui.Text(", or select another repository below."))
	}
	return ui.Panel("Create config repository", ui.P(ui.Text("Creates the selected config repository, as this command does: "), ui.InlineCode("countersign agents init")), form)
}

// notes returns the warnings, with a link to the button that writes missing operator assets; nil if there are none.
func (r reading) notes(lists ...[]string) ui.Node {
	all := warned(lists...)
	if all == nil {
		return nil
	}
	var write ui.Node
	if r.serves("agents_bootstrap") && slices.ContainsFunc(slices.Concat(lists...), func(w string) bool { return strings.HasPrefix(w, "operator assets missing") }) {
		write = ui.P(ui.LinkTo(r.at.at("/maintenance"), "Write operator assets"))
	}
	return ui.Part("Notes", all, write)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// summary returns the states of all files and the link to the plan.
func (r reading) summary(st status, p Plan) ui.Node {
	return ui.Group{ui.Facts(ui.Fact{Name: "Profile", Value: ui.OptionalText(st.Profile)}, ui.Fact{Name: "Agents", Value: ui.OptionalText(strings.Join(st.Targets, ", "))},
		ui.Fact{Name: "Files", Value: stateBadges(st.States, ui.Badge(ui.Plain, "none"))}),
		ui.Div(ui.Class("buttons"), ui.ButtonLink(r.at.at("/plan"), "Review plan: "+p.Files().Words()))}
}

// agents returns the directories of each agent and the states of their files.
func agents(st status, doctor deployments.DoctorData) ui.Node {
	differ := map[string]ui.Node{}
	for _, c := range st.ByRoot {
		differ[c.Target+" "+c.Root] = stateBadges(c.States, nil)
	}
	var rows []ui.Node
	for _, d := range doctor.Roots {
		state := ui.Badge(ui.Good, "exists")
		switch {
		case slices.Equal(d.Issues, []string{"missing"}):
			state = ui.Badge(ui.Plain, "not created yet")
		case len(d.Issues) > 0:
			state = ui.Badge(ui.Bad, strings.ReplaceAll(strings.Join(d.Issues, ", "), "_", " "))
		}
		rows = append(rows, ui.Row(ui.Text(ui.Printable(d.Target)), ui.InlineCode(ui.Printable(d.Root)), state, orUpToDate(differ[d.Target+" "+d.Root])))
	}
	return ui.Part("Agents", ui.DataTable("Agent directories", []string{"Agent", "Directory", "Status", "Files"}, rows, "No agents configured."))
}

// orUpToDate returns the differences of a directory, or an "up to date" badge if there are none.
func orUpToDate(differs ui.Node) ui.Node {
	if differs == nil {
		return ui.Badge(stateTone("up_to_date"), present.StateWords("up_to_date"))
	}
	return differs
}

// drift returns every drifted file with its planned change.
func (r reading) drift(st status, pv Preview, explained deployments.ExplainData, only string) ui.Node {
	modules := map[string][]string{}
	for _, d := range explained.Drift {
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
			out = append(out, ui.Disclosure("Planned change: "+ui.Printable(d.Path), false, diff(c, diffs)))
		} else if planned && size > 0 {
			out = append(out, ui.P(ui.LinkTo(r.at.at("/plan", "file", fileKey(d.Target, d.Path)), "Planned change: "+ui.Printable(d.Path))))
		}
	}
	if st.Omitted > 0 {
		out = append(out, ui.Notice(ui.Warn, ui.P(ui.Text(strconv.Itoa(st.Omitted)+" more files are not listed."))))
	}
	if len(out) == 0 {
		out = append(out, ui.Empty("No drift."))
	}
	here := r.at.at("")
	if only != "" {
		here = r.at.at("", "only", only)
	}
	kinds := ui.Tabs("Kinds of drift", here, ui.PageLink{Text: "All", Href: r.at.at("")}, ui.PageLink{Text: "Missing", Href: r.at.at("", "only", "missing")},
		ui.PageLink{Text: "Modified", Href: r.at.at("", "only", "modified")}, ui.PageLink{Text: "Extra", Href: r.at.at("", "only", "extra")})
	return ui.Part("Drift", kinds, out)
}

// health returns the problems that doctor found, and how to fix them.
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
		todo = ui.Group{ui.P(ui.Text("Suggested commands (a deployment also creates missing directories):")), ui.Ul(next)}
	}
	if mends && r.serves("agents_doctor_fix") {
		mend = ui.ActionForm(r.v, root+"/mend", "Add ownership manifests to .gitignore", "", r.at.hidden())
	}
	return ui.Part("Health", ui.Facts(ui.Fact{Name: "Machine", Value: ui.OptionalText(doctor.Data.MachineID)}), warned(doctor.Warnings), todo, mend)
}

// interrupted returns an interrupted operation with the buttons that finish and undo it; nil if there is none.
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
	what := operation(string(i.Kind))
	return ui.Notice(ui.Bad, ui.P(ui.Text("The "+what+" of "), ui.When(i.StartedAt), ui.Text(" was interrupted after "+strconv.Itoa(i.Done)+" of "+
		strconv.Itoa(i.Total)+" writes. Finish or undo it before you deploy again.")),
		ui.Div(ui.Class("buttons"),
			ui.ActionForm(r.v, root+"/recover", "Finish "+what, "", r.at.hidden(), ui.Hidden("kind", "resume"), ui.Hidden("operation", string(i.Kind))),
			ui.ActionForm(r.v, root+"/recover", "Undo "+what, "", r.at.hidden(), ui.Hidden("kind", "undo"), ui.Hidden("operation", string(i.Kind)))))
}

// operation returns the noun of a kind of operation.
func operation(kind string) string {
	return cmp.Or(map[string]string{"deploy": "deployment", "rollback": "rollback"}[kind], "operation")
}

func (s *Section) settle(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	kind := r.PostFormValue("kind")
	title := map[string]string{"resume": "Finish ", "undo": "Undo "}[kind]
	if title != "" {
		title += operation(r.PostFormValue("operation"))
	}
	args := p.args("agents_recover").Set("kind", kind)
	args["yes"] = true
	s.Calls.Do(w, r, v, ui.Task{Title: cmp.Or(title, "Recover"), Tool: "agents_recover", Args: args, Back: p.at("")})
}

func (s *Section) mend(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(posted(r))
	args := p.args("agents_doctor_fix")
	args["yes"] = true
	s.Calls.Do(w, r, v, ui.Task{Title: "Add ownership manifests to .gitignore", Tool: "agents_doctor_fix", Args: args, Back: p.at("")})
}
