package mcphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

type thing struct {
	Name string `json:"name,omitempty"`
	MS   int    `json:"ms,omitempty"`
}

type razing struct {
	Raze string `json:"raze"`
}

func (r razing) Hash() canon.Hash { return canon.SumBytes("razing.v1", []byte(r.Raze)) }
func (r razing) Prompt() string   { return "raze " + r.Raze + " to the ground" }

// who is what a tool knows of its caller.
type who struct {
	Session, Client, Principal string
	Grants                     policy.Effects
}

// fixture is a real core over a store in memory, with things to look at and to destroy.
type fixture struct {
	*app.App
	store   *memstore.Store
	razed   atomic.Int64
	running atomic.Int64
	looked  atomic.Int64 // how often calls have looked whether the user has decided
	waiting atomic.Int64 // calls that wait for users
	ended   chan string  // client instances
	gate    chan struct{}
}

func newTown(t testing.TB, humanOnly bool) *fixture {
	t.Helper()
	w := &fixture{store: memstore.New(), ended: make(chan string, 1000), gate: make(chan struct{})}
	read := func(title string) tool.Spec {
		return tool.Spec{Title: title, Description: "D.", Class: policy.ClassRead, Effects: policy.Read}
	}
	spec := func(s policy.Strength) tool.Spec {
		return tool.Spec{Title: "T", Description: "D.", Class: policy.ClassDangerous, Effects: policy.Read | policy.Delete, Confirm: s}
	}
	entries := []tool.Entry{
		bind.Query(tool.Ref[thing, thing]{Name: "look"}, read("Look"), func(_ context.Context, _ tool.Scope, in thing) (thing, error) { return in, nil }),
		bind.Query(tool.Ref[thing, who]{Name: "whoami"}, read("Who am I"), func(_ context.Context, sc tool.Scope, _ thing) (who, error) {
			return who{sc.Session, sc.Client, sc.Principal.ID, sc.Principal.Grants}, nil
		}),
		bind.Query(tool.Ref[thing, thing]{Name: "slow"}, read("Slow"), func(ctx context.Context, sc tool.Scope, in thing) (thing, error) {
			w.running.Add(1)
			defer w.running.Add(-1)
			sc.Progress(tool.Progress{Done: 1, Total: 2, Message: "half way"})
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-w.gate:
			case <-ctx.Done():
				return in, ctx.Err()
			}
			return in, nil
		}),
		bind.Query(tool.Ref[thing, thing]{Name: "panics"}, read("Panics"), func(context.Context, tool.Scope, thing) (thing, error) { panic("the tool panics") }),
		bind.Query(tool.Ref[thing, string]{Name: "big"}, read("Big"), func(_ context.Context, _ tool.Scope, in thing) (string, error) {
			return strings.Repeat("x", in.MS), nil
		}),
		bind.Command(tool.Ref[thing, razing]{Name: "wipe"}, spec(policy.Preview),
			func(_ context.Context, _ tool.Scope, in thing) (razing, error) { return razing{Raze: in.Name}, nil },
			func(_ context.Context, _ tool.Scope, r razing) (razing, error) { w.razed.Add(1); return r, nil }),
	}
	core := app.Dependencies{
		Bell: system.NewBell("", nil), Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: w.store, Audit: w.store, Settings: w.store,
		Sessions: w.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: w.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) },
	}
	p := policy.Policy{Approval: person.Approval(humanOnly), Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}
	others := []tool.Entry{bind.Query(tool.Ref[thing, thing]{Name: "visit"}, read("Visit"), func(_ context.Context, _ tool.Scope, in thing) (thing, error) { return in, nil })}
	var err error
	w.App, err = app.New(core, app.Options{Policy: p},
		tool.Capability{Name: "town", Contract: "countersign.v1", Mode: policy.Execute, Entries: entries},
		tool.Capability{Name: "abroad", Contract: "countersign.v1", Mode: policy.Execute, Entries: others},
		control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Bell: core.Bell, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions, Settings: core.Settings, Operator: p,
			Toolsets: func() []tool.Toolset { return w.Toolsets() }}))
	require.NoError(t, err)
	return w
}

// ApprovalPending is App's, and counts.
func (w *fixture) ApprovalPending(ctx context.Context, id string) (bool, error) {
	w.looked.Add(1)
	return w.App.ApprovalPending(ctx, id)
}

// Decided is App's, and counts who waits.
func (w *fixture) Decided(id string) (told <-chan struct{}, stop func()) {
	w.waiting.Add(1)
	told, deaf := w.App.Decided(id)
	return told, func() {
		deaf()
		w.waiting.Add(-1)
	}
}

// site is a town served over HTTP, on a real socket.
type site struct {
	*fixture
	t        testing.TB
	url      string
	endpoint *mcphttp.Endpoint
	server   *httptest.Server
	end      context.CancelFunc
	visitors map[string]httpauth.Identity // by bearer
}

func serve(t testing.TB, w *fixture, change ...func(*mcphttp.EndpointOptions, *mcpserver.Options)) *site {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	mo := mcpserver.Options{Version: "1.2.3", People: w, Beat: beat, Forecaster: w}
	do := mcphttp.EndpointOptions{Known: mcphttp.NewKnownNames(w.Toolsets()), EndSession: func(ctx context.Context, principal, session string) error {
		w.ended <- session
		return w.EndSession(ctx, principal, session)
	}}
	for _, c := range change {
		c(&do, &mo)
	}
	do.Server = mcpserver.New(life, w, mo)
	s := &site{fixture: w, t: t, endpoint: mcphttp.NewEndpoint(life, do), end: end, visitors: map[string]httpauth.Identity{}}
	for _, name := range []string{"ann", "bob"} {
		s.visitors[name] = httpauth.Identity{Principal: policy.Principal{ID: "token:" + name, Grants: policy.All}, Credential: "key_" + name}
	}
	s.listen()
	t.Cleanup(func() {
		end()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(t, s.endpoint.Close(ctx))
		s.server.CloseClientConnections()
		s.server.Close()
		assert.NoError(t, w.Close(ctx))
	})
	return s
}

// listen has the endpoint served to visitors with a bearer token.
func (s *site) listen() {
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.visitors[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if !ok {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		s.endpoint.ServeVisitor(w, r, v)
	}))
	s.url = s.server.URL
}

// answer is one response.
type answer struct {
	status int
	header http.Header
	body   []byte
	events [][]byte // of a stream
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// last returns the last message of an answer, whichever way it came.
func (a answer) last(t testing.TB) message {
	t.Helper()
	body := a.body
	if len(a.events) > 0 {
		body = a.events[len(a.events)-1]
	}
	var m message
	require.NoError(t, json.Unmarshal(body, &m), "%d %s", a.status, body)
	return m
}

// caller is a client with a bearer token; it knows nothing of MCP but what a test says.
type caller struct {
	*site
	bearer  string
	version string
	session string
	extra   http.Header
	client  *http.Client
	caps    string // of a client without sessions
	info    string
	lastID  int
}

func (s *site) as(bearer string) *caller {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &caller{site: s, bearer: bearer, extra: http.Header{}, client: &http.Client{Transport: tr}, caps: "{}", info: `{"name":"probe","version":"9"}`}
}

func (c *caller) request(method, body string) *http.Request {
	r, err := http.NewRequest(method, c.url+"/mcp", strings.NewReader(body))
	require.NoError(c.t, err)
	h := r.Header
	h.Set("Authorization", "Bearer "+c.bearer)
	h.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		h.Set("Content-Type", "application/json")
	}
	if c.version != "" {
		h.Set("Mcp-Protocol-Version", c.version)
	}
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	for k, v := range c.extra {
		h[k] = v
	}
	return r
}

func (c *caller) do(r *http.Request) answer {
	c.t.Helper()
	res, err := c.client.Do(r)
	require.NoError(c.t, err)
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	require.NoError(c.t, err)
	a.events = events(a.header, a.body)
	return a
}

func events(h http.Header, body []byte) (all [][]byte) {
	if !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			all = append(all, bytes.Clone(data))
		}
	}
	return all
}

func (c *caller) post(body string) answer {
	c.t.Helper()
	return c.do(c.request(http.MethodPost, body))
}

// connect opens a session of the older era; capabilities are the client's.
func (c *caller) connect(version, capabilities string) *caller {
	c.t.Helper()
	a := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"probe","version":"9"}}}`)
	require.Equal(c.t, 200, a.status, "%s", a.body)
	require.Nil(c.t, a.last(c.t).Error)
	c.session, c.version = a.header.Get("Mcp-Session-Id"), version
	require.NotEmpty(c.t, c.session)
	require.Equal(c.t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	return c
}

const modern = "2026-07-28"

// newer returns a client of the era without sessions.
func (c *caller) newer() *caller {
	c.version = modern
	return c
}

// ask returns a request of the client's era as it has to be.
func (c *caller) ask(id, method, params string) *http.Request {
	if c.version != modern {
		return c.request(http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
	}
	var p map[string]json.RawMessage
	require.NoError(c.t, json.Unmarshal([]byte(params), &p))
	meta := map[string]json.RawMessage{}
	if p["_meta"] != nil {
		require.NoError(c.t, json.Unmarshal(p["_meta"], &meta))
	}
	meta["io.modelcontextprotocol/protocolVersion"] = json.RawMessage(`"` + modern + `"`)
	meta["io.modelcontextprotocol/clientCapabilities"] = json.RawMessage(c.caps)
	meta["io.modelcontextprotocol/clientInfo"] = json.RawMessage(c.info)
	var err error
	p["_meta"], err = json.Marshal(meta)
	require.NoError(c.t, err)
	all, err := json.Marshal(p)
	require.NoError(c.t, err)
	r := c.request(http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+string(all)+`}`)
	r.Header.Set("Mcp-Method", method)
	for _, named := range []string{"name", "uri"} {
		var name string
		if json.Unmarshal(p[named], &name) == nil {
			r.Header.Set("Mcp-Name", name)
		}
	}
	return r
}

func toolCall(name, args, meta string) string {
	if meta != "" {
		meta = `,"_meta":` + meta
	}
	return `{"name":"` + name + `","arguments":` + args + meta + `}`
}

// call calls a tool and returns the text of its result.
func (c *caller) call(name, args string) (text string, failed bool) {
	c.t.Helper()
	c.lastID++
	a := c.do(c.ask(strconv.Itoa(1000+c.lastID), "tools/call", toolCall(name, args, "")))
	return resultOf(c.t, a)
}

func resultOf(t testing.TB, a answer) (text string, failed bool) {
	t.Helper()
	m := a.last(t)
	require.Nil(t, m.Error, "%d %s", a.status, a.body)
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	require.NoError(t, json.Unmarshal(m.Result, &r))
	require.NotEmpty(t, r.Content, "%s", m.Result)
	return r.Content[0].Text, r.IsError
}

var eras = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern}

// in returns a client of that era.
func (c *caller) in(era string) *caller {
	c.t.Helper()
	if era == modern {
		return c.newer()
	}
	return c.connect(era, "{}")
}
