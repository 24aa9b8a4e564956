package adminpages_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func runner(t testing.TB, h *consoletest.TestCore) *ui.CallRunner {
	d := ui.NewCallRunner(t.Context(), h.App, func() string { return system.IDs{}.NewID("job_", 20) })
	d.Patience = time.Minute // a busy machine is no other page
	return d
}

func approvalServe(t testing.TB, h *consoletest.TestCore, change ...func(*httpauth.Identity)) *consoletest.Web {
	t.Helper()
	d := runner(t, h)
	return consoletest.Serve(t, func(mux *http.ServeMux) {
		adminpages.NewApprovalSection(d, h.App).Mount(mux, consoletest.Person(change...))
		d.Mount(mux, consoletest.Person(change...))
		mux.Handle("POST /do/{tool}", consoletest.Person(change...)(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			d.Do(w, r, v, ui.Task{Title: "Do it", Tool: tool.Name(r.PathValue("tool")), Args: map[string]string{"name": "mine", "text": "x"}, Back: "/approvals"})
		}))
	})
}

// pair returns an agent in one process, and the console in another one over the same database.
func pair(t testing.TB) (*consoletest.Agent, *consoletest.TestCore, *consoletest.Web) {
	t.Helper()
	dir := t.TempDir()
	agent, here := consoletest.Open(t, dir), consoletest.Open(t, dir)
	return agent.Agent("s1"), here, approvalServe(t, here)
}

func TestNothingWaits(t *testing.T) {
	t.Parallel()
	_, _, web := pair(t)
	page := web.Get("/approvals")
	assert.Equal(t, http.StatusOK, page.Status)
	assert.Contains(t, page.Words(), "No pending approvals")
	assert.Equal(t, "0", web.Get("/approvals/count").Body)
}

// TestWhatWaitsIsAQueue: the highest risk first, then the longest wait, those that ask for the same once; the page shows the whole of one of them.
func TestWhatWaitsIsAQueue(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	require.NoError(t, here.Notes.Write("old", "one\ntwo"))
	first := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "new text"})
	assert.NotContains(t, web.Get("/approvals").Body, `id="queue"`, "one alone needs none")
	agent.TestCore.Agent("s3").Ask(t, "write_note", map[string]string{"name": "plan", "text": "new text"})
	second := agent.TestCore.Agent("s2").Ask(t, "burn_note", map[string]string{"name": "old"})
	page := web.Get("/approvals")
	assert.Equal(t, "/approvals/"+second+"?queue=1", page.Path)
	assert.Regexp(t, `(?s)id="queue".*`+second+`.*`+first+`.*2 requests`, page.Body)
	assert.Equal(t, 2, strings.Count(page.Body, `<span class="what">`), "the same once")
	words := page.Words()
	for _, want := range []string{"burn note old high risk", "a burnt note is gone", "Would be lost one two", "command rm ", `Type "old" to approve`, "Tool burn_note", "Arguments"} {
		assert.Contains(t, words, want)
	}
	assert.NotContains(t, words, "Always allow", "high risk is asked about every time")
	assert.NotContains(t, words, "+new text", "that is on the page of the other one")
	assert.Equal(t, "3", web.Get("/approvals/count").Body)

	one := web.Get("/approvals/" + first)
	assert.Equal(t, http.StatusOK, one.Status)
	for _, want := range []string{"write note plan low risk", "Tool write_note", "Client claude-code/2.1 (s1)", "+new text", "Always allow in this session", "Allow until …"} {
		assert.Contains(t, one.Words(), want)
	}
	assert.NotContains(t, one.Words(), "Would be lost")
	assert.Contains(t, web.Press(page, "Deny").Words(), "burn note old: denied by a user", "what became of it is said beside the next one")
}

// TestTheQueueGoesOnWhenSomebodyElseDecides: a page that the queue led to shows the next request, and who decided the last one.
func TestTheQueueGoesOnWhenSomebodyElseDecides(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	first := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals")
	second := agent.Ask(t, "write_note", map[string]string{"name": "other", "text": "text"})
	_, err := here.Answer(t.Context(), confirm.Decision{ID: first, By: "terminal"})
	require.NoError(t, err)
	next := web.Get(page.Path)
	assert.Equal(t, "/approvals/"+second+"?elsewhere="+first+"&queue=1", next.Path)
	assert.Contains(t, next.Words(), "write note plan: denied by a user (decided by a user in a terminal).")
	assert.Contains(t, web.Get("/approvals/"+first).Words(), "Already decided", "a link to the request itself leads nowhere else")
}

func TestAnApprovalLetsTheCallGoOn(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	done := agent.Waits(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	came := web.Press(web.Get("/approvals"), "Approve")
	assert.Equal(t, http.StatusOK, came.Status)
	assert.Regexp(t, `^/approvals.*\?answered=cf_`, came.Path)
	assert.Contains(t, came.Words(), "write note plan: approved")
	require.NoError(t, (<-done).Err)
	assert.Equal(t, "text", here.Notes.Read("plan"))
	again := web.Get(came.Path)
	assert.Contains(t, again.Words(), "write note plan: approved and completed")
	runs, err := here.Calls(t.Context(), app.RunFilter{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, "console key_one", runs[0].Decision, "the record says which browser decided")
}

func TestADenialTellsTheAgentWhy(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	done := agent.Waits(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	came := web.Press(web.Get("/approvals"), "Deny", "reason", "not on <Sundays>")
	assert.Contains(t, came.Words(), "write note plan: denied by a user: not on <Sundays>")
	err := (<-done).Err
	require.ErrorIs(t, err, confirm.ErrDenied)
	assert.Contains(t, err.Error(), "not on <Sundays>")
	assert.Empty(t, here.Notes.Read("plan"))
}

func TestAlwaysIsRememberedForTheSessionThatAsked(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	done := agent.Waits(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	web.Press(web.Get("/approvals"), "Always allow in this session: write_note with these arguments and this plan, for at most 12 hours; not bound: how often it runs")
	require.NoError(t, (<-done).Err)
	require.NoError(t, os.Remove(here.Notes.Path("plan")))
	require.ErrorIs(t, agent.TestCore.Agent("s2").Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err, app.ErrRequired, "not for others")
	require.NoError(t, agent.Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err)
	assert.Equal(t, "text", here.Notes.Read("plan"))
	require.ErrorIs(t, agent.Call("write_note", map[string]string{"name": "other", "text": "text"}).Err, app.ErrRequired, "nor for anything else")
}

// TestTheSameIsAllowedUntil: the page names what is bound and what is not, the same runs in any session of that host, and it is suggested to whoever
// approved it before.
func TestTheSameIsAllowedUntil(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	write := map[string]string{"name": "plan", "text": "text"}
	id := agent.Ask(t, "write_note", write)
	page := web.Get("/approvals/" + id)
	assert.Contains(t, page.Words(), "Allow until …")
	assert.Contains(t, page.Words(), "in any session without an agent host")
	assert.Contains(t, page.Words(), "Not limited: how often it runs")
	assert.NotContains(t, page.Words(), "once before")
	broken := web.Post("/approvals/"+id, "decision", "until", "plan_hash", hash(t, page), "for", "a while")
	assert.Equal(t, http.StatusBadRequest, broken.Status)
	long := web.Post("/approvals/"+id, "decision", "until", "plan_hash", hash(t, page), "for", "8760h")
	assert.Equal(t, http.StatusUnprocessableEntity, long.Status)
	assert.Contains(t, long.Words(), "use 1 minute to 30 days")
	web.Press(web.Get("/approvals/"+id), "Approve")
	require.NoError(t, agent.Call("write_note", write).Err)
	require.NoError(t, os.Remove(here.Notes.Path("plan")))

	id = agent.Ask(t, "write_note", write)
	page = web.Get("/approvals/" + id)
	assert.Contains(t, page.Words(), "You approved this call once before. Allow until …")
	web.Press(page, "Approve and allow until then", "for", "24h")
	require.NoError(t, agent.Call("write_note", write).Err)
	require.NoError(t, os.Remove(here.Notes.Path("plan")))
	require.NoError(t, agent.TestCore.Agent("s2").Call("write_note", write).Err, "in any session")
	require.ErrorIs(t, agent.TestCore.Agent("s2").Call("write_note", map[string]string{"name": "plan", "text": "worse"}).Err, app.ErrRequired)
	all, err := agent.TestCore.SessionGrants(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.EqualValues(t, 1, all[0].Dated.Uses)
	assert.Equal(t, 24*time.Hour, all[0].ExpiresAt.Sub(all[0].At))

	require.NoError(t, here.Notes.Write("old", "one"))
	id = agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	page = web.Get("/approvals/" + id)
	assert.NotContains(t, page.Words(), "until then")
	refused := web.Post("/approvals/"+id, "decision", "until", "plan_hash", hash(t, page), "for", "8h", "typed_value", "old")
	assert.Equal(t, http.StatusUnprocessableEntity, refused.Status)
	require.ErrorIs(t, agent.Call("burn_note", map[string]string{"name": "old"}).Err, app.ErrRequired, "nothing was approved")
}

func TestAlwaysIsNotForWhatIsAskedEveryTime(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	require.NoError(t, here.Notes.Write("old", "one"))
	id := agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	page := web.Get("/approvals/" + id)
	web.Post("/approvals/"+id, "decision", "always", "plan_hash", hash(t, page), "typed_value", "old")
	require.NoError(t, agent.Call("burn_note", map[string]string{"name": "old"}).Err, "it is approved")
	require.NoError(t, here.Notes.Write("old", "one"))
	require.ErrorIs(t, agent.Call("burn_note", map[string]string{"name": "old"}).Err, app.ErrRequired, "once")
}

// hash returns what the page's form names as shown.
func hash(t testing.TB, page consoletest.Answer) string {
	t.Helper()
	_, rest, found := strings.Cut(page.Body, `name="plan_hash" value="`)
	require.True(t, found)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestTypingTheName(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	require.NoError(t, here.Notes.Write("old", "one"))
	id := agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	wrong := web.Press(web.Get("/approvals/"+id), "Approve", "typed_value", "olt")
	assert.Equal(t, http.StatusUnprocessableEntity, wrong.Status)
	assert.Contains(t, wrong.Words(), `the typed name is not "old"; 2 of 3 tries are left`)
	assert.NotContains(t, wrong.Body, `data-live`, "what was wrong stays in sight")
	right := web.Press(wrong, "Approve", "typed_value", "old")
	assert.Equal(t, http.StatusOK, right.Status)
	assert.Contains(t, right.Words(), "approved")
	require.NoError(t, agent.Call("burn_note", map[string]string{"name": "old"}).Err)
	assert.Empty(t, here.Notes.Read("old"))

	require.NoError(t, here.Notes.Write("old", "one"))
	id = agent.Ask(t, "burn_note", map[string]string{"name": "old"})
	page := web.Get("/approvals/" + id)
	for range 2 {
		require.Equal(t, http.StatusUnprocessableEntity, web.Press(page, "Approve", "typed_value", "no").Status)
	}
	burnt := web.Press(page, "Approve", "typed_value", "no")
	assert.Equal(t, http.StatusConflict, burnt.Status)
	assert.Contains(t, burnt.Words(), "the name was mistyped three times")
	assert.Equal(t, "one", here.Notes.Read("old"))
}

func TestAPlanThatHasChangedIsNotApproved(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	require.NoError(t, here.Notes.Write("plan", "as it was"))
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	require.NoError(t, here.Notes.Write("plan", "edited <b>meanwhile</b>"))
	changed := web.Press(page, "Approve")
	assert.Equal(t, http.StatusConflict, changed.Status)
	for _, want := range []string{"Plan changed", "Nothing was approved", "$.context.unified", "-as it was", "-edited <b>meanwhile</b>", "The plan changed, so the request was cancelled."} {
		assert.Contains(t, changed.Words(), want)
	}
	assert.NotContains(t, changed.Body, "<b>")
	assert.Equal(t, "edited <b>meanwhile</b>", here.Notes.Read("plan"))
	late := web.Press(page, "Approve")
	assert.Equal(t, http.StatusConflict, late.Status)
	assert.Contains(t, late.Words(), "the plan changed before it was approved")
}

func TestTwoPeopleAnswerOneApproval(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	other := web.As("key_two")
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	mine, theirs := web.Get("/approvals/"+id), other.Get("/approvals/"+id)
	require.Equal(t, http.StatusOK, web.Press(mine, "Approve").Status)
	second := other.Press(theirs, "Approve")
	assert.Equal(t, http.StatusConflict, second.Status)
	assert.Contains(t, second.Words(), "already approved by a user in the console (local, browser key_one). Your decision was not recorded.")
	listed := other.Get("/approvals")
	assert.Contains(t, listed.Words(), "Approved by a user in the console (browser key_one)")
	assert.Equal(t, "0", web.Get("/approvals/count").Body, "what is approved waits for nobody")

	require.NoError(t, agent.Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err)
	third := other.Press(theirs, "Deny", "reason", "too late")
	assert.Equal(t, http.StatusConflict, third.Status)
	assert.Contains(t, third.Words(), "This request was already decided. Your decision was not recorded. write note plan Status Completed Decision Approved by a user in the console (local, browser key_one),")
	assert.Equal(t, "text", here.Notes.Read("plan"))
	assert.Contains(t, web.Get("/approvals/"+id).Words(), "Status Completed Decision Approved by a user in the console (local, browser key_one)")
}

func TestAtOnceOneWins(t *testing.T) {
	t.Parallel()
	agent, _, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	answers := make(chan consoletest.Answer, 8)
	for i := range 8 {
		go func() {
			answers <- web.As(fmt.Sprint("key_", i)).Post("/approvals/"+id, "decision", "approve", "plan_hash", hash(t, page))
		}()
	}
	won := 0
	for range 8 {
		if a := <-answers; a.Status == http.StatusOK {
			won++
		} else {
			assert.Contains(t, a.Words(), "already approved by")
		}
	}
	assert.Equal(t, 1, won)
}

func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	_, err := here.Answer(t.Context(), confirm.Decision{ID: id, By: "terminal", Proof: person.AtTerminal, Reason: "no"})
	require.NoError(t, err)
	late := web.Press(page, "Approve")
	assert.Equal(t, http.StatusConflict, late.Status)
	assert.Contains(t, late.Words(), "Status Denied Reason denied by a user: no Decision Denied by a user in a terminal (tester, /dev/pts/0, here)")
}

// TestWhatHasRunOutHasExpired: nobody denied it, and nothing says that somebody did.
func TestWhatHasRunOutHasExpired(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), &clock.Fake{}
	agent, here := consoletest.Open(t, dir, consoletest.At(now)), consoletest.Open(t, dir, consoletest.At(now))
	web := approvalServe(t, here)
	id := agent.Agent("s1").Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	now.Advance(confirm.DefaultTTL)
	assert.Contains(t, web.Get("/approvals").Words(), "write note plan", "a question outlives its token")
	now.Advance(confirm.QuestionTTL)
	late := web.Press(page, "Approve")
	assert.Equal(t, http.StatusConflict, late.Status)
	assert.Contains(t, late.Words(), "Status Expired Reason expired without a decision")
	assert.NotContains(t, late.Words(), "denie")
	assert.Contains(t, web.Get("/approvals").Words(), "No pending approvals")
	assert.Contains(t, web.Get("/approvals/"+id).Words(), "expired without a decision")
}

func TestAnAnswerNamesWhatWasShown(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	for _, fields := range [][]string{
		{"decision", "approve"}, {"decision", "approve", "plan_hash", "nonsense"}, {"decision", "approve", "plan_hash", "sha256:" + strings.Repeat("0", 64)},
		{"decision", "perhaps", "plan_hash", hash(t, page)}, {"plan_hash", hash(t, page)},
	} {
		got := web.Post("/approvals/"+id, fields...)
		assert.Equal(t, http.StatusBadRequest, got.Status, fields)
		assert.Contains(t, got.Body, "decision_incomplete")
	}
	another := web.Post("/approvals/"+id, "decision", "approve", "plan_hash", "sha256:"+strings.Repeat("1", 64))
	assert.Equal(t, http.StatusConflict, another.Status)
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, views, 1)
	assert.Empty(t, views[0].Answerer, "nothing was decided")
}

func TestUnknownConfirmations(t *testing.T) {
	t.Parallel()
	_, _, web := pair(t)
	assert.Equal(t, http.StatusNotFound, web.Get("/approvals/cf_nowhere").Status)
	got := web.Post("/approvals/cf_nowhere", "decision", "deny", "plan_hash", "sha256:"+strings.Repeat("1", 64))
	assert.Equal(t, http.StatusPreconditionRequired, got.Status)
	assert.Contains(t, got.Words(), "approval request cf_nowhere is not pending")
	assert.Equal(t, http.StatusNotFound, web.Get("/approvals/%3Cscript%3E").Status)
}

// TestLongPlansAreShownWhole: nothing of what is asked about is cut.
func TestLongPlansAreShownWhole(t *testing.T) {
	t.Parallel()
	agent, _, web := pair(t)
	agent.Ask(t, "write_note", map[string]string{"name": "long", "text": strings.Repeat("a long line of text\n", 2000) + "the end"})
	page := web.Get("/approvals")
	assert.Equal(t, 1, strings.Count(page.Body, `value="approve"`))
	change, _, _ := strings.Cut(page.Body, "Plan as JSON")
	assert.Equal(t, 2000, strings.Count(change, "a long line of text"))
	assert.Contains(t, change, "the end")
}

func TestALongQueueIsSmall(t *testing.T) {
	t.Parallel()
	agent, _, web := pair(t)
	for i := range 20 {
		agent.TestCore.Agent(fmt.Sprint("s", i)).Ask(t, "write_note", map[string]string{"name": fmt.Sprint(i), "text": strings.Repeat("text ", 800)})
	}
	page := web.Get("/approvals")
	assert.Equal(t, 20, strings.Count(page.Body, `<span class="what">`))
	assert.Less(t, len(page.Body), 60<<10)
}

func TestAnApproverCannotReachFurtherThanItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent, here := consoletest.Open(t, dir).Agent("s1"), consoletest.Open(t, dir)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	full := approvalServe(t, here).Get("/approvals/" + id)
	for name, narrow := range map[string]func(*httpauth.Identity){
		"another toolset": func(v *httpauth.Identity) { v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}} },
		"read only":       func(v *httpauth.Identity) { v.Within = []tool.Restriction{{ReadOnly: true}} },
		"a ceiling":       func(v *httpauth.Identity) { v.Principal.Ceiling = policy.Plan },
		"no grants":       func(v *httpauth.Identity) { v.Principal.Grants = policy.Read },
	} {
		t.Run(name, func(t *testing.T) {
			web := approvalServe(t, here, narrow)
			page := web.Get("/approvals/" + id)
			assert.Contains(t, page.Words(), "This browser session's scope excludes this tool.")
			assert.NotContains(t, page.Body, `value="approve"`)
			got := web.Post("/approvals/"+id, "decision", "approve", "plan_hash", hash(t, full))
			assert.Equal(t, http.StatusForbidden, got.Status)
		})
	}
	denied := approvalServe(t, here, func(v *httpauth.Identity) { v.Within = []tool.Restriction{{ReadOnly: true}} })
	assert.Contains(t, denied.Press(denied.Get("/approvals"), "Deny").Words(), "denied by a user", "but it may say no")
}

func TestHostileQuestionsAreText(t *testing.T) {
	t.Parallel()
	agent, _, web := pair(t)
	agent.Client = `<script>alert(1)</script>`
	evil := `"><img src=x onerror=alert(1)>`
	id := agent.Ask(t, "write_note", map[string]string{"name": evil, "text": evil + "\u202egnp.exe\x1b[2J"})
	for _, path := range []string{"/approvals", "/approvals/" + id} {
		page := web.Get(path)
		assert.NotContains(t, page.Body, "<img")
		assert.NotContains(t, page.Body, "<script>alert")
		assert.NotContains(t, page.Body, "\u202e")
		assert.NotContains(t, page.Body, "\x1b")
		assert.Contains(t, page.Words(), "claude"[:0]+"<script>alert(1)</script>")
	}
}

func TestWhatTheConsoleAsksItself(t *testing.T) {
	t.Parallel()
	_, here, web := pair(t)
	asks := web.Post("/do/write_note")
	require.Regexp(t, `^/work/job_`, asks.Path)
	assert.Contains(t, asks.Words(), "write note mine")
	assert.NotContains(t, asks.Words(), "Always allow")
	list := web.Get("/approvals")
	assert.Contains(t, list.Words(), "You started this call in the console. Continue")
	assert.NotContains(t, list.Body, `value="approve"`)
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, views, 1)
	assert.Equal(t, asks.Path, web.Post("/approvals/"+views[0].ID, "decision", "deny", "plan_hash", views[0].PlanHash.String()).Path, "it is answered where it was asked")
	done := web.Press(asks, "Approve")
	assert.Regexp(t, `^/approvals\?done=job_`, done.Path)
	assert.Equal(t, "x", here.Notes.Read("mine"))
}

func TestEveryAnswerIsInTheAudit(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	web.Press(web.Get("/approvals/"+id), "Deny")
	found, err := here.AuditSearch(t.Context(), audit.Filter{Phase: audit.Answer})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, []string{id, "deny", "console key_one", "console"}, []string{found[0].Event.CallID, found[0].Event.Verdict, found[0].Event.ApprovedBy, found[0].Event.Surface})
	assert.JSONEq(t, `{"surface":"console","user": "local","credential":"key_one"}`, string(found[0].Event.Proof))
	rec, err := here.CallRecord(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, tool.ReasonUserDenied, rec.Reason)
}

func TestAPlanStaysTheOneThatWasShown(t *testing.T) {
	t.Parallel()
	agent, here, _ := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, id, views[0].ID)
	var shown map[string]any
	require.NoError(t, json.Unmarshal(views[0].Plan, &shown))
	assert.Equal(t, "write_note", shown["tool"])
	assert.Equal(t, confirm.QuestionTTL, views[0].ExpiresAt.Sub(views[0].IssuedAt))
}

// TestWhoseAskerIsGoneSaysSo, and can still be decided: the same call, made anew, goes on.
func TestWhoseAskerIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	assert.NotContains(t, web.Get("/approvals").Words(), "Client status")
	require.NoError(t, agent.TestCore.EndSession(t.Context(), "local", "s1"))
	for _, path := range []string{"/approvals", "/approvals/" + id} {
		assert.Contains(t, web.Get(path).Words(), "Client status disconnected; an approval applies when the client repeats the call")
	}
	require.Equal(t, http.StatusOK, web.Press(web.Get("/approvals/"+id), "Approve").Status)
	require.NoError(t, agent.TestCore.Agent("s2").Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err)
	assert.Equal(t, "text", here.Notes.Read("plan"))
}

// TestABrowserWithoutTheProofShowsThePlanAndWhatIsMissing: no button, and no way around it.
func TestABrowserWithoutTheProofShowsThePlanAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	passkey := consoletest.With(func(o *app.Options) {
		o.Policy.Require = map[string]policy.Proving{"write_note": policy.ProvingPasskey}
	})
	agent, here := consoletest.Open(t, dir, passkey).Agent("s1"), consoletest.Open(t, dir, passkey)
	web := approvalServe(t, here)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	page := web.Get("/approvals/" + id)
	for _, want := range []string{"+text", "Required proof a passkey", "Approval needs a passkey. Passkeys need a host name, and this page is open at an IP address: open it at http://localhost:", "You can still deny the request here."} {
		assert.Contains(t, page.Words(), want)
	}
	assert.NotContains(t, page.Body, `value="approve"`)
	got := web.Post("/approvals/"+id, "decision", "approve", "plan_hash", hash(t, page))
	assert.Equal(t, http.StatusUnprocessableEntity, got.Status)
	assert.Contains(t, got.Words(), "approving this needs a passkey")
	assert.Contains(t, web.Press(page, "Deny").Words(), "denied by a user", "but it may say no")

	mine := web.Post("/do/write_note")
	assert.Contains(t, mine.Words(), "Required proof a passkey")
	tried := web.Post(strings.TrimSuffix(mine.Path, "/")+"/answer", "decision", "approve", "plan_hash", hash(t, mine))
	assert.Contains(t, tried.Words(), "approving this needs a passkey", "it asks on")
	assert.Empty(t, here.Notes.Read("mine"))
	assert.Contains(t, web.Press(tried, "Deny").Words(), "the user denied this call")
}

// TestAPageHidesNothing: neither in what is asked nor in the lines that would change, and it says why the risk is high.
func TestAPageHidesNothing(t *testing.T) {
	t.Parallel()
	agent, _, web := pair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "say\u202e it to p\u0430ypal\x1b[2K"})
	for _, path := range []string{"/approvals", "/approvals/" + id} {
		page := web.Get(path)
		for _, want := range []string{"say␣U+202E it to p␣U+0430ypal␣U+001B[2K", "high risk", "invisible or misleading characters: U+202E,"} {
			assert.Contains(t, page.Words(), want, path)
		}
		assert.NotContains(t, page.Words(), "Always allow", path)
		for _, char := range []string{"\u202e", "\u0430", "\x1b"} {
			assert.NotContains(t, page.Body, char, path)
		}
	}
}

// TestWhatIsMaskedIsRevealedOnItsPage: only when the user asks, and before it can be approved where it may run.
func TestWhatIsMaskedIsRevealedOnItsPage(t *testing.T) {
	t.Parallel()
	agent, here, web := pair(t)
	key := "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIB", 8) + "\n-----END " + "PRIVATE KEY-----"
	done := agent.Waits(t, "write_note", map[string]string{"name": "plan", "text": key})
	views, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, views, 1)
	one := web.Get("/approvals/" + views[0].ID)
	assert.Contains(t, one.Words(), "reveal them before you approve")
	assert.NotContains(t, one.Body, "MIIEvQIB")
	assert.NotContains(t, one.Words(), "Approve ")
	refused := web.Post("/approvals/"+views[0].ID, "decision", "approve", "plan_hash", views[0].PlanHash.String())
	assert.Contains(t, refused.Words(), "Reveal redacted values")
	assert.NotEqual(t, http.StatusOK, refused.Status)

	bare := web.Press(one, "Reveal redacted values")
	assert.Equal(t, http.StatusOK, bare.Status)
	assert.Contains(t, bare.Body, "MIIEvQIB")
	assert.Empty(t, here.Notes.Read("plan"), "looking approves nothing")
	web.Press(bare, "Approve")
	require.NoError(t, (<-done).Err)
	assert.Equal(t, key, here.Notes.Read("plan"))
}
