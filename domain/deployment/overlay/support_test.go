package overlay_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

// texts are files by path.
type texts map[string]string

// tree returns the files in order. A name that ends in ! is of an executable file.
func (files texts) tree() (t deployment.Tree) {
	for name, text := range files {
		mode := deployment.PlainMode
		if rest, ok := strings.CutSuffix(name, "!"); ok {
			name, mode = rest, deployment.ExecutableMode
		}
		t = append(t, deployment.File{Path: name, Mode: mode, Content: deployment.ContentOf([]byte(text))})
	}
	t.Sort()
	return t
}

// textsOf returns the inverse of tree.
func textsOf(t *testing.T, tree deployment.Tree) texts {
	t.Helper()
	require.True(t, slices.IsSortedFunc(tree, func(a, b deployment.File) int { return strings.Compare(a.Path, b.Path) }))
	out := texts{}
	for _, f := range tree {
		require.Equal(t, deployment.SumOf(f.Content.Data), f.Content.Sum)
		require.Equal(t, int64(len(f.Content.Data)), f.Content.Size)
		name := f.Path
		if f.Mode == deployment.ExecutableMode {
			name += "!"
		}
		require.NotContains(t, out, name)
		out[name] = string(f.Content.Data)
	}
	return out
}

func read(c deployment.Content) ([]byte, error) { return c.Data, nil }

func now() time.Time { return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC) }

func commit(letter string) *overlay.Origin {
	return &overlay.Origin{Git: &deployment.ResolvedGit{URL: "https://example.com/x", Commit: strings.Repeat(letter, 40)}}
}

// dirLayer returns a layer of override files.
func dirLayer(scope deployment.OverlayScope, files texts) overlay.Layer {
	return overlay.Layer{Scope: scope, Dir: "/repo/overlays/x", Exists: true, Kind: overlay.KindDir, Overrides: files.tree()}
}

// patchLayer returns a layer of patches, by the names of the files they are for.
func patchLayer(scope deployment.OverlayScope, patches texts) overlay.Layer {
	l := overlay.Layer{Scope: scope, Dir: "/repo/overlays/x", Exists: true, Kind: overlay.KindPatch}
	for _, f := range patches.tree() {
		l.Patches = append(l.Patches, overlay.PatchFile{Name: f.Path + ".patch", Content: f.Content})
	}
	return l
}

// diff returns a patch as a person makes one.
func diff(path, old, new string) string {
	return docedit.Differ{}.Unified("a/"+path, "b/"+path, []byte(old), []byte(new))
}

// gitMerge merges with git, as the adapter does.
func gitMerge(t testing.TB) func(base, ours, theirs []byte) ([]byte, int, error) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	return func(base, ours, theirs []byte) ([]byte, int, error) {
		args := []string{"merge-file", "-p", "--diff3", "-L", "overlay", "-L", "baseline", "-L", "upstream"}
		for i, data := range [][]byte{ours, base, theirs} {
			path := filepath.Join(dir, string(rune('a'+i)))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return nil, 0, err
			}
			args = append(args, path)
		}
		out, err := exec.Command("git", args...).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 127 {
			return out, exit.ExitCode(), nil
		}
		return out, 0, err
	}
}

// disk is an overlay directory in memory: the next rebase reads what a rebase writes.
type disk struct {
	t        testing.TB
	kind     overlay.Kind
	files    texts // by path in the directory; ! as in texts
	baseline *overlay.Baseline
	history  map[string]texts // of upstream, by commit
	merge    func(base, ours, theirs []byte) ([]byte, int, error)
	sparsify bool
}

func newDisk(t testing.TB, kind overlay.Kind, upstream, files texts) *disk {
	d := &disk{t: t, kind: kind, files: files, history: map[string]texts{}, merge: gitMerge(t)}
	d.publish("a", upstream)
	d.baseline = overlay.NewBaseline(upstream.tree(), commit("a"), now())
	return d
}

func (d *disk) publish(letter string, upstream texts) {
	d.history[strings.Repeat(letter, 40)] = upstream
}

func (d *disk) layer() overlay.Layer {
	l := overlay.Layer{Scope: deployment.GlobalScope, Dir: "/repo/overlays/x", Exists: true, Kind: d.kind, Baseline: d.baseline}
	below := func(dir string) texts {
		out := texts{}
		for path, text := range d.files {
			if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
				out[rest] = text
			}
		}
		return out
	}
	for _, f := range below(overlay.PatchesDir).tree() {
		l.Patches = append(l.Patches, overlay.PatchFile{Name: f.Path, Content: f.Content})
	}
	l.ConflictFiles = below(overlay.ConflictsDir).tree()
	for _, f := range l.ConflictFiles {
		l.Conflicts = append(l.Conflicts, f.Path)
	}
	own := maps.Clone(d.files)
	maps.DeleteFunc(own, func(path, _ string) bool { return strings.HasPrefix(path, overlay.MetaDir+"/") })
	l.Overrides = own.tree()
	return l
}

func (d *disk) input(letter string) overlay.RebaseInput {
	upstream := d.history[strings.Repeat(letter, 40)]
	return overlay.RebaseInput{
		Module: deployment.Module{ID: "skill:x"}, Layer: d.layer(), Upstream: upstream.tree(), Origin: commit(letter), Now: now().Add(time.Hour),
		Sparsify: d.sparsify, Read: read, Merge: d.merge, Diff: docedit.Differ{}.Unified,
		Base: func(path string) ([]byte, bool, error) {
			files := d.history[d.baseline.OriginOf(path).Git.Commit]
			for _, name := range []string{path, path + "!"} {
				if text, ok := files[name]; ok {
					return []byte(text), true, nil
				}
			}
			return nil, false, nil
		},
	}
}

// rebase rebases onto a published upstream and writes the result.
func (d *disk) rebase(letter string) overlay.Rebased {
	d.t.Helper()
	out, err := overlay.Rebase(d.input(letter))
	require.NoError(d.t, err)
	check(d.t, out)
	for _, path := range out.Remove {
		_, plain := d.files[path]
		_, executable := d.files[path+"!"]
		require.True(d.t, plain || executable, "%s is removed and not there", path)
		delete(d.files, path)
		delete(d.files, path+"!")
	}
	for _, put := range out.Files {
		require.True(d.t, fs.ValidPath(put.Path), put.Path)
		delete(d.files, put.Path)
		delete(d.files, put.Path+"!")
		name := put.Path
		if put.Mode == deployment.ExecutableMode {
			name += "!"
		}
		d.files[name] = string(put.Data)
	}
	if out.Baseline != nil {
		d.baseline = out.Baseline
	}
	return out
}

// check checks what holds for every result.
func check(t testing.TB, out overlay.Rebased) {
	t.Helper()
	rep := out.Report
	seen := map[string]bool{}
	for _, list := range [][]string{rep.Updated, rep.Deleted, rep.Skipped, rep.Conflicts} {
		require.NotNil(t, list)
		require.True(t, slices.IsSorted(list))
		for _, path := range list {
			require.False(t, seen[path], "%s is in two lists", path)
			seen[path] = true
		}
	}
	require.Equal(t, overlay.RebaseSummary{Processed: len(seen), Updated: len(rep.Updated), Deleted: len(rep.Deleted), Skipped: len(rep.Skipped), Conflicts: len(rep.Conflicts)}, rep.Summary)
	paths := slices.Clone(out.Remove)
	for _, put := range out.Files {
		paths = append(paths, put.Path)
	}
	slices.Sort(paths)
	require.Len(t, slices.Compact(slices.Clone(paths)), len(paths), "a path is written twice, or written and removed")
}

// compose puts the disk's layer over a published upstream.
func (d *disk) compose(letter string) (overlay.Composed, error) {
	return overlay.Compose(overlay.ComposeInput{
		Module: deployment.Module{ID: "skill:x"}, Upstream: d.history[strings.Repeat(letter, 40)].tree(), Layers: []overlay.Layer{d.layer()}, Read: read,
	})
}

func details(t testing.TB, err error) deployment.Details {
	t.Helper()
	out, ok := fault.From(err).Details.(deployment.Details)
	require.True(t, ok, "%v has no details", err)
	return out
}
