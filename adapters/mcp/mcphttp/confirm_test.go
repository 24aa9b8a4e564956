package mcphttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// atConsole is the proof of a decision in the console.
var atConsole = confirm.Proof{Surface: confirm.SurfaceConsole, User: "tester"}

// asked returns the confirmation that waits, as soon as there is one.
func (s *site) asked() confirm.View {
	s.t.Helper()
	var found []confirm.View
	require.Eventually(s.t, func() bool {
		var err error
		found, err = s.Confirmations(context.Background(), "")
		return err == nil && len(found) > 0 && found[0].State == confirm.Pending.String()
	}, patience, time.Millisecond)
	require.Len(s.t, found, 1)
	return found[0]
}

// pending returns how many confirmations wait.
func (s *site) pending() int {
	found, err := s.Confirmations(context.Background(), "")
	require.NoError(s.t, err)
	return len(found)
}

// beat is how often a call that waits looks around.
const beat = 20 * time.Millisecond

func waits(d time.Duration) func(*mcphttp.EndpointOptions, *mcpserver.Options) {
	return func(_ *mcphttp.EndpointOptions, m *mcpserver.Options) { m.Wait = d }
}

// Where only users confirm, a call waits for one and goes on, in every era and either way; one that wants reports gets them.
func TestACallWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"2025-11-25", modern} {
		for _, meta := range []string{"", `{"progressToken":"t"}`} {
			s := serve(t, newTown(t, true), waits(time.Minute))
			c := s.as("ann").in(era)
			answers := c.later(c.ask("1", "tools/call", toolCall("wipe", `{"name":"Carthage"}`, meta)))
			v := s.asked()
			_, failed := c.call("look", "{}")
			assert.False(t, failed, "others go on")
			if meta != "" {
				require.Eventually(t, func() bool { return s.looked.Load() > 3 }, patience, time.Millisecond, "a beat or two")
			}
			_, err := s.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "console", Proof: atConsole})
			require.NoError(t, err)
			a := soon(t, answers)
			text, failed := resultOf(t, a)
			assert.False(t, failed, text)
			assert.EqualValues(t, 1, s.razed.Load())
			if meta != "" {
				require.Greater(t, len(a.events), 1)
				assert.Contains(t, string(a.events[0]), "countersign approve "+v.ID)
			}
			assert.Len(t, intents(t, s.fixture), 1)
		}
	}
}

// intents returns the changes on record, by call.
func intents(t *testing.T, w *fixture) map[string]audit.Event {
	records, err := w.store.Records(context.Background(), 0, 1000)
	require.NoError(t, err)
	found := map[string]audit.Event{}
	for _, r := range records {
		if r.Event.Phase == audit.Intent {
			found[r.Event.CallID] = r.Event
		}
	}
	return found
}

// A client that would rather not wait has its call answered at once, by a header or by the call's own word, which wins; then it asks again.
func TestPendingAtOnce(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"2025-11-25", modern} {
		for name, how := range map[string]struct{ header, meta string }{
			"a header": {"0s", ""}, "its _meta": {"", `{"countersign/confirm_wait_ms":0}`}, "its _meta over a header": {"10m", `{"countersign/confirm_wait_ms":0}`},
			"its _meta, by the SDK": {"10m", `{"countersign/confirm_wait_ms":0,"progressToken":1}`}, "a header, by the SDK": {"0s", `{"progressToken":1}`}, "a moment": {"20ms", ""},
		} {
			s := serve(t, newTown(t, true), waits(time.Minute))
			c := s.as("ann").in(era)
			if how.header != "" {
				c.extra["X-Mcp-Confirm-Wait"] = []string{how.header}
			}
			r := c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, how.meta))
			text, failed := resultOf(t, soon(t, c.later(r)))
			assert.True(t, failed, name)
			v := s.asked()
			assert.Contains(t, text, v.ID, "the id to poll: %s", name)
			listed, _ := c.call("list_confirmations", "{}")
			assert.Contains(t, listed, v.ID)
			_, err := s.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "console", Proof: atConsole})
			require.NoError(t, err)
			_, failed = c.call("wipe", `{"name":"x"}`)
			assert.False(t, failed, "the same call again passes")
			assert.EqualValues(t, 1, s.razed.Load())
		}
		s := serve(t, newTown(t, true), waits(-1))
		c := s.as("ann").in(era)
		answers := c.later(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, `{"countersign/confirm_wait_ms":60000}`)))
		_, err := s.Answer(t.Context(), confirm.Decision{ID: s.asked().ID, Approve: true, By: "console", Proof: atConsole})
		require.NoError(t, err)
		_, failed := resultOf(t, soon(t, answers))
		assert.False(t, failed, "and one that waits although nobody else does")
		for _, bad := range []string{`"1s"`, "-1", "86400001", "1.5", "null", "true"} {
			for _, more := range []string{"", `,"progressToken":1`} {
				a := c.do(c.ask("1", "tools/call", toolCall("wipe", `{"name":"y"}`, `{"countersign/confirm_wait_ms":`+bad+more+`}`)))
				if assert.NotNil(t, a.last(t).Error, bad) {
					assert.EqualValues(t, -32602, a.last(t).Error.Code, bad)
				}
			}
		}
		assert.Zero(t, s.pending(), "a call that is not understood is not made")
	}
}

// A client that cancels withdraws its question; one that is lost, and one whose session ends, leave it to the user. In the newer era to be lost is
// to cancel.
func TestAQuestionAndItsClient(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{"", `{"progressToken":1}`} {
		wipe := func(c *caller) *http.Request { return c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, meta)) }
		s := serve(t, newTown(t, true), waits(time.Minute))
		c := s.as("ann").connect("2025-11-25", "{}")
		answers := c.later(wipe(c))
		s.asked()
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		soon(t, answers)
		require.Eventually(t, func() bool { return s.pending() == 0 }, patience, time.Millisecond, "cancelled")

		c = s.as("ann").newer()
		ctx, hangUp := context.WithCancel(context.Background())
		answers = c.later(wipe(c).WithContext(ctx))
		s.asked()
		hangUp()
		soon(t, answers)
		require.Eventually(t, func() bool { return s.pending() == 0 }, patience, time.Millisecond, "cancelled by hanging up")

		for _, leaves := range []func(c *caller, hangUp func()){
			func(_ *caller, hangUp func()) { hangUp() },
			func(c *caller, _ func()) { assert.Equal(t, 204, c.do(c.request(http.MethodDelete, "")).status) },
			func(*caller, func()) { s.end() },
		} {
			s = serve(t, newTown(t, true), waits(time.Minute))
			c = s.as("ann").connect("2025-11-25", "{}")
			ctx, hangUp = context.WithCancel(context.Background())
			answers = c.later(wipe(c).WithContext(ctx))
			v := s.asked()
			require.Eventually(t, func() bool { return s.waiting.Load() == 1 }, patience, time.Millisecond)
			leaves(c, hangUp)
			soon(t, answers)
			require.Eventually(t, func() bool { return s.waiting.Load() == 0 }, patience, time.Millisecond, "nobody waits any more")
			assert.Equal(t, 1, s.pending())
			_, err := s.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "console", Proof: atConsole})
			require.NoError(t, err, "a person may still answer")
			assert.Zero(t, s.razed.Load(), "nobody is there to have it done")
			hangUp()
		}
	}
}

// What a client asked whose connection is lost is picked up by the same call, made anew by the same principal: in a session of its own, as after a crash,
// or in the one that it still has. Nobody else picks it up.
func TestALostClientsQuestionIsPickedUp(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{"", `{"progressToken":1}`} {
		for _, same := range []bool{false, true} {
			s := serve(t, newTown(t, true), waits(time.Minute))
			wipe := func(c *caller) *http.Request { return c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, meta)) }
			c := s.as("ann").connect("2025-11-25", "{}")
			ctx, hangUp := context.WithCancel(context.Background())
			answers := c.later(wipe(c).WithContext(ctx))
			v := s.asked()
			assert.False(t, v.Gone)
			hangUp()
			soon(t, answers)
			require.Eventually(t, func() bool { return s.asked().Gone }, patience, time.Millisecond)
			_, err := s.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "console", Proof: atConsole})
			require.NoError(t, err)

			other := s.as("bob").connect("2025-11-25", "{}")
			other.extra["X-Mcp-Confirm-Wait"] = []string{"0s"}
			text, failed := resultOf(t, other.do(wipe(other)))
			assert.True(t, failed)
			assert.NotContains(t, text, v.ID)
			assert.Zero(t, s.razed.Load())

			if !same {
				c = s.as("ann").connect("2025-11-25", "{}")
			}
			text, failed = resultOf(t, soon(t, c.later(wipe(c))))
			assert.False(t, failed, text)
			assert.EqualValues(t, 1, s.razed.Load())
		}
	}
}

// TestNoFormCounts over a network: none is shown, whatever the client says it can do and calls itself, and an answer of its own making is refused.
func TestNoFormCounts(t *testing.T) {
	t.Parallel()
	yes := `"inputResponses":{"confirmation":{"action":"accept","content":{"decision":"approve"}}}`
	for _, era := range []string{"2025-11-25", modern} {
		for _, meta := range []string{"", `{"progressToken":1}`} {
			s := serve(t, newTown(t, true), waits(beat), func(_ *mcphttp.EndpointOptions, m *mcpserver.Options) { m.Entry = "some-host" })
			person.Settings(t, s.App, func(now *app.Settings) error { now.Forms = []string{"some-host", "", "probe"}; return nil })
			c := s.as("ann")
			if c.caps = `{"elicitation":{}}`; era == modern {
				c.newer()
			} else {
				c.connect(era, c.caps)
			}
			a := c.do(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, meta)))
			_, failed := resultOf(t, a)
			assert.True(t, failed)
			assert.NotContains(t, string(a.body), "elicitation/create")
			assert.NotContains(t, string(a.body), "input_required")
			v := s.asked()
			for _, own := range []string{yes, yes + `,"requestState":"` + v.ID + `"`} {
				a = c.do(c.ask("2", "tools/call", `{"name":"wipe","arguments":{"name":"x"},`+own+`}`))
				m := a.last(t)
				require.NotNil(t, m.Error, "%s", a.body)
				assert.EqualValues(t, -32602, m.Error.Code)
			}
			assert.Zero(t, s.razed.Load())
			assert.Equal(t, v.ID, s.asked().ID)
		}
	}
}

// What a client was granted for a session goes with the session.
func TestGrantsEndWithTheSession(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, true), waits(time.Minute))
	c := s.as("ann").connect("2025-11-25", "{}")
	wipe := func() *http.Request { return c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, "")) }
	answers := c.later(wipe())
	_, err := s.Answer(t.Context(), confirm.Decision{ID: s.asked().ID, Approve: true, Always: true, By: "console", Proof: atConsole})
	require.NoError(t, err)
	_, failed := resultOf(t, soon(t, answers))
	require.False(t, failed)
	_, failed = resultOf(t, c.do(wipe()))
	require.False(t, failed, "it is not asked again")
	assert.EqualValues(t, 2, s.razed.Load())
	old := c.session
	assert.Equal(t, 204, c.do(c.request(http.MethodDelete, "")).status)
	c.session = ""
	c.connect("2025-11-25", "{}")
	assert.NotEqual(t, old, c.session)
	c.extra["X-Mcp-Confirm-Wait"] = []string{"0s"}
	_, failed = resultOf(t, c.do(wipe()))
	assert.True(t, failed)
	s.asked()
	assert.EqualValues(t, 2, s.razed.Load())
}
