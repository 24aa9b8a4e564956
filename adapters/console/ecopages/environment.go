package ecopages

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Environment shows the deployed environment and its actions.
func (s stages) Environment(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	which, extra := r.URL.Query().Get("environment"), map[string]any{}
	if which != "" {
		extra["environment"] = which
	}
	a.Add(ui.Search(PagePath(a.Name, "environment"), ui.Field("environment", "environment", "Environment (default: default)", which), ui.SubmitButton("Show")))
	var now environment.StatusAnswer
	if err := a.Read(environment.Status.Name, extra, &now); err != nil {
		if f := fault.From(err); f.Kind == fault.NotFound {
			s.base.Fail(w, v, err)
			return
		}
		a.Add(ui.Part("Environment", ui.Problem(fault.From(err))))
		a.Write("environment", liveRuns)
		return
	}
	a.Add(ui.Part("Environment "+FirstNonEmpty(now.Environment, "default"), environmentFacts(a.Name, now)), environmentActions(a, which))
	a.Write("environment", liveRuns, liveCalls)
}

// environmentFacts returns the status of an environment.
func environmentFacts(name string, n environment.StatusAnswer) ui.Node {
	var run, health, wrong ui.Node
	if id := ui.Deref(n.RunID); id != "" {
		run = ui.LinkTo(PagePath(name, "runs", id), ShortID(id))
	}
	if n.Healthy != nil {
		health = ui.Badge(map[bool]string{true: ui.Good, false: ui.Bad}[*n.Healthy], map[bool]string{true: "all services running", false: "a service is not running"}[*n.Healthy])
	}
	if n.Error != "" || n.Interrupted {
		wrong = ui.Notice(ui.Bad, ui.P(said(FirstNonEmpty(n.Error, "the last operation was interrupted"))))
	}
	var outputs []ui.Fact
	names := make([]string, 0, len(n.Outputs))
	for key := range n.Outputs {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		outputs = append(outputs, ui.Fact{Name: key, Value: mono(n.Outputs[key])})
	}
	var services []ui.Node
	for _, s := range n.Services {
		services = append(services, ui.Row(said(s.Repo), mono(s.Command), ui.Badge(map[bool]string{true: ui.Good, false: ui.Bad}[s.Running], FirstNonEmpty(s.Status, "unknown")),
			said(strconv.Itoa(s.PID)), ui.When(s.StartedAt), mono(s.Log)))
	}
	shown := ui.Group{wrong, ui.Facts(ui.Fact{Name: "Status", Value: RunStatusBadge(FirstNonEmpty(string(n.State), "none"))}, ui.Fact{Name: "Since", Value: when(n.Since)},
		ui.Fact{Name: "Provisioner", Value: ui.OptionalText(ui.Deref(n.Provisioner))}, ui.Fact{Name: "Run", Value: run}, ui.Fact{Name: "Health", Value: health})}
	if len(outputs) > 0 {
		shown = append(shown, ui.Card("Outputs", ui.Facts(outputs...)))
	}
	if len(services) > 0 {
		shown = append(shown, ui.DataTable("Services", []string{"Service", "Command", "Status", "Process", "Started", "Log"}, services, ""))
	}
	return shown
}

// environmentActions returns the actions on an environment.
func environmentActions(a *EcosystemPage, environment string) ui.Node {
	in := ui.Hidden("environment", environment)
	return ui.Group{ui.Part("Actions", ui.Div(ui.Class("grid"),
		ui.Card("Deploy", a.ActionForm("deploy", "Deploy", a.Name, in, ui.TextareaField("deploy-args", "args", "Provisioner arguments, one per line (optional)", ""))),
		ui.Card("Provisioner status", ui.P(ui.Text("Runs the plan or status program of the provisioner and shows its output.")),
			ui.PostForm(a.V, PagePath(a.Name, "ask"), in, WithNote(ui.Div(ui.Class("buttons"),
				ui.SubmitButton("Preview", ui.Name("action"), ui.Value("plan")), ui.SubmitButton("Check status", ui.Name("action"), ui.Value("status"))), a.Gate.Hint("ecosystem_spin_ask")))))),
		ui.DangerPanel("Destroy environment", ui.P(ui.Text("Stops and removes what is deployed.")), a.ActionForm("destroy", "Destroy", a.Name, in))}
}
