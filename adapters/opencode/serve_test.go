package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/sandboxes/gateway"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

const (
	token    = "gateway-token-0123456789abcdef"
	password = "server-password-0123456789"
)

// gatewayFixture is the whole gateway: table, router, core, MCP over HTTP, and an agent server that is a process.
type gatewayFixture struct {
	t      *testing.T
	url    string
	table  string
	store  *memstore.Store
	server *exec.Cmd
	port   int
	client *mcp.ClientSession
	mu     sync.Mutex
	used   []string
	using  int // how many calls are under way
}

func open(t *testing.T) *gatewayFixture {
	h := &gatewayFixture{t: t, table: filepath.Join(t.TempDir(), "servers.json"), store: memstore.New()}
	h.start()
	h.write("active")
	router := opencode.NewRouter(opencode.RouterOptions{Table: h.table, Secret: func(context.Context, string) (string, error) { return password, nil }})
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: h.store, Settings: h.store, Sessions: h.store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler), Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	served, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		gateway.Capability(gateway.Deps{Router: router, Ensure: h.ensure, Used: h.use}))
	require.NoError(t, err)
	face := mcpserver.New(t.Context(), served, mcpserver.Options{Version: "test", Session: "gateway", Concurrency: 128, Unordered: true, Principal: policy.Principal{ID: "gateway", Grants: policy.All}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- mcphttp.ServeGateway(ctx, l, mcphttp.GatewayHandler(face.MCP(), mcphttp.GatewayOptions{Token: token, Health: router.Counts}))
	}()
	h.client = h.connect()
	t.Cleanup(func() {
		_ = h.client.Close()
		stop()
		assert.NoError(t, <-over)
		assert.NoError(t, served.Close(context.Background()))
	})
	return h
}

// start has an agent server run.
func (h *gatewayFixture) start() {
	bin, err := fakeserver.Install(h.t.TempDir())
	require.NoError(h.t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h.t, err)
	h.port = l.Addr().(*net.TCPAddr).Port
	require.NoError(h.t, l.Close())
	h.server = exec.Command(bin, "serve", "--hostname", "127.0.0.1", "--port", strconv.Itoa(h.port))
	h.server.Env = append(os.Environ(), "OPENCODE_SERVER_PASSWORD="+password)
	require.NoError(h.t, h.server.Start())
	cmd := h.server
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(h.t, func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)))
		return err == nil && c.Close() == nil
	}, time.Minute, 10*time.Millisecond)
}

func (h *gatewayFixture) write(status string) {
	text := fmt.Sprintf(`{"version":"1.0","default_server":"p","servers":[{"id":"p","project_name":"owner-repo","url":"http://127.0.0.1:%d","password_env":"OPENCODE_PASSWORD","status":%q}]}`, h.port, status)
	require.NoError(h.t, os.WriteFile(h.table+".new", []byte(text), 0o600))
	require.NoError(h.t, os.Rename(h.table+".new", h.table))
}

func (h *gatewayFixture) ensure(_ context.Context, sc tool.Scope, id string) error {
	if id != "p" || sc.Session != "gateway" {
		return errors.New("another server was asked for")
	}
	h.start()
	h.write("active")
	return nil
}

func (h *gatewayFixture) use(_ context.Context, id string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used = append(h.used, id)
	h.using++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.using--
	}
}

// carrier puts the token on requests.
type carrier struct{ token string }

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token)
	return http.DefaultTransport.RoundTrip(r)
}

func (h *gatewayFixture) connect() *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	s, err := client.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url + "/mcp", HTTPClient: &http.Client{Transport: carrier{token}}, DisableStandaloneSSE: true}, nil)
	require.NoError(h.t, err)
	return s
}

// call returns a tool's object, and whether it failed.
func (h *gatewayFixture) call(name string, args map[string]any) (map[string]any, bool) {
	if args == nil {
		args = map[string]any{}
	}
	res, err := h.client.CallTool(h.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(h.t, err, name)
	require.Len(h.t, res.Content, 1)
	text := res.Content[0].(*mcp.TextContent).Text
	assert.NotContains(h.t, text, password)
	var doc map[string]any
	require.NoError(h.t, json.Unmarshal([]byte(text), &doc), text)
	return doc, res.IsError
}

func (h *gatewayFixture) must(name string, args map[string]any) map[string]any {
	doc, failed := h.call(name, args)
	require.False(h.t, failed, "%s: %v", name, doc)
	require.Equal(h.t, "success", doc["status"])
	return doc
}

func (h *gatewayFixture) session() string {
	return h.must("opencode_session_create", map[string]any{"title": "a title"})["session"].(map[string]any)["id"].(string)
}

func TestGatewayServesItsTools(t *testing.T) {
	h := open(t)
	list, err := h.client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	reads := map[string]bool{}
	for _, tool := range list.Tools {
		reads[tool.Name] = tool.Annotations.ReadOnlyHint
		carried := *tool
		carried.OutputSchema = nil // hosts do not give it to their models
		doc, err := json.Marshal(carried)
		require.NoError(t, err)
		assert.Less(t, len(doc), 1600, "%s is cheap to carry", tool.Name)
	}
	assert.Equal(t, map[string]bool{
		"opencode_servers": true, "opencode_session_list": true, "opencode_session_messages": true, "opencode_permission_list": true, "opencode_question_list": true,
		"opencode_session_create": false, "opencode_session_message": false, "opencode_session_abort": false, "opencode_session_delete": false,
		"opencode_permission_reply": false, "opencode_question_reply": false, "opencode_question_reject": false,
	}, reads)
	servers := h.must("opencode_servers", nil)
	assert.EqualValues(t, 1, servers["active"])
	id := h.session()
	said := h.must("opencode_session_message", map[string]any{"server": "owner-repo", "session": id, "text": "leak hello"})
	reply := said["reply"].(map[string]any)
	assert.Contains(t, reply["text"], "You said: the password is ")
	assert.Equal(t, []any{map[string]any{"tool": "bash", "status": "completed", "title": "list files"}}, reply["tools"])
	assert.Len(t, h.must("opencode_session_messages", map[string]any{"session": id})["messages"], 2)
	assert.Len(t, h.must("opencode_session_messages", map[string]any{"session": id, "full": true})["raw"], 2)
	assert.NotNil(t, h.must("opencode_session_message", map[string]any{"session": id, "text": "later", "wait": false})["message"])
	h.must("opencode_session_abort", map[string]any{"session": id})
	assert.Len(t, h.must("opencode_session_list", nil)["sessions"], 1)
	h.mu.Lock()
	assert.Contains(t, h.used, "p")
	assert.Zero(t, h.using, "nothing is in use that nobody waits for")
	h.mu.Unlock()
	for name, args := range map[string]map[string]any{
		"opencode_session_list":    {"server": "none"},
		"opencode_session_message": {"session": "../global/health", "text": "x"},
		"opencode_session_delete":  {"session": "ses_none"},
	} {
		doc, failed := h.call(name, args)
		assert.True(t, failed, name)
		assert.Equal(t, "error", doc["status"], name)
		assert.NotEqual(t, "internal", doc["error"], "%s: %v", name, doc)
	}
}

// What an agent asks for is permitted by a confirmation that shows it, and is in the audit.
func TestGatewayAsksBeforeItPermits(t *testing.T) {
	h := open(t)
	id := h.session()
	h.must("opencode_session_message", map[string]any{"session": id, "text": "ask"})
	asked := h.must("opencode_permission_list", nil)["permissions"].([]any)
	require.Len(t, asked, 1)
	args := map[string]any{"permission": asked[0].(map[string]any)["id"], "reply": "once"}
	doc, _ := h.call("opencode_permission_reply", args)
	confirmation, ok := doc["confirmation"].(map[string]any)
	require.True(t, ok, "%v", doc)
	assert.Contains(t, confirmation["prompt"], "bash rm -rf build")
	assert.Len(t, h.must("opencode_permission_list", nil)["permissions"], 1, "nothing was permitted yet")
	args["reply"], args["confirm_token"] = "always", confirmation["confirm_token"]
	_, failed := h.call("opencode_permission_reply", args)
	assert.True(t, failed, "it was confirmed for once, not for always")
	args["reply"] = "once"
	h.must("opencode_permission_reply", args)
	delete(args, "confirm_token")
	assert.Empty(t, h.must("opencode_permission_list", nil)["permissions"])
	_, failed = h.call("opencode_permission_reply", args)
	assert.True(t, failed, "it is not pending any more")

	h.must("opencode_session_message", map[string]any{"session": id, "text": "ask"})
	asked = h.must("opencode_permission_list", nil)["permissions"].([]any)
	h.must("opencode_permission_reply", map[string]any{"permission": asked[0].(map[string]any)["id"], "reply": "reject"})
	questions := h.must("opencode_question_list", nil)["questions"].([]any)
	require.Len(t, questions, 2)
	h.must("opencode_question_reply", map[string]any{"question": questions[0].(map[string]any)["id"], "answers": [][]string{{"sqlite"}}})
	h.must("opencode_question_reject", map[string]any{"question": questions[1].(map[string]any)["id"]})

	doc, failed = h.call("opencode_session_delete", map[string]any{"session": id})
	require.True(t, failed)
	confirmation = doc["confirmation"].(map[string]any)
	h.must("opencode_session_delete", map[string]any{"session": id, "confirm_token": confirmation["confirm_token"]})
	records, err := h.store.Tail(t.Context(), 100)
	require.NoError(t, err)
	seen := map[string]int{}
	for _, r := range records {
		if r.Event.Phase == audit.Intent {
			seen[r.Event.Tool]++
		}
	}
	assert.Equal(t, 2, seen["opencode_permission_reply"], "%v", seen)
	assert.Equal(t, 1, seen["opencode_session_delete"])
}

// Fifty agents at work keep nobody from permitting what they wait for, nor from each other.
func TestGatewayServesManyAtOnce(t *testing.T) {
	h := open(t)
	id := h.session()
	ctx, enough := context.WithCancel(t.Context())
	var waiting, calls sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			_, _ = h.client.CallTool(ctx, &mcp.CallToolParams{Name: "opencode_session_message", Arguments: map[string]any{"session": id, "text": "wait"}})
		})
	}
	for i := range 50 {
		calls.Go(func() {
			text := fmt.Sprint("message ", i)
			res, err := h.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "opencode_session_message", Arguments: map[string]any{"session": id, "text": text}})
			if assert.NoError(t, err) {
				assert.Contains(t, res.Content[0].(*mcp.TextContent).Text, "You said: "+text+`"`)
			}
		})
	}
	calls.Wait()
	h.must("opencode_permission_list", nil)
	enough()
	waiting.Wait()
}

// A server that does not answer keeps nobody from another one, whatever is asked of it.
func TestGatewayWaitsForOneServerAlone(t *testing.T) {
	h := open(t)
	reached := make(chan struct{}, 2)
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
	}))
	defer hung.Close()
	defer hung.CloseClientConnections()
	doc := contents(t, h.table)
	doc = strings.Replace(doc, `"servers":[`, `"servers":[{"id":"hung","url":"`+hung.URL+`","status":"active"},`, 1)
	require.NoError(t, os.WriteFile(h.table, []byte(doc), 0o600))
	ctx, enough := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for name, args := range map[string]map[string]any{
		"opencode_permission_reply": {"server": "hung", "permission": "per_1", "reply": "once"}, "opencode_session_list": {"server": "hung"},
	} {
		waiting.Go(func() { _, _ = h.client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}) })
		<-reached
	}
	id := h.session()
	h.must("opencode_session_message", map[string]any{"session": id, "text": "hello"})
	enough()
	waiting.Wait()
}

func contents(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestGatewayStartsServersAndSurvivesTheirEnd(t *testing.T) {
	h := open(t)
	id := h.session()
	doc, failed := h.call("opencode_session_message", map[string]any{"session": id, "text": "die now"})
	require.True(t, failed)
	assert.Equal(t, "opencode_unhealthy", doc["error"], "%v", doc)
	_ = h.server.Wait()
	h.write("inactive")
	doc, failed = h.call("opencode_session_list", nil)
	require.True(t, failed, "what reads starts nothing")
	assert.Equal(t, "project_not_running", doc["error"])
	assert.Contains(t, doc["message"], "not active (status: inactive)")
	created := h.must("opencode_session_create", nil)
	assert.Equal(t, true, created["server_started"])
	h.must("opencode_session_list", nil)
}

func TestGatewayIsNotForEverybody(t *testing.T) {
	h := open(t)
	try := func(method, path, host string, header map[string]string, body string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
		require.NoError(t, err)
		if host != "" {
			req.Host = host
		}
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text), resp.Header
	}
	status, text, _ := try("GET", "/health", "", nil, "")
	assert.Equal(t, 200, status)
	assert.Equal(t, `{"status":"ok","servers":1,"active":1}`, strings.TrimSpace(text))
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	good := map[string]string{"Authorization": "bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	with := func(name, value string) map[string]string {
		header := map[string]string{}
		for n, v := range good {
			header[n] = v
		}
		header[name] = value
		return header
	}
	own := strings.TrimPrefix(h.url, "http://")
	for what, c := range map[string]struct {
		host   string
		header map[string]string
		want   int
	}{
		"the token":       {"", good, 200},
		"its own page":    {"", with("Origin", h.url), 200},
		"localhost":       {"localhost:" + own[strings.LastIndex(own, ":")+1:], good, 200},
		"no token":        {"", with("Authorization", ""), 401},
		"half a token":    {"", with("Authorization", "Bearer "+token[:10]), 401},
		"more than it":    {"", with("Authorization", "Bearer "+token+"x"), 401},
		"another scheme":  {"", with("Authorization", "Basic "+token), 401},
		"another host":    {"evil.example:80", good, 403},
		"a rebound name":  {"127.0.0.1.evil.example", good, 403},
		"another page":    {"", with("Origin", "https://evil.example"), 403},
		"a nameless page": {"", with("Origin", "null"), 403},
	} {
		status, text, header := try("POST", "/mcp", c.host, c.header, initialize)
		assert.Equal(t, c.want, status, "%s: %s", what, text)
		if c.want == 401 {
			assert.Contains(t, header.Get("WWW-Authenticate"), "Bearer", what)
		}
	}
	status, _, _ = try("GET", "/health", "evil.example", nil, "")
	assert.Equal(t, 403, status)
	status, _, _ = try("POST", "/mcp", "", good, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", mcphttp.MaxGatewayBody)+`"}}`)
	assert.Equal(t, 413, status)
	status, _, _ = try("POST", "/mcp", "", good, `{`)
	assert.Equal(t, 400, status)
	status, _, _ = try("GET", "/other", "", good, "")
	assert.Equal(t, 404, status)
}

// TestPowerHandedToAnAgentIsAPersons: where users approve, a prompt, an answer and a permission are of high risk, are never allowed beforehand, and say
// what no plan can hold; stopping an agent only asks.
func TestPowerHandedToAnAgentIsAPersons(t *testing.T) {
	h := open(t)
	id := h.session()
	h.must("opencode_session_message", map[string]any{"session": id, "text": "ask"})
	pending := h.must("opencode_permission_list", nil)["permissions"].([]any)[0].(map[string]any)["id"]
	router := opencode.NewRouter(opencode.RouterOptions{Table: h.table, Secret: func(context.Context, string) (string, error) { return password, nil }})
	store := memstore.New()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler), Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	served, err := app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, gateway.Capability(gateway.Deps{Router: router}))
	require.NoError(t, err)
	defer func() { require.NoError(t, served.Close(context.Background())) }()
	for name, c := range map[tool.Name]struct {
		args map[string]any
		high bool
	}{
		"opencode_session_message":  {map[string]any{"session": id, "text": "unseen"}, true},
		"opencode_question_reply":   {map[string]any{"question": "que_1", "answers": [][]string{{"a"}}}, true},
		"opencode_permission_reply": {map[string]any{"permission": pending, "reply": "always"}, true},
		"opencode_session_abort":    {map[string]any{"session": id}, false},
		"opencode_session_create":   {map[string]any{}, false},
	} {
		args, err := json.Marshal(c.args)
		require.NoError(t, err)
		o := served.Call(t.Context(), tool.Call{Session: string(name), Principal: policy.Principal{ID: "agent", Grants: policy.All}, Tool: name, Args: args})
		require.NotNil(t, o.Request, "%s: %v", name, o.Err)
		assert.Equal(t, c.high, o.Request.Risk == "high", name)
		assert.Equal(t, !c.high, o.Request.AllowsSessionGrant(), name)
		assert.Equal(t, c.high, strings.Contains(string(o.Request.Plan), "what the agent then does"), name)
	}
	for _, m := range h.must("opencode_session_messages", map[string]any{"session": id})["messages"].([]any) {
		assert.NotContains(t, m.(map[string]any)["text"], "unseen")
	}
}
