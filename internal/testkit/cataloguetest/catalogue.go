// Package cataloguetest is the conformance suite for the six ports of the catalogue of projects.
package cataloguetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// Open opens an empty catalogue of its own.
type Open func(testing.TB) projectport.Catalogue

// Catalogue runs the contract of projectport.Projects, Workflows, Actions, Rules, Templates and Executions, alone and together.
func Catalogue(t *testing.T, open Open) {
	t.Run("Projects", func(t *testing.T) {
		holds(t, func(t testing.TB) kept[project.Project] { return keptProjects(open(t)) })
	})
	t.Run("Workflows", func(t *testing.T) { holds(t, keptWorkflows(open)) })
	t.Run("Actions", func(t *testing.T) { holds(t, keptActions(open)) })
	t.Run("Executions", func(t *testing.T) { holds(t, keptExecutions(open)) })
	for name, test := range map[string]func(*testing.T, projectport.Catalogue){
		"ProjectsByName":            projectsByName,
		"OnePathOneProject":         onePathOneProject,
		"WorkflowsLastUpdatedFirst": workflowsLastUpdatedFirst,
		"WorkflowsOfProjects":       workflowsOfProjects,
		"ActionsLastUpdatedFirst":   actionsLastUpdatedFirst,
		"ActionsOfProjects":         actionsOfProjects,
		"ProjectGoes":               projectGoes,
		"ProjectChangesAlone":       projectChangesAlone,
		"ActionGoes":                actionGoes,
		"WorkflowGoes":              workflowGoes,
		"RulesReplaceOneAnother":    rulesReplaceOneAnother,
		"RulesInOrder":              rulesInOrder,
		"RulesNeedTheirAction":      rulesNeedTheirAction,
		"RulesGoOneByOne":           rulesGoOneByOne,
		"RulesEndedContext":         rulesEndedContext,
		"RulesAtOnce":               rulesAtOnce,
		"Templates":                 keepsTemplates,
		"TemplatesEndedContext":     templatesEndedContext,
		"ExecutionsFiltered":        executionsFiltered,
		"ExecutionsByPage":          executionsByPage,
		"ExecutionsInOrder":         executionsInOrder,
		"PruneByWorkflow":           pruneByWorkflow,
		"PruneByAge":                pruneByAge,
		"PruneByNumber":             pruneByNumber,
		"PruneEndedContext":         pruneEndedContext,
		"ReadsInsideAChange":        readsInsideAChange,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// start returns when everything in the suite begins: not a whole second, so that what is lost of a time shows.
func start() time.Time { return time.Date(2026, time.May, 4, 3, 2, 1, 123456789, time.UTC) }

func later(n int) time.Time { return start().Add(time.Duration(n) * time.Hour) }

func ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// put stores every value.
func put[T any](t testing.TB, create func(context.Context, T) error, values ...T) {
	t.Helper()
	for _, v := range values {
		require.NoError(t, create(t.Context(), v))
	}
}

// names returns what name says of every value.
func names[T any](values []T, name func(T) string) []string {
	out := []string{}
	for _, v := range values {
		out = append(out, name(v))
	}
	return out
}

// Benchmark measures what a tool call asks for first: the list of 200 projects, and one of them; and one change.
func Benchmark(b *testing.B, open Open) {
	c := open(b)
	for n := range 200 {
		put(b, c.Projects.Create, plainProject(fmt.Sprintf("p-%03d", n), fmt.Sprintf("Project %d", n)))
	}
	b.Run("List200", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if all, err := c.Projects.List(b.Context()); err != nil || len(all) != 200 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("Find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Projects.Find(b.Context(), "p-100"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Update", func(b *testing.B) {
		for b.Loop() {
			touch := func(p *project.Project) error { p.LastOpenedAt = p.LastOpenedAt.Add(time.Second); return nil }
			if _, err := c.Projects.Update(b.Context(), "p-100", touch); err != nil {
				b.Fatal(err)
			}
		}
	})
}
