package packpages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// revisionField is the revision that a form was made from; editingField is "true" for a form about an existing part.
const (
	revisionField = "expected_revision"
	editingField  = "editing"
)

// ask answers with the form of an action, filled with the current values.
func (s *section) ask(d formAction) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		p := Pack{}
		if d.action != create {
			var err error
			if p, err = s.load(r.Context(), v, r.PathValue("id")); err != nil {
				s.Fail(w, v, err)
				return
			}
		}
		values := filled(d, p, r.URL.Query())
		values.Set(revisionField, strconv.FormatUint(p.Revision, 10))
		s.form(v, d, p, values, nil).Write(w, http.StatusOK, v)
	}
}

// do runs the action of a form. After an error it answers with the form as it was filled in, and the error.
func (s *section) do(d formAction) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		if err := r.ParseForm(); err != nil {
			s.Fail(w, v, tool.ErrArguments.WithMessage("the form cannot be read").WithCause(err))
			return
		}
		id := r.PathValue("id")
		task := ui.Task{Title: d.title, Tool: input, Args: d.arguments(id, r.PostForm), Back: at(id)}
		if d.action == create || d.action == remove {
			task.Back = root
		}
		job := s.Calls.Begin(r.Context(), v, task)
		now := job.Now()
		if now.State != ui.JobOver || now.Outcome.Err == nil {
			http.Redirect(w, r, next(job, d), http.StatusSeeOther)
			return
		}
		s.again(w, r, v, d, now.Outcome)
	}
}

// next returns the path of the page after the job: the page of a new pack, for one that was created.
func next(job *ui.Job, d formAction) string {
	var made struct {
		Payload struct {
			ID string `json:"id"`
		} `json:"payload"`
	}
	to := job.Next()
	now := job.Now()
	if d.action != create || now.State != ui.JobOver || json.Unmarshal(now.Outcome.Value, &made) != nil || made.Payload.ID == "" {
		return to
	}
	return strings.Replace(to, root, at(made.Payload.ID), 1)
}

// again answers with the form of an action that failed. If the pack has changed, the form is for its current revision, so that it can be sent again.
func (s *section) again(w http.ResponseWriter, r *http.Request, v httpauth.Identity, d formAction, out tool.Outcome) {
	values, p := r.PostForm, Pack{}
	refused := fault.From(out.Err)
	said := ui.Group{ui.Problem(refused)}
	if details, err := tool.Encode(refused.Details); err == nil && refused.Details != nil {
		said = append(said, ui.Disclosure("Error details", true, ui.JSONValue(details)))
	}
	if d.action != create {
		var err error
		if p, err = s.load(r.Context(), v, r.PathValue("id")); err != nil {
			s.Fail(w, v, out.Err)
			return
		}
		if now := strconv.FormatUint(p.Revision, 10); now != values.Get(revisionField) {
			values.Set(revisionField, now)
			said = append(said, ui.Notice(ui.Warn, ui.P(ui.Text("The pack is at revision "+now+" now. "), ui.LinkTo(at(p.ID), "View current pack"),
				ui.Text(". If you send this form again, it overwrites that revision."))))
		}
	}
	s.form(v, d, p, values, said).Write(w, present.HTTPStatus(refused.Kind), v)
}

// form returns the page of an action.
func (s *section) form(v httpauth.Identity, d formAction, p Pack, values url.Values, said ui.Node) ui.Page {
	crumbs := []ui.PageLink{{Text: "Packs", Href: root}}
	title := d.title
	if d.action != create {
		crumbs = append(crumbs, ui.PageLink{Text: p.Label(), Href: at(p.ID)})
		title += ": " + p.Label()
	}
	return ui.Page{Title: title, Section: root, Crumbs: crumbs, Notice: said, Body: []ui.Node{d.fieldsFor(v, p, values)}}
}

// fieldsFor returns the form of the action with these values.
func (d formAction) fieldsFor(v httpauth.Identity, p Pack, values url.Values) ui.Node {
	fields := ui.Group{ui.Hidden(revisionField, values.Get(revisionField)), ui.Hidden(editingField, values.Get(editingField))}
	for _, f := range d.fields {
		fields = append(fields, f.node(p, values))
	}
	button := ui.SubmitButton(d.button)
	if d.danger {
		button = ui.Danger(d.button)
	}
	var about ui.Node
	if d.about != "" {
		about = ui.P(ui.Text(d.about))
	}
	to := root + "/" + d.path
	if d.action != create {
		to = at(p.ID, d.path)
	}
	return ui.Group{about, ui.PostForm(v, to, fields, ui.Div(ui.Class("buttons"), button))}
}

// node returns the field in a form.
func (f field) node(p Pack, values url.Values) ui.Node {
	id, value := "f-"+f.name, values.Get(f.name)
	switch f.kind {
	case fixed:
		return f.stays(value)
	case key:
		if values.Get(editingField) == "true" {
			return f.stays(value)
		}
	case area:
		return ui.TextareaField(id, f.name, f.label, value)
	case tick:
		return ui.CheckboxField(id, f.name, f.label, value == "true")
	case number:
		return ui.Field(id, f.name, f.label, value, ui.Attr("inputmode", "numeric"))
	case ofSection:
		if values.Get(editingField) == "true" {
			return f.stays(value)
		}
		choices := make([]ui.Choice, len(p.Sections))
		for i, sec := range p.Sections {
			choices[i] = ui.Choice{Value: sec.Key, Text: line(sec.Title) + " (" + sec.Key + ")"}
		}
		if !slices.ContainsFunc(choices, func(c ui.Choice) bool { return c.Value == value }) && value != "" || len(choices) == 0 {
			return ui.Field(id, f.name, f.label, value)
		}
		return ui.SelectField(id, f.name, f.label, value, choices...)
	}
	return ui.Field(id, f.name, f.label, value)
}

// stays returns a field that cannot be changed.
func (f field) stays(value string) ui.Node {
	if value == "" {
		return nil
	}
	var shown ui.Node
	if f.label != "" {
		name, _, _ := strings.Cut(f.label, " (")
		shown = ui.Facts(ui.Fact{Name: name, Value: ui.OptionalCode(value)})
	}
	return ui.Group{shown, ui.Hidden(f.name, value)}
}

// filled returns the initial values of a form: the current ones of the part that the query names.
func filled(d formAction, p Pack, about url.Values) url.Values {
	values := url.Values{}
	for _, f := range d.fields {
		values.Set(f.name, cmp.Or(f.usual, about.Get(f.name)))
	}
	set := func(pairs ...string) {
		for i := 0; i+1 < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		values.Set(editingField, "true")
	}
	sec, found := p.Section(about.Get("section_key"))
	switch {
	case d.action == "set_meta":
		set("title", p.Title, "brief", p.Brief, "tags", strings.Join(p.Tags, ", "))
	case !found:
	case d.action == "upsert_section":
		set("section_title", sec.Title, "section_description", sec.Description)
	case d.action == "upsert_ref":
		for _, r := range sec.Refs {
			if r.Key == about.Get("ref_key") {
				set("path", r.Path, "line_start", strconv.Itoa(r.Lines.Start), "line_end", strconv.Itoa(r.Lines.End), "ref_title", r.Title, "ref_why", r.Why,
					"group", r.Group, "root", r.Root, "commit", r.Commit)
			}
		}
	case d.action == "upsert_diagram":
		for _, g := range sec.Diagrams {
			if g.Key == about.Get("diagram_key") {
				set("title", g.Title, "mermaid", g.Mermaid, "diagram_why", g.Why)
			}
		}
	}
	return values
}
