package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/memstore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type target struct {
	Name string `json:"name"`
}

// razing is a plan that makes a person type a name.
type razing struct {
	Raze string `json:"raze"`
}

func (r razing) Hash() canon.Hash { return canon.Bytes("razing.v1", []byte(r.Raze)) }
func (r razing) Target() string   { return r.Raze }
func (r razing) Prompt() string   { return "raze " + r.Raze + " to the ground" }

// town is a real door with things to destroy.
type town struct {
	*app.App
	store *memstore.Store
	razed atomic.Int64
}

func newTown(t testing.TB, humanOnly bool) *town {
	w := &town{store: memstore.New()}
	raze := func(_ context.Context, _ tool.Scope, r razing) (razing, error) {
		w.razed.Add(1)
		return r, nil
	}
	plan := func(_ context.Context, _ tool.Scope, in target) (razing, error) { return razing{Raze: in.Name}, nil }
	spec := func(s policy.Strength) tool.Spec {
		return tool.Spec{Title: "T", Description: "D.", Class: policy.ClassDangerous, Effects: policy.Read | policy.Delete, Confirm: s}
	}
	entries := []tool.Entry{
		bind.Query(tool.Ref[target, target]{Name: "look"}, tool.Spec{Title: "L", Description: "D.", Class: policy.ClassRead, Effects: policy.Read},
			func(_ context.Context, _ tool.Scope, in target) (target, error) { return in, nil }),
		bind.Command(tool.Ref[target, razing]{Name: "wipe"}, spec(policy.Preview), plan, raze),
		bind.Command(tool.Ref[target, razing]{Name: "raze"}, spec(policy.Typed), plan, raze),
		bind.Command(tool.Ref[target, razing]{Name: "blast"}, risky(spec(policy.Simple)), plan, raze),
	}
	core := app.Core{
		Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: w.store, Audit: w.store, Settings: w.store,
		Sessions: w.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: w.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) },
	}
	var err error
	w.App, err = app.New(core, app.Options{
		Policy: policy.Policy{Approval: person.Approval(humanOnly), Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm},
	}, tool.Capability{Name: "town", Contract: "countersign.v1", Mode: policy.Execute, Entries: entries})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close(context.Background())) })
	return w
}

func risky(s tool.Spec) tool.Spec {
	s.Risk = policy.RiskHigh
	return s
}

// serve runs a server on pipes until the test ends.
func serve(t testing.TB, door mcpserver.Door, change func(*mcpserver.Options)) (io.ReadCloser, io.WriteCloser) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	o := mcpserver.Options{Version: "1", Session: "s1", Principal: policy.Principal{ID: "tester", Grants: policy.All}}
	if change != nil {
		change(&o)
	}
	s := mcpserver.New(ctx, door, o)
	over := make(chan struct{})
	go func() {
		defer close(over)
		assert.NoError(t, s.ServeStdio(inRead, outWrite, 0))
		_ = outWrite.Close()
	}()
	t.Cleanup(func() {
		_ = inWrite.Close()
		cancel()
		<-over
	})
	return outRead, inWrite
}

// serveOnce runs a server with the demo tools on pipes for one session.
func serveOnce(t testing.TB) (io.WriteCloser, io.Reader, <-chan struct{}) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		assert.NoError(t, mcpserver.New(context.Background(), newDemo(), mcpserver.Options{}).ServeStdio(inRead, outWrite, 0))
		_ = outWrite.Close()
	}()
	return inWrite, outRead, over
}

// connect is the SDK's own client at a protocol revision, answering forms with answer; nil shows none.
func connect(t testing.TB, door mcpserver.Door, version string, change func(*mcpserver.Options), answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	r, w := serve(t, door, change)
	o := &mcp.ClientOptions{}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(req.Params), nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "9"}, o)
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: r, Writer: w}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

var eras = []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}

func call(t testing.TB, s *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return r
}

func text(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// A client that shows forms has its human decide; only a filled-in approval lets the plan run, once.
func TestElicitation(t *testing.T) {
	approve := map[string]any{"decision": "approve"}
	for _, c := range []struct {
		name   string
		tool   string
		answer *mcp.ElicitResult
		razed  int64
	}{
		{"approved", "wipe", &mcp.ElicitResult{Action: "accept", Content: approve}, 1},
		{"denied in the form", "wipe", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, 0},
		{"declined", "wipe", &mcp.ElicitResult{Action: "decline"}, 0},
		{"cancelled", "wipe", &mcp.ElicitResult{Action: "cancel"}, 0},
		{"typed", "raze", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve", "typed_value": "Carthage"}}, 1},
		{"typed wrongly", "raze", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve", "typed_value": "carthage"}}, 0},
		{"not typed", "raze", &mcp.ElicitResult{Action: "accept", Content: approve}, 0},
	} {
		for _, era := range eras {
			for _, humanOnly := range []bool{false, true} {
				t.Run(c.name+" "+era, func(t *testing.T) {
					w := newTown(t, humanOnly)
					var shown *mcp.ElicitParams
					s := connect(t, w, era, nil, func(p *mcp.ElicitParams) *mcp.ElicitResult {
						shown = p
						return c.answer
					})
					require.Equal(t, era, s.InitializeResult().ProtocolVersion)
					r := call(t, s, c.tool, map[string]any{"name": "Carthage"})
					assert.Equal(t, c.razed, w.razed.Load())
					assert.Equal(t, c.razed == 0, r.IsError, text(r))
					require.NotNil(t, shown)
					assert.Contains(t, shown.Message, "raze Carthage to the ground")
					assert.Contains(t, shown.Message, `"raze": "Carthage"`, "the plan is shown")
					assertFlatWithRequired(t, shown.RequestedSchema)

					pending, err := w.Confirmations(context.Background(), "s1")
					require.NoError(t, err)
					if c.tool == "wipe" {
						assert.Empty(t, pending, "the question is settled either way")
					}
				})
			}
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

// Both rounds are one call in the audit.
func TestElicitationIsOneCall(t *testing.T) {
	for _, era := range eras {
		w := newTown(t, false)
		s := connect(t, w, era, nil, func(*mcp.ElicitParams) *mcp.ElicitResult {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}
		})
		require.False(t, call(t, s, "wipe", map[string]any{"name": "x"}).IsError)
		records, err := w.store.Records(context.Background(), 0, 100)
		require.NoError(t, err)
		intents := map[string]bool{}
		for _, r := range records {
			if r.Event.Phase == audit.Intent {
				intents[r.Event.CallID] = true
				assert.Equal(t, "elicitation", r.Event.ApprovedBy)
				assert.Equal(t, "client 9", r.Event.Client)
			}
		}
		assert.Len(t, intents, 1)
	}
}

// A client without forms gets the token, and repeats the call with it; under approval: human it gets none.
func TestTokensWhereTheClientHasNoForms(t *testing.T) {
	for _, era := range eras {
		w := newTown(t, false)
		s := connect(t, w, era, nil, nil)
		r := call(t, s, "wipe", map[string]any{"name": "x"})
		require.True(t, r.IsError)
		token := findToken(t, text(r))
		require.NotEmpty(t, token, text(r))
		r = call(t, s, "wipe", map[string]any{"name": "x", "confirm_token": token})
		assert.False(t, r.IsError, text(r))
		assert.EqualValues(t, 1, w.razed.Load())

		w = newTown(t, true)
		s = connect(t, w, era, nil, nil)
		r = call(t, s, "wipe", map[string]any{"name": "x"})
		assert.True(t, r.IsError)
		assert.Empty(t, findToken(t, text(r)))
	}
}

// findToken finds confirm_token anywhere in a JSON document.
func findToken(t *testing.T, doc string) string {
	var v any
	require.NoError(t, json.Unmarshal([]byte(doc), &v), doc)
	var find func(any) string
	find = func(v any) string {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		if s, ok := m["confirm_token"].(string); ok {
			return s
		}
		for _, x := range m {
			if s := find(x); s != "" {
				return s
			}
		}
		return ""
	}
	return find(v)
}

// The request state works for the call it was made for, for one approval, and not when it was touched.
func TestRequestStateIsSealed(t *testing.T) {
	w := newTown(t, false)
	r, wr := serve(t, w, nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
	})
	ctx := context.Background()
	s, err := client.Connect(ctx, &mcp.IOTransport{Reader: r, Writer: wr}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	require.NoError(t, err)
	defer s.Close()
	first := call(t, s, "wipe", map[string]any{"name": "x"})
	require.True(t, first.NeedsInput())
	yes := mcp.InputResponseMap{"confirmation": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}}
	answer := func(tool, name, state string) (*mcp.CallToolResult, error) {
		return s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"name": name}, InputResponses: yes, RequestState: state})
	}
	state := first.RequestState
	for _, c := range []struct{ tool, name, state string }{
		{"wipe", "y", state}, {"raze", "x", state}, {"wipe", "x", state[:len(state)-2] + "AA"}, {"wipe", "x", "A" + state[1:]},
		{"wipe", "x", ""}, {"wipe", "x", "!"}, {"wipe", "x", "e30"},
	} {
		_, err := answer(c.tool, c.name, c.state)
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire, "%v", c)
		assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
	}
	assert.Zero(t, w.razed.Load())
	again, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "wipe", Arguments: map[string]any{"name": "x"}, RequestState: state})
	require.NoError(t, err)
	assert.True(t, again.NeedsInput(), "a state without an answer asks again")
	done, err := answer("wipe", "x", state)
	require.NoError(t, err)
	assert.False(t, done.IsError)
	replay, err := answer("wipe", "x", state)
	require.NoError(t, err)
	assert.True(t, replay.IsError, text(replay))
	assert.EqualValues(t, 1, w.razed.Load(), "an approval is good for one run")
}

// While a person thinks, others go on; when the input ends meanwhile, the question counts as cancelled and
// the call is answered.
func TestNothingWaitsForAPerson(t *testing.T) {
	w := newTown(t, false)
	r, wr := serve(t, w, nil)
	c := stdiotest.Pipe(t, wr, r)
	c.SendBytes(in(`{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`,
		ready, callTool("1", "wipe", `{"name":"x"}`), callTool("2", "look", `{"name":"x"}`)))
	require.Equal(t, "0:ok", gist(t, c.Recv()))
	assert.ElementsMatch(t, []string{"elicitation/create", "2:ok"}, []string{gist(t, c.Recv()), gist(t, c.Recv())})
	c.CloseStdin()
	assert.Equal(t, "1:fails", gist(t, c.Recv()))
	assert.Empty(t, c.Rest())
	assert.Zero(t, w.razed.Load())
}

// A client that fails to show the form, accepts it unseen, or takes too long, has not approved.
func TestUnansweredQuestionsDeny(t *testing.T) {
	for name, reply := range map[string]string{
		"an error":                      `{"id":1,"error":{"code":-32601,"message":"no forms"}}`,
		"no answer":                     "\n",
		"accepted unseen":               `{"id":1,"result":{"action":"accept","content":{}}}`,
		"accepted without content":      `{"id":1,"result":{"action":"accept"}}`,
		"accepted with something else":  `{"id":1,"result":{"action":"accept","content":{"decision":true}}}`,
		"accepted with another word":    `{"id":1,"result":{"action":"accept","content":{"decision":"yes"}}}`,
		"a result that is none":         `{"id":1,"result":7}`,
		"the call cancelled meanwhile":  `{"method":"notifications/cancelled","params":{"requestId":9}}`,
		"an answer to another question": `{"id":2,"result":{"action":"accept","content":{"decision":"approve"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, false)
			inRead, inWrite := io.Pipe()
			outRead, outWrite := io.Pipe()
			s := mcpserver.New(t.Context(), w, mcpserver.Options{Session: "s1", Principal: policy.Principal{ID: "tester", Grants: policy.All}})
			tr := stdio.New(stdio.Options{In: inRead, Out: outWrite, Answer: 300 * time.Millisecond, Turn: s.Turn, Initialize: s.Handshake})
			session, err := s.MCP().Connect(t.Context(), tr, nil)
			require.NoError(t, err)
			c := stdiotest.Pipe(t, inWrite, outRead)
			c.SendBytes(in(`{"id":0,"method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}}}}`, callTool("9", "wipe", `{"name":"x"}`)))
			require.Equal(t, "0:ok", gist(t, c.Recv()))
			require.Equal(t, "elicitation/create", gist(t, c.Recv()))
			c.SendBytes(reply + "\n")
			c.SendBytes(callTool("10", "look", `{"name":"x"}`) + "\n")
			assert.ElementsMatch(t, []string{"9:fails", "10:ok"}, gistsBut(t, c, "notifications/cancelled", 2))
			assert.Zero(t, w.razed.Load())
			pending, err := w.Confirmations(context.Background(), "s1")
			require.NoError(t, err)
			assert.Empty(t, pending, "it is denied, not left open")
			c.CloseStdin()
			require.NoError(t, session.Wait())
			_ = outWrite.Close()
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

// In the new era the answer comes with the repeated call; only a filled-in approval counts there too.
func TestRepeatedCallDenies(t *testing.T) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	for _, reply := range []string{`{"action":"accept","content":{}}`, `{"action":"accept"}`, `{"action":"accept","content":{"decision":true}}`, `{"action":"decline"}`} {
		w := newTown(t, false)
		r, wr := serve(t, w, nil)
		c := stdiotest.Pipe(t, wr, r)
		c.Send(`{"id":1,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"x"},` + meta + `}}`)
		var first struct {
			Result struct{ ResultType, RequestState string }
		}
		require.NoError(t, json.Unmarshal(c.Recv(), &first))
		require.Equal(t, "input_required", first.Result.ResultType)
		c.Send(`{"id":2,"method":"tools/call","params":{"name":"wipe","arguments":{"name":"x"},"inputResponses":{"confirmation":` + reply +
			`},"requestState":"` + first.Result.RequestState + `",` + meta + `}}`)
		assert.Equal(t, "2:fails", gist(t, c.Recv()))
		assert.Zero(t, w.razed.Load())
		pending, err := w.Confirmations(context.Background(), "s1")
		require.NoError(t, err)
		assert.Empty(t, pending)
	}
}

// In a session of the new era a call in the old form cannot ask: it gets the token, and is not taken for denied.
func TestOldCallInANewSession(t *testing.T) {
	w := newTown(t, false)
	r, wr := serve(t, w, nil)
	c := stdiotest.Pipe(t, wr, r)
	c.Send(`{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	require.Equal(t, "1:ok", gist(t, c.Recv()))
	got := c.Call("wipe", map[string]any{"name": "x"})
	assert.True(t, got.IsError)
	assert.NotEmpty(t, findToken(t, got.Text))
}
