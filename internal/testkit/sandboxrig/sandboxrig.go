// Package sandboxrig assembles the sandbox toolset over real parts: files, git with local repositories, processes and ports, in temporary directories. The
// agent server is fakeserver; the gateway is a program that only reports that it is healthy. It uses no network beyond the loopback interface.
package sandboxrig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// The words by which a test program is started as something else.
const (
	gateway = "sandboxrig-gateway"
	oneCall = "sandboxrig-call"
	isolate = "sandboxrig-isolate"
)

// Main is the TestMain of tests over a rig: their program is also the agent server, the gateway, the supervisor of both, and a Countersign process
// that carries out one call. It does not return.
func Main(run func() int) {
	fakeserver.RunIfAsked()
	if len(os.Args) > 1 && os.Args[1] == isolate {
		fmt.Fprintln(os.Stderr, local.Isolate(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && (os.Args[1] == gateway || os.Args[1] == oneCall) {
		serve := map[string]func([]string) error{gateway: serveGateway, oneCall: callOnce}[os.Args[1]]
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	projectrig.Main(run)
}

func serveGateway(args []string) error {
	flags := flag.NewFlagSet(gateway, flag.ContinueOnError)
	port, _ := flags.Int("port", 0, ""), flags.String("servers-config", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if os.Getenv("MCP_BEARER_TOKEN") == "" {
		return errors.New("the gateway has no token")
	}
	return http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	}))
}

// callOnce is the program of Elsewhere: state, home, tool, arguments.
func callOnce(args []string) error {
	c := local.Config{Trust: nopolicy.Trust(args[0]), Dir: args[0], Options: person.ByCaller(local.Defaults()), Packs: local.Packs{Root: filepath.Join(args[0], "packs"), Source: args[0]}, Projects: local.Projects{Home: args[1]}}
	equip(&c)
	c.Projects.Supervisor = strings.Split(os.Getenv(supervisorVariable), "\n")
	l, err := local.Open(c)
	if err != nil {
		return err
	}
	o := l.Call(context.Background(), tool.Call{Session: "elsewhere", Client: "elsewhere/1", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: tool.Name(args[2]), Args: json.RawMessage(args[3])})
	if o.Err != nil {
		return o.Err
	}
	_, err = fmt.Println(string(o.Value))
	return err
}

const supervisorVariable = "SANDBOXRIG_SUPERVISOR"

func equip(c *local.Config) {
	c.Sandboxes.Gateway, c.Sandboxes.Isolate = []string{os.Args[0], gateway}, []string{os.Args[0], isolate}
}

// Rig is a machine with a user, settings and an agent server's program.
type Rig struct {
	*projectrig.Rig
	*projectrig.Core
	Memory string // where the files of sandboxes are
}

// New returns a machine for this test alone.
func New(t testing.TB) *Rig {
	t.Helper()
	base := projectrig.New(t)
	for _, name := range []string{"MEMORY_PATH", "OPENCODE_PROJECTS_DIR", "OPENCODE_CONFIG", "OPENCODE_PORT", "OPENCODE_ARGS", "GLOBAL_MCP_TOOL_PORT", fakeserver.Variable, "SSH_AUTH_SOCK"} {
		t.Setenv(name, "")
	}
	for name, value := range map[string]string{"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GORACE": "atexit_sleep_ms=0"} {
		t.Setenv(name, value)
	}
	bin, err := fakeserver.Install(filepath.Join(base.Home, "bin"))
	require.NoError(t, err)
	t.Setenv("OPENCODE_BIN", bin)
	r := &Rig{Rig: base, Memory: filepath.Join(base.Home, ".memory")}
	t.Cleanup(r.end)
	r.Core = r.Another()
	_, created, err := r.InitSandboxes(t.Context())
	require.NoError(t, err)
	require.True(t, created)
	return r
}

// Another is another manager on the same machine.
func (r *Rig) Another() *projectrig.Core {
	r.T.Helper()
	return r.Rig.OpenCore(func(c *local.Config) {
		equip(c)
		r.T.Setenv(supervisorVariable, strings.Join(c.Projects.Supervisor, "\n"))
	})
}

// Elsewhere returns a Countersign process of its own that carries out one call, and is killed when the test ends.
func (r *Rig) Elsewhere(name tool.Name, args any) *exec.Cmd {
	r.T.Helper()
	doc, err := json.Marshal(args)
	require.NoError(r.T, err)
	cmd := exec.Command(os.Args[0], oneCall, r.State, r.Home, string(name), string(doc))
	require.NoError(r.T, cmd.Start())
	r.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// Servers returns every agent server and gateway that was started here.
func (r *Rig) Servers() *osproc.Processes {
	return osproc.New(osproc.Options{Dir: filepath.Join(r.State, "servers")})
}

// Running returns the servers and gateways that have not ended.
func (r *Rig) Running() (out []process.State) {
	r.T.Helper()
	all, err := r.Servers().List(context.Background())
	require.NoError(r.T, err)
	for _, s := range all {
		if !s.Status.Final() {
			out = append(out, s)
		}
	}
	return out
}

func (r *Rig) end() {
	ctx := context.Background()
	_, err := r.Servers().Recover(ctx)
	require.NoError(r.T, err)
	for _, s := range r.Running() {
		_, err := r.Servers().Stop(ctx, s.ID, 0)
		require.NoError(r.T, err)
	}
}

// Git runs git in a directory and returns what it prints.
func (r *Rig) Git(dir string, args ...string) string {
	r.T.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(r.T, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// Origin returns a new bare repository with a commit of these files on main, and a clone for another user's work.
func (r *Rig) Origin(name string, files map[string]string) (origin, work string) {
	r.T.Helper()
	origin, work = filepath.Join(r.Top, "origins", name+".git"), filepath.Join(r.Top, "works", name)
	require.NoError(r.T, os.MkdirAll(origin, 0o755))
	r.Git(origin, "init", "-q", "--bare", "-b", "main")
	r.Git(r.Top, "clone", "-q", origin, work)
	r.Git(work, "checkout", "-q", "-b", "main")
	r.Write(work, "README.md", "# "+name+"\n")
	for file, text := range files {
		r.Write(work, file, text)
	}
	r.Git(work, "add", "-A")
	r.Git(work, "commit", "-q", "-m", "first")
	r.Git(work, "push", "-q", "origin", "main")
	return origin, work
}

// Project returns a new origin with these files that is started here; dir is its base directory.
func (r *Rig) Project(name string, files map[string]string) (url, dir string) {
	r.T.Helper()
	url, _ = r.Origin(name, files)
	started := r.Do("opencode_project_start", map[string]any{"git_url": url})
	require.Equal(r.T, "success", started["status"], started)
	return url, started["base_dir"].(string)
}

// Refused returns the failure of a call, by its code without the prefix of this capability, and what it says.
func (r *Rig) Refused(code string, name tool.Name, args any) *fault.Error {
	r.T.Helper()
	o := r.Confirmed(name, args)
	require.Error(r.T, o.Err, "%s %s", name, o.Value)
	f := fault.From(o.Err)
	require.Equal(r.T, code, string(f.Code), f.Message)
	return f
}

// Plain is text without what differs from run to run: directories, ports, process IDs, times, hashes and keys.
func (r *Rig) Plain(text string) string {
	text = strings.ReplaceAll(text, r.Top, "$TOP")
	for _, p := range []struct{ form, put string }{
		{`ssh-ed25519 [A-Za-z0-9+/=]+`, "ssh-ed25519 KEY"}, {`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)`, "TIME"}, {`\b\d{10}-`, "TIME-"},
		{`\b[0-9a-f]{40}\b`, "COMMIT"}, {`("(?:opencode_)?pid": )\d+`, "${1}0"}, {`(SANDBOX_PORT\w*": )"\d+"`, `${1}"LEASED"`}, {`("(?:opencode_|mcp_tool_)?port": )\d+`, "${1}0"},
		{`127\.0\.0\.1:4\d{3}\b`, "127.0.0.1:PORT"},
	} {
		text = regexp.MustCompile(p.form).ReplaceAllString(text, p.put)
	}
	return text
}

// Agent asks a project's server for something itself, in a directory, and returns what it answers.
func (r *Rig) Agent(url, method, path, dir string, body any) map[string]any {
	r.T.Helper()
	at := r.Do("opencode_project_status", map[string]any{"git_url": url})["opencode"].(map[string]any)["url"].(string)
	req, err := http.NewRequestWithContext(r.T.Context(), method, at+path+"?directory="+dir, bytes.NewReader(JSON(r.T, body)))
	require.NoError(r.T, err)
	password := regexp.MustCompile(`(?m)^OPENCODE_PASSWORD="?([^"\n]+)`).FindStringSubmatch(r.Read(r.Memory, "opencode-manager.env"))
	require.NotNil(r.T, password)
	req.SetBasicAuth("opencode", password[1])
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.T, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.T, err)
	require.Less(r.T, resp.StatusCode, 300, string(text))
	out := map[string]any{}
	_ = json.Unmarshal(text, &out) // not every answer is an object
	return out
}

// Interrupt writes down a change of the only project whose owner is gone.
func (r *Rig) Interrupt(what, box string) {
	r.T.Helper()
	r.Begun(what, box, "999999999 1 an-earlier-start")
}

// Begun writes down a change of the only project that the owner has begun, and in the audit that a call of the owner's was let through to make it.
func (r *Rig) Begun(what, box, owner string) {
	r.T.Helper()
	plan := r.Planned(what, box)
	sum, err := canon.Sum("sandbox.plan.v1", json.RawMessage(plan))
	require.NoError(r.T, err)
	store := sqlitestore.Open(filepath.Join(r.State, "countersign.db"))
	defer func() { require.NoError(r.T, store.Close()) }()
	call := system.IDs{}.NewUUID()
	require.NoError(r.T, store.Append(r.T.Context(), audit.Event{Phase: audit.Intent, CallID: call, Plan: sum}))
	r.Edit("doing", map[string]any{"what": what, "sandbox": box, "owner": owner, "since": "2026-01-02T03:04:05Z", "call_id": call, "plan": plan})
}

// Planned returns the plan of such a change, as a document.
func (r *Rig) Planned(what, box string) (doc string) {
	r.T.Helper()
	r.each(func(url string, p map[string]any) {
		base, _ := p["base_dir"].(string)
		about := map[string]any{"git_url": url, "base_dir": base}
		if box != "" {
			about["name"], about["directory"] = box, filepath.Join(base, "worktrees", box)
		}
		by := map[string]string{"destroy": "opencode_project_destroy", "create": "opencode_sandbox_create", "delete": "opencode_sandbox_delete"}[what]
		doc = string(JSON(r.T, map[string]any{"tool": by, "summary": what, "context": about}))
	})
	return doc
}

// Edit changes one key of what is stored of the only project.
func (r *Rig) Edit(key string, value any) {
	r.T.Helper()
	r.each(func(_ string, p map[string]any) { p[key] = value })
}

// each has f change what is stored of each project.
func (r *Rig) each(f func(url string, p map[string]any)) {
	r.T.Helper()
	const file = "opencode-state.json"
	state := projectrig.Object(r.T, json.RawMessage(r.Read(r.Memory, file)))
	for url, p := range state["projects"].(map[string]any) {
		f(url, p.(map[string]any))
	}
	require.NoError(r.T, os.WriteFile(filepath.Join(r.Memory, file), JSON(r.T, state), 0o600))
}

// JSON returns a value as a document.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	doc, err := json.Marshal(v)
	require.NoError(t, err)
	return doc
}
