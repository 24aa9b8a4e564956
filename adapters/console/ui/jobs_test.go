package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a site with a page from which anything can be done.
type site struct {
	*consoletest.Web
	house  *consoletest.TestCore
	runner *ui.CallRunner
}

func open(t *testing.T, changes ...consoletest.Change) site {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	h := consoletest.Open(t, t.TempDir(), changes...)
	var n atomic.Int64
	d := ui.NewCallRunner(life, h.App, func() string { return fmt.Sprint("job-", n.Add(1)) })
	d.Patience = time.Minute // a busy machine is no other page
	web := consoletest.Serve(t, func(mux *http.ServeMux) {
		d.Mount(mux, consoletest.Person())
		mux.Handle("GET /from", consoletest.Person()(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			ui.Page{Title: "From", Notice: d.Notice(r)}.Write(w, http.StatusOK, v)
		}))
		mux.Handle("POST /do/{tool}", consoletest.Person()(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			task := ui.Task{Title: "Do <it>", Tool: tool.Name(r.PathValue("tool")), Args: map[string]string{"name": r.PostFormValue("name"), "text": "x"}, Back: "/from"}
			if r.PostFormValue("plan") != "" {
				task.Mode = policy.Plan
			}
			if r.PostFormValue("show") != "" {
				task.Show = func(o tool.Outcome) ui.Node {
					if o.Err != nil {
						return nil
					}
					return ui.Text("shown: " + string(o.Value))
				}
			}
			d.Do(w, r, v, task)
		}))
	})
	t.Cleanup(func() { end(); drained(t, d) })
	return site{web, h, d}
}

// drained waits until nothing runs by the call runner.
func drained(t *testing.T, d *ui.CallRunner) {
	require.Eventually(t, func() bool {
		for i := range 300 {
			if j, ok := d.Find(fmt.Sprint("job-", i)); ok && j.Now().State != ui.JobOver {
				return false
			}
		}
		return true
	}, time.Minute, 5*time.Millisecond)
}

func TestReadingAndServing(t *testing.T) {
	t.Parallel()
	s := open(t)
	v := consoletest.Visitor("key_one")
	require.NoError(t, s.house.Notes.Write("a", "text"))
	var got struct{ Text string }
	require.NoError(t, s.runner.Read(t.Context(), v, "read_note", map[string]string{"name": "a"}, &got))
	assert.Equal(t, "text", got.Text)
	require.NoError(t, s.runner.Read(t.Context(), v, "list_toolsets", nil, nil))
	var wrong []int
	assert.ErrorIs(t, s.runner.Read(t.Context(), v, "read_note", map[string]string{"name": "a"}, &wrong), fault.ErrInternal)
	var f *fault.Error
	require.True(t, errors.As(s.runner.Read(t.Context(), v, "nowhere", nil, nil), &f))
	assert.Equal(t, fault.NotFound, f.Kind)
	assert.True(t, s.runner.Serves(v, "read_note"))
	assert.False(t, s.runner.Serves(v, "nowhere"))
	v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}}
	assert.False(t, s.runner.Serves(v, "read_note"))
	require.Error(t, s.runner.Read(t.Context(), v, "read_note", map[string]string{"name": "a"}, nil))
	assert.Error(t, s.runner.Outcome(t.Context(), v, "read_note", func() {}).Err)
}

func TestWhatIsDoneGoesBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.house.Notes.Write("a", "text"))
	done := s.Post("/do/read_note", "name", "a")
	assert.Equal(t, "/from?done=job-1", done.Path)
	assert.Contains(t, done.Words(), "Do <it>: done. View result")
	assert.Contains(t, s.Get("/work/job-1").Words(), "Done. text text Back")
	shown := s.Post("/do/read_note", "name", "a", "show", "yes")
	assert.Equal(t, "/work/job-2", shown.Path)
	assert.Contains(t, shown.Words(), `shown: {"text":"text"}`)
	failed := s.Post("/do/read_note", "name", "nowhere", "show", "yes")
	assert.Equal(t, "/work/job-3", failed.Path)
	assert.Contains(t, failed.Words(), "there is no note nowhere code plan_stale")
	assert.NotContains(t, s.Get("/from?done=job-3").Words(), "done", "it was not")
	assert.Equal(t, http.StatusNotFound, s.Get("/work/job-9").Status)
	assert.Equal(t, http.StatusNotFound, s.Post("/work/job-9/answer").Status)
	assert.Equal(t, http.StatusNotFound, s.Post("/work/%2F%2Fevil.example/cancel").Status)
}

func TestAPlanIsShownAndNotCarriedOut(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := s.Post("/do/copy_note", "name", "a", "plan", "yes")
	assert.Contains(t, p.Words(), "preview only, nothing was changed.")
	assert.Contains(t, s.Get("/work/job-1").Words(), "Preview only (mode: plan). Nothing was changed.")
}

func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	s := open(t)
	asks := s.Post("/do/write_note", "name", "mine")
	assert.Equal(t, "/work/job-1", asks.Path)
	assert.Contains(t, asks.Words(), "write note mine low risk")
	assert.Contains(t, asks.Body, `data-live="ai-tool-confirmation ai-tool-confirmation-closed ai-tool-state ai-tool-result"`)
	j, ok := s.runner.Find("job-1")
	require.True(t, ok)
	own, ok := s.runner.Asking(j.Now().Outcome.Request.ID)
	require.True(t, ok)
	assert.Same(t, j, own)
	done := s.Press(asks, "Approve")
	assert.Equal(t, "/from?done=job-1", done.Path)
	assert.Equal(t, "x", s.house.Notes.Read("mine"))

	denied := s.Press(s.Post("/do/write_note", "name", "other"), "Deny", "reason", "no")
	assert.Contains(t, denied.Words(), "the user denied this call")
	assert.Empty(t, s.house.Notes.Read("other"))
	assert.Equal(t, denied.Words(), s.Press(asks, "Approve").Words()[:0]+denied.Words(), "what is over takes no answer")
}

func TestAlwaysIsNotSaidToOneself(t *testing.T) {
	t.Parallel()
	s := open(t)
	asks := s.Post("/do/write_note", "name", "mine")
	done := s.Post("/work/job-1/answer", "decision", "always", "plan_hash", hash(asks))
	assert.Equal(t, "/from?done=job-1", done.Path)
	assert.Equal(t, "/work/job-2", s.Post("/do/write_note", "name", "mine").Path, "the next one asks again")
}

func hash(p consoletest.Answer) string {
	_, rest, _ := strings.Cut(p.Body, `name="plan_hash" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestANameIsTypedAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.house.Notes.Write("old", "one"))
	asks := s.Post("/do/burn_note", "name", "old")
	wrong := s.Press(asks, "Approve", "typed_value", "olt")
	assert.Contains(t, wrong.Words(), `the typed name is not "old"; 2 of 3 tries are left`)
	done := s.Press(wrong, "Approve", "typed_value", "old")
	assert.Equal(t, "/from?done=job-1", done.Path)
	assert.Empty(t, s.house.Notes.Read("old"))

	require.NoError(t, s.house.Notes.Write("old", "one"))
	asks = s.Post("/do/burn_note", "name", "old")
	for range 3 {
		asks = s.Press(asks, "Approve", "typed_value", "no")
	}
	assert.Contains(t, asks.Words(), "the name was mistyped three times")
	assert.Equal(t, "one", s.house.Notes.Read("old"))
}

func TestAnAnswerIsForThePlanThatWasShown(t *testing.T) {
	t.Parallel()
	s := open(t)
	asks := s.Post("/do/write_note", "name", "mine")
	for _, fields := range [][]string{{"decision", "approve"}, {"decision", "approve", "plan_hash", "x"}, {"plan_hash", hash(asks)}} {
		assert.Equal(t, http.StatusBadRequest, s.Post("/work/job-1/answer", fields...).Status)
	}
	other := s.Post("/work/job-1/answer", "decision", "approve", "plan_hash", "sha256:"+strings.Repeat("1", 64))
	assert.Contains(t, other.Words(), "the plan changed since this page was loaded; review the new plan")
	require.NoError(t, s.house.Notes.Write("mine", "edited meanwhile"))
	changed := s.Press(asks, "Approve")
	assert.Contains(t, changed.Words(), "the plan changed since it was approved")
	assert.Contains(t, changed.Words(), "$.context.unified")
	assert.Equal(t, "edited meanwhile", s.house.Notes.Read("mine"))
}

func TestManyAnswersAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.house.Notes.Write("old", "one"))
	asks := s.Post("/do/burn_note", "name", "old")
	j, _ := s.runner.Find("job-1")
	var shown confirm.Decision
	shown.Shown = j.Now().Outcome.Request.PlanHash
	shown.Approve, shown.Typed, shown.Proof = true, "wrong", consoletest.Visitor("key_one").Proof()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { j.Answer(t.Context(), shown) })
	}
	group.Wait()
	require.Eventually(t, func() bool { return j.Now().State == ui.JobAsking }, time.Minute, time.Millisecond)
	assert.Contains(t, s.Get(asks.Path).Words(), "tries are left", "it was not burnt by one press")
	shown.Typed = "old"
	require.Eventually(t, func() bool { j.Answer(t.Context(), shown); return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
	require.NoError(t, j.Now().Outcome.Err)
}

func TestAnsweredElsewhereItGoesOn(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]consoletest.Change{"people confirm": nil, "tokens": {consoletest.With(func(o *app.Options) { o.Policy.Approval = policy.ApprovalCaller })}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, changes...)
			s.Post("/do/write_note", "name", "approved")
			j, _ := s.runner.Find("job-1")
			_, err := s.house.Answer(t.Context(), confirm.Decision{ID: j.Now().Outcome.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
			require.NoError(t, j.Now().Outcome.Err)
			require.NoError(t, j.Now().Late, "nobody answered here")
			assert.Equal(t, "x", s.house.Notes.Read("approved"))

			s.Post("/do/write_note", "name", "denied")
			j, _ = s.runner.Find("job-2")
			_, err = s.house.Answer(t.Context(), confirm.Decision{ID: j.Now().Outcome.Request.ID, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
			require.ErrorIs(t, j.Now().Outcome.Err, confirm.ErrDenied)
			assert.Empty(t, s.house.Notes.Read("denied"))
		})
	}
}

func TestWhatTakesLongerIsFollowedAndCancelled(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.runner.Patience = time.Millisecond
	runs := s.Post("/do/copy_note", "name", "long")
	assert.Equal(t, "/work/job-1", runs.Path)
	assert.Contains(t, runs.Words(), "Running.")
	require.Eventually(t, func() bool {
		runs = s.Get("/work/job-1")
		return strings.Contains(runs.Words(), "copied a page of long") && strings.Contains(runs.Body, `<progress max="10" value="9"`)
	}, time.Minute, time.Millisecond)
	s.runner.Patience = time.Minute
	assert.Contains(t, runs.Body, `data-live="tick"`)
	over := s.Press(runs, "Cancel")
	assert.Contains(t, over.Words(), "code canceled")
	assert.Equal(t, over.Words(), s.Post("/work/job-1/cancel").Words(), "what is over stays as it is")

	s.runner.Patience = time.Millisecond
	runs = s.Post("/do/copy_note", "name", "long")
	require.NoError(t, s.house.Notes.Write("gate", "open"))
	j, _ := s.runner.Find("job-2")
	require.Eventually(t, func() bool { return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
	assert.Contains(t, s.Get(runs.Path).Words(), "Done. copied long")
}

func TestACancelledQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Post("/do/write_note", "name", "mine")
	over := s.Post("/work/job-1/cancel")
	assert.Contains(t, over.Words(), "canceled")
	views, err := s.house.Confirmations(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, views)
}

func TestItEndsWithTheServer(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(context.Background())
	h := consoletest.Open(t, t.TempDir())
	d := ui.NewCallRunner(life, h.App, func() string { return "job-1" })
	j := d.Begin(t.Context(), consoletest.Visitor("key_one"), ui.Task{Title: "x", Tool: "copy_note", Args: map[string]string{"name": "long"}})
	assert.Equal(t, ui.JobRunning, j.Now().State)
	end()
	require.Eventually(t, func() bool { return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
	assert.Error(t, j.Now().Outcome.Err)
}

func TestOnlySoManyAreRemembered(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 230 {
		s.runner.Begin(t.Context(), consoletest.Visitor("key_one"), ui.Task{Title: "x", Tool: "list_toolsets"})
	}
	_, first := s.runner.Find("job-1")
	_, last := s.runner.Find("job-230")
	assert.False(t, first)
	assert.True(t, last)
}

func TestOthersDoNotSeeIt(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	h := consoletest.Open(t, t.TempDir())
	require.NoError(t, h.Notes.Write("a", "secret text"))
	d := ui.NewCallRunner(life, h.App, func() string { return "job-1" })
	d.Patience = time.Minute
	d.Begin(t.Context(), consoletest.Visitor("key_one"), ui.Task{Title: "x", Tool: "read_note", Args: map[string]string{"name": "a"}})
	for name, other := range map[string]func(*httpauth.Identity){
		"another person":  func(v *httpauth.Identity) { v.Principal.ID = "somebody" },
		"another toolset": func(v *httpauth.Identity) { v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}} },
	} {
		web := consoletest.Serve(t, func(mux *http.ServeMux) { d.Mount(mux, consoletest.Person(other)) })
		assert.Equal(t, http.StatusNotFound, web.Get("/work/job-1").Status, name)
	}
	web := consoletest.Serve(t, func(mux *http.ServeMux) { d.Mount(mux, consoletest.Person()) })
	assert.Contains(t, web.As("key_two").Get("/work/job-1").Words(), "secret text", "the same person at another browser does")
}

func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	s := open(t)
	v := consoletest.Visitor("key_one")
	assert.True(t, s.runner.Decides(v, "burn_note"))
	assert.True(t, s.runner.Decides(v, "of_another_process"))
	for name, narrow := range map[string]func(*httpauth.Identity){
		"toolset": func(v *httpauth.Identity) { v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}} },
		"reading": func(v *httpauth.Identity) { v.Within = []tool.Restriction{{ReadOnly: true}} },
		"ceiling": func(v *httpauth.Identity) { v.Principal.Ceiling = policy.Ask },
		"grants":  func(v *httpauth.Identity) { v.Principal.Grants = policy.Read | policy.Network },
	} {
		v := consoletest.Visitor("key_one")
		narrow(&v)
		assert.False(t, s.runner.Decides(v, "burn_note"), name)
		assert.False(t, s.runner.Decides(v, "of_another_process"), name)
	}
	assert.Equal(t, "console key_one", ui.AnswererOf(v))
	assert.Equal(t, "console", ui.AnswererOf(httpauth.Identity{}))
}

func TestTheFormOfADecision(t *testing.T) {
	t.Parallel()
	render := func(c confirm.View, always bool) string {
		b := string(ui.HTML(ui.Decide(httpauth.Identity{Form: "f", Person: true, Credential: "key_1"}, "/x", c, always)))
		return b
	}
	simple := confirm.View{ID: "cf_1", Strength: policy.Simple, Prompt: `write "a"`, PlanHash: canon.SumBytes("t", nil)}
	assert.Contains(t, render(simple, true), "Always allow")
	assert.NotContains(t, render(simple, false), "Always allow")
	assert.NotContains(t, render(simple, false), "typed_value")
	scoped := simple
	scoped.Tool, scoped.Scope, scoped.Covers = "run_script", "p_1/build@5f2c", "script build of shop"
	assert.Contains(t, render(scoped, true), ">Always allow in this session: "+scoped.AlwaysTerms()+"<")
	touch := simple
	touch.Needs = policy.ProvingTouch
	assert.Contains(t, render(touch, true), "Approval needs a security key or a passkey")
	assert.NotContains(t, render(touch, true), `value="approve"`)
	assert.Contains(t, render(touch, true), `value="deny"`)
	high := simple
	high.Risk = "high"
	assert.NotContains(t, render(high, true), "Always allow")
	typed := simple
	typed.Strength, typed.Target = policy.Typed, `sh"op`
	assert.Contains(t, render(typed, true), "Type &#34;sh&#34;op&#34; to approve")
	assert.NotContains(t, render(typed, true), "Always allow")
	for _, form := range strings.Split(render(typed, true), "<form ")[1:] {
		assert.Contains(t, form, simple.PlanHash.String(), "every form says what was shown")
		assert.Contains(t, form, `name="form_token" value="f"`)
	}
	doc, err := json.Marshal(simple)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "answerer")
}

// slow is a core behind which an answer of this process comes after one of another.
type slow struct {
	*consoletest.TestCore
	before func()
}

func (s slow) Call(ctx context.Context, c tool.Call) tool.Outcome {
	if c.Decision != nil && s.before != nil {
		s.before()
	}
	return s.TestCore.Call(ctx, c)
}

// TestTheFirstAnswerWins: an answer that comes second changes nothing, and is told so; the call goes by the first.
func TestTheFirstAnswerWins(t *testing.T) {
	t.Parallel()
	for name, approve := range map[string]bool{"approved": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := consoletest.Open(t, t.TempDir())
			core := &slow{TestCore: h}
			d := ui.NewCallRunner(t.Context(), core, func() string { return "job-1" })
			d.Patience = time.Minute
			j := d.Begin(t.Context(), consoletest.Visitor("key_one"), ui.Task{Title: "x", Tool: "write_note", Args: map[string]string{"name": "mine", "text": "x"}})
			asked := j.Now().Outcome.Request
			require.NotNil(t, asked)
			core.before = func() {
				_, err := h.Answer(t.Context(), confirm.Decision{ID: asked.ID, Approve: approve, By: "terminal", Proof: person.AtTerminal})
				require.NoError(t, err)
			}
			j.Answer(t.Context(), confirm.Decision{Approve: !approve, Shown: asked.PlanHash, By: "console key_one", Proof: consoletest.Visitor("key_one").Proof()})
			require.Eventually(t, func() bool { return j.Now().State == ui.JobOver }, time.Minute, time.Millisecond)
			require.ErrorIs(t, j.Now().Late, confirm.ErrAnswered)
			if approve {
				require.NoError(t, j.Now().Outcome.Err)
				assert.Equal(t, "x", h.Notes.Read("mine"))
				return
			}
			require.ErrorIs(t, j.Now().Outcome.Err, confirm.ErrDenied)
			assert.Empty(t, h.Notes.Read("mine"))
		})
	}
}
