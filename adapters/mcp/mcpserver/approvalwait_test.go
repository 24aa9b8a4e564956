package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/countersign-dev/countersign/ports"
)

// patient has calls wait so long for users.
func patient(w *fixture, wait time.Duration) func(*mcpserver.Options) {
	return func(o *mcpserver.Options) { o.People, o.Wait, o.Beat = w, wait, 20*time.Millisecond }
}

// asked returns the confirmation that waits, as soon as there is one.
func (w *fixture) asked(t *testing.T) confirm.View {
	t.Helper()
	var found []confirm.View
	require.Eventually(t, func() bool {
		var err error
		found, err = w.Confirmations(context.Background(), "")
		return err == nil && len(found) > 0 && found[0].State == confirm.Pending.String()
	}, time.Minute, time.Millisecond)
	require.Len(t, found, 1)
	return found[0]
}

// TestACallWaitsForAPerson and is then carried out, in its own record, in every era (packageflow contract §5.2, MCP wait protocol).
func TestACallWaitsForAPerson(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			w := newTown(t, true)
			s := connect(t, w, era, patient(w, time.Minute), nil)
			answered := make(chan *mcp.CallToolResult, 1)
			go func() { answered <- call(t, s, "raze", map[string]any{"name": "Carthage"}) }()
			v := w.asked(t)
			assert.JSONEq(t, `{"name":"Carthage"}`, string(v.Arguments))
			require.False(t, call(t, s, "look", map[string]any{"name": "x"}).IsError, "others go on")
			_, err := w.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, Typed: "Carthage", By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			r := <-answered
			require.False(t, r.IsError, text(r))
			assert.EqualValues(t, 1, w.razed.Load())
			runs, err := w.Calls(t.Context(), ports.RunFilter{})
			require.NoError(t, err)
			require.Len(t, runs, 1, "question and execution are one call")
			assert.Equal(t, tool.StatusCompleted, runs[0].Status)
			assert.Equal(t, runs[0].CallID, runs[0].Redeemed)
			assert.Equal(t, "terminal", runs[0].Decision)
		})
	}
}

// TestADenialEndsTheWait with what the user said.
func TestADenialEndsTheWait(t *testing.T) {
	w := newTown(t, true)
	s := connect(t, w, "2025-11-25", patient(w, time.Minute), nil)
	answered := make(chan *mcp.CallToolResult, 1)
	go func() { answered <- call(t, s, "wipe", map[string]any{"name": "x"}) }()
	_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Reason: "not today\u202e" + strings.Repeat("!", 600), By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	r := <-answered
	require.True(t, r.IsError)
	assert.Contains(t, text(r), `"confirm_denied"`)
	assert.Contains(t, text(r), "the user denied this call: not today␣U+202E!!!")
	assert.Contains(t, text(r), "(denied in a terminal; nothing was changed; do not repeat the call, ask what they want instead)")
	assert.NotContains(t, text(r), strings.Repeat("!", confirm.MaxReason), "a reason has its bounds")
	assert.Zero(t, w.razed.Load())
	runs, err := w.Calls(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, tool.ReasonUserDenied, runs[0].Reason)
	assert.Contains(t, runs[0].Said, "not today")
}

// TestNobodyDecides: the call says that it is pending, and passes when it is repeated after an approval.
func TestNobodyDecides(t *testing.T) {
	w := newTown(t, true)
	s := connect(t, w, "2025-11-25", patient(w, 100*time.Millisecond), nil)
	began := time.Now()
	r := call(t, s, "wipe", map[string]any{"name": "x"})
	assert.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.True(t, r.IsError)
	assert.Contains(t, text(r), `"confirm_token_required"`)
	_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.False(t, call(t, s, "wipe", map[string]any{"name": "x"}).IsError)
	assert.EqualValues(t, 1, w.razed.Load())
}

// TestWaitingIsReported to a client that wants to know, with rising values, and steps still come after that.
func TestWaitingIsReported(t *testing.T) {
	w := newTown(t, true)
	r, wr := serve(t, w, patient(w, time.Minute))
	c := stdiotest.Pipe(t, wr, r)
	c.Initialize("2025-11-25")
	c.Send(`{"id":1,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"x"},"_meta":{"progressToken":"t"}}}`)
	last := -1.0
	for range 3 {
		var m struct {
			Method string
			Params struct {
				Progress float64
				Message  string
			}
		}
		require.NoError(t, json.Unmarshal(c.Recv(), &m))
		require.Equal(t, "notifications/progress", m.Method)
		assert.Contains(t, m.Params.Message, "countersign approve "+w.asked(t).ID)
		assert.Greater(t, m.Params.Progress, last)
		last = m.Params.Progress
	}
	_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.Equal(t, []string{"1:ok"}, gistsBut(t, c, "notifications/progress", 1))
}

// TestACancelledCallWithdrawsItsQuestion, so that a late yes is of no use.
func TestACancelledCallWithdrawsItsQuestion(t *testing.T) {
	for _, approved := range []bool{false, true} {
		t.Run(fmt.Sprint("approved ", approved), func(t *testing.T) {
			w := newTown(t, true)
			r, wr := serve(t, w, patient(w, time.Minute))
			c := stdiotest.Pipe(t, wr, r)
			c.Initialize("2025-11-25")
			c.Send(callTool("1", "wipe", `{"name":"x"}`))
			v := w.asked(t)
			c.Send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
			require.Contains(t, gist(t, c.Recv()), "1:")
			_, err := w.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: approved, By: "terminal", Proof: person.AtTerminal})
			require.ErrorIs(t, err, confirm.ErrUnknown)
			runs, err := w.Calls(t.Context(), ports.RunFilter{})
			require.NoError(t, err)
			require.Len(t, runs, 1)
			assert.Equal(t, tool.ReasonCancelled, runs[0].Reason)
			assert.Zero(t, w.razed.Load())
		})
	}
}

// TestACallThatWasRepeatedBeforeItsCancellation asks for itself: the question of the cancelled one goes, and what is repeated waits for an answer to its own.
func TestACallThatWasRepeatedBeforeItsCancellation(t *testing.T) {
	w := newTown(t, true)
	r, wr := serve(t, w, patient(w, time.Minute))
	c := stdiotest.Pipe(t, wr, r)
	c.Initialize("2025-11-25")
	c.Send(callTool("1", "wipe", `{"name":"x"}`))
	v := w.asked(t)
	c.Send(`{"id":2,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"x"},"_meta":{"progressToken":"t"}}}`)
	require.Equal(t, "notifications/progress", gist(t, c.Recv()), "the repeated call waits, for the same question")
	c.Send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	var anew string
	require.Eventually(t, func() bool {
		all, err := w.Confirmations(context.Background(), "")
		if err == nil && len(all) == 1 {
			anew = all[0].ID
		}
		return anew != "" && anew != v.ID
	}, time.Minute, time.Millisecond)
	_, err := w.Answer(t.Context(), confirm.Decision{ID: anew, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"1:fails", "2:ok"}, gistsBut(t, c, "notifications/progress", 2))
	assert.EqualValues(t, 1, w.razed.Load())
}

// TestACallThatTookItsClientTooLongLeavesItsQuestion: a client's own time limit is nobody's decision. The same call goes on with the same question.
func TestACallThatTookItsClientTooLongLeavesItsQuestion(t *testing.T) {
	for _, reason := range []string{"McpError: MCP error -32001: Request timed out", "request timeout", "Timed out after 60 s"} {
		t.Run(reason, func(t *testing.T) {
			w := newTown(t, true)
			r, wr := serve(t, w, patient(w, time.Minute))
			c := stdiotest.Pipe(t, wr, r)
			c.Initialize("2025-11-25")
			c.Send(callTool("1", "wipe", `{"name":"x"}`))
			v := w.asked(t)
			c.Send(`{"method":"notifications/cancelled","params":{"requestId":1,"reason":"` + reason + `"}}`)
			require.Contains(t, gist(t, c.Recv()), "1:")
			c.Send(callTool("2", "wipe", `{"name":"x"}`))
			assert.Equal(t, v.ID, w.asked(t).ID)
			assert.Zero(t, w.razed.Load())
			_, err := w.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			require.Equal(t, "2:ok", gist(t, c.Recv()))
			assert.EqualValues(t, 1, w.razed.Load())
		})
	}
}

// TestWhoLeavesWaitsNoLonger: at the end of input, and after shutdown, the call says that it is pending, and its question stays.
func TestWhoLeavesWaitsNoLonger(t *testing.T) {
	for name, leave := range map[string]func(*stdiotest.Client){
		"end of input": func(c *stdiotest.Client) { c.CloseStdin() },
		"shutdown":     func(c *stdiotest.Client) { c.Send(`{"id":2,"method":"shutdown"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, true)
			r, wr := serve(t, w, patient(w, time.Hour)) // longer than anybody listens here
			c := stdiotest.Pipe(t, wr, r)
			c.Initialize("2025-11-25")
			c.Send(callTool("1", "wipe", `{"name":"x"}`))
			v := w.asked(t)
			leave(c)
			require.Equal(t, "1:fails", gist(t, c.Recv()))
			assert.Equal(t, v.ID, w.asked(t).ID, "a person may still answer")
		})
	}
}

func TestThoseWhoHaveATokenDoNotWait(t *testing.T) {
	w := newTown(t, false)
	s := connect(t, w, "2025-11-25", patient(w, time.Minute), nil)
	r := call(t, s, "wipe", map[string]any{"name": "x"})
	require.True(t, r.IsError)
	assert.NotEmpty(t, findToken(t, text(r)))
}

// TestTheSameCallTwiceRunsOnce: both wait for the same user, whose yes is for one.
func TestTheSameCallTwiceRunsOnce(t *testing.T) {
	w := newTown(t, true)
	r, wr := serve(t, w, patient(w, time.Minute))
	c := stdiotest.Pipe(t, wr, r)
	c.Initialize("2025-11-25")
	c.Send(callTool("1", "wipe", `{"name":"x"}`))
	v := w.asked(t)
	c.Send(callTool("2", "wipe", `{"name":"x"}`))
	c.Send(callTool("3", "look", `{"name":"x"}`))
	require.Equal(t, "3:ok", gist(t, c.Recv()), "the second has asked, too")
	_, err := w.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	got := []string{gist(t, c.Recv()), gist(t, c.Recv())}
	assert.Len(t, strings.Split(strings.Join(got, " "), ":ok"), 2, "%v", got)
	assert.EqualValues(t, 1, w.razed.Load())
}

// TestAlwaysWhileACallWaits: the waiting call is carried out by the very confirmation that was answered, and the next is not asked about.
func TestAlwaysWhileACallWaits(t *testing.T) {
	w := newTown(t, true)
	s := connect(t, w, "2025-11-25", patient(w, time.Minute), nil)
	answered := make(chan *mcp.CallToolResult, 1)
	go func() { answered <- call(t, s, "wipe", map[string]any{"name": "x"}) }()
	_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	r := <-answered
	require.False(t, r.IsError, text(r))
	pending, err := w.Confirmations(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, pending, "it is spent")
	require.False(t, call(t, s, "wipe", map[string]any{"name": "x"}).IsError)
	assert.EqualValues(t, 2, w.razed.Load())
}

func TestConfirmWait(t *testing.T) {
	for value, want := range map[string]time.Duration{"": mcpserver.DefaultWait, "10s": 10 * time.Second, "24h": 24 * time.Hour, "0s": -1, "0": -1} {
		got, ok := mcpserver.ConfirmWait(value)
		assert.True(t, ok, value)
		assert.Equal(t, want, got, value)
	}
	for _, value := range []string{"x", "-1s", "25h", "10"} {
		_, ok := mcpserver.ConfirmWait(value)
		assert.False(t, ok, value)
	}
	assert.Equal(t, 45*time.Second, mcpserver.DefaultWait)
	assert.Equal(t, 5*time.Second, mcpserver.DefaultBeat)
}

// TestACallSaysHowLongItWaits: its own word wins over the server's, in every era; one that is none is refused before anything is done.
func TestACallSaysHowLongItWaits(t *testing.T) {
	for _, meta := range []string{`{"countersign/confirm_wait_ms":0}`, `{"countersign/confirm_wait_ms":20,"progressToken":7}`} {
		w := newTown(t, true)
		r, wr := serve(t, w, patient(w, time.Minute))
		c := stdiotest.Pipe(t, wr, r)
		c.Initialize("2025-11-25")
		c.Send(`{"id":1,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"x"},"_meta":` + meta + `}}`)
		for {
			if g := gist(t, c.Recv()); g != "notifications/progress" {
				assert.Equal(t, "1:fails", g)
				break
			}
		}
		w.asked(t)
		c.Send(`{"id":2,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"y"},"_meta":{"countersign/confirm_wait_ms":-1}}}`)
		assert.Equal(t, "2:-32602", gist(t, c.Recv()))
	}
	for _, era := range eras {
		w := newTown(t, true)
		s := connect(t, w, era, patient(w, time.Minute), nil)
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "wipe", Arguments: map[string]any{"name": "x"}, Meta: mcp.Meta{mcpserver.MetaConfirmWait: 0}})
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Contains(t, text(r), w.asked(t).ID, "the id to ask about")
		_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "wipe", Arguments: map[string]any{"name": "y"}, Meta: mcp.Meta{mcpserver.MetaConfirmWait: "soon"}})
		require.ErrorContains(t, err, mcpserver.MetaConfirmWait)
	}
}
