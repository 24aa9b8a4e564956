package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// TestTheFirstPageLeadsThroughTheSetUp: each step says how it is done until it is, and a test approval is decided as those of agents are.
func TestTheFirstPageLeadsThroughTheSetUp(t *testing.T) {
	web := open(t)
	home := web.Get("/")
	for _, want := range []string{"Setup: 4 steps left", "Connect your agent To do", "countersign connect", "Send a test approval To do", "Register a project To do", "countersign project add .",
		"Import agent configuration To do", "countersign agents import", "No pending approvals.", "No running calls.", "No failed calls.", "Database OK no damage found",
		"Audit log OK", "Disk", "Policy OK you approve changes"} {
		assert.Contains(t, home.Words(), want)
	}
	asked := web.Press(home, "Send a test approval")
	assert.Regexp(t, `^/approvals/cf_`, asked.Path)
	assert.Contains(t, asked.Words(), "try an approval, which changes nothing")
	assert.Contains(t, web.Get("/").Words(), "try an approval, which changes nothing low risk Review 1 approval")
	assert.Contains(t, web.Press(asked, "Approve").Words(), "try an approval, which changes nothing: approved")
	require.Eventually(t, func() bool { return strings.Contains(web.Get("/").Words(), "Test approval decided.") }, time.Minute, 20*time.Millisecond)
	assert.Contains(t, web.Get("/").Words(), "Setup: 3 steps left")
}

func TestTheFirstPageInABrowser(t *testing.T) {
	b := browser.Open(t)
	web := open(t)
	p := b.Page(t, web.URL+"/")
	for _, dark := range []bool{false, true} {
		for _, narrow := range []bool{false, true} {
			p.Dark(dark)
			p.Narrow(narrow)
			p.Axe()
		}
	}
	p.Shot("home, dark and narrow")
	p.Press("Send a test approval")
	p.WaitText("main", "try an approval, which changes nothing")
}

// TestAPageIsFound by words of its name: with scripts by keys alone, and without them on a page of its own.
func TestAPageIsFound(t *testing.T) {
	b := browser.Open(t)
	web := open(t)
	p := b.Page(t, web.URL+"/")
	p.WaitFor(`document.querySelector("dialog.palette")`)
	p.Keys("\t")
	p.Keys("\t")
	p.Keys("\t")
	assert.Equal(t, "Search", p.Focus())
	p.Keys("\r")
	p.WaitFor(`document.querySelectorAll(".palette li").length > 10`)
	p.Axe()
	p.Keys("log aud")
	p.WaitFor(`document.querySelectorAll(".palette li").length === 1 && document.querySelector(".palette li").getAttribute("aria-selected") === "true"`)
	p.WaitText(".palette [role=status]", "1 result")
	p.Dark(true)
	p.Narrow(true)
	p.Axe()
	p.Shot("a page is found, dark and narrow")
	p.Keys("\r")
	p.WaitText("h1", "Audit")
	p.Scripts(false)
	p.Reload()
	p.Press("Search")
	p.Type("#q", "tools\r")
	p.WaitFor(`location.search === "?q=tools" && document.readyState === "complete"`)
	p.WaitText("main table", "Tools")
	assert.NotContains(t, p.Text("main table"), "Settings")
}
