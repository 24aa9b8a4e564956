package dualera_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/dualera"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// asked is the confirmation that waits, as soon as there is one.
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

// pending is how many confirmations wait.
func (s *site) pending() int {
	found, err := s.Confirmations(context.Background(), "")
	require.NoError(s.t, err)
	return len(found)
}

// beat is how often a call that waits looks around.
const beat = 20 * time.Millisecond

func waits(d time.Duration) func(*dualera.Options, *mcpserver.Options) {
	return func(_ *dualera.Options, m *mcpserver.Options) { m.Wait = d }
}

// Where only people confirm, a call waits for one and goes on, in every era and either way; one that wants reports gets them.
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
				<-time.After(60 * time.Millisecond) // a beat or two
			}
			_, err := s.Answer(t.Context(), confirm.Answer{ID: v.ID, Approve: true, By: "console"})
			require.NoError(t, err)
			a := soon(t, answers)
			text, failed := resultOf(t, a)
			assert.False(t, failed, text)
			assert.EqualValues(t, 1, s.razed.Load())
			if meta != "" {
				require.Greater(t, len(a.events), 1)
				assert.Contains(t, string(a.events[0]), "countersign approve "+v.ID)
			}
			assert.Len(t, intents(t, s.town), 1)
		}
	}
}

// intents are the changes on record, by call.
func intents(t *testing.T, w *town) map[string]audit.Event {
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
			_, err := s.Answer(t.Context(), confirm.Answer{ID: v.ID, Approve: true, By: "console"})
			require.NoError(t, err)
			_, failed = c.call("wipe", `{"name":"x"}`)
			assert.False(t, failed, "the same call again passes")
			assert.EqualValues(t, 1, s.razed.Load())
		}
		s := serve(t, newTown(t, true), waits(-1))
		c := s.as("ann").in(era)
		answers := c.later(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, `{"countersign/confirm_wait_ms":60000}`)))
		_, err := s.Answer(t.Context(), confirm.Answer{ID: s.asked().ID, Approve: true, By: "console"})
		require.NoError(t, err)
		_, failed := resultOf(t, soon(t, answers))
		assert.False(t, failed, "and one that waits although nobody else does")
		for _, bad := range []string{`"1s"`, "-1", "600001", "1.5", "null", "true"} {
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

// A client that cancels withdraws its question; one that is lost, and one whose session ends, leave it to the person. In the newer era to be lost is
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
			leaves(c, hangUp)
			soon(t, answers)
			require.Eventually(t, func() bool { return time.Since(time.Unix(0, s.looked.Load())) > 10*beat }, patience, beat, "nobody waits any more")
			assert.Equal(t, 1, s.pending())
			_, err := s.Answer(t.Context(), confirm.Answer{ID: v.ID, Approve: true, By: "console"})
			require.NoError(t, err, "a person may still answer")
			assert.Zero(t, s.razed.Load(), "nobody is there to have it done")
			hangUp()
		}
	}
}

// form is what a client of the older era was asked on the stream of its call.
type form struct {
	id     string
	params json.RawMessage
}

// elicit calls a tool and answers the form that comes with reply.
func (c *caller) elicit(r *http.Request, reply string) (shown form, last message) {
	c.t.Helper()
	res, err := c.client.Do(r)
	require.NoError(c.t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		last = message{}
		require.NoError(c.t, json.Unmarshal(data, &last))
		if last.Method == "elicitation/create" {
			shown = form{id: string(last.ID), params: last.Params}
			assert.Equal(c.t, 202, c.post(`{"jsonrpc":"2.0","id":`+shown.id+reply+`}`).status)
		}
	}
	return shown, last
}

// A client that shows forms is asked there, and one call is made of it; whatever is not an approval denies.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for reply, razed := range map[string]int64{
		`,"result":{"action":"accept","content":{"decision":"approve"}}`: 1, `,"result":{"action":"accept","content":{"decision":"deny"}}`: 0,
		`,"result":{"action":"accept","content":{}}`: 0, `,"result":{"action":"decline"}`: 0, `,"error":{"code":-32601,"message":"no forms"}`: 0,
	} {
		for _, humanOnly := range []bool{false, true} {
			for _, meta := range []string{"", `{"progressToken":1}`} {
				s := serve(t, newTown(t, humanOnly), waits(time.Minute))
				c := s.as("ann").connect("2025-11-25", `{"elicitation":{}}`)
				shown, last := c.elicit(c.ask("1", "tools/call", toolCall("wipe", `{"name":"Carthage"}`, meta)), reply)
				assert.Contains(t, string(shown.params), "raze Carthage to the ground", reply)
				require.Nil(t, last.Error)
				assert.Equal(t, razed == 0, strings.Contains(string(last.Result), `"isError":true`), "%s", last.Result)
				assert.Equal(t, razed, s.razed.Load(), reply)
				assert.Zero(t, s.pending(), "the question is settled either way")
				assert.Len(t, intents(t, s.town), int(razed))
				for _, e := range intents(t, s.town) {
					assert.Equal(t, "elicitation", e.ApprovedBy)
					assert.Equal(t, "probe 9", e.Client)
				}
			}
		}
	}
}

// In the newer era the question is the result, and the call comes again with the answer, from the same client alone.
func TestElicitationInRounds(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, true), waits(time.Minute))
	c, thief := s.as("ann").newer(), s.as("bob").newer()
	c.caps, thief.caps = `{"elicitation":{}}`, `{"elicitation":{}}`
	var first struct {
		ResultType, RequestState string
		InputRequests            map[string]struct{ Params json.RawMessage }
	}
	a := c.do(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, "")))
	require.NoError(t, json.Unmarshal(a.last(t).Result, &first))
	assert.Equal(t, "input_required", first.ResultType)
	assert.Contains(t, string(first.InputRequests["confirmation"].Params), "raze x to the ground")
	second := `{"name":"wipe","arguments":{"name":"x"},"inputResponses":{"confirmation":{"action":"accept","content":{"decision":"approve"}}},"requestState":"` + first.RequestState + `"}`
	a = thief.do(thief.ask("2", "tools/call", second))
	assert.Equal(t, 400, a.status)
	assert.EqualValues(t, -32602, a.last(t).Error.Code)
	assert.Equal(t, 1, s.pending(), "nobody else answers for it")
	_, failed := resultOf(t, c.do(c.ask("2", "tools/call", second)))
	assert.False(t, failed)
	assert.EqualValues(t, 1, s.razed.Load())
	_, failed = resultOf(t, c.do(c.ask("3", "tools/call", second)))
	assert.True(t, failed, "once")
	assert.EqualValues(t, 1, s.razed.Load())
	assert.Len(t, intents(t, s.town), 1)
}

// A call that is cancelled while a form is shown is denied, although it was begun without the SDK.
func TestCancellingAForm(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, true), waits(time.Minute))
	for range 20 { // at whatever moment
		c := s.as("ann").connect("2025-11-25", `{"elicitation":{}}`)
		answers := c.later(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, "")))
		s.asked()
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		soon(t, answers)
		require.Eventually(t, func() bool { return s.pending() == 0 }, patience, time.Millisecond)
	}
	assert.Zero(t, s.razed.Load())
}

// What a client was granted for a session goes with the session.
func TestGrantsEndWithTheSession(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", `{"elicitation":{}}`)
	c.elicit(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, "")), `,"result":{"action":"accept","content":{"decision":"always"}}`)
	a := c.do(c.ask("2", "tools/call", toolCall("wipe", `{"name":"x"}`, "")))
	assert.Equal(t, "application/json", a.header.Get("Content-Type"), "it is not asked again")
	assert.EqualValues(t, 2, s.razed.Load())
	old := c.session
	assert.Equal(t, 204, c.do(c.request(http.MethodDelete, "")).status)
	c.session = ""
	c.connect("2025-11-25", `{"elicitation":{}}`)
	assert.NotEqual(t, old, c.session)
	shown, _ := c.elicit(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, "")), `,"result":{"action":"decline"}`)
	assert.NotEmpty(t, shown.id)
	assert.EqualValues(t, 2, s.razed.Load())
}

// A connection that is lost while a form is shown cancels nothing in the older era: the answer comes by another one, and counts.
func TestAFormOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{"", `{"progressToken":1}`} {
		s := serve(t, newTown(t, true), waits(time.Minute))
		c := s.as("ann").connect("2025-11-25", `{"elicitation":{}}`)
		ctx, hangUp := context.WithCancel(context.Background())
		res, err := c.client.Do(c.ask("1", "tools/call", toolCall("wipe", `{"name":"x"}`, meta)).WithContext(ctx))
		require.NoError(t, err)
		lines := bufio.NewScanner(res.Body)
		var shown message
		for shown.Method != "elicitation/create" && lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				require.NoError(t, json.Unmarshal(data, &shown))
			}
		}
		hangUp()
		_ = res.Body.Close()
		<-time.After(50 * time.Millisecond) // for the server to see it
		assert.Equal(t, 1, s.pending())
		assert.Equal(t, 202, c.post(`{"jsonrpc":"2.0","id":`+string(shown.ID)+`,"result":{"action":"accept","content":{"decision":"approve"}}}`).status)
		require.Eventually(t, func() bool { return s.razed.Load() == 1 }, patience, time.Millisecond)
	}
}
