package observe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ownedIn is a home and a root, with what the home records of it and what stands beside the files.
type ownedIn struct {
	t    *testing.T
	home string
	root deployment.Root
}

func newOwnedIn(t *testing.T) ownedIn {
	dir := t.TempDir()
	o := ownedIn{t, filepath.Join(dir, "home"), deployment.Root{Target: "codex", Path: filepath.Join(dir, "root")}}
	require.NoError(t, os.MkdirAll(filepath.Join(o.home, "state", observe.OwnedDir), 0o755))
	require.NoError(t, os.MkdirAll(o.root.Path, 0o755))
	return o
}

func (o ownedIn) owned(files ...string) (out []deployment.Owned) {
	for _, f := range files {
		out = append(out, deployment.Owned{Target: "codex", Root: o.root.Path, Path: filepath.Join(o.root.Path, f), Sum: deployment.SumOf([]byte(f)), Mode: deployment.PlainMode})
	}
	return out
}

func (o ownedIn) write(path string, m observe.Manifest) {
	o.t.Helper()
	m.Target, m.Root = "codex", o.root.Path
	data, err := observe.EncodeManifest(m)
	require.NoError(o.t, err)
	require.NoError(o.t, os.WriteFile(path, data, 0o600))
}

func (o ownedIn) record(repo string, files ...string) {
	o.write(filepath.Join(o.home, "state", observe.OwnershipName(o.root, repo)), observe.Manifest{Recorded: o.root.Path, Repo: repo, Files: o.owned(files...)})
}

func (o ownedIn) beside(files ...string) {
	o.write(filepath.Join(o.root.Path, observe.ManifestName("codex")), observe.Manifest{Files: o.owned(files...)})
}

func (o ownedIn) known(repos ...string) {
	var all []deployport.KnownRoot
	for _, repo := range repos {
		all = append(all, deployport.KnownRoot{Target: "codex", Path: o.root.Path, Repo: repo})
	}
	data, err := json.Marshal(all)
	require.NoError(o.t, err)
	require.NoError(o.t, os.WriteFile(filepath.Join(o.home, "state", observe.RootsName), data, 0o600))
}

// read is who owns what, by file, as a config repository sees it that wants the file w.
func (o ownedIn) read(repo string) (map[string]string, observe.RootOwnership, []string) {
	o.t.Helper()
	all, err := observe.OpenOwnership(o.home, repo, observe.Believed())
	require.NoError(o.t, err)
	got, warnings, err := all.Read(o.root, func(path string) bool { return filepath.Base(path) == "w" })
	require.NoError(o.t, err)
	out := map[string]string{}
	for _, f := range got.Owned {
		out[filepath.Base(f.Path)] = f.Repo
	}
	for _, f := range got.Others {
		out["other "+filepath.Base(f.Path)] = f.Repo
	}
	return out, got, warnings
}

func TestWhoseAFileIs(t *testing.T) {
	o := newOwnedIn(t)
	o.record("/a", "x", "shared")
	o.record("/b", "y", "shared")
	o.record("", "operator")
	got, read, warnings := o.read("/a")
	assert.Equal(t, map[string]string{"x": "/a", "shared": "/a", "operator": "", "other y": "/b", "other shared": "/b"}, got)
	assert.True(t, read.Present)
	assert.Empty(t, read.Beside)
	assert.Empty(t, warnings)
	got, _, _ = o.read("/c")
	assert.NotContains(t, got, "x")
	assert.Equal(t, "/a", got["other x"])

	// What is recorded outranks what stands beside the files; the rest is whose the roots are.
	o.beside("x", "z", "w")
	o.known("/b")
	got, read, _ = o.read("/a")
	assert.Equal(t, "/a", got["x"])
	assert.NotContains(t, got, "other x")
	assert.Equal(t, "/b", got["other z"], "only /b deployed here before it was recorded")
	assert.Equal(t, "/b", got["other w"])
	assert.Equal(t, []string{filepath.Join(o.root.Path, observe.ManifestName("codex"))}, read.Beside)
	o.known("/a", "/b")
	got, _, _ = o.read("/a")
	assert.Equal(t, "/a", got["w"], "of several, the one that wants it")
	assert.Equal(t, "/b", got["other z"], "and what this one does not want is no leftover of its own")
	o.known()
	got, _, _ = o.read("/a")
	assert.Equal(t, "/a", got["z"], "nothing is known: it is taken over by who comes, as the original tool left it")
}

func TestRecordsThatAreNoneOwnNothing(t *testing.T) {
	o := newOwnedIn(t)
	file := filepath.Join(o.home, "state", observe.OwnershipName(o.root, "/a"))
	for name, m := range map[string]observe.Manifest{
		"of another root":       {Recorded: filepath.Dir(o.root.Path), Repo: "/a", Files: o.owned("x")},
		"of another repository": {Recorded: o.root.Path, Repo: "/b", Files: o.owned("x")},
		"of nothing":            {Files: o.owned("x")},
	} {
		o.write(file, m)
		got, read, warnings := o.read("/a")
		assert.Empty(t, got, name)
		assert.False(t, read.Present, name)
		assert.Len(t, warnings, 1, name)
	}
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	got, _, warnings := o.read("/a")
	assert.Empty(t, got)
	assert.Len(t, warnings, 1)
}
