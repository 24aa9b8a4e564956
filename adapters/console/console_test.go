package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/console"
	"github.com/countersign-dev/countersign/adapters/console/homepages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain is also the supervisor of what scripts start.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		if err := osproc.Supervise(os.Stdin, osproc.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open returns the whole console over a home of its own.
func open(t *testing.T) *consoletest.Web {
	t.Helper()
	return with(t, local.Defaults())
}

func with(t *testing.T, o app.Options) *consoletest.Web {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "AGENTPACK_HOME": dir + "/agents", "OPENCODE_PROJECTS_DIR": dir + "/projects", "AMOF_HOME": dir + "/amof"}
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Packs: local.Packs{Root: dir + "/packs", Source: dir}, Options: o, Env: func(name string) string { return env[name] }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	life, end := context.WithCancel(context.Background())
	wait := func(context.Context) {}
	t.Cleanup(func() {
		end()
		wait(context.Background())
	})
	return consoletest.Serve(t, func(mux *http.ServeMux) {
		wait = console.Mount(life, mux, console.Options{App: l.App, Credentials: l.Admission(), Person: consoletest.Person(), IDs: func() string { return system.IDs{}.NewID("work_", 16) }, Machine: machineOf(l)})
		mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }) // no test here waits for one
	})
}

// machineOf is what the checks of the first page ask of that home's machine.
func machineOf(l *local.Local) homepages.Machine {
	return homepages.Machine{Damage: l.Damage, Free: func() (uint64, error) { return system.FreeSpace(l.Home()) }}
}

// TestEveryPageSaysWhenNoPersonIsAsked, and none does while users are.
func TestEveryPageSaysWhenNoPersonIsAsked(t *testing.T) {
	const said = `<p id="unasked" class="unasked"><strong>Approvals are disabled.</strong>`
	asked, nobody := open(t), with(t, person.ByCaller(local.Defaults()))
	for _, path := range []string{"/", "/approvals", "/activity", "/audit", "/tools", "/tools/run_script", "/settings", "/packs", "/deployments", "/projects", "/sandboxes", "/ecosystems", "/ui", "/nowhere"} {
		assert.NotContains(t, asked.Get(path).Body, said, path)
		got := nobody.Get(path)
		assert.Contains(t, got.Body, said, path)
		consolerig.Page{Site: &consolerig.Site{T: t}, Path: path, HTML: got.Body}.Sound()
	}
	settings := asked.Get("/settings")
	asks := asked.Settled(asked.Press(settings, "Set approver", "approval", "caller"))
	assert.NotContains(t, asks.Body, said, "it is not so yet")
	assert.Contains(t, asked.Settled(asked.Press(asks, "Approve")).Body, said, "from the next page on")
	assert.NotContains(t, asked.Settled(asked.Press(asked.Get("/settings"), "Set approver", "approval", "human")).Body, said)
}

func TestEverySectionIsThere(t *testing.T) {
	web := open(t)
	assert.Equal(t, http.StatusOK, web.Get("/").Status)
	for _, s := range ui.Sections() {
		got := web.Get(s.Href)
		assert.Equal(t, http.StatusOK, got.Status, s.Href)
		assert.Equal(t, 1, strings.Count(got.Body, `aria-current="page"`), s.Href)
		assert.Contains(t, got.Body, `<h1>`, s.Href)
		assert.NotRegexp(t, ` style="| on[a-z]+="|<script>|<style`, got.Body, s.Href)
		consolerig.Page{Site: &consolerig.Site{T: t}, Path: s.Href, HTML: got.Body}.Sound()
	}
	assert.Equal(t, http.StatusNotFound, web.Get("/nowhere").Status)
}

// TestTheFirstPageIsSmall: 150 KB transferred at most, with everything that it asks for (product rules on speed).
func TestTheFirstPageIsSmall(t *testing.T) {
	web := open(t)
	first := web.Get("/")
	total := len(first.Body)
	for _, m := range regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`).FindAllStringSubmatch(first.Body, -1) {
		asset := web.Get(m[1])
		require.Equal(t, http.StatusOK, asset.Status, m[1])
		total += len(asset.Body)
	}
	t.Logf("%d bytes", total)
	assert.Less(t, total, 80<<10, "the rest is room for what waits")
}

func TestNobodyComesInOtherwise(t *testing.T) {
	mux := http.NewServeMux()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: t.TempDir(), Options: person.ByCaller(local.Defaults())})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	console.Mount(t.Context(), mux, console.Options{App: l.App, Credentials: l.Admission(), Person: consoletest.Nobody, IDs: func() string { return "x" }, Machine: machineOf(l)})
	for _, request := range []string{"GET /", "POST /home/try", "GET /find", "GET /find.json", "GET /approvals", "GET /approvals/count", "GET /approvals/x", "POST /approvals/x", "GET /activity", "GET /activity/x", "GET /audit", "GET /audit/1", "GET /audit/export",
		"POST /audit/verify", "GET /tools", "GET /tools/input", "POST /tools/input/try", "POST /tools/input/setting", "GET /settings", "POST /settings/level", "POST /settings/approval", "POST /settings/ceiling", "POST /settings/require", "POST /settings/forms", "POST /settings/auto", "POST /settings/tokens",
		"GET /work/x", "POST /work/x/answer",
		"GET /ui", "GET /packs", "GET /deployments", "GET /projects", "GET /sandboxes", "GET /ecosystems"} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		assert.Equal(t, http.StatusUnauthorized, w.Code, request)
	}
}
