package adminpages_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// live is pair with everything that pages ask for.
func live(t *testing.T) (*consoletest.Agent, *consoletest.TestCore, *consoletest.Web) {
	t.Helper()
	dir := t.TempDir()
	agent, here := consoletest.Open(t, dir).Agent("s1"), consoletest.Open(t, dir)
	d := runner(t, here)
	web := consoletest.Serve(t, func(mux *http.ServeMux) {
		adminpages.NewApprovalSection(d, here.App).Mount(mux, consoletest.Person())
		d.Mount(mux, consoletest.Person())
		mux.Handle("/assets/", ui.AssetHandler())
		consoletest.Events(t, mux, here, consoletest.Person())
	})
	return agent, here, web
}

func TestInABrowser(t *testing.T) {
	b := browser.Open(t)
	for name, test := range map[string]func(*testing.T, *browser.Browser){
		"A question appears by itself":                    aQuestionAppearsByItself,
		"What somebody writes stays":                      whatSomebodyWritesStays,
		"Decisions by mouse":                              decisionsByMouse,
		"Until a time":                                    untilATime,
		"The name is typed":                               theNameIsTyped,
		"A page that is out of date":                      aPageThatIsOutOfDate,
		"Two browsers":                                    twoBrowsers,
		"Decisions by keyboard alone":                     decisionsByKeyboardAlone,
		"Decisions without scripts":                       decisionsWithoutScripts,
		"Single keys":                                     singleKeys,
		"Nobody presses what just slid under the pointer": nobodyPressesWhatJustSlidUnderThePointer,
		"A press that brings the window forward":          aPressThatBringsTheWindowForward,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// shown is how long what the user shall see may take from the agent's call on (product rules on speed).
const shown = 500 * time.Millisecond

func aQuestionAppearsByItself(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	require.NoError(t, here.Notes.Write("old", "one\ntwo"))
	p := b.Page(t, web.URL+"/approvals")
	p.WaitText("main", "No pending approvals")
	p.Axe()
	p.Shot("nothing waits")
	p.WaitFor("performance.getEntriesByType('resource').some((r) => r.name.includes('/approvals/count'))")

	var took time.Duration
	for i, name := range []string{"first", "second", "third"} {
		begun := time.Now()
		id := agent.Ask(t, "write_note", map[string]string{"name": name, "text": "text"})
		if i == 0 {
			p.WaitText("#"+id, "write note "+name)
		} else {
			p.WaitText("#queue", "write note "+name) // beside the one that is looked at
		}
		if took = time.Since(begun); took <= shown && i > 0 {
			break
		}
	}
	t.Logf("it appeared after %v (budget %v)", took, shown) // a busy machine is no fault
	p.WaitFor("document.title.startsWith('(') && document.querySelector('[data-count]').textContent > 1")
	p.WaitFor("document.getElementById('said').textContent.includes('pending approval')")

	burn := agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	p.WaitFor(`document.querySelector("#queue .what").textContent === "burn note old"`) // the highest risk first
	p.WaitFor(`document.querySelector(".decision .prompt").textContent.includes("write note first")`)
	p.Go(web.URL + "/approvals")
	p.WaitText("#"+burn, "Would be lost")
	p.WaitText("#"+burn+" [data-until]", "in 23 h")
	p.Axe()
	p.Shot("questions")
	p.Dark(true)
	p.Narrow(true)
	p.Axe()
	p.Shot("questions, dark and narrow")
}

func whatSomebodyWritesStays(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "first", "text": "text"})
	gone := agent.Ask(t, "write_note", map[string]string{"name": "gone", "text": "text"})
	p := b.Page(t, web.URL+"/approvals")
	p.Type("#reason-"+id, "because")
	p.Eval("window.kept = document.getElementById('"+id+"')", nil)
	p.Click("#" + id + " summary") // anything in it
	p.Go(web.URL + "/approvals")
	p.Type("#reason-"+id, "because")
	p.Eval("(() => { window.kept = document.getElementById('"+id+"'); return true; })()", nil)
	agent.Ask(t, "write_note", map[string]string{"name": "other", "text": "text"})
	p.WaitText("#queue", "write note other")
	_, err := here.Answer(t.Context(), confirm.Decision{ID: gone, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	p.WaitFor("!document.querySelector('#queue a[href$=\"" + gone + "\"]')")
	p.WaitFor("window.kept === document.getElementById('" + id + "') && document.activeElement.id === 'reason-" + id + "'")
	p.Keys(" it is late\r") // Enter denies, in the field of a denial
	p.WaitText(".notice", "denied by a user: because it is late")
}

func decisionsByMouse(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	p := b.Page(t, web.URL+"/approvals")

	done := agent.Waits(t, "write_note", map[string]string{"name": "approved", "text": "text"})
	p.Press("Approve: write note approved")
	require.NoError(t, (<-done).Err)
	p.WaitText(".notice", "write note approved: approved and completed") // by itself
	p.Axe()
	p.Shot("approved")
	assert.Equal(t, "text", here.Notes.Read("approved"))

	done = agent.Waits(t, "write_note", map[string]string{"name": "denied", "text": "text"})
	p.WaitText("#waiting", "write note denied")
	p.Type("#waiting input[name=reason]", "not today")
	p.Press("Deny: write note denied")
	err := (<-done).Err
	require.ErrorIs(t, err, confirm.ErrDenied)
	assert.Contains(t, err.Error(), "not today")
	p.WaitText(".notice", "denied by a user: not today")

	done = agent.Waits(t, "write_note", map[string]string{"name": "always", "text": "text"})
	p.Press("Allow in this session …")
	p.Press("Always allow in this session: write_note with these arguments and this plan, for at most 12 hours; not bound: how often it runs: write note always")
	require.NoError(t, (<-done).Err)
	require.NoError(t, os.Remove(here.Notes.Path("always")))
	require.NoError(t, agent.Call("write_note", map[string]string{"name": "always", "text": "text"}).Err)
}

// untilATime allows the same for a day, on the page of the question.
func untilATime(t *testing.T, b *browser.Browser) {
	agent, _, web := live(t)
	note := map[string]string{"name": "daily", "text": "text"}
	id := agent.Ask(t, "write_note", note)
	p := b.Page(t, web.URL+"/approvals/"+id)
	p.Press("Allow until …")
	p.WaitText("main", "Allowed without asking: write_note: write note daily, with these arguments")
	p.Axe()
	p.Shot("until a time")
	p.Dark(true)
	p.Narrow(true)
	p.Axe()
	p.Shot("until a time, dark and narrow")
	p.Choose("select[name=for]", "24h")
	p.Press("Approve and allow until then: write note daily")
	p.WaitText(".notice", "write note daily: approved")
	all, err := agent.TestCore.SessionGrants(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, 24*time.Hour, all[0].ExpiresAt.Sub(all[0].At))
}

func theNameIsTyped(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	require.NoError(t, here.Notes.Write("old", "one"))
	done := agent.Waits(t, "burn_note", map[string]string{"name": "old"})
	p := b.Page(t, web.URL+"/approvals")
	p.Type("#waiting input[name=typed_value]", "olt")
	p.Press("Approve: burn note old")
	p.WaitText(".notice.bad", "2 of 3 tries are left")
	p.Axe()
	p.Shot("mistyped")
	p.WaitFor("document.body.dataset.held === undefined") // what just came takes no press
	p.Type("input[name=typed_value]", "old\r")
	p.WaitText("main", "burn note old: approved")
	require.NoError(t, (<-done).Err)
	assert.Empty(t, here.Notes.Read("old"))
}

func aPageThatIsOutOfDate(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	require.NoError(t, here.Notes.Write("plan", "as it was"))
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	p := b.Page(t, web.URL+"/approvals/"+id)
	p.WaitText("main", "-as it was")
	require.NoError(t, here.Notes.Write("plan", "as it is"))
	p.Press("Approve: write note plan")
	p.WaitText("h1", "Plan changed")
	p.WaitText("main", "-as it is")
	p.Axe()
	p.Shot("out of date")
	assert.Equal(t, "as it is", here.Notes.Read("plan"))
}

func twoBrowsers(t *testing.T, b *browser.Browser) {
	agent, _, web := live(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	mine, theirs := b.Page(t, web.URL+"/approvals/"+id), b.Apart(t).Page(t, web.URL+"/approvals/nowhere")
	theirs.Eval("document.cookie = 'browser=key_two; path=/'", nil)
	theirs.Go(web.URL + "/approvals/" + id)
	mine.WaitText("main", "write note plan")
	theirs.WaitText("main", "write note plan")
	// What the other one shows is as it was: nothing is told it any more.
	theirs.Eval("(() => { window.fetch = () => new Promise(() => {}); return true; })()", nil)
	mine.Press("Approve: write note plan")
	mine.WaitText(".notice", "write note plan: approved")
	theirs.Press("Approve: write note plan")
	theirs.WaitText("main", "already approved by")
	theirs.Axe()
	theirs.Shot("too late")
	mine.WaitText("#"+id, "Approved by a user in the console (browser key_one)")
}

func decisionsByKeyboardAlone(t *testing.T, b *browser.Browser) {
	agent, _, web := live(t)
	done := agent.Waits(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	p := b.Page(t, web.URL+"/approvals")
	p.WaitFor("document.body.dataset.held === undefined")
	p.Keys("\t")
	assert.Equal(t, "Skip to main content", p.Focus())
	p.Keys("\r")
	for i := 0; p.Focus() != "Approve: write note plan"; i++ {
		require.Less(t, i, 20, "the button is reached")
		p.Keys("\t")
	}
	p.Shot("focus")
	p.Keys("\r")
	p.WaitText("main", "write note plan: approved")
	require.NoError(t, (<-done).Err)
}

// singleKeys lead to where one decides, and none of them decides. They can be switched off.
func singleKeys(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	require.NoError(t, here.Notes.Write("old", "one"))
	note := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	burn := agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	p := b.Apart(t).Page(t, web.URL+"/approvals/"+note)
	ready := func(id string) {
		p.WaitFor("location.pathname === '/approvals/" + id + "' && document.readyState === 'complete' && !document.getElementById('keys').hidden")
	}
	ready(note)
	p.Keys("k")
	ready(burn)
	p.Keys("a")
	p.WaitFor("document.activeElement.name === 'typed_value'")
	p.Go(web.URL + "/approvals/" + burn)
	p.Keys("j")
	ready(note)
	p.Keys("a")
	assert.Equal(t, "Approve: write note plan", p.Focus())
	p.Keys("d")
	p.WaitFor("document.activeElement.name === 'reason'")
	p.Go(web.URL + "/approvals/" + note)
	p.Keys("?")
	assert.Equal(t, "Use shortcuts", p.Focus())
	p.Keys(" ")
	p.WaitFor("document.activeElement.getAttribute('aria-pressed') === 'false'")
	p.Keys("a")
	assert.Equal(t, "Use shortcuts", p.Focus())
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	assert.Len(t, views, 2, "no key has decided")
}

func decisionsWithoutScripts(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	require.NoError(t, here.Notes.Write("old", "one"))
	done := agent.Waits(t, "burn_note", map[string]string{"name": "old"})
	p := b.Page(t, web.URL+"/approvals")
	p.Scripts(false)
	p.Reload()
	p.Type("input[name=typed_value]", "old")
	p.Press("Approve: burn note old")
	p.WaitText("main", "burn note old: approved")
	require.NoError(t, (<-done).Err)
}

func nobodyPressesWhatJustSlidUnderThePointer(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	first := agent.Ask(t, "write_note", map[string]string{"name": "first", "text": "text"})
	second := agent.Ask(t, "write_note", map[string]string{"name": "second", "text": "text"})
	p := b.Page(t, web.URL+"/approvals/"+second)
	p.WaitFor("document.body.dataset.held === undefined")
	p.Eval("(() => { const now = performance.now(); performance.now = () => now; return true; })()", nil) // it stays the moment in which the page changes
	_, err := here.Answer(t.Context(), confirm.Decision{ID: first, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	p.WaitFor("!document.querySelector('#queue') && document.body.dataset.held !== undefined")
	p.Eval("(() => { document.querySelector('#"+second+" button.go').click(); return true; })()", nil)
	p.WaitText("#said", "Check it, then press again")
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, views, 1)
	assert.Empty(t, views[0].Answerer)
	p.Reload()
	p.Press("Approve: write note second") // a moment later
	p.WaitText(".notice", "write note second: approved")
}

// aPressThatBringsTheWindowForward may be meant for another window. A browser without windows always has the focus, so it is told that it comes.
func aPressThatBringsTheWindowForward(t *testing.T, b *browser.Browser) {
	agent, here, web := live(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "first", "text": "text"})
	p := b.Page(t, web.URL+"/approvals")
	p.WaitFor("document.body.dataset.held === undefined")
	p.Eval("(() => { dispatchEvent(new Event('focus')); document.querySelector('#"+id+" button.go').click(); return true; })()", nil)
	p.WaitText("#said", "Check it, then press again")
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, views, 1)
	assert.Empty(t, views[0].Answerer)
	p.Press("Approve: write note first") // a moment later
	p.WaitText(".notice", "write note first: approved")
}
