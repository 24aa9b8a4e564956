package ecopages_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/console/ecopages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain is also the supervisor of what environments start.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		if err := osproc.Supervise(os.Stdin, osproc.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// room is the user at the console of a machine with a workspace and three bare origins.
type room struct {
	t    *testing.T
	base string
	core *local.Local
	url  string
	http *http.Client
}

func newRoom(t *testing.T, change ...func(*local.Config)) *room {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &room{t: t, base: base, http: &http.Client{Transport: &http.Transport{}}}
	r.write("ws/README.md", "# Workspace\n")
	r.begin("ws")
	for _, name := range []string{"api", "web", "lib"} {
		r.write(name+"/main.txt", name+"\n")
		r.write(name+"/CHANGELOG.md", "# Changelog\n")
		r.begin(name)
		r.git("", "clone", "-q", "--bare", r.at(name), r.at("origin/"+name+".git"))
	}
	env := map[string]string{"AMOF_WORKSPACE_ROOT": r.at("ws"), "HOME": r.at("home")}
	config := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: r.at("state"), Toolsets: []string{"ecosystems"}, Options: person.ByCaller(local.Defaults()),
		Projects: local.Projects{Supervisor: []string{os.Args[0], "supervise"}}, Env: func(name string) string { return env[name] }}
	for _, c := range change {
		c(&config)
	}
	r.core, err = local.Open(config)
	require.NoError(t, err)
	life, end := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	var ids atomic.Int64
	calls := ui.NewCallRunner(life, r.core, func() string { return fmt.Sprint("job-", ids.Add(1)) })
	calls.Patience = time.Minute // a busy machine is no other page
	person := func(h httpauth.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			h(w, req, httpauth.Identity{Principal: policy.Principal{ID: "local", Grants: policy.All}, Session: "console", Person: true, Credential: "key_rig", Form: "t"})
		})
	}
	calls.Mount(mux, person)
	ecopages.New(calls).Mount(mux, person)
	mux.Handle("/assets/", ui.AssetHandler())
	server := httptest.NewServer(mux)
	r.url = server.URL
	t.Cleanup(func() {
		end()
		server.Close()
		r.http.CloseIdleConnections()
		require.NoError(t, r.core.Close())
	})
	return r
}

func (r *room) at(path string) string { return filepath.Join(r.base, path) }

func (r *room) write(path, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.at(path)), 0o755))
	require.NoError(r.t, os.WriteFile(r.at(path), []byte(text), 0o644))
}

func (r *room) git(in string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.at(in)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return string(out)
}

// begin makes a directory a repository with one commit.
func (r *room) begin(dir string) {
	r.t.Helper()
	r.git(dir, "init", "-q", "-b", "main")
	r.git(dir, "add", "-A")
	r.git(dir, "commit", "-q", "-m", "feat: begin")
}

// leaf is a page that was answered with, after redirects.
type leaf struct {
	status int
	path   string
	html   string
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	blanks = regexp.MustCompile(`\s+`)
	entity = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")
)

// text returns what users read on it.
func (l leaf) text() string {
	_, body, _ := strings.Cut(l.html, "<main")
	body, _, _ = strings.Cut("<main"+body, "</main>")
	return strings.TrimSpace(entity.Replace(blanks.ReplaceAllString(tags.ReplaceAllString(body, " "), " ")))
}

// hidden returns the value of a hidden field.
func (l leaf) hidden(name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(l.html)
	if m == nil {
		return ""
	}
	return m[1]
}

func (r *room) send(method, path string, form url.Values) leaf {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(form.Encode()))
	require.NoError(r.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := r.http.Do(req)
	require.NoError(r.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(r.t, err)
	return leaf{answer.StatusCode, answer.Request.URL.RequestURI(), string(body)}
}

func (r *room) get(path string) leaf {
	r.t.Helper()
	l := r.send(http.MethodGet, path, nil)
	require.Equal(r.t, http.StatusOK, l.status, "%s: %s", path, l.text())
	return l
}

// post sends a form: names and values in turn.
func (r *room) post(path string, fields ...string) leaf {
	r.t.Helper()
	form := url.Values{"form_token": {"t"}}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return r.send(http.MethodPost, path, form)
}

// does posts a form that asks for a confirmation, and confirms it.
func (r *room) does(typed, path string, fields ...string) leaf {
	r.t.Helper()
	l := r.post(path, fields...)
	require.Regexp(r.t, "^/work/", l.path, l.text())
	require.Contains(r.t, l.html, "plan_hash", "it asks: %s", l.text())
	work, _, _ := strings.Cut(l.path, "?")
	l = r.post(work+"/answer", "decision", "approve", "plan_hash", l.hidden("plan_hash"), "typed_value", typed)
	require.NotRegexp(r.t, "^/work/", l.path, "it is done: %s", l.text())
	return l
}

// mode puts the session into that mode.
func (r *room) mode(mode string) {
	r.t.Helper()
	l := r.post("/ecosystems/-/mode", "mode", mode, "back", "/ecosystems")
	require.Contains(r.t, l.text(), "Change mode to "+mode+": Set mode "+mode)
}

// quiet waits until no run of the ecosystem is under way, and gives the page of its runs.
func (r *room) quiet(name string) (l leaf) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		l = r.get("/ecosystems/" + name + "/runs")
		return !strings.Contains(l.html, `aria-label="Cancel run`)
	}, time.Minute, 20*time.Millisecond, "runs of %s do not end", name)
	return l
}

// shop returns a room with an ecosystem of the three repositories, in mode execute; installed if so.
func shop(t *testing.T, installed bool) *room {
	t.Helper()
	r := newRoom(t)
	r.mode("execute")
	lines := ""
	for _, name := range []string{"api", "web"} {
		lines += name + "=" + r.at("origin/"+name+".git") + "#main\r\n"
	}
	lines += "lib=" + r.at("origin/lib.git") + " readonly\r\n"
	l := r.post("/ecosystems/-/create", "name", "shop", "description", "a shop", "provisioner", "noop", "repos", lines)
	require.Equal(t, http.StatusOK, l.status, l.text())
	require.Contains(t, l.text(), "Create shop:", l.text())
	if installed {
		r.does("", "/ecosystems/shop/install")
		require.NotContains(t, r.quiet("shop").html, `badge bad`)
	}
	return r
}
