package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

var _ httpapi.App = (*app.App)(nil)

func TestMain(m *testing.M) {
	if home := os.Getenv(asAgent); home != "" {
		if err := playAgent(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(room{m}, goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// room runs the tests in a quick place of their own.
type room struct{ *testing.M }

func (r room) Run() int { return workroom.Run(r.M, "") }

// as is the header by which a test's request says who sends it: what package httpauth finds out from credentials.
const as = "Test-Visitor"

// visitors are who can send requests. The empty name is a program.
func visitor(name string) httpauth.Identity {
	v := httpauth.Identity{Principal: policy.Principal{ID: "local", Grants: policy.All}, Session: "s1", Client: "tester/1", Credential: "key_program"}
	switch name {
	case "person":
		v.Session, v.Client, v.Person, v.Credential = "console", "browser", true, "key_ada"
	case "another person":
		v.Session, v.Client, v.Person, v.Credential = "console", "browser", true, "key_bob"
	case "another program":
		v.Session = "s2"
	case "narrow person":
		v.Session, v.Client, v.Person, v.Credential = "console", "browser", true, "key_eve"
		v.Within = []tool.Restriction{{ReadOnly: true}}
	case "narrow":
		v.Within = []tool.Restriction{{Toolsets: []string{"packs"}}}
	case "reader":
		v.Within = []tool.Restriction{{ReadOnly: true}}
	}
	return v
}

// site is a server over a core.
type site struct {
	t        testing.TB
	url      string
	app      *app.App
	hub      *events.Hub
	mu       sync.Mutex
	observed map[string]int // answers by route and status
}

// serve serves a core on a socket of its own until the test ends.
func serve(t testing.TB, served *app.App) *site {
	t.Helper()
	s := &site{t: t, app: served, hub: events.NewHub(served, nil), observed: map[string]int{}}
	api := httpapi.New(httpapi.Options{App: served, Hub: s.hub, Version: "1.2.3", Observe: func(route string, status int, _ time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.observed[fmt.Sprint(route, " ", status)]++
	}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
		api.Serve(w, r, visitor(r.Header.Get(as)))
	}))
	s.url = server.URL
	t.Cleanup(func() {
		s.hub.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// home returns a core over everything real, in directories that go when the test ends.
func home(t testing.TB, change func(*local.Config)) *site {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"AMOF_WORKSPACE_ROOT": dir, "AMOF_HOME": filepath.Join(dir, "amof"), "AGENTPACK_HOME": filepath.Join(dir, "agentpack"), "HOME": dir,
		"OPENCODE_PROJECTS_DIR": filepath.Join(dir, "opencode"), "PATH": os.Getenv("PATH")}
	c := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: filepath.Join(dir, "state"), Options: person.ByCaller(local.Defaults()), Toolsets: []string{"all"}, Packs: local.Packs{Root: filepath.Join(dir, "packs"), Source: dir},
		Projects: local.Projects{Home: dir}, Env: func(name string) string { return env[name] }}
	c.Options.Version = "1.2.3"
	c.Options.Serve.Toolsets = []string{"all"}
	if change != nil {
		change(&c)
	}
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return serve(t, l.App)
}

func humanOnly(c *local.Config) { c.Options.Policy.Approval = policy.ApprovalHuman }

// fixture is a core whose clock a test moves, with a tool whose plan changes when the test says so.
type fixture struct {
	*site
	clock *clock.Fake
	mu    sync.Mutex
	about string // what every plan is about, besides its name
}

type target struct {
	Name string `json:"name"`
}

type wiping struct {
	Wipe  string `json:"wipe"`
	About string `json:"about"`
	how   policy.Strength
}

func (w wiping) Hash() canon.Hash          { return canon.SumBytes("test.wiping", []byte(w.Wipe+"\n"+w.About)) }
func (w wiping) Prompt() string            { return "wipe " + w.Wipe }
func (w wiping) Target() string            { return w.Wipe }
func (w wiping) Strength() policy.Strength { return w.how }

func (d *fixture) set(about string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.about = about
}

func newDepot(t testing.TB) *fixture {
	t.Helper()
	d := &fixture{clock: &clock.Fake{}, about: "as it is"}
	d.clock.Set(time.Now())
	store := sqlitestore.Open(filepath.Join(t.TempDir(), "countersign.db"))
	plan := func(how policy.Strength) func(context.Context, tool.Scope, target) (wiping, error) {
		return func(_ context.Context, _ tool.Scope, in target) (wiping, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return wiping{in.Name, d.about, how}, nil
		}
	}
	wipe := func(_ context.Context, _ tool.Scope, p wiping) (wiping, error) { return p, nil }
	spec := tool.Spec{Title: "Wipe", Description: "Wipes what is named.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write, Confirm: policy.Simple, Risk: policy.RiskMedium}
	core := app.Dependencies{Bell: system.NewBell("", nil), Clock: d.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: sqlitestore.NewLedger(store), Audit: store, Settings: store, Sessions: store.Sessions(),
		Runs: sqlitestore.NewRuns(store), Owner: system.Owner{}, Limiter: system.NewLimiter(d.clock, func(key string) system.Rate {
			if strings.HasPrefix(key, "depot/read/") {
				return system.Rate{Events: 60, Per: time.Minute, Burst: 2000}
			}
			return system.Rate{}
		}), Log: slog.New(slog.DiscardHandler), Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	options := app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
	var served *app.App
	served, err := app.New(core, options,
		control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions, Settings: core.Settings, Operator: options.Policy,
			Toolsets: func() []tool.Toolset { return served.Toolsets() }}),
		tool.Capability{Name: "depot", Contract: "countersign.v1", Mode: policy.Execute, Entries: []tool.Entry{
			bind.Query(tool.Ref[target, target]{Name: "look"}, tool.Spec{Title: "Look", Description: "Looks.", Class: policy.ClassRead, Effects: policy.Read},
				func(_ context.Context, _ tool.Scope, in target) (target, error) { return in, nil }),
			bind.Command(tool.Ref[target, wiping]{Name: "wipe"}, spec, plan(policy.Simple), wipe),
			bind.Command(tool.Ref[target, wiping]{Name: "raze"}, spec, plan(policy.Typed), wipe),
		}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, served.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	d.site = serve(t, served)
	return d
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// sent is a request: "METHOD path", its body, and who sends it. Other headers follow in pairs.
func (s *site) send(request, body, who string, headers ...string) reply {
	s.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, content)
	require.NoError(s.t, err)
	r.Header.Set(as, who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	doc, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return reply{answer.StatusCode, answer.Header, doc}
}

// get returns the value of a JSON answer that has to have that status.
func (s *site) get(status int, request, body, who string, headers ...string) map[string]any {
	s.t.Helper()
	r := s.send(request, body, who, headers...)
	require.Equal(s.t, status, r.status, string(r.body))
	return object(s.t, r.body)
}

func object(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal(doc, &v), string(doc))
	return v
}

// problem returns the code of an error of the API itself.
func problem(t testing.TB, v map[string]any) string {
	t.Helper()
	e, ok := v["error"].(map[string]any)
	require.True(t, ok, v)
	assert.NotEmpty(t, e["message"])
	return e["code"].(string)
}

// asked returns the confirmation that waits, as soon as there is one.
func (s *site) asked() map[string]any {
	s.t.Helper()
	var found []any
	require.Eventually(s.t, func() bool {
		found, _ = s.get(200, "GET /api/v1/confirmations", "", "person")["confirmations"].([]any)
		return len(found) > 0
	}, time.Minute, 5*time.Millisecond)
	return found[len(found)-1].(map[string]any)
}

// hide replaces what differs from run to run.
func (s *site) hide(text string) string {
	for _, rule := range [][2]string{
		{`call_[a-z2-7]{16}`, "call_ID"}, {`cf_[a-z2-7]{10}`, "cf_ID"}, {`20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`, "TIME"}, {`"duration_ms": \d+`, `"duration_ms": 1`},
		{`"(duration_?[a-zA-Z]+|expires_in_seconds)": \d+`, `"$1": 1`}, {`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, "TOKEN"},
		{`sha256:[0-9a-f]{64}`, "sha256:HASH"}, {`/[^ "]*/Test[A-Za-z]+[0-9]+/[0-9]+`, "DIR"}, {`wf_[0-9a-f]+`, "wf_ID"}, {`pk_[a-z0-9]{8}`, "pk_ID"}, {`\d+(\.\d+)?(µs|ms)\b`, "TOOK"},
		{`127\.0\.0\.1:\d+`, "HOST"}, {`"owner": "[^"]*"`, `"owner": "PROCESS"`},
	} {
		text = regexp.MustCompile(rule[0]).ReplaceAllString(text, rule[1])
	}
	return text
}

// shown returns an exchange as users read it.
func (s *site) shown(request, body, who string, r reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s", request)
	if who != "" {
		fmt.Fprintf(&b, " (%s)", who)
	}
	if body != "" {
		fmt.Fprintf(&b, "\n%s", body)
	}
	fmt.Fprintf(&b, "\n-- %d", r.status)
	for _, name := range []string{"Allow", "Content-Type", "Retry-After", "X-Call-Id", "X-Confirmation-Id", "X-Confirm-Token"} {
		if v := r.header.Get(name); v != "" && v != "application/json" {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	var doc bytes.Buffer
	if json.Indent(&doc, bytes.TrimSpace(r.body), "", "  ") != nil {
		doc.Reset()
		doc.Write(r.body)
	}
	return s.hide(b.String() + "\n" + doc.String() + "\n\n")
}

// story compares exchanges with a file: requests of "METHOD path", body, who.
func (s *site) story(name string, requests ...[3]string) {
	s.t.Helper()
	var b strings.Builder
	for _, q := range requests {
		b.WriteString(s.shown(q[0], q[1], q[2], s.send(q[0], q[1], q[2])))
	}
	golden.Text(s.t, name, b.String())
}
