//go:build linux

package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// consoleFixture is a machine of its own on which countersign serve runs, where only users confirm: agents ask there, and users decide in browsers.
type consoleFixture struct {
	*workshop
	server *exec.Cmd
	errors *notes
	place  announcement
	in     string // the directory in which it is started
}

// announcement is what serve says of itself.
type announcement struct {
	PID     int
	Address string
	URL     string
	Login   struct{ URL string }
	MCP     string `json:"mcp_url"`
	API     string `json:"api_url"`
}

// notes are what a program writes, for whoever looks while it runs.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// newBureau returns a machine whose server runs, with more variables in the environment of everything on it.
func newBureau(t *testing.T, env ...string) *consoleFixture {
	t.Helper()
	b := &consoleFixture{workshop: newWorkshopFor(t, built(t)), in: "site"}
	b.env = append(b.env, env...)
	b.env = append(b.env, "COUNTERSIGN_APPROVAL=human", "AGENTPACK_MACHINE_ID="+sampleMachine, "AMOF_WORKSPACE_ROOT="+b.at("ws"), "CONTEXT_PACK_SOURCE_ROOT="+b.at(""), "CONTEXT_PACK_ROOT="+b.at("packs"), "GIT_CONFIG_GLOBAL="+os.DevNull)
	write(t, b.at("site/src/main.go"), "package main\n")
	b.git("site", "init", "-q", "-b", "main")
	b.git("site", "remote", "add", "origin", sampleRemote)
	b.opens()
	t.Cleanup(b.closes)
	return b
}

// part is a part of the test, by that name.
func (b *consoleFixture) part(name string, f func(t *testing.T)) {
	whole := b.t
	whole.(*testing.T).Run(name, func(t *testing.T) {
		b.t = t
		defer func() { b.t = whole }()
		f(t)
	})
}

// opens starts the server, at the same address when it ran before.
func (b *consoleFixture) opens() {
	b.t.Helper()
	address := "127.0.0.1:0"
	if b.place.Address != "" {
		address = b.place.Address
	}
	b.server, b.errors = b.command("serve", "--addr", address, "--json", "--no-open"), &notes{}
	b.server.Dir, b.server.Stderr = b.at(b.in), b.errors
	said, err := b.server.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, b.server.Start())
	b.place = announcement{}
	if err := json.NewDecoder(said).Decode(&b.place); err != nil {
		b.closes()
		require.NoError(b.t, err, "it says where it is: %s", b.errors)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // until it ends
}

// closes ends the server as the user does.
func (b *consoleFixture) closes() {
	b.t.Helper()
	if b.server == nil {
		return
	}
	_ = b.server.Process.Signal(os.Interrupt)
	ended := make(chan error, 1)
	go func() { ended <- b.server.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(b.t, err, "the server ends well: %s", b.errors)
	case <-time.After(stdiotest.Patience):
		_ = b.server.Process.Kill()
		assert.Fail(b.t, "the server does not end", "%v, %s", <-ended, b.errors)
	}
	b.server = nil
}

// dies ends the server without its having a say.
func (b *consoleFixture) dies() {
	b.t.Helper()
	require.NoError(b.t, b.server.Process.Signal(syscall.SIGKILL))
	_ = b.server.Wait()
	b.server = nil
}

// asCaller is typed where the caller approves: no user has to sit at a terminal for what a test needs to begin with.
func (b *consoleFixture) asCaller(into any, arguments ...string) {
	b.t.Helper()
	env := b.env
	b.env = append(slices.Clone(env), "COUNTERSIGN_APPROVAL=host")
	defer func() { b.env = env }()
	b.typed(into, arguments...)
}

// pages returns where browsers see the server: by the name that its links have.
func (b *consoleFixture) pages() string {
	return strings.Replace(b.place.URL, "127.0.0.1", "localhost", 1)
}

// login returns a new one-time link to a page.
func (b *consoleFixture) login(page string) string {
	b.t.Helper()
	var link struct{ URL string }
	b.asCaller(&link, "login", page, "--print")
	return link.URL
}

// person returns a browser that somebody has just logged in, at that page. Browsers are apart from each other.
func (b *consoleFixture) person(page string) *browser.Page {
	b.t.Helper()
	return b.logged(browser.Open(b.t), page)
}

func (b *consoleFixture) logged(in *browser.Browser, page string) *browser.Page {
	b.t.Helper()
	p := in.Page(b.t, b.login(page))
	p.Press("Log this browser in")
	p.WaitFor("location.pathname.startsWith(" + fmt.Sprintf("%q", page) + ") && document.readyState === 'complete'")
	return p
}

// visitor is a program that does what a browser without scripts does, logged in.
type visitor struct {
	t    testing.TB
	base string
	http *http.Client
	kind string // of what came last
}

func (b *consoleFixture) visitor() *visitor {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(b.t, err)
	v := &visitor{t: b.t, base: b.pages(), http: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	b.t.Cleanup(v.http.CloseIdleConnections)
	link, err := url.Parse(b.login("/approvals"))
	require.NoError(b.t, err)
	status, _ := v.send(http.MethodPost, "/login", url.Values{"code": {link.Query().Get("code")}})
	require.Equal(b.t, http.StatusOK, status, "it is logged in")
	return v
}

// send sends a form from a page of the server, and reads what comes, after redirects.
func (v *visitor) send(method, path string, form url.Values) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.base)
	}
	answer, err := v.http.Do(req)
	require.NoError(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	v.kind = answer.Header.Get("Content-Type")
	return answer.StatusCode, string(text)
}

// agent returns a client of a countersign mcp of its own, in a directory, that may use those toolsets.
func (b *consoleFixture) agent(dir, toolsets string, flags ...string) *hand {
	b.t.Helper()
	cmd := b.command(append([]string{"mcp", "--toolsets", toolsets}, flags...)...)
	cmd.Dir = b.at(dir)
	h := &hand{Client: stdiotest.Start(b.t, cmd), t: b.t, cmd: cmd}
	h.Initialize("2025-06-18")
	return h
}

// later sends a call, and gives what waits for its answer.
func (h *hand) later(tool string, a args) func() stdiotest.Result {
	h.t.Helper()
	h.send(tool, tool, a)
	return func() stdiotest.Result { return h.answers(1)[tool] }
}

// deployment puts the sample where deployments look for it, and deploys it into the project site, by a client whose host answers for the user.
func (b *consoleFixture) deployment() {
	b.t.Helper()
	require.NoError(b.t, os.CopyFS(filepath.Join(b.home, ".agentpack/repo"), os.DirFS(sampleRepo)))
	h := b.agent("site", "deployments", "--approval", "host")
	offer := checked(b.t, h.Call("deploy", args{})).answer(b.t)
	checked(b.t, h.Call("deploy_apply", args{"yes": true, "adopt": true, "confirm_token": offer.Token})).answer(b.t)
	h.leaves()
}

// ecosystem is a workspace with an installed ecosystem of three repositories, of which one has a commit that is pushed nowhere, and a file that is not
// committed.
func (b *consoleFixture) ecosystem() {
	b.t.Helper()
	for _, name := range []string{"ws", "api", "web", "lib", "origin"} {
		require.NoError(b.t, os.RemoveAll(b.at(name)))
	}
	write(b.t, b.at("ws/README.md"), "# Workspace\n")
	b.commits("ws")
	create := []string{"eco", "create", "shop", "--provisioner", "noop"}
	for _, name := range []string{"api", "web", "lib"} {
		write(b.t, b.at(name+"/main.txt"), name+"\n")
		b.commits(name)
		b.git("", "clone", "-q", "--bare", b.at(name), b.at("origin/"+name+".git"))
		create = append(create, "--repo", name+"="+b.at("origin/"+name+".git"))
	}
	b.begins(create...)
	b.begins("eco", "install", "shop", "-y")
	b.git("ws/worktrees/shop/repos/api", "commit", "-q", "--allow-empty", "-m", "only here")
	write(b.t, b.at("ws/worktrees/shop/repos/web/new.txt"), "not committed\n")
}

// commits makes a directory a repository with one commit.
func (b *consoleFixture) commits(dir string) {
	b.t.Helper()
	b.git(dir, "init", "-q", "-b", "main")
	b.git(dir, "add", "-A")
	b.git(dir, "commit", "-q", "-m", "all of it")
}

// program is a client of MCP over HTTP with a token, of either era of the protocol.
type program struct {
	t       testing.TB
	url     string
	token   string
	newer   bool   // without sessions
	session string // of the older era
	more    args   // headers
	http    *http.Client
	id      int
}

// program makes a token for somebody, and connects with it.
func (b *consoleFixture) program(name string, scope ...string) *program {
	b.t.Helper()
	var made struct{ Token string }
	b.asCaller(&made, append([]string{"token", "create", fmt.Sprintf("%s-%d", name, time.Now().UnixNano())}, scope...)...)
	p := &program{t: b.t, url: b.place.MCP, token: made.Token, http: &http.Client{Transport: &http.Transport{}}}
	b.t.Cleanup(p.http.CloseIdleConnections)
	answer := p.request("initialize", args{"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "program", "version": "1"}})
	require.Nil(p.t, answer.Error, "%+v", answer.Error)
	status, _, err := p.post(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusAccepted, status)
	return p
}

// modern returns a program of the era without sessions.
func (b *consoleFixture) modern(name string, scope ...string) *program {
	b.t.Helper()
	p := b.program(name, scope...)
	p.newer = true
	return p
}

// post sends one message, and gives the answer to it, when there is one.
func (p *program) post(message args) (int, *stdiotest.Response, error) {
	params, _ := message["params"].(args)
	if p.newer {
		params["_meta"] = args{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": args{},
			"io.modelcontextprotocol/clientInfo": args{"name": "program", "version": "1"}}
	}
	doc, err := json.Marshal(message)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(string(doc)))
	if err != nil {
		return 0, nil, err
	}
	head := args{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + p.token}
	switch {
	case p.newer:
		head["Mcp-Protocol-Version"], head["Mcp-Method"] = "2026-07-28", message["method"]
		if params["name"] != nil {
			head["Mcp-Name"] = params["name"]
		}
	case p.session != "":
		head["Mcp-Session-Id"], head["Mcp-Protocol-Version"] = p.session, "2025-11-25"
	}
	maps.Copy(head, p.more)
	for name, value := range head {
		req.Header.Set(name, fmt.Sprint(value))
	}
	answer, err := p.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, err
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer.StatusCode, responseIn(string(text)), nil
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			if r := responseIn(data); r != nil {
				return answer.StatusCode, r, nil
			}
		}
	}
	return answer.StatusCode, nil, nil
}

// responseIn returns the answer that a text is; nil for anything else.
func responseIn(text string) *stdiotest.Response {
	var m struct {
		stdiotest.Response
		Method string
	}
	if json.Unmarshal([]byte(text), &m) != nil || m.Method != "" || m.ID == nil {
		return nil
	}
	return &m.Response
}

func (p *program) request(method string, params args) stdiotest.Response {
	p.t.Helper()
	p.id++
	status, r, err := p.post(args{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	require.NoError(p.t, err)
	require.NotNil(p.t, r, "%s is answered (%d)", method, status)
	return *r
}

// later sends a call, and gives what waits for its answer. Where the server died meanwhile there is none.
func (p *program) later(tool string, a args) func() stdiotest.Result {
	p.id++
	message, got := args{"jsonrpc": "2.0", "id": p.id, "method": "tools/call", "params": args{"name": tool, "arguments": a}}, make(chan *stdiotest.Response, 1)
	go func() {
		_, r, _ := p.post(message)
		got <- r
	}()
	return func() stdiotest.Result {
		p.t.Helper()
		select {
		case r := <-got:
			if r == nil {
				return stdiotest.Result{}
			}
			return stdiotest.ResultOf(p.t, *r)
		case <-time.After(2 * stdiotest.Patience):
			require.FailNow(p.t, tool+" is never answered")
		}
		return stdiotest.Result{}
	}
}

// form returns the hidden fields of the forms of a page.
func (v *visitor) form(path string) url.Values {
	v.t.Helper()
	status, text := v.send(http.MethodGet, path, nil)
	require.Equal(v.t, http.StatusOK, status, text)
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		form.Set(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	return form
}

// atOnce does things at the same moment, and counts what came of them.
func atOnce(things []func() int) map[int]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	came, start := map[int]int{}, make(chan struct{})
	for _, thing := range things {
		all.Go(func() {
			<-start
			result := thing()
			mu.Lock()
			defer mu.Unlock()
			came[result]++
		})
	}
	close(start)
	all.Wait()
	return came
}

// database returns the one that every process of this home shares.
func (b *consoleFixture) database() *sql.DB {
	b.t.Helper()
	home := filepath.Join(b.home, ".countersign")
	for _, v := range b.env {
		if dir, ok := strings.CutPrefix(v, "COUNTERSIGN_HOME="); ok {
			home = dir
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(home, "countersign.db")+"?_pragma=busy_timeout(60000)")
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = db.Close() })
	return db
}

// expire has the time of a confirmation be over.
func (b *consoleFixture) expire(id string) {
	b.t.Helper()
	result, err := b.database().Exec(`UPDATE grants SET expires_at = 1 WHERE id = ?`, id)
	require.NoError(b.t, err)
	n, err := result.RowsAffected()
	require.NoError(b.t, err)
	require.Equal(b.t, int64(1), n)
}

// furnish puts something of everything on the machine: a project with scripts, a workflow and a history, deployments, an ecosystem, a pack.
func (b *consoleFixture) furnish() {
	b.t.Helper()
	b.deployment()
	b.ecosystem()
	shop := b.shop(map[string]string{"hi": "echo hi", "short": "echo up; sleep 1; echo down"}, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	b.commits("shop")
	b.env = append(b.env, "COUNTERSIGN_APPROVAL=host")
	defer func() { b.env = b.env[:len(b.env)-1] }()
	b.must("run", "hi", "--project", shop, "--yes")
	b.must("run", "short", "--project", shop, "--background", "--yes")
	b.must("workflow", "create", "release", "--project", shop, "--yes")
	b.must("workflow", "add-step", "release", "greet", "--yes", "--", "echo", "hello")
	b.must("workflow", "run", "release", "--yes")
	b.must("action", "save", "script", "backup", "--yes", "--", "echo", "saved")
	b.must("pack", "new", "start", "--brief", "where it begins", "--title", "How it starts")
	b.must("pack", "add", "shop/main.go:1-3", "--why", "it begins here")
	write(b.t, b.at("way.mmd"), "graph TD\n  a --> b\n")
	b.must("pack", "diagram", b.at("way.mmd"))
}
