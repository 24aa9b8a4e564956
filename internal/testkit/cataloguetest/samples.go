package cataloguetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// home is the project that workflows and actions of the suite belong to.
const home = "p-home"

func plainProject(id, name string) project.Project {
	return project.Project{ID: project.ID(id), Name: name, Path: "/src/" + id, CreatedAt: start(), LastOpenedAt: start(), Revision: 1}
}

func withHome(t testing.TB, open Open) projectport.Catalogue {
	c := open(t)
	put(t, c.Projects.Create, plainProject(home, "Home"))
	return c
}

func itself[T any](v T) T { return v }

func keptProjects(c projectport.Catalogue) kept[project.Project] {
	return kept[project.Project]{
		create: c.Projects.Create,
		find: func(ctx context.Context, id string) (project.Project, error) {
			return c.Projects.Find(ctx, project.ID(id))
		},
		update: func(ctx context.Context, id string, f func(*project.Project) error) (project.Project, error) {
			return c.Projects.Update(ctx, project.ID(id), f)
		},
		remove: func(ctx context.Context, id string) error { return c.Projects.Delete(ctx, project.ID(id)) },
		list:   c.Projects.List,
		absent: project.ErrNotFound,
		full: func(id string) project.Project {
			return project.Project{
				ID: project.ID(id), Name: "Größe " + id, Path: "/src/" + id, Description: "first\nsecond <b>",
				Settings:  project.Settings{EnvPass: []string{"A", "B"}, AllowLoopback: true, AllowHosts: []string{"localhost:1"}},
				CreatedAt: start(), LastOpenedAt: later(1), Revision: 7,
			}
		},
		id:       func(p *project.Project) *string { return (*string)(&p.ID) },
		head:     itself[project.Project],
		next:     func(p project.Project) project.Project { p.Revision++; return p },
		spoil:    func(p *project.Project) { p.Settings.EnvPass[0], p.Settings.AllowHosts[0] = "spoilt", "spoilt" },
		annotate: func(p *project.Project, notes []string) { p.Settings.EnvPass = notes },
		notes:    func(p project.Project) []string { return p.Settings.EnvPass },
	}
}

func keptWorkflows(open Open) func(testing.TB) kept[project.Workflow] {
	return func(t testing.TB) kept[project.Workflow] {
		c := withHome(t, open)
		return kept[project.Workflow]{
			create: c.Workflows.Create, find: c.Workflows.Find, update: c.Workflows.Update, remove: c.Workflows.Delete,
			list:   func(ctx context.Context) ([]project.Workflow, error) { return c.Workflows.List(ctx, "") },
			absent: project.ErrWorkflowNotFound,
			full:   fullWorkflow,
			id:     func(w *project.Workflow) *string { return &w.ID },
			head:   itself[project.Workflow], next: itself[project.Workflow],
			spoil: func(w *project.Workflow) {
				w.Nodes[0].Name, w.Nodes[0].Position.X, *w.Nodes[0].Config.Wait = "spoilt", -1, false
				w.Nodes[0].Config.Needs[0], w.Nodes[0].Config.Files[0], *w.Inputs[0].Default, w.Inputs[0].Choices[0] = "spoilt", "spoilt", "spoilt", "spoilt"
				w.Fresh["node-1"] = "spoilt"
				w.Webhook.URL, w.Webhook.Headers["X-A"] = "spoilt", "spoilt"
				w.Incoming.Secret = "spoilt"
			},
			annotate: func(w *project.Workflow, notes []string) {
				w.Nodes = append(slices.Clip(w.Nodes), make([]project.Node, len(notes)-len(w.Nodes))...)
				for i := range notes {
					w.Nodes[i].Name = notes[i]
				}
			},
			notes: func(w project.Workflow) []string {
				return names(w.Nodes, func(n project.Node) string { return n.Name })
			},
		}
	}
}

func fullWorkflow(id string) project.Workflow {
	wait, hot := true, "<hot>"
	return project.Workflow{
		ID: id, Name: "Bauen 🚀", Description: "a > b & c", ProjectID: home,
		Nodes: []project.Node{{
			ID: "node-1", Type: project.NodeScript, Name: "erst", Order: 1, Position: &project.CanvasPosition{X: 1.5, Y: -2.25},
			Config: project.NodeConfig{Command: `echo "<&>"`, Cwd: "web", TimeoutMS: 5, TargetID: "wf-2", Wait: &wait, OnChildFailure: "continue",
				Needs: []string{"node-0"}, Retry: 2, RetryDelayMS: 7, Files: []string{"src/**"}},
		}},
		Inputs: []project.Input{{Name: "HOW", Type: "choice", Description: "wie", Default: &hot, Choices: []string{"<hot>", "cold"}}},
		Fresh:  map[string]string{"node-1": "ab"},
		Webhook: &project.Outgoing{
			Enabled: true, URL: "https://example.org/?a=1&b=2", Trigger: "always", Headers: map[string]string{"X-A": "secret"}, PayloadTemplate: `{"a":"{{b}}"}`,
		},
		Incoming: &project.Incoming{
			Enabled: true, TokenDigest: "ab", TokenCreatedAt: later(2), Secret: "shh", RequireSignature: true, Untimed: true, ApprovedRevision: 3,
		},
		History: 9, CreatedAt: start(), UpdatedAt: later(1), LastExecutedAt: later(3), Revision: 4,
	}
}

func keptActions(open Open) func(testing.TB) kept[webhook.Action] {
	return func(t testing.TB) kept[webhook.Action] {
		c := withHome(t, open)
		return kept[webhook.Action]{
			create: c.Actions.Create, find: c.Actions.Find, update: c.Actions.Update, remove: c.Actions.Delete,
			list:   func(ctx context.Context) ([]webhook.Action, error) { return c.Actions.List(ctx, "") },
			absent: project.ErrActionNotFound,
			full:   fullAction,
			id:     func(a *webhook.Action) *string { return &a.ID },
			head:   itself[webhook.Action],
			next:   func(a webhook.Action) webhook.Action { a.Revision++; return a },
			spoil: func(a *webhook.Action) {
				a.Script.Args[0], a.Script.Env["A"], a.Script.Command = "spoilt", "spoilt", "spoilt"
				a.Webhook.Headers["X-A"], *a.Webhook.VerifySSL = "spoilt", false
				a.Workflow.Parameters["a"] = "spoilt"
			},
			annotate: func(a *webhook.Action, notes []string) { a.Script.Args = notes },
			notes:    func(a webhook.Action) []string { return a.Script.Args },
		}
	}
}

// fullAction has a config of every type, which no valid action has: the store does not judge.
func fullAction(id string) webhook.Action {
	verify := true
	return webhook.Action{
		ID: id, Type: project.KindScript, Name: "prüfen", Description: "one\ntwo", ProjectID: home, Enabled: true,
		Script: &webhook.ScriptConfig{Command: "go", Args: []string{"vet"}, Cwd: "src", Env: map[string]string{"A": "<b>"}, TimeoutMS: 5, UseVolta: true},
		Webhook: &webhook.Config{
			URL: "https://example.org/a?b&c", Method: "PUT", Headers: map[string]string{"X-A": "b"}, PayloadTemplate: "{{p}}", TimeoutMS: 6, RetryCount: 2, VerifySSL: &verify,
		},
		Workflow:  &webhook.WorkflowConfig{WorkflowID: "wf-1", Parameters: map[string]string{"a": "b"}},
		CreatedAt: start(), UpdatedAt: later(1), Revision: 2,
	}
}

func keptExecutions(open Open) func(testing.TB) kept[project.Execution] {
	return func(t testing.TB) kept[project.Execution] {
		c := open(t)
		return kept[project.Execution]{
			create: c.Executions.Create, find: c.Executions.Find, update: c.Executions.Update,
			list: func(ctx context.Context) ([]project.Execution, error) {
				page, total, err := c.Executions.List(ctx, project.ExecutionFilter{Limit: project.MaxListSize})
				if err == nil && total != len(page) {
					err = fmt.Errorf("%d executions, and %d of them listed", total, len(page))
				}
				return page, err
			},
			absent: project.ErrExecutionNotFound,
			full:   fullExecution,
			id:     func(e *project.Execution) *string { return &e.ID },
			head:   func(e project.Execution) project.Execution { e.Steps, e.Output = nil, nil; return e },
			next:   itself[project.Execution],
			spoil: func(e *project.Execution) {
				for i := range e.Steps {
					e.Steps[i].Name = "spoilt"
				}
				for i := range e.Output {
					e.Output[i].Content = "spoilt"
				}
				e.Parameters[1], e.Result[1] = '-', '-'
			},
			annotate: func(e *project.Execution, notes []string) {
				e.Steps = append(slices.Clip(e.Steps), make([]project.ExecutionStep, len(notes)-len(e.Steps))...)
				for i := range notes {
					e.Steps[i].Name = notes[i]
				}
			},
			notes: func(e project.Execution) []string {
				return names(e.Steps, func(s project.ExecutionStep) string { return s.Name })
			},
		}
	}
}

func fullExecution(id string) project.Execution {
	code := 3
	return project.Execution{
		ID: id, Kind: project.KindWorkflow, ActionID: "a-1", WorkflowID: "wf-1", ProjectID: "gone", Name: "Bauen 🚀", SourceClient: "someone's client",
		TriggeredBy: "mcp", CallID: "call_1", Parameters: json.RawMessage(`{"a":"<b>&","n":12345678901234567890}`), Status: project.Failed,
		Reason: "non_zero_exit", Result: json.RawMessage(`{"exitCode":3}`), Error: "it failed", Owner: "pid 1 since then",
		Steps: []project.ExecutionStep{{
			NodeID: "node-1", Name: "erst", Depth: 1, Status: project.StepFailed, ExitCode: &code, Error: "3", Reason: "unchanged", Tries: 2, ProcessID: "proc-1", DurationMS: 4,
		}},
		Output:  []project.OutputLine{{NodeID: "node-1", Node: "erst", Stream: "stdout", Content: "Zeile <1>", At: later(1)}},
		Dropped: 5, StartedAt: start(), CompletedAt: later(2), DurationMS: 6,
	}
}
