package ecopages_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// TestPagesInABrowser: every page in a real browser, judged by axe, in both colours and as narrow as a telephone; the user presses through one
// journey with the keyboard and the mouse.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	r := shop(t, false)
	r.mode("ask")
	p := b.Page(t, r.url+"/ecosystems")
	p.WaitText("h1", "Ecosystems")
	p.Press("shop")
	at := func(path string) {
		p.WaitFor("location.pathname === '" + path + "' && document.readyState === 'complete'")
	}
	at("/ecosystems/shop")
	p.Press("Install shop")
	p.WaitText("main", "the mode is ask")
	p.Axe()
	p.Shot("explained")
	p.Press("Back")
	at("/ecosystems/shop/runs")
	p.Press("Overview")
	at("/ecosystems/shop")
	p.Choose("#mode", "execute")
	p.Press("Change mode")
	p.WaitText("main", "Set mode execute")
	p.Press("Preview: Install shop")
	p.WaitText("main", "nothing was changed")
	p.Axe()
	p.Shot("previewed")
	p.Press("Install shop")
	p.WaitText("main", "Approve")
	p.WaitFor("!('held' in document.body.dataset)")
	p.Axe()
	p.Shot("asked")
	p.Click("button[value=approve]")
	p.WaitText("main", "Follow run")
	r.quiet("shop")
	r.post("/ecosystems/shop/ticket-start", "ticket_id", "T-1")
	r.does("", "/ecosystems/shop/bump", "bump_type", "patch", "pre_release", "alpha")
	m := regexp.MustCompile(`href="(/ecosystems/shop/runs/[0-9a-f-]{36})"`).FindStringSubmatch(r.quiet("shop").html)
	require.NotNil(t, m)
	for _, path := range append(pages(), "/ecosystems", "/ecosystems/-/policy", m[1]) {
		name := strings.Trim(regexp.MustCompile(`[0-9a-f-]{36}`).ReplaceAllString(path, "run"), "/")
		p.Go(r.url + path)
		assert.Equal(t, 1, p.Count("h1"), path)
		p.Axe()
		p.Shot(name)
		p.Dark(true)
		p.Narrow(true)
		if strings.HasSuffix(name, "shop") || strings.HasSuffix(name, "run") {
			p.Axe()
			p.Shot(name + " dark and narrow")
		}
		var wide bool
		p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1", &wide)
		assert.False(t, wide, "%s is wider than a telephone", path)
		p.Narrow(false)
		p.Dark(false)
	}
}
