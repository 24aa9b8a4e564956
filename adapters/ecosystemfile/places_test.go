package ecosystemfile_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// places holds a Places to its contract.
func places(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, opener){
		"RootFromTheEnvironment":    rootFromEnvironment,
		"RootFromSettings":          rootFromSettings,
		"RootFromTheDirectory":      rootFromDirectory,
		"RootOfAWorktree":           rootOfWorktree,
		"RootThatIsNone":            rootThatIsNone,
		"LaysOut":                   laysOut,
		"DirectoriesOfTheUser":      directoriesOfUser,
		"TellsWorkspacesApart":      tellsApart,
		"SettingsHaveDefaults":      settingsDefaults,
		"SettingsAreRead":           settingsRead,
		"SettingsAreChecked":        settingsChecked,
		"DefaultIsKept":             defaultKept,
		"DefaultKeepsTheRest":       defaultKeepsRest,
		"DefaultOfABrokenFile":      defaultBroken,
		"DefaultStaysInTheRoot":     defaultInRoot,
		"ACancelledCallDoesNothing": cancelledPlaces,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// rootOf returns the root for a user with those variables.
func rootOf(t *testing.T, open opener, u user, env map[string]string) (string, error) {
	u.Env = maps.Clone(u.Env)
	maps.Copy(u.Env, env)
	return open(t, u).Places.Root(t.Context())
}

func rootFromEnvironment(t *testing.T, open opener) {
	u := newUser(t)
	other := workspace(t, filepath.Join(t.TempDir(), "other"), "demo")
	other, err := filepath.EvalSymlinks(other)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(other, link))
	for _, env := range []map[string]string{
		{"AMOF_WORKSPACE_ROOT": other}, {"AMOF_WORKSPACE_ROOT": link}, {"AMOF_CWD": other}, {"AMOF_WORKSPACE_ROOT": other, "AMOF_CWD": u.Dir},
		{"AMOF_WORKSPACE_ROOT": other + "/../other"},
	} {
		root, err := rootOf(t, open, u, env)
		require.NoError(t, err, env)
		assert.Equal(t, other, root, env)
	}
	root, err := rootOf(t, open, u, map[string]string{"AMOF_WORKSPACE_ROOT": "ecosystems"})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(u.Dir, "ecosystems"), root, "a relative one counts from the working directory")
}

func rootFromSettings(t *testing.T, open opener) {
	u := newUser(t)
	other := workspace(t, filepath.Join(u.Home, "elsewhere"), "demo")
	for _, said := range []string{other, "~/elsewhere"} {
		file(t, filepath.Join(u.Home, ".config", "amof", "amof.yaml"), "workspace_root: "+said+"\n")
		root, err := rootOf(t, open, u, nil)
		require.NoError(t, err)
		assert.Equal(t, other, root)
	}
	root, err := rootOf(t, open, u, map[string]string{"AMOF_WORKSPACE_ROOT": u.Dir})
	require.NoError(t, err)
	assert.Equal(t, u.Dir, root, "the environment wins")
}

func rootFromDirectory(t *testing.T, open opener) {
	u := newUser(t)
	deep := filepath.Join(u.Dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	file(t, filepath.Join(u.Dir, "a", "ecosystems", "x", "readme"), "no repository, so no root")
	root, err := rootOf(t, open, user{Home: u.Home, Dir: deep, Clock: u.Clock, Env: u.Env}, nil)
	require.NoError(t, err)
	assert.Equal(t, u.Dir, root, "the nearest directory up with ecosystems/ that is a repository")

	plain := filepath.Join(u.Home, "nothing")
	require.NoError(t, os.MkdirAll(plain, 0o755))
	root, err = rootOf(t, open, user{Home: u.Home, Dir: plain, Clock: u.Clock, Env: u.Env}, nil)
	require.NoError(t, err)
	assert.Equal(t, plain, root, "else the working directory")
}

func rootOfWorktree(t *testing.T, open opener) {
	u := newUser(t)
	tree := filepath.Join(u.Dir, "worktrees", "demo")
	file(t, filepath.Join(tree, "ecosystems", "demo", "ecosystem.yaml"), "name: demo\nrepos: []\n")
	for _, line := range []string{"gitdir: " + u.Dir + "/.git/worktrees/demo\n", "gitdir: ../../.git/worktrees/demo"} {
		file(t, filepath.Join(tree, ".git"), line)
		root, err := rootOf(t, open, user{Home: u.Home, Dir: tree, Clock: u.Clock, Env: u.Env}, nil)
		require.NoError(t, err)
		assert.Equal(t, u.Dir, root, "a workspace is a worktree of its root")
	}
	file(t, filepath.Join(tree, ".git"), "gitdir: ../../.git/modules/demo\n")
	root, err := rootOf(t, open, user{Home: u.Home, Dir: tree, Clock: u.Clock, Env: u.Env}, nil)
	require.NoError(t, err)
	assert.Equal(t, tree, root, "a submodule is a repository of its own")
}

func rootThatIsNone(t *testing.T, open opener) {
	u := newUser(t)
	for _, dir := range []string{filepath.Join(u.Home, "gone"), filepath.Join(u.Dir, "ecosystems", "demo", "ecosystem.yaml")} {
		_, err := rootOf(t, open, u, map[string]string{"AMOF_WORKSPACE_ROOT": dir})
		require.ErrorIs(t, err, ecosystem.ErrRoot)
		assert.Contains(t, err.Error(), dir)
		assert.Contains(t, err.Error(), "AMOF_WORKSPACE_ROOT")
	}
	_, err := rootOf(t, open, user{Dir: u.Dir, Clock: u.Clock}, nil)
	require.ErrorIs(t, err, ecosystem.ErrRoot, "without a home directory nobody knows where the settings are")
}

func laysOut(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	assert.Equal(t, ecosystem.Layout{
		Name: "demo", Root: u.Dir, Dir: u.Dir + "/ecosystems/demo", Manifest: u.Dir + "/ecosystems/demo/ecosystem.yaml", Workspace: u.Dir + "/worktrees/demo",
		State: u.Home + "/.local/state/amof/ecosystems/demo", Data: u.Home + "/.local/share/amof",
	}, layoutOf(t, h, u.Dir, "demo"))
	for _, name := range []string{"", ".", "..", "../x", "a/b", "-x", "a b", "a\x00", "ä", strings.Repeat("a", 65)} {
		_, err := h.Places.Layout(t.Context(), u.Dir, name)
		require.ErrorIs(t, err, ecosystem.ErrName, "%q", name)
	}
	assert.NoDirExists(t, filepath.Join(u.Home, ".local"), "looking makes nothing")
}

func directoriesOfUser(t *testing.T, open opener) {
	u := newUser(t)
	for want, env := range map[string]map[string]string{
		"/h/state":                    {"AMOF_HOME": "/h"},
		"/s":                          {"AMOF_HOME": "/h", "AMOF_STATE_HOME": "/s", "XDG_STATE_HOME": "/x"},
		"/x/amof":                     {"XDG_STATE_HOME": "/x"},
		u.Home + "/.local/state/amof": {"XDG_STATE_HOME": "relative/is/ignored"},
		u.Home + "/here/state":        {"AMOF_HOME": "~/here"},
		u.Home + "/there/state":       {"AMOF_HOME": "there"},
	} {
		v := u
		v.Env = env
		assert.Equal(t, want+"/ecosystems/demo", layoutOf(t, open(t, v), u.Dir, "demo").State)
	}
	v := u
	v.Env = map[string]string{"AMOF_DATA_HOME": "/d"}
	assert.Equal(t, "/d", layoutOf(t, open(t, v), u.Dir, "demo").Data)
}

func tellsApart(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	second := workspace(t, filepath.Join(u.Home, "second"), "demo")
	install := func(root string) ecosystem.Layout {
		l := layoutOf(t, h, root, "demo")
		_, err := h.States.Update(t.Context(), l, func(s *ecosystem.State) error { s.WorkspaceDir = l.Workspace; return nil })
		require.NoError(t, err)
		return l
	}
	first := install(u.Dir)
	other := install(second)
	assert.NotEqual(t, first.State, other.State)
	assert.Equal(t, first.State+"@", other.State[:len(first.State)+1])
	assert.Len(t, other.State, len(first.State)+9)
	for _, l := range []ecosystem.Layout{first, other} {
		assert.Equal(t, l, layoutOf(t, h, l.Root, "demo"), "the place stays the same")
		s, err := h.States.Load(t.Context(), l)
		require.NoError(t, err)
		assert.Equal(t, l.Workspace, s.WorkspaceDir)
		assert.Equal(t, l.Root, s.Root)
	}
	stale := other
	stale.State = first.State // worked out at the same moment
	s, err := h.States.Load(t.Context(), stale)
	require.NoError(t, err)
	assert.False(t, s.Installed(), "another workspace's state is not this one's")
	_, err = h.States.Update(t.Context(), stale, func(*ecosystem.State) error { return nil })
	require.ErrorIs(t, err, ecosystem.ErrBusy)
	require.ErrorIs(t, h.States.Note(t.Context(), stale, "note", []byte("x")), ecosystem.ErrBusy)
}

func settingsDefaults(t *testing.T, open opener) {
	u := newUser(t)
	for _, text := range []string{"", "# nothing\n\n", "{}", "---\n", "\ufeff"} {
		file(t, filepath.Join(u.Home, ".config", "amof", "amof.yaml"), text)
		s, err := open(t, u).Places.Settings(t.Context())
		require.NoError(t, err, "%q", text)
		assert.Equal(t, ecosystem.Settings{QueueParallel: 4, RunTimeoutSeconds: 600}, s)
	}
}

func settingsRead(t *testing.T, open opener) {
	u := newUser(t)
	file(t, filepath.Join(u.Home, ".config", "amof", "amof.yaml"), "\ufeffworkspace_root: ~/ws\r\ndefault_mode: plan\r\nmax_mode: execute\r\nconfirm: terminal\r\n"+
		"token_ttl_seconds: 60\r\nqueue_parallel: 2\r\nrun_timeout_seconds: 30\r\n")
	s, err := open(t, u).Places.Settings(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ecosystem.Settings{WorkspaceRoot: u.Home + "/ws", DefaultMode: "plan", MaxMode: "execute", Confirm: "terminal", TokenTTLSeconds: 60, QueueParallel: 2,
		RunTimeoutSeconds: 30}, s)
	u.Env = map[string]string{"AMOF_DEFAULT_MODE": "ask", "AMOF_MAX_MODE": "plan", "AMOF_CONFIRM": "elicit", "AMOF_TOKEN_TTL_SECONDS": "900", "AMOF_QUEUE_PARALLEL": "1",
		"AMOF_RUN_TIMEOUT_SECONDS": "45"}
	s, err = open(t, u).Places.Settings(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ecosystem.Settings{WorkspaceRoot: u.Home + "/ws", DefaultMode: "ask", MaxMode: "plan", Confirm: "elicit", TokenTTLSeconds: 900, QueueParallel: 1,
		RunTimeoutSeconds: 45}, s, "the environment wins")
	u.Env = map[string]string{"AMOF_SUBPROCESS_HARD_DEADLINE_SECONDS": "77"}
	s, err = open(t, u).Places.Settings(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 77, s.RunTimeoutSeconds)
}

func settingsChecked(t *testing.T, open opener) {
	u := newUser(t)
	path := filepath.Join(u.Home, ".config", "amof", "amof.yaml")
	for text, names := range map[string]string{
		"max_mode: root": "max_mode", "default_mode: [ask]": "line 1", "confirm: yes": "confirm", "token_ttl_seconds: 59": "token_ttl_seconds", "token_ttl_seconds: 901": "901",
		"queue_parallel: 0": "queue_parallel", "run_timeout_seconds: never": "line 1", "colour: red": "line 1", "workspace_root: here": "workspace_root", "- a": "line 1",
		"a: b: c": "line 1", "max_mode: ask\nmax_mode: plan": "twice", "\x00": "line 1", "max_mode: \"a\\0b\"": "max_mode",
	} {
		file(t, path, text)
		_, err := open(t, u).Places.Settings(t.Context())
		require.ErrorIs(t, err, ecosystem.ErrSettings, text)
		assert.Contains(t, err.Error(), names, text)
		assert.Contains(t, err.Error(), path, text)
	}
	require.NoError(t, os.Remove(path))
	for name, value := range map[string]string{"AMOF_MAX_MODE": "all", "AMOF_CONFIRM": "no", "AMOF_QUEUE_PARALLEL": "4x", "AMOF_TOKEN_TTL_SECONDS": "1"} {
		u.Env = map[string]string{name: value}
		_, err := open(t, u).Places.Settings(t.Context())
		require.ErrorIs(t, err, ecosystem.ErrSettings, name)
		assert.Contains(t, err.Error(), name)
	}
}

// agent returns the file that selects an ecosystem.
func agent(u user) string { return filepath.Join(u.Dir, ".amof", "agent.yaml") }

func defaultKept(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for _, name := range []string{"", "demo", "", "1e3", "true", "null", "0x1F", "2026-01-01", "No", "demo"} {
		require.NoError(t, h.Places.SetDefault(t.Context(), u.Dir, name))
		got, err := open(t, u).Places.Default(t.Context(), u.Dir)
		require.NoError(t, err)
		assert.Equal(t, name, got)
	}
	require.ErrorIs(t, h.Places.SetDefault(t.Context(), u.Dir, "../x"), ecosystem.ErrName)
	together(t, 16, func(int) error { return open(t, u).Places.SetDefault(t.Context(), u.Dir, "demo") })
	got, err := h.Places.Default(t.Context(), u.Dir)
	require.NoError(t, err)
	assert.Equal(t, "demo", got)
}

func defaultKeepsRest(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for before, after := range map[string]string{
		"# mine\nmodel: x\n": "# mine\nmodel: x\ndefault_ecosystem: demo\n",
		"model: x":           "model: x\ndefault_ecosystem: demo\n",
		"default_ecosystem: old  # why\nmodel: x\n":           "default_ecosystem: demo  # why\nmodel: x\n",
		"model: x\r\ndefault_ecosystem: 'old'\r\nlast: 1\r\n": "model: x\r\ndefault_ecosystem: demo\r\nlast: 1\r\n",
		"nested:\n  default_ecosystem: old\n":                 "nested:\n  default_ecosystem: old\ndefault_ecosystem: demo\n",
		"default_ecosystem:\nmodel: x\n":                      "default_ecosystem: demo\nmodel: x\n",
		"{}\n":                                                "default_ecosystem: demo\n",
		"# only a comment\n":                                  "# only a comment\ndefault_ecosystem: demo\n",
	} {
		file(t, agent(u), before)
		require.NoError(t, h.Places.SetDefault(t.Context(), u.Dir, "demo"), before)
		text, err := os.ReadFile(agent(u))
		require.NoError(t, err)
		assert.Equal(t, after, string(text))
	}
	file(t, agent(u), "a: 1\ndefault_ecosystem: old\nb: 2\n")
	require.NoError(t, h.Places.SetDefault(t.Context(), u.Dir, ""))
	text, err := os.ReadFile(agent(u))
	require.NoError(t, err)
	assert.Equal(t, "a: 1\nb: 2\n", string(text), "none is selected")
}

func defaultBroken(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for _, text := range []string{"a: b: c", "- a", "default_ecosystem: a\ndefault_ecosystem: b", "{default_ecosystem: a,\n b: c}"} {
		file(t, agent(u), text)
		err := h.Places.SetDefault(t.Context(), u.Dir, "demo")
		require.ErrorIs(t, err, ecosystem.ErrSettings, text)
		assert.Contains(t, err.Error(), agent(u))
		now, err := os.ReadFile(agent(u))
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "what is not understood is not touched")
	}
	for _, text := range []string{"default_ecosystem: ../x\n", "default_ecosystem: [a]\n", "default_ecosystem: true\n"} {
		file(t, agent(u), text)
		name, err := h.Places.Default(t.Context(), u.Dir)
		require.NoError(t, err)
		assert.Empty(t, name, "what is no name selects none")
		require.NoError(t, h.Places.SetDefault(t.Context(), u.Dir, "demo"), text)
	}
}

func defaultInRoot(t *testing.T, open opener) {
	u := newUser(t)
	outside := filepath.Join(u.Home, "outside")
	file(t, filepath.Join(outside, "agent.yaml"), "default_ecosystem: foreign\n")
	require.NoError(t, os.Symlink(outside, filepath.Join(u.Dir, ".amof")))
	h := open(t, u)
	name, err := h.Places.Default(t.Context(), u.Dir)
	require.ErrorIs(t, err, ecosystem.ErrSettings)
	assert.Empty(t, name)
	require.Error(t, h.Places.SetDefault(t.Context(), u.Dir, "demo"))
	text, err := os.ReadFile(filepath.Join(outside, "agent.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "default_ecosystem: foreign\n", string(text), "no link leads out of the root")
}

func cancelledPlaces(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	ctx := cancelled(t)
	_, err := h.Places.Root(ctx)
	require.ErrorIs(t, err, ctx.Err())
	_, err = h.Places.Layout(ctx, u.Dir, "demo")
	require.ErrorIs(t, err, ctx.Err())
	_, err = h.Places.Settings(ctx)
	require.ErrorIs(t, err, ctx.Err())
	_, err = h.Places.Default(ctx, u.Dir)
	require.ErrorIs(t, err, ctx.Err())
}
