package ecostages

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// spun is what is deployed.
type spun struct {
	Environment string            `json:"environment"`
	State       string            `json:"state"`
	RunID       *string           `json:"run_id"`
	Since       *time.Time        `json:"since"`
	Provisioner *string           `json:"provisioner"`
	Outputs     map[string]string `json:"outputs"`
	Services    []struct {
		Repo    string    `json:"repo"`
		Command string    `json:"command"`
		PID     int       `json:"pid"`
		Started time.Time `json:"started_at"`
		Log     string    `json:"log"`
		Status  string    `json:"status"`
		Running bool      `json:"running"`
	} `json:"services"`
	Healthy     *bool  `json:"healthy"`
	Interrupted bool   `json:"interrupted"`
	Error       string `json:"error"`
}

// Environment shows what is deployed, and deploys it, takes it down, and asks its provisioner.
func (s Stages) Environment(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	which, extra := r.URL.Query().Get("environment"), map[string]any{}
	if which != "" {
		extra["environment"] = which
	}
	a.Add(page.Search(ecodesk.At(a.Name, "environment"), page.Field("environment", "environment", "Environment (empty: default)", which), page.Button("Show")))
	var now spun
	if err := a.Read("ecosystem_spin_status", extra, &now); err != nil {
		if f := fault.From(err); f.Kind == fault.NotFound {
			s.desk.Fail(w, v, err)
			return
		}
		a.Add(page.Part("Environment", page.Problem(fault.From(err))))
		a.Write("environment", ecodesk.LiveRuns)
		return
	}
	a.Add(page.Part("Environment "+ecodesk.First(now.Environment, "default"), now.show(a.Name)), spins(a, which))
	a.Write("environment", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

func (n spun) show(name string) markup.Node {
	var run, health, wrong markup.Node
	if id := sectionpage.Deref(n.RunID); id != "" {
		run = page.To(ecodesk.At(name, "runs", id), ecodesk.Brief(id))
	}
	if n.Healthy != nil {
		health = page.Badge(map[bool]string{true: page.Good, false: page.Bad}[*n.Healthy], map[bool]string{true: "every service runs", false: "a service does not run"}[*n.Healthy])
	}
	if n.Error != "" || n.Interrupted {
		wrong = page.Notice(page.Bad, markup.P(ecodesk.Said(ecodesk.First(n.Error, "what was under way here was interrupted"))))
	}
	var outputs []page.Fact
	names := make([]string, 0, len(n.Outputs))
	for key := range n.Outputs {
		names = append(names, key)
	}
	sorting.By(names, strings.Compare)
	for _, key := range names {
		outputs = append(outputs, page.Fact{Name: key, Value: ecodesk.Mono(n.Outputs[key])})
	}
	var services []markup.Node
	for _, s := range n.Services {
		services = append(services, page.Row(ecodesk.Said(s.Repo), ecodesk.Mono(s.Command), page.Badge(map[bool]string{true: page.Good, false: page.Bad}[s.Running], ecodesk.First(s.Status, "unknown")),
			ecodesk.Said(strconv.Itoa(s.PID)), page.When(s.Started), ecodesk.Mono(s.Log)))
	}
	shown := markup.Group{wrong, page.Facts(page.Fact{Name: "Is", Value: ecodesk.Progress(ecodesk.First(n.State, "none"))}, page.Fact{Name: "Since", Value: ecodesk.When(n.Since)},
		page.Fact{Name: "Provisioner", Value: sectionpage.Text(sectionpage.Deref(n.Provisioner))}, page.Fact{Name: "By run", Value: run}, page.Fact{Name: "Health", Value: health})}
	if len(outputs) > 0 {
		shown = append(shown, page.Card("Outputs", page.Facts(outputs...)))
	}
	if len(services) > 0 {
		shown = append(shown, page.Table("Services", []string{"Service", "Command", "Is", "Process", "Started", "Log"}, services, ""))
	}
	return shown
}

// spins is what can be done with an environment.
func spins(a *ecodesk.About, environment string) markup.Node {
	in := page.Hidden("environment", environment)
	return page.Part("What can be done",
		page.Card("Deploy", a.Act("deploy", "Deploy", a.Name, in, page.Area("deploy-args", "args", "Arguments for the provisioner, one a line (may be empty)", ""))),
		page.Card("Take down", markup.P(page.Text("Stops what is deployed and removes it.")), a.Act("destroy", "Take down", a.Name, in)),
		page.Card("Ask the provisioner", markup.P(page.Text("Its own programs for plan and status are run; they say more than is recorded here.")),
			page.Form(a.V, ecodesk.At(a.Name, "ask"), in, ecodesk.Under(markup.Div(markup.Class("buttons"),
				page.Button("What would it do?", markup.Name("action"), markup.Value("plan")), page.Button("How does it stand?", markup.Name("action"), markup.Value("status"))), a.Gate.Hint("ecosystem_spin_ask")))))
}
