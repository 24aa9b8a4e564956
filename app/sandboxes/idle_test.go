package sandboxes_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

type managerArgs = map[string]any

const stateFile = "opencode-state.json"

// server returns what is stored of a project's server.
func server(r *sandboxrig.Rig, url string) managerArgs {
	state := projectrig.Object(r.T, json.RawMessage(r.Read(r.Memory, stateFile)))
	return state["projects"].(managerArgs)["file://"+url].(managerArgs)["opencode"].(managerArgs)
}

// used sets when the only project's server was started and last used.
func used(r *sandboxrig.Rig, url string, ago time.Duration) {
	s := maps.Clone(server(r, url))
	s["started_at"] = time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339Nano)
	s["used_at"] = time.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
	r.Edit("opencode", s)
}

func evicted(r *sandboxrig.Rig) []string {
	r.T.Helper()
	out, err := r.EvictServers(r.T.Context())
	require.NoError(r.T, err)
	return out
}

// TestEvictIdle: a server that was idle for too long is stopped, shows the reason, and starts again; one that is used, or whose agent works, is not
// stopped.
func TestEvictIdle(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	used(r, url, 10*time.Hour)
	assert.Empty(t, evicted(r), "nothing is stopped unless somebody configures it")
	t.Setenv("OPENCODE_IDLE_STOP", "10m")
	used(r, url, 9*time.Minute)
	assert.Empty(t, evicted(r))
	used(r, url, 10*time.Minute+30*time.Second)
	assert.Empty(t, evicted(r), "it may have been used for another minute than is written down")
	young := server(r, url)
	delete(young, "used_at")
	young["started_at"] = time.Now().UTC().Format(time.RFC3339Nano)
	r.Edit("opencode", young)
	assert.Empty(t, evicted(r), "one that was just started was used just now")
	used(r, url, time.Hour)
	assert.Equal(t, []string{filepath.Base(dir)}, evicted(r))
	view := r.Do("opencode_project_status", managerArgs{"git_url": url})["opencode"].(managerArgs)
	assert.Equal(t, "stopped", view["status"])
	assert.Contains(t, view["last_error"], "idle for 1h0m")
	assert.Len(t, r.Running(), 1, "the gateway stays, to start it again")
	assert.Equal(t, "success", r.Do("opencode_project_start", managerArgs{"git_url": url})["status"])
}

// TestEvictAtWork: an agent that works in the clone or in a sandbox keeps the server running, however long no requests come in.
func TestEvictAtWork(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	box := r.Do("opencode_sandbox_create", managerArgs{"git_url": url, "name": "one"})["worktree"].(managerArgs)["directory"].(string)
	t.Setenv("OPENCODE_IDLE_STOP", "10m")
	for _, at := range []string{filepath.Join(dir, "repo"), box} {
		session := r.Agent(url, "POST", "/session", at, managerArgs{})["id"].(string)
		r.Agent(url, "POST", "/session/"+session+"/prompt_async", at, managerArgs{"parts": []managerArgs{{"type": "text", "text": "work for hours"}}})
		used(r, url, time.Hour)
		assert.Empty(t, evicted(r), at)
		assert.Len(t, r.Running(), 2)
		r.Agent(url, "POST", "/session/"+session+"/abort", at, managerArgs{})
		assert.Empty(t, evicted(r), "it was at work a moment ago")
	}
	used(r, url, time.Hour)
	assert.Len(t, evicted(r), 1)
}

// TestEvictWhatChanged: another process held the project when it was found idle, and used its server in the meantime.
func TestEvictWhatChanged(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Project("shop", nil)
	t.Setenv("OPENCODE_IDLE_STOP", "10m")
	used(r, url, time.Hour)
	canonical, err := git.ParseURL("file://" + url)
	require.NoError(t, err)
	store := sandboxfile.New(sandboxfile.Options{Home: r.Home, Clock: system.Clock{}, Env: os.Getenv, Environ: os.Environ})
	release, err := store.Hold(t.Context(), canonical)
	require.NoError(t, err)
	asked := telling{States: store, asked: make(chan git.URL, 1)}
	manager := sandboxes.ProjectManager{Deps: sandboxes.Deps{States: asked, Homes: store, Launcher: opencode.NewLauncher(opencode.LauncherOptions{}), Sockets: opencode.Sockets{},
		Processes: r.Servers(), Clock: system.Clock{}}}
	var out []string
	var turn sync.WaitGroup
	turn.Go(func() { out, err = manager.StopIdle(t.Context()) })
	require.Equal(t, canonical, <-asked.asked)
	used(r, url, 0)
	release()
	turn.Wait()
	require.NoError(t, err)
	assert.Empty(t, out)
	assert.Len(t, r.Running(), 2)
}

// telling reports which project a caller wants to lock.
type telling struct {
	sandboxport.States
	asked chan git.URL
}

func (s telling) Hold(ctx context.Context, url git.URL) (func(), error) {
	s.asked <- url
	return s.States.Hold(ctx, url)
}

// TestEvictLarge: the memory of all processes that a server started counts, even while it is used.
func TestEvictLarge(t *testing.T) {
	r := sandboxrig.New(t)
	small, _ := r.Project("small", nil)
	t.Setenv(fakeserver.Variable, "child=400")
	_, large := r.Project("large", nil)
	t.Setenv("OPENCODE_MEMORY_LIMIT_MB", "350")
	assert.Equal(t, []string{filepath.Base(large)}, evicted(r))
	assert.Len(t, r.Running(), 2, "one server, one gateway")
	assert.Equal(t, true, r.Do("opencode_project_status", managerArgs{"git_url": small})["healthy"])
	assert.Empty(t, evicted(r))
}

// TestUsed: however often a server is used, it is stored once a minute, by whichever process comes first.
func TestUsed(t *testing.T) {
	home := t.TempDir()
	hands := new(clock.Fake)
	store := func() *sandboxfile.Store { return sandboxfile.New(sandboxfile.Options{Home: home, Clock: hands}) }
	url, err := git.ParseURL("git@h:o/r")
	require.NoError(t, err)
	_, err = store().Update(t.Context(), func(s *sandbox.State) error {
		s.Projects[url.String()] = sandbox.Project{URL: url, Name: "o-r", CreatedAt: hands.Now(), Server: sandbox.Server{Port: 4101, Status: sandbox.Running}}
		return nil
	})
	require.NoError(t, err)
	file := filepath.Join(home, ".memory", stateFile)
	writes := 0
	use := func() {
		before, err := os.Stat(file)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				assert.NoError(t, sandboxes.ProjectManager{Deps: sandboxes.Deps{States: store(), Clock: hands}}.RecordUse(t.Context(), url.String()))
			})
		}
		all.Wait()
		after, err := os.Stat(file)
		require.NoError(t, err)
		if !os.SameFile(before, after) {
			writes++
		}
	}
	for range 6 {
		use()
		hands.Advance(30 * time.Second)
	}
	assert.Equal(t, 3, writes)
	state, err := store().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, clock.Epoch.Add(2*time.Minute), state.Projects[url.String()].Server.UsedAt)
	hands.Advance(-time.Hour)
	use()
	assert.Equal(t, 4, writes, "a time that is still to come is none")
	assert.NoError(t, sandboxes.ProjectManager{Deps: sandboxes.Deps{States: store(), Clock: hands}}.RecordUse(t.Context(), "git@h:o/none.git"))
}

// TestFiguresOfServers: they are the contract's.
func TestFiguresOfServers(t *testing.T) {
	assert.Equal(t, 10*time.Second, opencode.ModelsTimeout, "opencode contract §18")
	var _ sandboxport.Sockets = opencode.Sockets{}
}
