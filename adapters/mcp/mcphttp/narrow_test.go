package mcphttp_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func (c *caller) tools() (names []string) {
	c.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	m := c.do(c.ask("1", "tools/list", "{}")).last(c.t)
	require.Nil(c.t, m.Error)
	require.NoError(c.t, json.Unmarshal(m.Result, &list))
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	sort.Strings(names)
	return names
}

var always = []string{"audit_tail", "cancel_confirm", "confirm", "get_policy", "list_confirmations", "list_toolsets", "set_mode"}

func with(more ...string) []string {
	all := append(slices.Clone(always), more...)
	sort.Strings(all)
	return all
}

// Headers take away, in both eras and either way a call goes: what is not listed cannot be called.
func TestHeadersTighten(t *testing.T) {
	t.Parallel()
	everything := []string{"big", "look", "panics", "slow", "visit", "whoami", "wipe"}
	for _, era := range []string{"2025-11-25", modern} {
		s := serve(t, newTown(t, false))
		for _, h := range []struct {
			headers map[string]string
			left    []string
		}{
			{nil, with(everything...)},
			{map[string]string{"X-MCP-Toolsets": "abroad"}, with("visit")},
			{map[string]string{"X-MCP-Toolsets": " abroad , town"}, with(everything...)},
			{map[string]string{"X-MCP-Toolsets": "all"}, with(everything...)},
			{map[string]string{"X-MCP-Toolsets": "control"}, always},
			{map[string]string{"X-MCP-Tools": "look,wipe"}, with("look", "wipe")},
			{map[string]string{"X-MCP-Toolsets": "abroad", "X-MCP-Tools": "look"}, with("look", "visit")},
			{map[string]string{"X-MCP-Exclude-Tools": "look, set_mode"}, slices.DeleteFunc(with(everything...), func(n string) bool { return n == "look" || n == "set_mode" })},
			{map[string]string{"X-MCP-Readonly": "true"}, slices.DeleteFunc(with(everything...), func(n string) bool { return n == "wipe" })},
			{map[string]string{"X-MCP-Readonly": "false"}, with(everything...)},
		} {
			c := s.as("ann").in(era)
			for k, v := range h.headers {
				c.extra[http.CanonicalHeaderKey(k)] = []string{v}
			}
			assert.Equal(t, h.left, c.tools(), "%v", h.headers)
			for _, name := range everything {
				if name == "wipe" || name == "panics" || name == "slow" {
					continue
				}
				for _, meta := range []string{"", `{"progressToken":1}`} {
					m := c.do(c.ask("1", "tools/call", toolCall(name, "{}", meta))).last(t)
					if slices.Contains(h.left, name) {
						assert.Nil(t, m.Error, "%s %v", name, h.headers)
					} else if assert.NotNil(t, m.Error, "%s %v", name, h.headers) {
						assert.EqualValues(t, -32602, m.Error.Code)
						assert.Contains(t, m.Error.Message, "unknown tool")
					}
				}
			}
		}
		for name, value := range map[string]string{
			"X-Mcp-Toolsets": "nowhere", "X-Mcp-Tools": "look,nothing", "X-Mcp-Exclude-Tools": "nothing", "X-Mcp-Readonly": "perhaps", "X-Mcp-Mode": "yolo", "X-Mcp-Confirm-Wait": "25h",
		} {
			c := s.as("ann").in(era)
			for _, value := range []string{value, "", " , "} {
				c.extra[name] = []string{value}
				a := c.do(c.ask("1", "tools/list", "{}"))
				assert.Equal(t, 400, a.status, "%s: %q", name, value)
				assert.EqualValues(t, -32600, a.last(t).Error.Code)
				assert.Contains(t, a.last(t).Error.Message, name)
			}
		}
	}
}

// A mode in a header is a ceiling; what a token may do at most is one too, and the lower counts.
func TestCeilings(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	for own, modes := range map[policy.Mode]map[string]string{
		policy.ModeUnset: {"": "confirm_token_required", "execute": "confirm_token_required", "plan": "raze", "ask": "mode_forbids"},
		policy.Plan:      {"": "raze", "execute": "raze", "Plan": "raze", "ask": "mode_forbids"},
		policy.Ask:       {"": "mode_forbids", "execute": "mode_forbids", "plan": "mode_forbids"},
	} {
		v := s.visitors["ann"]
		v.Principal.Ceiling = own
		s.visitors["ann"] = v
		for mode, want := range modes {
			c := s.as("ann").newer()
			if mode != "" {
				c.extra["X-Mcp-Mode"] = []string{mode}
			}
			text, _ := c.call("wipe", `{"name":"x"}`)
			assert.Contains(t, text, want, "%s below %s", mode, own)
		}
	}
	assert.Zero(t, s.razed.Load())
}

// product returns the product's own core, with packs and ecosystems, for visitors of tokens that open little.
func product(t *testing.T, within ...tool.Restriction) *site {
	dir := t.TempDir()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: filepath.Join(dir, "home"), Options: person.ByCaller(local.Defaults()), Packs: local.Packs{Root: filepath.Join(dir, "packs"), Source: dir}})
	require.NoError(t, err)
	life, end := context.WithCancel(context.Background())
	packs := mcpserver.NewPackResources(l.App, tool.Call{Client: "resources"})
	face := mcpserver.New(life, packs, mcpserver.Options{Version: "1", People: l.App, Forecaster: l.App, Source: mcpserver.PackToolset,
		Resources: mcpserver.NewPolicyResources(packs.Resources(), packs, tool.Call{Client: "resources"}), Prompts: packs.Prompts(), Completer: packs})
	s := &site{fixture: &fixture{App: l.App}, t: t, visitors: map[string]httpauth.Identity{
		"ann": {Principal: policy.Principal{ID: "token:ann", Grants: policy.All}, Credential: "key_ann"},
		"bob": {Principal: policy.Principal{ID: "token:bob", Grants: policy.All}, Credential: "key_bob", Within: within},
	}}
	s.endpoint = mcphttp.NewEndpoint(life, mcphttp.EndpointOptions{Server: face, Known: mcphttp.NewKnownNames(l.Toolsets()), EndSession: l.EndSession})
	s.listen()
	t.Cleanup(func() {
		end()
		assert.NoError(t, s.endpoint.Close(context.Background()))
		s.server.CloseClientConnections()
		s.server.Close()
		assert.NoError(t, l.Close())
	})
	return s
}

// A token without the toolset of packs gets none of them, by no way; one with it does.
func TestATokenWithoutPacks(t *testing.T) {
	t.Parallel()
	s := product(t, tool.Restriction{Toolsets: []string{"deployments", "ecosystems"}})
	for _, era := range []string{"2025-11-25", modern} {
		ann, bob := s.as("ann").in(era), s.as("bob").in(era)
		text, failed := ann.call("input", `{"action":"create","ttl_minutes":5,"name":"first one of `+era+`"}`)
		require.False(t, failed, text)
		var made struct{ Payload struct{ ID string } }
		require.NoError(t, json.Unmarshal([]byte(text), &made), text)
		uri := `"countersign://packs/` + made.Payload.ID + `"`
		for method, params := range map[string]string{
			"resources/list": `{}`, "resources/templates/list": `{}`, "prompts/list": `{}`, "resources/read": `{"uri":` + uri + `}`,
			"prompts/get":         `{"name":"handoff","arguments":{"pack":"first one of ` + era + `"}}`,
			"completion/complete": `{"ref":{"type":"ref/prompt","name":"handoff"},"argument":{"name":"pack","value":"fi"}}`,
		} {
			mine, theirs := ann.do(ann.ask("1", method, params)).last(t), bob.do(bob.ask("1", method, params)).last(t)
			require.Nil(t, mine.Error, method)
			words := []string{"first one", made.Payload.ID, "countersign://packs", "handoff"}
			assert.True(t, slices.ContainsFunc(words, func(w string) bool { return strings.Contains(string(mine.Result), w) }), method)
			for _, word := range words {
				assert.NotContains(t, string(theirs.Result), word, "%s %s", era, method)
			}
		}
		assert.Contains(t, string(bob.do(bob.ask("1", "resources/list", "{}")).last(t).Result), "countersign://ecosystems/policy", "what it is for, it gets")
		if era != modern {
			assert.Nil(t, ann.do(ann.ask("1", "resources/subscribe", `{"uri":`+uri+`}`)).last(t).Error)
			assert.NotNil(t, bob.do(bob.ask("1", "resources/subscribe", `{"uri":`+uri+`}`)).last(t).Error)
			continue
		}
		assert.NotNil(t, bob.do(bob.ask("1", "subscriptions/listen", `{"notifications":{"resourceSubscriptions":[`+uri+`]}}`)).last(t).Error)
	}
}

// A token for reading alone is shown what reads, as it then is, and can do no more.
func TestATokenForReading(t *testing.T) {
	t.Parallel()
	s := product(t, tool.Restriction{ReadOnly: true})
	for _, era := range []string{"2025-11-25", modern} {
		ann, bob := s.as("ann").in(era), s.as("bob").in(era)
		listed := func(c *caller, name string) (shown struct {
			Title       string
			InputSchema json.RawMessage
			Annotations struct{ ReadOnlyHint bool }
		}) {
			var list struct{ Tools []json.RawMessage }
			require.NoError(t, json.Unmarshal(c.do(c.ask("1", "tools/list", "{}")).last(t).Result, &list))
			for _, raw := range list.Tools {
				if strings.Contains(string(raw), `"name":"`+name+`"`) {
					require.NoError(t, json.Unmarshal(raw, &shown))
				}
			}
			return shown
		}
		assert.False(t, listed(ann, "input").Annotations.ReadOnlyHint)
		assert.True(t, listed(bob, "input").Annotations.ReadOnlyHint)
		assert.NotEqual(t, string(listed(ann, "input").InputSchema), string(listed(bob, "input").InputSchema))
		assert.NotContains(t, bob.tools(), "deploy_apply")
		assert.Contains(t, ann.tools(), "deploy_apply")
		_, failed := bob.call("input", `{"action":"list"}`)
		assert.False(t, failed)
		text, failed := bob.call("input", `{"action":"create","ttl_minutes":5,"name":"of `+era+`"}`)
		assert.True(t, failed, text)
		text, failed = ann.call("input", `{"action":"create","ttl_minutes":5,"name":"of `+era+`"}`)
		assert.False(t, failed, text)
	}
}

// A resource that changes is told on the stream of a session, and to a listener without one.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	s := product(t)
	older, newer := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").newer()
	text, failed := older.call("input", `{"action":"create","ttl_minutes":5,"name":"watched"}`)
	require.False(t, failed, text)
	var made struct{ Payload struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	uri := "countersign://packs/" + made.Payload.ID
	require.Nil(t, older.do(older.ask("1", "resources/subscribe", `{"uri":"`+uri+`"}`)).last(t).Error)
	var streams []*http.Response
	for _, r := range []*http.Request{older.request(http.MethodGet, ""), newer.ask(`"listen"`, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["`+uri+`"]}}`)} {
		ctx, hangUp := context.WithTimeout(context.Background(), patience)
		defer hangUp()
		res, err := older.client.Do(r.WithContext(ctx))
		require.NoError(t, err)
		defer res.Body.Close()
		streams = append(streams, res)
	}
	until := func(res *http.Response, word string) {
		t.Helper()
		var all []byte
		buf := make([]byte, 4096)
		for !strings.Contains(string(all), word) {
			n, err := res.Body.Read(buf)
			all = append(all, buf[:n]...)
			require.NoError(t, err, "%s", all)
		}
	}
	until(streams[1], "acknowledged")
	_, failed = newer.call("input", `{"action":"set_meta","id":"`+made.Payload.ID+`","expected_revision":1,"title":"y"}`)
	require.False(t, failed)
	for _, res := range streams {
		until(res, "notifications/resources/updated")
	}
}

// hold is a core with one change that lasts until it is let go.
type hold struct {
	running atomic.Int64
	let     chan struct{}
}

func (h *hold) Specs() iter.Seq[tool.Spec] {
	return slices.Values([]tool.Spec{
		{Name: "hold", Toolset: "demo", Class: policy.ClassWrite, Effects: policy.Write, Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "crash", Toolset: "demo", Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(`{"type":"object"}`)},
	})
}

func (h *hold) Call(ctx context.Context, c tool.Call) tool.Outcome {
	if c.Tool == "crash" {
		panic("the door itself panics")
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	select {
	case <-h.let:
	case <-ctx.Done():
		return tool.Outcome{Err: fault.From(ctx.Err())}
	}
	return tool.Outcome{Value: json.RawMessage(`{}`)}
}

func serveHold(t *testing.T, change func(*mcpserver.Options)) (*hold, *site) {
	h := &hold{let: make(chan struct{})}
	life, end := context.WithCancel(context.Background())
	o := mcpserver.Options{}
	if change != nil {
		change(&o)
	}
	s := &site{t: t, end: end, visitors: map[string]httpauth.Identity{"ann": {Credential: "key_ann"}}, endpoint: mcphttp.NewEndpoint(life, mcphttp.EndpointOptions{Server: mcpserver.New(life, h, o)})}
	s.listen()
	t.Cleanup(func() {
		end()
		assert.NoError(t, s.endpoint.Close(context.Background()))
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return h, s
}

// Changes of one client take effect in order; those of another do not wait for them.
func TestOrderIsAClientsOwn(t *testing.T) {
	t.Parallel()
	h, s := serveHold(t, nil)
	first, second := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").connect("2025-11-25", "{}")
	running := func(n int64) {
		t.Helper()
		require.Eventually(t, func() bool { return h.running.Load() == n }, patience, time.Millisecond)
	}
	var all []<-chan answer
	all = append(all, first.later(first.ask("1", "tools/call", toolCall("hold", "{}", ""))))
	running(1)
	all = append(all, first.later(first.ask("2", "tools/call", toolCall("hold", "{}", ""))), first.later(first.ask("3", "tools/call", toolCall("hold", "{}", `{"progressToken":1}`))))
	all = append(all, second.later(second.ask("1", "tools/call", toolCall("hold", "{}", ""))))
	running(2)
	for range all {
		h.let <- struct{}{}
	}
	for _, a := range all {
		assert.Equal(t, 200, soon(t, a).status)
	}
}

// No client takes all the room there is.
func TestSharesOfClients(t *testing.T) {
	t.Parallel()
	h, s := serveHold(t, func(o *mcpserver.Options) { o.Concurrency, o.Each, o.Unordered = 4, 2, true })
	greedy, modest := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").newer()
	var all []<-chan answer
	for i := range 5 {
		all = append(all, greedy.later(greedy.ask(string(rune('1'+i)), "tools/call", toolCall("hold", "{}", ""))))
	}
	require.Eventually(t, func() bool { return h.running.Load() == 2 }, patience, time.Millisecond)
	all = append(all, modest.later(modest.ask("1", "tools/call", toolCall("hold", "{}", ""))))
	require.Eventually(t, func() bool { return h.running.Load() == 3 }, patience, time.Millisecond)
	for range all {
		h.let <- struct{}{}
	}
	for _, a := range all {
		assert.Equal(t, 200, soon(t, a).status)
	}
}

// Even a core that panics ends no more than the call.
func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	_, s := serveHold(t, nil)
	for _, era := range []string{"2025-11-25", modern} {
		c := s.as("ann").in(era)
		for _, meta := range []string{"", `{"progressToken":1}`} {
			m := c.do(c.ask("1", "tools/call", toolCall("crash", "{}", meta))).last(t)
			require.NotNil(t, m.Error)
			assert.EqualValues(t, -32603, m.Error.Code)
			assert.NotContains(t, m.Error.Message, "itself")
		}
	}
}

// The SDK's own client is content, in either era. One that shows forms is shown none: over a network they do not count.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, forms := range []bool{false, true} {
			s := serve(t, newTown(t, true), waits(beat))
			o := &mcp.ClientOptions{}
			if forms {
				o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					t.Error("a form was shown")
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
				}
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "official", Version: "1"}, o)
			tr := &http.Transport{}
			ctx := context.Background()
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{tr, "ann"}}}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			require.NoError(t, err, era)
			assert.Equal(t, era, session.InitializeResult().ProtocolVersion)
			list, err := session.ListTools(ctx, nil)
			require.NoError(t, err)
			assert.Len(t, list.Tools, 14)
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "whoami"})
			require.NoError(t, err)
			assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, `"Client":"official 1"`)
			r, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "wipe", Arguments: map[string]any{"name": "x"}})
			require.NoError(t, err)
			assert.True(t, r.IsError)
			assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, s.asked().ID)
			_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "no_such"})
			assert.Error(t, err)
			_ = session.Close()
			tr.CloseIdleConnections()
		}
	}
}

// bearer adds a token.
type bearer struct {
	next  http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}
