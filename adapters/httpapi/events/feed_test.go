package events_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

var _ events.Source = (*app.App)(nil)

// TestAQuestionOfAnotherProcessIsHeard by itself.
func TestAQuestionOfAnotherProcessIsHeard(t *testing.T) {
	home := t.TempDir()
	l, err := local.Open(config(home))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	calls := elsewhere(t, home)
	e := listen(t, newHub(t, l), events.Filter{Kinds: []string{events.KindConfirmation}})
	var took []time.Duration
	for i := range 5 {
		id := calls("create_workflow", fmt.Sprintf(`{"name":"w%d"}`, i))
		q := e.next()
		arrived := time.Now()
		var asked struct {
			CallID   string
			IssuedAt time.Time
			Client   string
			ToolName string
		}
		require.NoError(t, json.Unmarshal(q.Data, &asked))
		assert.Equal(t, id, asked.CallID)
		assert.Equal(t, "agent/1", asked.Client)
		assert.Equal(t, "create_workflow", asked.ToolName)
		took = append(took, arrived.Sub(asked.IssuedAt))
	}
	slices.Sort(took)
	t.Logf("they took %s (budget 300ms)", took) // a busy machine is no fault
}

// hidden replaces what differs from run to run.
func hidden(text string) string {
	for pattern, by := range map[string]string{
		`call_[a-z2-7]{16}`: "call_1", `cf_[a-z2-7]{10}`: "cf_1", `20\d\d-\d\d-\d\dT[0-9:.]+Z`: "TIME", `"durationMs":\d+`: `"durationMs":0`, `"durationUs":\d+`: `"durationUs":0`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, by)
	}
	return text
}

// story is events as users read them, until one of that kind.
func (e *ear) story(last string, n int) string {
	var b strings.Builder
	for seen := 0; seen < n; {
		event := e.next()
		fmt.Fprintf(&b, "%s id=%d %s\n", event.Kind, event.ID, hidden(string(event.Data)))
		if event.Kind == last {
			seen++
		}
	}
	return b.String()
}

// TestWhatIsTold of a call from the question to its end, in this order and form. Whether anybody looks while the call runs is chance.
func TestWhatIsTold(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	calls, records := listen(t, hub, events.Filter{Kinds: []string{events.KindConfirmation, events.KindClosed, events.KindState, events.KindResult}}), listen(t, hub, events.Filter{Kinds: []string{events.KindAudit}})
	require.Error(t, d.do(t, "wipe", "Carthage").Err)
	told := calls.story(events.KindState, 1)
	kept := records.story(events.KindAudit, 2) // what was asked, and that the call came to that
	d.answer(t, true)
	told += calls.story(events.KindClosed, 1)
	kept += records.story(events.KindAudit, 1)
	require.NoError(t, d.do(t, "wipe", "Carthage").Err)
	told += calls.story(events.KindResult, 1)
	kept += records.story(events.KindAudit, 2)
	told = regexp.MustCompile(`.*"status":"executing".*\n`).ReplaceAllString(told, "")
	golden.Text(t, "approved", told+kept)
}

// TestWhatIsToldOfADenial, of a failure and of a refusal.
func TestWhatIsToldOfADenial(t *testing.T) {
	d := newDepot(t, t.TempDir())
	e := listen(t, newHub(t, d), events.Filter{Kinds: []string{events.KindResult}})
	var b strings.Builder
	require.Error(t, d.do(t, "wipe", "Rome").Err)
	d.answer(t, false)
	b.WriteString(e.story(events.KindResult, 1))
	require.Error(t, d.do(t, "wipe", "stuck").Err)
	d.answer(t, true)
	require.Error(t, d.do(t, "wipe", "stuck").Err)
	b.WriteString(e.story(events.KindResult, 1))
	_, err := d.store.Save(t.Context(), app.Settings{Level: policy.ReadOnly}) // what narrows counts, whoever stored it
	require.NoError(t, err)
	require.Error(t, d.do(t, "write", "x").Err)
	b.WriteString(e.story(events.KindResult, 1))
	golden.Text(t, "refused", b.String())
}

// TestWhatRunsOutIsTold although nothing is stored then.
func TestWhatRunsOutIsTold(t *testing.T) {
	d := newDepot(t, t.TempDir())
	e := listen(t, newHub(t, d), events.Filter{Kinds: []string{events.KindConfirmation, events.KindClosed, events.KindResult}})
	require.Error(t, d.do(t, "wipe", "x").Err)
	e.until(events.KindConfirmation)
	d.clock.Advance(confirm.QuestionTTL)
	heard := map[string]events.Event{} // in either order: the clock moves while somebody looks
	for range 2 {
		event := e.next()
		heard[event.Kind] = event
	}
	assert.Equal(t, "ended", data(t, heard[events.KindClosed])["state"])
	r := data(t, heard[events.KindResult])
	assert.Equal(t, "expired", r["reason"])
	assert.Equal(t, "denied", r["status"])
	assert.Equal(t, "expired without a decision", r["error"])
	e.quiet(200 * time.Millisecond)
}

// TestWhoComesLaterHearsWhatWaits, and nothing of what has ended.
func TestWhoComesLaterHearsWhatWaits(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	require.Error(t, d.do(t, "wipe", "a").Err)
	d.clock.Advance(time.Second)
	require.Error(t, d.do(t, "wipe", "b").Err)
	d.answer(t, false)
	d.clock.Advance(time.Second)
	require.Error(t, d.do(t, "wipe", "c").Err)
	for range 2 { // with and without a pump that runs already
		e := listen(t, hub, events.Filter{Kinds: []string{events.KindConfirmation, events.KindResult}})
		for _, name := range []string{"a", "c"} {
			q := data(t, e.next())
			assert.Equal(t, map[string]any{"name": name}, q["arguments"])
			assert.Equal(t, map[string]any{"wipe": name}, q["context"])
		}
		e.quiet(100 * time.Millisecond)
	}
}

func TestFilters(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	ears := map[string]*ear{
		"session":   listen(t, hub, events.Filter{Conversation: "other"}),
		"kind":      listen(t, hub, events.Filter{Kinds: []string{events.KindResult}}),
		"narrowed":  listen(t, hub, events.Filter{Within: []tool.Restriction{{ReadOnly: true}}}),
		"excluding": listen(t, hub, events.Filter{Within: []tool.Restriction{{}, {Exclude: []string{"write"}}}}),
		"elsewhere": listen(t, hub, events.Filter{Within: []tool.Restriction{{Toolsets: []string{"packs"}}}}),
		"all":       listen(t, hub, events.Filter{}),
	}
	require.NoError(t, d.do(t, "write", "x").Err)
	ears["all"].until(events.KindAudit)
	assert.Equal(t, "write", ears["kind"].next().Tool)
	require.NoError(t, d.do(t, "look", "x").Err)
	for _, who := range []string{"narrowed", "excluding"} {
		heard := ears[who].next()
		assert.Equal(t, "look", heard.Tool, who)
		assert.Equal(t, events.KindAudit, heard.Kind)
	}
	ears["session"].quiet(50 * time.Millisecond)
	ears["elsewhere"].quiet(0)
	ears["kind"].quiet(0)
	other := agent("look", `{"name":"y"}`)
	other.Session = "other"
	require.NoError(t, d.Call(t.Context(), other).Err)
	assert.Equal(t, "other", ears["session"].next().Conversation)
}

// TestReplay: who comes again hears all that happened since, each once, and then goes on.
func TestReplay(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	e := listen(t, hub, events.Filter{})
	require.NoError(t, d.do(t, "write", "1").Err)
	var last events.Event
	for range 2 {
		last = e.until(events.KindAudit)
	}
	e.leave()
	require.EqualValues(t, 2, last.ID)
	d.clock.Advance(time.Millisecond)
	require.Error(t, d.do(t, "wipe", "2").Err)
	d.answer(t, true)
	require.NoError(t, d.do(t, "wipe", "2").Err)
	require.Error(t, d.do(t, "wipe", "3").Err)
	d.answer(t, false)
	require.Error(t, d.do(t, "wipe", "4").Err)
	d.clock.Advance(confirm.QuestionTTL)
	require.Error(t, d.do(t, "wipe", "5").Err)
	require.NoError(t, d.Close(t.Context())) // what was read is in the audit now
	want := []string{"2 completed", "3 denied", "4 denied"}
	for range 2 {
		e = listen(t, hub, events.Filter{After: last.ID})
		var ended []string
		var ids []int64
		for {
			event := e.next()
			if event.Kind == events.KindConfirmation {
				assert.Equal(t, map[string]any{"name": "5"}, data(t, event)["arguments"], "what waits comes last")
				break
			}
			switch event.Kind {
			case events.KindResult:
				r := data(t, event)
				rec, err := d.CallRecord(t.Context(), event.Call)
				require.NoError(t, err)
				var args target
				require.NoError(t, json.Unmarshal(rec.Args, &args))
				ended = append(ended, args.Name+" "+r["status"].(string))
			case events.KindAudit:
				ids = append(ids, event.ID)
			}
		}
		assert.ElementsMatch(t, want, ended)
		for i, id := range ids {
			assert.Equal(t, last.ID+1+int64(i), id, "no record is missing, and none comes twice")
		}
		tail, err := d.AuditTail(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, tail[0].Seq, ids[len(ids)-1])
	}
	e = listen(t, hub, events.Filter{After: 1 << 40, Kinds: []string{events.KindAudit, events.KindResult}})
	e.quiet(100 * time.Millisecond) // of a database that there is no more
}

// TestReplayIsBounded, and says that something is missing.
func TestReplayIsBounded(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	d.clock.Advance(-events.ReplayedFor - time.Hour)
	for i := range 3 {
		require.NoError(t, d.do(t, "write", fmt.Sprint("old", i)).Err)
	}
	d.clock.Set(time.Now())
	require.NoError(t, d.do(t, "write", "new").Err)
	e := listen(t, hub, events.Filter{After: 1})
	gap := e.next()
	require.Equal(t, events.KindGap, gap.Kind)
	assert.JSONEq(t, `{"after":1,"next":7}`, string(gap.Data))
	assert.EqualValues(t, 7, e.until(events.KindAudit).ID, "a day is as far back as it goes")
	e.leave()

	const more = events.ReplayedEvents + 50
	for i := range more {
		require.NoError(t, d.do(t, "look", fmt.Sprint(i)).Err)
	}
	require.NoError(t, d.Close(t.Context())) // what was read is in the audit now
	e = listen(t, hub, events.Filter{After: 8})
	gap = e.next()
	require.Equal(t, events.KindGap, gap.Kind)
	assert.JSONEq(t, fmt.Sprintf(`{"after":8,"next":%d}`, 8+50+1), string(gap.Data))
	for id := int64(8 + 50 + 1); id <= 8+more; id++ {
		require.Equal(t, id, e.until(events.KindAudit).ID)
	}
	e.quiet(100 * time.Millisecond)
}

// TestASlowListenerIsLetGo, and nobody else notices.
func TestASlowListenerIsLetGo(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	slow, quick := listen(t, hub, events.Filter{Kinds: []string{events.KindAudit}}), listen(t, hub, events.Filter{Kinds: []string{events.KindAudit}})
	heard := make(chan int)
	const calls = 2 * events.MaxQueued // stored in groups of hundreds
	go func() {
		n := 0
		for ; n < calls; n++ {
			<-quick.events
		}
		heard <- n
	}()
	for i := range calls {
		require.NoError(t, d.do(t, "look", fmt.Sprint(i)).Err)
	}
	require.NoError(t, d.Close(t.Context()))
	assert.Equal(t, calls, <-heard)
	var last events.Event
	n := 0
	for event := range slow.events {
		last = event
		n++
	}
	assert.Equal(t, events.KindLagged, last.Kind)
	assert.Less(t, n, calls)
	require.Eventually(t, func() bool { return hub.Listeners() == 1 }, time.Minute, time.Millisecond, "it is gone; the other one stays")
}

// TestNobodyLooksWhenNobodyListens.
func TestNobodyLooksWhenNobodyListens(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	for range 3 {
		e := listen(t, hub, events.Filter{})
		require.NoError(t, d.do(t, "write", "x").Err)
		e.next()
		assert.Equal(t, 1, hub.Listeners())
		e.leave()
		require.Eventually(t, func() bool { return hub.Listeners() == 0 }, time.Minute, time.Millisecond)
		for range e.events { // closed
		}
	}
	assert.Positive(t, d.reads.Load())
	require.Eventually(t, func() bool { // a look that had begun may end
		before := d.reads.Load()
		<-time.After(250 * time.Millisecond) // several looks, if anybody still looked: that nothing happens takes a while to see
		return d.reads.Load() == before
	}, time.Minute, time.Millisecond)
	hub.Close()
	_, more := <-hub.Subscribe(t.Context(), events.Filter{})
	assert.False(t, more, "a hub that is closed tells nothing")
}

// TestALockedDatabaseTellsNothing that is not so: what happened meanwhile is told once it can be read.
func TestALockedDatabaseTellsNothing(t *testing.T) {
	d := newDepot(t, t.TempDir())
	hub := newHub(t, d)
	require.Error(t, d.do(t, "wipe", "x").Err)
	e := listen(t, hub, events.Filter{Kinds: []string{events.KindConfirmation, events.KindClosed, events.KindResult}})
	e.until(events.KindConfirmation)
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(d.path))
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	e.quiet(300 * time.Millisecond)
	late := listen(t, hub, events.Filter{Kinds: []string{events.KindConfirmation}})
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	late.until(events.KindConfirmation)
	d.answer(t, false)
	assert.Equal(t, "user_denied", data(t, e.until(events.KindResult))["reason"])
}

// failing is a source that cannot be read while a test says so.
type failing struct {
	*fixture
	broken chan struct{} // closed: it can be read
}

func (f failing) Confirmations(ctx context.Context, session string) ([]confirm.View, error) {
	select {
	case <-f.broken:
		return f.fixture.Confirmations(ctx, session)
	default:
		return nil, errStuck
	}
}

// TestWhatCannotBeReadIsTriedAgain: nobody hears that questions have ended because they cannot be read.
func TestWhatCannotBeReadIsTriedAgain(t *testing.T) {
	d := failing{newDepot(t, t.TempDir()), make(chan struct{})}
	hub := newHub(t, d)
	require.Error(t, d.do(t, "wipe", "x").Err)
	e := listen(t, hub, events.Filter{}) // which waits no longer than it has to
	e.quiet(100 * time.Millisecond)
	close(d.broken)
	e.until(events.KindConfirmation)
}

// TestLongThingsAreCut: an event is small, whatever a call is.
func TestLongThingsAreCut(t *testing.T) {
	d := newDepot(t, t.TempDir())
	e := listen(t, newHub(t, d), events.Filter{Kinds: []string{events.KindConfirmation, events.KindResult}})
	long := strings.Repeat("é", 40<<10)
	require.Error(t, d.do(t, "wipe", long).Err)
	q := e.next()
	assert.Less(t, len(q.Data), 4*events.MaxField)
	asked := data(t, q)
	assert.Equal(t, true, asked["truncated"])
	assert.Equal(t, true, asked["arguments"].(map[string]any)["truncated"])
	require.NoError(t, d.do(t, "write", long).Err)
	r := data(t, e.next())
	assert.Equal(t, true, r["truncated"])
	assert.LessOrEqual(t, len(r["output"].(string)), events.MaxField)
	require.NoError(t, d.do(t, "write", "short\x00\u2028").Err)
	r = data(t, e.next())
	assert.Equal(t, false, r["truncated"])
	assert.Equal(t, "short\x00\u2028", r["output"])
}
