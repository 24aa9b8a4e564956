package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/countersign-dev/countersign/ports"
)

// host is a host entry whose forms the user has switched on.
const host = "some-host"

// switched returns the fixture after the user switched on forms for host, and how it is served from that entry.
func switched(t *testing.T, w *fixture) func(*mcpserver.Options) {
	t.Helper()
	person.Settings(t, w.App, func(s *app.Settings) error { s.Forms = []string{host}; return nil })
	return entered(w, host)
}

// entered returns how the fixture is served from a host entry.
func entered(w *fixture, entry string) func(*mcpserver.Options) {
	return func(o *mcpserver.Options) {
		patient(w, time.Minute)(o)
		o.Entry = entry
	}
}

func says(decision string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
}

// answers returns the answers on record, newest first.
func (w *fixture) answers(t *testing.T) []audit.Event {
	t.Helper()
	records, err := w.store.Search(t.Context(), audit.Filter{Phase: audit.Answer, Tool: "wipe"})
	require.NoError(t, err)
	var all []audit.Event
	for _, r := range records {
		all = append(all, r.Event)
	}
	return all
}

// TestAPersonAnswersInAForm where that was switched on for the host entry: the whole plan is in it, the answer counts, and is on record for what it is.
func TestAPersonAnswersInAForm(t *testing.T) {
	for decision, razed := range map[string]int64{"approve": 1, "deny": 0} {
		for _, era := range eras {
			t.Run(decision+" "+era, func(t *testing.T) {
				w := newTown(t, true)
				var shown *mcp.ElicitParams
				s := connect(t, w, era, switched(t, w), func(p *mcp.ElicitParams) *mcp.ElicitResult {
					shown = p
					return says(decision)
				})
				r := call(t, s, "wipe", map[string]any{"name": "Carthage"})
				assert.Equal(t, razed, w.razed.Load())
				assert.Equal(t, razed == 0, r.IsError, text(r))
				require.NotNil(t, shown)
				assert.Contains(t, shown.Message, "Countersign asks: raze Carthage to the ground")
				assert.Contains(t, shown.Message, "Plan:\n  raze: Carthage\n")
				assertFlatWithRequired(t, shown.RequestedSchema)
				pending, err := w.Confirmations(t.Context(), "")
				require.NoError(t, err)
				assert.Empty(t, pending)
				said := w.answers(t)
				require.Len(t, said, 1)
				assert.Equal(t, decision, said[0].Verdict)
				assert.Equal(t, "form", said[0].Surface)
				assert.JSONEq(t, `{"surface":"form","entry":"`+host+`"}`, string(said[0].Proof), "the client's name is no evidence")
				if razed == 0 {
					assert.Contains(t, text(r), `"confirm_denied"`)
					return
				}
				runs, err := w.Calls(t.Context(), ports.RunFilter{Tool: "wipe"})
				require.NoError(t, err)
				require.Len(t, runs, 1, "question and execution are one call")
				assert.Equal(t, tool.StatusCompleted, runs[0].Status)
				assert.Equal(t, "form", runs[0].Decision)
			})
		}
	}
}

func assertFlatWithRequired(t *testing.T, schema any) {
	t.Helper()
	raw, err := json.Marshal(schema)
	require.NoError(t, err)
	var s struct {
		Type       string
		Properties map[string]struct{ Type string }
		Required   []string
	}
	require.NoError(t, json.Unmarshal(raw, &s))
	assert.Equal(t, "object", s.Type)
	assert.Equal(t, []string{"decision"}, s.Required)
	for name, p := range s.Properties {
		assert.Equal(t, "string", p.Type, name)
	}
}

// TestAlwaysInAForm is offered where it may be said: the second call is not asked about.
func TestAlwaysInAForm(t *testing.T) {
	for _, era := range eras {
		w, shown := newTown(t, true), 0
		s := connect(t, w, era, switched(t, w), func(*mcp.ElicitParams) *mcp.ElicitResult {
			shown++
			return says("always")
		})
		for range 2 {
			r := call(t, s, "wipe", map[string]any{"name": "x"})
			require.False(t, r.IsError, text(r))
		}
		assert.EqualValues(t, 2, w.razed.Load(), era)
		assert.Equal(t, 1, shown, era)
	}
}

// TestNoFormIsShown where it would not count, whatever the client calls itself and says it can do: the call waits for the user elsewhere, and says why
// where forms are on.
func TestNoFormIsShown(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for name, c := range map[string]struct {
		tool, arg string
		how       func(t *testing.T, w *fixture) func(*mcpserver.Options)
		why       string
	}{
		"nobody switched it on": {"wipe", "x", func(_ *testing.T, w *fixture) func(*mcpserver.Options) { return entered(w, host) }, ""},
		"no host entry": {"wipe", "x", func(t *testing.T, w *fixture) func(*mcpserver.Options) {
			switched(t, w)
			return entered(w, "")
		}, ""},
		"another host entry": {"wipe", "x", func(t *testing.T, w *fixture) func(*mcpserver.Options) {
			switched(t, w)
			return entered(w, "client")
		}, ""},
		"settings that were edited": {"wipe", "x", func(t *testing.T, w *fixture) func(*mcpserver.Options) {
			_, err := w.store.Save(t.Context(), ports.Settings{Forms: []string{host}})
			require.NoError(t, err)
			return entered(w, host)
		}, ""},
		"a name is typed": {"raze", "x", switched, "risk is too high"},
		"high risk":       {"blast", "x", switched, "risk is too high"},
		"a proof is required": {"wipe", "x", func(t *testing.T, w *fixture) func(*mcpserver.Options) {
			person.Settings(t, w.App, func(s *app.Settings) error {
				s.Forms, s.Require = []string{host}, map[string]policy.Proving{"wipe": policy.ProvingPerson}
				return nil
			})
			return entered(w, host)
		}, "risk is too high"},
		"a long plan":   {"wipe", strings.Repeat("x ", 5000), switched, "too long for this host's form"},
		"a masked plan": {"wipe", secret, switched, "are redacted"},
	} {
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+era, func(t *testing.T) {
				w := newTown(t, true)
				how := c.how(t, w)
				s := connect(t, w, era, func(o *mcpserver.Options) { how(o); o.Wait = 20 * time.Millisecond }, func(p *mcp.ElicitParams) *mcp.ElicitResult {
					t.Error("a form was shown: " + p.Message)
					return says("approve")
				})
				r := call(t, s, c.tool, map[string]any{"name": c.arg})
				assert.True(t, r.IsError)
				assert.Zero(t, w.razed.Load())
				assert.Contains(t, text(r), "countersign approve "+w.asked(t).ID, "where to decide")
				if c.why != "" {
					assert.Contains(t, text(r), c.why)
				}
			})
		}
	}
}

// TestAFormDoesNotAnswerForTheCaller: where callers approve their own plans, none is shown either.
func TestAFormDoesNotAnswerForTheCaller(t *testing.T) {
	w := newTown(t, false)
	s := connect(t, w, "2025-11-25", entered(w, host), func(*mcp.ElicitParams) *mcp.ElicitResult {
		t.Error("a form was shown")
		return says("approve")
	})
	assert.NotEmpty(t, findToken(t, text(call(t, s, "wipe", map[string]any{"name": "x"}))))
}

// inOldEra shows a form to a raw client of the older era and returns the id of the question.
func inOldEra(t *testing.T, w *fixture, how func(*mcpserver.Options), id string) (*stdiotest.Client, string) {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	o := mcpserver.Options{Session: "s1", Principal: policy.Principal{ID: "tester", Grants: policy.All}}
	how(&o)
	o.Beat = time.Hour // no progress, so that tests see the rest
	s := mcpserver.New(t.Context(), w, o)
	tr := stdio.New(stdio.Options{In: inRead, Out: outWrite, Answer: 300 * time.Millisecond, Turn: s.Turn, Initialize: s.Handshake})
	session, err := s.MCP().Connect(t.Context(), tr, nil)
	require.NoError(t, err)
	c := stdiotest.Pipe(t, inWrite, outRead)
	t.Cleanup(func() {
		c.CloseStdin()
		assert.NoError(t, session.Wait())
		_ = outWrite.Close()
	})
	c.SendBytes(in(`{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"}}}`,
		ready, callTool(id, "wipe", `{"name":"x"}`)))
	require.Equal(t, "0:ok", gist(t, c.Recv()))
	var question struct {
		ID     json.RawMessage
		Method string
	}
	require.NoError(t, json.Unmarshal(c.Recv(), &question))
	require.Equal(t, "elicitation/create", question.Method)
	return c, string(question.ID)
}

func form(id, result string) string { return `{"id":` + id + `,"result":` + result + `}` }

// TestAFormThatNobodyAnswers is no denial: headless hosts cancel and decline by themselves, and others send what was not asked for. The call goes on
// waiting, and the user decides elsewhere.
func TestAFormThatNobodyAnswers(t *testing.T) {
	for name, reply := range map[string]string{
		"cancelled":                    form("Q", `{"action":"cancel"}`),
		"declined":                     form("Q", `{"action":"decline"}`),
		"declined with a word":         form("Q", `{"action":"decline","content":{"decision":"deny"}}`),
		"an error":                     `{"id":Q,"error":{"code":-32601,"message":"no forms"}}`,
		"no answer":                    `{"method":"notifications/whatever"}`,
		"accepted unseen":              form("Q", `{"action":"accept","content":{}}`),
		"accepted without content":     form("Q", `{"action":"accept"}`),
		"accepted with something else": form("Q", `{"action":"accept","content":{"decision":true}}`),
		"accepted with another word":   form("Q", `{"action":"accept","content":{"decision":"yes"}}`),
		"a result that is none":        form("Q", `7`),
		"of another question":          `{"id":424242,"result":{"action":"accept","content":{"decision":"approve"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, true)
			c, question := inOldEra(t, w, switched(t, w), "9")
			c.Send(strings.ReplaceAll(reply, "Q", question))
			c.Send(callTool("10", "look", `{"name":"x"}`))
			require.Equal(t, []string{"10:ok"}, gistsBut(t, c, "notifications/cancelled", 1), "others go on, and this one waits")
			assert.Zero(t, w.razed.Load())
			assert.Empty(t, w.answers(t), "nobody has said anything")
			_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			assert.Equal(t, []string{"9:ok"}, gistsBut(t, c, "notifications/cancelled", 1))
			assert.EqualValues(t, 1, w.razed.Load())
		})
	}
}

// gistsBut receives n messages, not counting those of one method.
func gistsBut(t *testing.T, c *stdiotest.Client, method string, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		if g := gist(t, c.Recv()); g != method {
			got = append(got, g)
		}
	}
	return got
}

// TestTheFirstAnswerCounts: what the user decides elsewhere takes effect at once and closes the form; a form that is answered late, or twice, changes
// nothing.
func TestTheFirstAnswerCounts(t *testing.T) {
	for _, approved := range []bool{true, false} {
		for _, late := range []string{"approve", "deny"} {
			w := newTown(t, true)
			c, question := inOldEra(t, w, switched(t, w), "9")
			_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: approved, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			first, second := c.Recv(), c.Recv()
			if gist(t, first) != "notifications/cancelled" { // the two are sent side by side
				first, second = second, first
			}
			assert.Equal(t, "notifications/cancelled", gist(t, first), "the form is closed")
			assert.Contains(t, string(first), `"requestId":`+question)
			assert.Equal(t, map[bool]string{true: "9:ok", false: "9:fails"}[approved], gist(t, second))
			for range 2 {
				c.Send(form(question, `{"action":"accept","content":{"decision":"`+late+`"}}`))
			}
			c.Send(callTool("10", "look", `{"name":"x"}`))
			require.Equal(t, "10:ok", gist(t, c.Recv()))
			said := w.answers(t)
			require.Len(t, said, 1)
			assert.Equal(t, "terminal", said[0].ApprovedBy)
			assert.Equal(t, map[bool]int64{true: 1, false: 0}[approved], w.razed.Load())
		}
	}
}

// TestACallThatIsCancelledTakesItsFormAlong, and its question.
func TestACallThatIsCancelledTakesItsFormAlong(t *testing.T) {
	w := newTown(t, true)
	c, question := inOldEra(t, w, switched(t, w), "9")
	c.Send(`{"method":"notifications/cancelled","params":{"requestId":9}}`)
	got := []string{gist(t, c.Recv()), gist(t, c.Recv())}
	assert.Contains(t, got, "notifications/cancelled")
	c.Send(form(question, `{"action":"accept","content":{"decision":"approve"}}`))
	c.Send(callTool("10", "look", `{"name":"x"}`))
	require.Equal(t, "10:ok", gist(t, c.Recv()))
	pending, err := w.Confirmations(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, pending)
	assert.Zero(t, w.razed.Load())
}

// TestWhoLeavesItsFormOpen: at the end of input the call is answered, and the question stays for the user.
func TestWhoLeavesItsFormOpen(t *testing.T) {
	w := newTown(t, true)
	c, _ := inOldEra(t, w, switched(t, w), "9")
	c.CloseStdin()
	assert.Equal(t, []string{"9:fails"}, gistsBut(t, c, "notifications/cancelled", 1))
	w.asked(t)
	assert.Empty(t, w.answers(t))
}

// rounds is a client of the era without sessions that is shown a question as a result and answers it when the test says so.
type rounds struct {
	*mcp.ClientSession
	t *testing.T
}

func inRounds(t *testing.T, w *fixture, how func(*mcpserver.Options)) rounds {
	t.Helper()
	r, wr := serve(t, w, how)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil },
	})
	s, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: r, Writer: wr}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return rounds{s, t}
}

func (r rounds) answer(tool, name, state string, said *mcp.ElicitResult) (*mcp.CallToolResult, error) {
	return r.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"name": name}, RequestState: state,
		InputResponses: mcp.InputResponseMap{"confirmation": said}})
}

// TestRequestStateIsSealed: it works for the call it was made for, for one answer, and not when it was touched.
func TestRequestStateIsSealed(t *testing.T) {
	w := newTown(t, true)
	s := inRounds(t, w, switched(t, w))
	first := call(t, s.ClientSession, "wipe", map[string]any{"name": "x"})
	require.True(t, first.NeedsInput())
	state := first.RequestState
	other := "A"
	if strings.HasPrefix(state, other) {
		other = "B"
	}
	for _, c := range []struct{ tool, name, state string }{
		{"wipe", "y", state}, {"raze", "x", state}, {"wipe", "x", state[:len(state)-2] + "AA"}, {"wipe", "x", other + state[1:]},
		{"wipe", "x", ""}, {"wipe", "x", "!"}, {"wipe", "x", "e30"},
	} {
		_, err := s.answer(c.tool, c.name, c.state, says("approve"))
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire, "%v", c)
		assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
	}
	assert.Zero(t, w.razed.Load())
	again, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "wipe", Arguments: map[string]any{"name": "x"}, RequestState: state})
	require.NoError(t, err)
	assert.True(t, again.NeedsInput(), "a state without an answer asks again")
	done, err := s.answer("wipe", "x", state, says("approve"))
	require.NoError(t, err)
	assert.False(t, done.IsError)
	replay, err := s.answer("wipe", "x", state, says("approve"))
	require.NoError(t, err)
	assert.True(t, replay.IsError, text(replay))
	assert.Contains(t, text(replay), "already approved (form); the first decision counts")
	assert.EqualValues(t, 1, w.razed.Load(), "an approval is good for one run")
}

// TestAnswersOfACallersOwnMaking are refused where no form was offered: without a host entry, and where callers approve.
func TestAnswersOfACallersOwnMaking(t *testing.T) {
	for name, how := range map[string]func(w *fixture) func(*mcpserver.Options){
		"no host entry": func(w *fixture) func(*mcpserver.Options) { return entered(w, "") },
		"forms are off": func(w *fixture) func(*mcpserver.Options) { return entered(w, host) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, true)
			s := inRounds(t, w, func(o *mcpserver.Options) { how(w)(o); o.Wait = -1 })
			require.True(t, call(t, s.ClientSession, "wipe", map[string]any{"name": "x"}).IsError)
			_, err := s.answer("wipe", "x", w.asked(t).ID, says("approve"))
			require.ErrorContains(t, err, "call again without inputResponses and requestState")
			assert.Zero(t, w.razed.Load())
			w.asked(t)
		})
	}
}

// TestALateFormIsToldWhoDecided: nothing is open in the era without sessions, so a form may be answered after the fact. That changes nothing.
func TestALateFormIsToldWhoDecided(t *testing.T) {
	for _, approved := range []bool{true, false} {
		for _, late := range []string{"approve", "deny"} {
			w := newTown(t, true)
			s := inRounds(t, w, switched(t, w))
			first := call(t, s.ClientSession, "wipe", map[string]any{"name": "x"})
			require.True(t, first.NeedsInput())
			_, err := w.Answer(t.Context(), confirm.Decision{ID: w.asked(t).ID, Approve: approved, By: "console", Proof: confirm.Proof{Surface: confirm.SurfaceConsole}})
			require.NoError(t, err)
			r, err := s.answer("wipe", "x", first.RequestState, says(late))
			require.NoError(t, err)
			assert.True(t, r.IsError)
			assert.Contains(t, text(r), "already "+map[bool]string{true: "approved", false: "denied"}[approved]+" (console); the first decision counts")
			assert.Zero(t, w.razed.Load())
			if approved {
				assert.False(t, call(t, s.ClientSession, "wipe", map[string]any{"name": "x"}).IsError, "the call itself goes on")
			}
		}
	}
}

// TestARoundThatNobodyAnswers goes on as a call that waits for the user elsewhere, without another form.
func TestARoundThatNobodyAnswers(t *testing.T) {
	for _, reply := range []*mcp.ElicitResult{
		{Action: "cancel"}, {Action: "decline"}, {Action: "accept"}, {Action: "accept", Content: map[string]any{"decision": true}},
	} {
		w := newTown(t, true)
		s := inRounds(t, w, switched(t, w))
		first := call(t, s.ClientSession, "wipe", map[string]any{"name": "x"})
		require.True(t, first.NeedsInput())
		v := w.asked(t)
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			r, err := s.answer("wipe", "x", first.RequestState, reply)
			assert.NoError(t, err)
			done <- r
		}()
		require.False(t, call(t, s.ClientSession, "look", map[string]any{"name": "x"}).IsError)
		assert.Empty(t, w.answers(t))
		_, err := w.Answer(t.Context(), confirm.Decision{ID: v.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
		r := <-done
		assert.False(t, r.IsError, text(r))
		assert.EqualValues(t, 1, w.razed.Load())
	}
}

// In a session of the new era a call in the old form cannot ask: it waits for the user elsewhere, and is not taken for denied.
func TestOldCallInANewSession(t *testing.T) {
	w := newTown(t, true)
	how := switched(t, w)
	r, wr := serve(t, w, func(o *mcpserver.Options) { how(o); o.Wait = 20 * time.Millisecond })
	c := stdiotest.Pipe(t, wr, r)
	c.Send(`{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	require.Equal(t, "1:ok", gist(t, c.Recv()))
	got := c.Call("wipe", map[string]any{"name": "x"})
	assert.True(t, got.IsError)
	assert.Contains(t, got.Text, w.asked(t).ID)
}
