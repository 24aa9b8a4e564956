package projectpages_test

import (
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestStepsAreChangedOnTheirPage: they are moved, edited, run beside one another and tried again; what a run takes is asked for.
func TestStepsAreChangedOnTheirPage(t *testing.T) {
	b := newBench(t, nil)
	_, at := b.project("shop")
	made := b.Get(at+"?tab=workflows").Press("Create workflow", "name", "release").Approve()
	flow := link(t, made, "/projects/workflows/[^\"]+")
	steps, inputs := flow+"?tab=steps", flow+"?tab=inputs"
	b.Get(steps).Press("Add step", "name", "first", "command", "echo 1").Approve()
	b.Get(steps).Press("Add step", "name", "second", "command", `echo "for $WHO"`, "waits", "none", "retry", "2", "files", "src/**  *.md").Approve()
	b.Get(steps).See("after no other step: starts immediately; retries: at most 2; skipped while unchanged: src/**, *.md").Sound()
	b.Get(steps).Press("Move up step second").Approve()
	p := b.Get(steps).See(`1 second echo "for $WHO"`, "2 first echo 1")
	form := b.Get(strings.TrimSuffix(html.UnescapeString(link(t, p, flow+`\?tab=steps&amp;step=[^"]+`)), "#change-step")).See("Change step second").Sound()
	_, _, sent := form.Filled("Save step")
	assert.Equal(t, []string{"none", "2", "src/** *.md"}, []string{sent.Get("waits"), sent.Get("retry"), sent.Get("files")}, "it holds what there is")
	form.Press("Save step", "name", "changed", "waits", "", "retry", "", "files", "").Approve()
	b.Get(steps).See(`1 changed echo "for $WHO"`).Miss("immediately;", "retries: at most", "skipped while unchanged")

	b.Get(inputs).See("No inputs.").Press("Save input", "name", "WHO", "default", "me", "description", "for whom").See("WHO").Approve()
	b.Get(inputs).Press("Save input", "name", "MORE", "type", "choice", "choices", "a\nb").Approve()
	b.Get(inputs).See("MORE").Sound().Press("Remove input MORE").Approve()
	b.Get(inputs).Miss("MORE")
	b.Get(flow).See("for whom: WHO (text)").Press("Run workflow", "input-WHO", "you").See("you").Approve().See("for you")
}
