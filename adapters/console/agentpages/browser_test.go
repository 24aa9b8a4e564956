package agentpages_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// strict is the content security policy of the console's pages.
const strict = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded is the address of the same pages under that policy.
func (w *world) guarded() string {
	w.T.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", strict)
		w.Mux.ServeHTTP(rw, r)
	}))
	w.T.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// TestPagesInABrowser deploys, shows drift, deploys over edits and rolls back in a real browser; axe checks every page.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	w := open(t, human)
	home := w.guarded()
	p := browser.Open(t).Page(t, home+"/deployments")
	judge := func(name string) {
		t.Helper()
		assert.Equal(t, 1, p.Count("h1"))
		p.Axe()
		p.Shot(name)
	}
	decide := func(button string) {
		t.Helper()
		p.WaitFor("!('held' in document.body.dataset)") // nobody presses what has just come into sight
		p.Press(button)
	}
	p.WaitText("main", "5 to create")
	judge("not deployed yet")
	p.Press("Review plan: 5 to create, 0 to update, 0 to delete")
	p.WaitText("h1", "Plan: 5 to create")
	judge("plan")
	decide("Deploy: 5 to create, 0 to update, 0 to delete")
	p.WaitText("main", "done. View result")
	judge("deployed")
	p.Press("View result")
	p.WaitText("main", "Done.")

	w.write(file(w.project, "AGENTS.md"), "# Rules\n\nBe <b>rude</b>.\n")
	require.NoError(t, os.Remove(file(w.home, ".agents/skills/hello/SKILL.md")))
	for _, path := range []string{"/deployments", "/deployments/plan", "/deployments/evolve", "/deployments/modules", "/deployments/module?id=instructions:base", "/deployments/snapshots", "/deployments/maintenance",
		"/deployments/rollback?to=initial", "/deployments?repo=/nowhere"} {
		p.Go(home + path)
		judge(strings.TrimPrefix(path, "/") + " with drift")
	}
	p.Dark(true)
	p.Narrow(true)
	for _, path := range []string{"/deployments", "/deployments/plan", "/deployments/evolve", "/deployments/modules", "/deployments/module?id=instructions:base", "/deployments/snapshots", "/deployments/maintenance"} {
		p.Go(home + path)
		judge(strings.TrimPrefix(path, "/") + " dark and narrow")
		var wide bool
		p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1", &wide)
		assert.False(t, wide, "%s is wider than a phone", path)
	}
	p.Dark(false)
	p.Narrow(false)

	p.Go(home + "/deployments/plan")
	decide("Deploy: 1 to create, 1 to update, 0 to delete")
	p.WaitText("main", "tick the box")
	judge("unmanaged files")
	p.Click("#adopt")
	decide("Deploy: 1 to create, 1 to update, 0 to delete")
	p.WaitText("main", "done. View result")

	p.Go(home + "/deployments/snapshots")
	p.Press("Roll back to before the first deployment")
	p.WaitText("h1", "5 to delete")
	decide("Roll back: 0 to create, 0 to update, 5 to delete")
	p.WaitText("main", "rollback to initial")
	judge("gone back")
	assert.Empty(t, w.reads(file(w.project, "AGENTS.md")))
}
