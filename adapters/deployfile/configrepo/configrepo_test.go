package configrepo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	_ deployport.Configs  = (*configrepo.Configs)(nil)
	_ deployport.Overlays = (*configrepo.Overlays)(nil)
	_ deployport.Events   = (*configrepo.Events)(nil)
)

const manifestText = "version: 1\nprofiles:\n  default: {}\nmodules: [] # none\nunknown: 1\n"

// repo is a config repository at the place where it is by default: below a directory named .agentpack.
type repo struct {
	t  *testing.T
	at deployment.Locations
}

func newRepo(t *testing.T) repo {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	home := filepath.Join(root, ".agentpack")
	r := repo{t, deployment.Locations{Home: home, Repo: filepath.Join(home, "repo"), Machine: "box", ProjectID: "0123456789abcdef"}}
	require.NoError(t, os.MkdirAll(r.at.Repo, 0o755))
	return r
}

func (r repo) path(name string) string { return filepath.Join(r.at.Repo, filepath.FromSlash(name)) }

func (r repo) file(name, text string) string {
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	require.NoError(r.t, os.WriteFile(r.path(name), []byte(text), 0o644))
	return r.path(name)
}

func (r repo) link(target, name string) {
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	require.NoError(r.t, os.Symlink(target, r.path(name)))
}

func configs() *configrepo.Configs {
	return configrepo.NewConfigs(map[string][]deployment.Scope{"codex": {deployment.ScopeUser}})
}

func files() *configrepo.Files { return configrepo.NewFiles(observe.OpenIndex("")) }

func details(t *testing.T, err error) deployment.Details {
	d, ok := fault.From(err).Details.(deployment.Details)
	require.True(t, ok, "%v", err)
	return d
}

func TestLoad(t *testing.T) {
	ctx, r := context.Background(), newRepo(t)
	_, err := configs().Load(ctx, r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrConfigMissing)
	assert.Equal(t, r.path("agentpack.yaml"), details(t, err)["path"])
	assert.Equal(t, "config_missing", details(t, err)["reason_code"])
	assert.NotEmpty(t, details(t, err)["hint"])
	_, err = configs().Load(ctx, r.path("nowhere"))
	require.ErrorIs(t, err, deployment.ErrConfigMissing)

	r.file("agentpack.yaml", manifestText)
	r.file("agentpack.org.yaml", "{{ never read")
	got, err := configs().Load(ctx, r.at.Repo)
	require.NoError(t, err)
	assert.Nil(t, got.Lock)
	assert.True(t, got.LockSum.IsZero())
	assert.Len(t, got.Warnings, 1)
	assert.Contains(t, got.Warnings[0], "line 5")

	lock, err := configs().EncodeLock(deployment.Lock{})
	require.NoError(t, err)
	r.file("agentpack.lock.json", string(lock))
	got, err = configs().Load(ctx, r.at.Repo)
	require.NoError(t, err)
	assert.Equal(t, deployment.SumOf(lock), got.LockSum)
	assert.Empty(t, got.Lock.Modules)

	r.file("agentpack.lock.json", "{")
	_, err = configs().Load(ctx, r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrLock, "also when no module needs it")
	require.NoError(t, os.Remove(r.path("agentpack.lock.json")))
	r.link("gone.json", "agentpack.lock.json")
	_, err = configs().Load(ctx, r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrLock, "a link to nothing unpins nothing")
}

// TestAHugeManifestIsRefusedUnread: by its size, in words that say what to do; five thousand modules are read.
func TestAHugeManifestIsRefusedUnread(t *testing.T) {
	r := newRepo(t)
	var text strings.Builder
	text.WriteString("version: 1\nprofiles: {default: {include_tags: [base]}}\nmodules:\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "  - {id: 'instructions:%d', type: instructions, tags: [base], source: {local_path: {path: modules/%d}}}\n", i, i)
	}
	r.file("agentpack.yaml", text.String())
	config, err := configs().Load(t.Context(), r.at.Repo)
	require.NoError(t, err)
	assert.Len(t, config.Manifest.Modules, 5000)
	require.NoError(t, os.Truncate(r.path("agentpack.yaml"), 8<<20))
	_, err = configs().Load(t.Context(), r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrConfig)
	assert.ErrorContains(t, err, "larger than 2097152 bytes")
}

func TestLoadReadsNothingOutsideTheRepository(t *testing.T) {
	r := newRepo(t)
	require.NoError(t, os.WriteFile(filepath.Join(r.at.Home, "secret.yaml"), []byte(manifestText), 0o600))
	r.link("../secret.yaml", "agentpack.yaml")
	_, err := configs().Load(context.Background(), r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrPath)
	require.NoError(t, os.Remove(r.path("agentpack.yaml")))
	require.NoError(t, os.Mkdir(r.path("agentpack.yaml"), 0o755))
	_, err = configs().Load(context.Background(), r.at.Repo)
	require.ErrorIs(t, err, deployment.ErrPath)
}

func TestEditIsAWrite(t *testing.T) {
	ctx, r := context.Background(), newRepo(t)
	r.file("real.yaml", manifestText)
	require.NoError(t, os.Chmod(r.path("real.yaml"), 0o640))
	r.link("real.yaml", "agentpack.yaml")
	add := &deployment.Module{ID: "prompt:x", Type: deployment.ModulePrompt, Enabled: true, Source: deployment.Source{Local: "p"}}
	w, err := configs().Edit(ctx, r.at.Repo, deployport.ManifestEdit{Add: add})
	require.NoError(t, err)
	want := "version: 1\nprofiles:\n  default: {}\nmodules: # none\n  - id: prompt:x\n    type: prompt\n    source:\n      local_path:\n        path: p\nunknown: 1\n"
	assert.Equal(t, want, string(w.Data.Data))
	assert.Equal(t, deployment.Write{
		Op: deployment.OpUpdate, Path: r.path("real.yaml"), Root: r.at.Repo,
		Before: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte(manifestText)), Size: int64(len(manifestText)), Mode: 0o640},
		After:  deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte(want)), Size: int64(len(want)), Mode: 0o640},
		Data:   deployment.ContentOf([]byte(want)),
	}, w)
	is, err := os.ReadFile(r.path("agentpack.yaml"))
	require.NoError(t, err)
	assert.Equal(t, manifestText, string(is), "nothing is written")

	_, err = configs().Edit(ctx, r.at.Repo, deployport.ManifestEdit{Remove: "x"})
	require.ErrorIs(t, err, deployment.ErrConfig)
	_, err = configs().Edit(ctx, r.path("nowhere"), deployport.ManifestEdit{Add: add})
	require.ErrorIs(t, err, deployment.ErrConfigMissing)
}

func TestDoneContextsStopEverything(t *testing.T) {
	r := newRepo(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := configs().Load(ctx, r.at.Repo)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = configs().Edit(ctx, r.at.Repo)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = files().Local(ctx, r.at, ".")
	assert.ErrorIs(t, err, context.Canceled)
	_, err = files().Content(ctx, deployment.Content{})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = configrepo.NewOverlays(files()).Layer(ctx, r.at, "a", deployment.GlobalScope)
	assert.ErrorIs(t, err, context.Canceled)
}
