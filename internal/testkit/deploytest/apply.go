package deploytest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Host is a machine to deploy to, with a home and a place of its own.
type Host struct {
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Recovery  deployport.Recovery
	Clock     *clock.Fake // that the machine tells the time by
	Home      string      // need not exist
	Dir       string      // an empty directory: what roots go below

	// Die applies a transaction in a process that is killed at its nth step, and reports whether it came to that. Nil where nothing can be killed.
	Die func(t *testing.T, tx plan.Transaction, n int) bool
}

// Path is a path below the host's directory.
func (h Host) Path(elem ...string) string { return filepath.Join(append([]string{h.Dir}, elem...)...) }

// Put writes a file as a person would, with exactly that mode.
func (h Host) Put(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode))
}

// Root is a root of a target below the host's directory.
func (h Host) Root(target string, elem ...string) plan.Root {
	return plan.Root{Target: target, Path: h.Path(elem...), ScanExtras: true}
}

// Apply carries a transaction out; it must succeed.
func (h Host) Apply(t testing.TB, tx plan.Transaction) string {
	t.Helper()
	id, err := h.Machine.Apply(t.Context(), tx, nil)
	require.NoError(t, err)
	h.Clock.Advance(time.Second)
	return id
}

// Tree is everything below some directories: kind, permission bits and content by path.
func Tree(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			text := ""
			switch {
			case info.Mode().IsRegular():
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text = string(data)
			case info.Mode()&fs.ModeSymlink != 0:
				if text, err = os.Readlink(path); err != nil {
					return err
				}
			}
			tree[path] = info.Mode().String() + " " + text
			return nil
		})
		require.NoError(t, err)
	}
	return tree
}

// Wish is a whole file that should be there.
type Wish struct {
	Path, Text string
	Mode       fs.FileMode // Plain when it is zero
}

// Deploy is the transaction that makes wishes come true in some roots, worked out as a deployment does.
func (h Host) Deploy(t testing.TB, roots []plan.Root, wishes ...Wish) plan.Transaction {
	t.Helper()
	w := plan.Wanted{Roots: roots, Targets: []string{}}
	var paths []string
	for _, wish := range wishes {
		if wish.Mode == 0 {
			wish.Mode = deployment.Plain
		}
		for _, r := range roots {
			if plan.Below(r.Path, wish.Path, filepath.Separator) {
				w.Files = append(w.Files, plan.Desired{Target: r.Target, Root: r.Path, Path: wish.Path, Mode: wish.Mode,
					Content: deployment.Bytes([]byte(wish.Text)), Modules: []string{"skill:" + filepath.Base(wish.Path)}})
			}
		}
		paths = append(paths, wish.Path)
	}
	for _, r := range roots {
		w.Targets = append(w.Targets, r.Target)
	}
	at := deployment.Place{Home: h.Home, ProjectRoot: h.Dir}
	seen, err := h.Machine.Observe(t.Context(), deployport.Look{Place: at, Roots: roots, Paths: paths})
	require.NoError(t, err)
	p, err := plan.Make(w, seen)
	require.NoError(t, err)
	return p.Transaction(at, plan.KindDeploy, deployment.Sum{})
}

// Inverse is the transaction that takes an operation back, by its record. The manifests are left to whoever applies it.
func (h Host) Inverse(t testing.TB, id string, roots []plan.Root, owned []plan.Owned) plan.Transaction {
	t.Helper()
	s, err := h.Snapshots.Load(t.Context(), h.Home, id)
	require.NoError(t, err)
	tx := plan.Transaction{Kind: plan.KindRollback, Place: deployment.Place{Home: h.Home}, Targets: s.Targets, Roots: roots, Owned: owned, Claim: true,
		RolledBackTo: plan.Initial}
	for _, c := range s.Changes {
		if strings.HasPrefix(filepath.Base(c.Path), ".agentpack.manifest.") {
			continue
		}
		w := plan.Write{Target: c.Target, Op: plan.RollbackRestore, Path: c.Path, Before: c.After, After: c.Before,
			Data: deployment.Content{Sum: c.Before.Sum, Size: c.Before.Size}}
		if c.Before.Kind == plan.Absent {
			w.Op = plan.RollbackDelete
		}
		tx.Writes = append(tx.Writes, w)
	}
	return tx
}

// Applying is what every machine promises of Apply and of the snapshots that come of it.
func Applying(t *testing.T, open func(t *testing.T) Host) {
	for name, test := range map[string]func(t *testing.T, h Host){
		"creates, updates and deletes":          creates,
		"modes":                                 modes,
		"a stale plan writes nothing":           staleness,
		"paths that leave their root":           confinement,
		"links among the directories":           links,
		"owners keep to themselves":             owners,
		"records and contents":                  records,
		"originals are the first and stay":      originals,
		"directories go when they are empty":    directories,
		"a file gives way to a directory":       exchange,
		"edits leave no snapshot":               edits,
		"apply and its inverse restore all":     inverse,
		"prune keeps what is needed":            prune,
		"cancelled, everything is as before":    cancelled,
		"what came after the plan is not lost":  orphans,
		"identifiers are checked":               identifiers,
		"progress is told":                      progress,
		"two names of one file are one write":   twins,
		"content is checked before it is taken": sources,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.Put(t, h.Path("canary", "song"), "yellow", 0o640)
			require.NoError(t, os.Symlink("song", h.Path("canary", "link")))
			before := Tree(t, h.Path("canary"))
			test(t, h)
			assert.Equal(t, before, Tree(t, h.Path("canary")), "nothing outside the roots is touched")
		})
	}
}

func text(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func creates(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "a.md"), Text: "a"}, Wish{Path: h.Path("root", "sub", "dir", "b.md"), Text: "b"}, Wish{Path: h.Path("root", "empty")}))
	assert.Equal(t, "a", text(t, h.Path("root", "a.md")))
	assert.Equal(t, "b", text(t, h.Path("root", "sub", "dir", "b.md")))
	assert.Empty(t, text(t, h.Path("root", "empty")))
	assert.Contains(t, text(t, h.Path("root", ".agentpack.manifest.codex.json")), `"sub/dir/b.md"`)
	again := h.Deploy(t, root, Wish{Path: h.Path("root", "a.md"), Text: "a"}, Wish{Path: h.Path("root", "sub", "dir", "b.md"), Text: "b"}, Wish{Path: h.Path("root", "empty")})
	assert.Empty(t, again.Writes, "a plan after apply is empty")
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "a.md"), Text: "A"}, Wish{Path: h.Path("root", "empty")}))
	assert.Equal(t, "A", text(t, h.Path("root", "a.md")))
	assert.NoFileExists(t, h.Path("root", "sub", "dir", "b.md"))
	id := h.Apply(t, h.Deploy(t, root))
	entries, err := os.ReadDir(h.Path("root"))
	require.NoError(t, err)
	assert.Empty(t, entries, "a manifest that lists nothing is removed")
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Len(t, list, 3)
	assert.Equal(t, id, list[2].ID)
}

func modes(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine.sh"), "old", 0o640)
	h.Put(t, h.Path("root", "tool"), "old", 0o750)
	h.Put(t, h.Path("umask"), "", 0)
	require.NoError(t, os.Remove(h.Path("umask")))
	f, err := os.OpenFile(h.Path("umask"), os.O_CREATE, 0o777)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	umask := 0o777 &^ mode(t, h.Path("umask")).Perm()
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "mine.sh"), Text: "new", Mode: deployment.Executable}, Wish{Path: h.Path("root", "tool"), Text: "new"},
		Wish{Path: h.Path("root", "run"), Mode: deployment.Executable}, Wish{Path: h.Path("root", "doc")}))
	assert.Equal(t, 0o750, int(mode(t, h.Path("root", "mine.sh"))), "who may read may execute now")
	assert.Equal(t, 0o640, int(mode(t, h.Path("root", "tool"))), "nobody may execute now")
	assert.Equal(t, deployment.Executable&^umask, mode(t, h.Path("root", "run")))
	assert.Equal(t, deployment.Plain&^umask, mode(t, h.Path("root", "doc")))
	require.NoError(t, os.Chmod(h.Path("root", "run"), 0o644))
	tx := h.Deploy(t, root, Wish{Path: h.Path("root", "mine.sh"), Text: "new", Mode: deployment.Executable}, Wish{Path: h.Path("root", "tool"), Text: "new"},
		Wish{Path: h.Path("root", "run"), Mode: deployment.Executable}, Wish{Path: h.Path("root", "doc")})
	require.Len(t, tx.Writes, 1, "only the mode differs")
	h.Apply(t, tx)
	assert.Equal(t, fs.FileMode(0o755), mode(t, h.Path("root", "run")))
	w := plan.Write{Target: "codex", Op: plan.RollbackRestore, Path: h.Path("root", "doc"), Before: plan.Seen{Kind: plan.Regular, Sum: deployment.SumOf(nil), Mode: deployment.Plain &^ umask},
		After: plan.Seen{Kind: plan.Regular, Sum: deployment.SumOf([]byte("x")), Mode: 0o406}, Data: deployment.Bytes([]byte("x"))}
	tx = plan.Transaction{Kind: plan.KindRestore, Place: deployment.Place{Home: h.Home}, Roots: root, Writes: []plan.Write{w}}
	h.Apply(t, tx)
	assert.Equal(t, fs.FileMode(0o406), mode(t, h.Path("root", "doc")), "any other mode is meant as it is, whatever the umask")
}

func staleness(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	for _, name := range []string{"update", "mode", "link", "delete", "gone"} {
		h.Put(t, h.Path("root", name), name, 0o644)
	}
	wishes := []Wish{{Path: h.Path("root", "create"), Text: "new"}}
	for _, name := range []string{"update", "mode", "link", "gone"} {
		wishes = append(wishes, Wish{Path: h.Path("root", name), Text: "new"})
	}
	require.NoError(t, os.Remove(h.Path("root", "link")))
	require.NoError(t, os.Symlink("update", h.Path("root", "link")))
	for name, change := range map[string]func(){
		"create": func() { h.Put(t, h.Path("root", "create"), "mine", 0o644) },
		"update": func() { h.Put(t, h.Path("root", "update"), "Update", 0o644) },
		"mode":   func() { require.NoError(t, os.Chmod(h.Path("root", "mode"), 0o600)) },
		"gone":   func() { require.NoError(t, os.Remove(h.Path("root", "gone"))) },
		"link": func() {
			require.NoError(t, os.Remove(h.Path("root", "link")))
			require.NoError(t, os.Symlink("mode", h.Path("root", "link")))
		},
	} {
		tx := h.Deploy(t, root, wishes...)
		change()
		before := Tree(t, h.Dir)
		_, err := h.Machine.Apply(t.Context(), tx, nil)
		require.ErrorIs(t, err, deployment.ErrStale, name)
		assert.ErrorContains(t, err, h.Path("root", name))
		assert.Equal(t, before, Tree(t, h.Dir), name)
	}
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list, "what did not happen leaves no record")
}

func confinement(t *testing.T, h Host) {
	root := h.Root("codex", "root")
	h.Put(t, h.Path("root", "file"), "x", 0o644)
	require.NoError(t, os.Symlink(h.Path("canary"), h.Path("root", "out")))
	require.NoError(t, os.Symlink("../canary", h.Path("root", "up")))
	require.NoError(t, os.Symlink("nowhere", h.Path("root", "broken")))
	require.NoError(t, os.Symlink("file", h.Path("root", "tofile")))
	before := Tree(t, h.Dir)
	for name, path := range map[string]string{
		"through a link":           h.Path("root", "out", "x"),
		"through a relative link":  h.Path("root", "up", "sub", "x"),
		"through a broken link":    h.Path("root", "broken", "x"),
		"through a link to a file": h.Path("root", "tofile", "x"),
		"through a file":           h.Path("root", "file", "x"),
		"beside":                   h.Path("canary", "x"),
		"a name that begins alike": h.Path("rootx", "x"),
		"up":                       h.Path("root") + "/../canary/x",
		"relative":                 "root/x",
		"the root itself":          h.Path("root"),
		"no UTF-8":                 h.Path("root", "\xff"),
	} {
		for _, named := range []string{root.Path, ""} {
			data := deployment.Bytes([]byte("x"))
			tx := plan.Transaction{Kind: plan.KindDeploy, Place: deployment.Place{Home: h.Home}, Roots: []plan.Root{root}, Claim: true,
				Writes: []plan.Write{{Target: "codex", Op: plan.Create, Path: path, Root: named, After: plan.Seen{Kind: plan.Regular, Sum: data.Sum, Mode: deployment.Plain}, Data: data}}}
			_, err := h.Machine.Apply(t.Context(), tx, nil)
			assert.ErrorIs(t, err, deployment.ErrPath, name)
		}
	}
	assert.Equal(t, before, Tree(t, h.Dir))
}

func links(t *testing.T, h Host) {
	h.Put(t, h.Path("real", "inner", "seed"), "", 0o644)
	require.NoError(t, os.Symlink("real", h.Path("root")))
	require.NoError(t, os.Symlink(h.Path("real", "inner"), h.Path("real", "absolute")))
	require.NoError(t, os.Symlink("inner", h.Path("real", "relative")))
	root := []plan.Root{h.Root("codex", "root")}
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "a"), Text: "a"}, Wish{Path: h.Path("root", "absolute", "b"), Text: "b"}, Wish{Path: h.Path("root", "relative", "new", "c"), Text: "c"}))
	assert.Equal(t, "a", text(t, h.Path("real", "a")), "a root may be a link")
	assert.Equal(t, "b", text(t, h.Path("real", "inner", "b")), "and so may a directory, as long as it stays inside")
	assert.Equal(t, "c", text(t, h.Path("real", "inner", "new", "c")))
	assert.Equal(t, fs.ModeSymlink, mode(t, h.Path("root")).Type())
}

func owners(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	boot := h.Deploy(t, root, Wish{Path: h.Path("root", "operator.md"), Text: "op"})
	boot.Kind, boot.Owner = plan.KindBootstrap, plan.Bootstrap
	for i := range boot.Owned {
		boot.Owned[i].Owner = plan.Bootstrap
	}
	h.Apply(t, boot)
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "a"), Text: "a"}))
	h.Apply(t, h.Deploy(t, root))
	assert.Equal(t, "op", text(t, h.Path("root", "operator.md")))
	assert.NoFileExists(t, h.Path("root", "a"))
	seen, err := h.Machine.Observe(t.Context(), deployport.Look{Roots: root})
	require.NoError(t, err)
	require.Len(t, seen.Owned(), 1)
	assert.Equal(t, plan.Bootstrap, seen.Owned()[0].Owner)
}

func records(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root"), h.Root("zed", "other")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o600)
	tx := h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "theirs"}, Wish{Path: h.Path("other", "é \"q\" <b>"), Text: "z", Mode: deployment.Executable})
	tx.Profile, tx.Lock = "work", deployment.SumOf([]byte("lock"))
	at := h.Clock.Now()
	id := h.Apply(t, tx)
	s, err := h.Snapshots.Load(t.Context(), h.Home, id)
	require.NoError(t, err)
	assert.Equal(t, plan.KindDeploy, s.Kind)
	assert.Equal(t, plan.Applied, s.Status)
	assert.Equal(t, at, s.CreatedAt)
	assert.Equal(t, []string{"codex", "zed"}, s.Targets)
	assert.Equal(t, root, s.Roots)
	assert.Equal(t, "work", s.Profile)
	assert.Equal(t, h.Dir, s.ProjectRoot)
	assert.Equal(t, tx.Lock, s.Lock)
	assert.Equal(t, tx.Owned, s.Managed)
	require.Len(t, s.Changes, 4, "manifests included")
	for i, w := range tx.Writes {
		assert.Equal(t, w.Path, s.Changes[i].Path)
		assert.Equal(t, w.Before, s.Changes[i].Before)
		assert.Equal(t, w.After.Sum, s.Changes[i].After.Sum)
	}
	for _, c := range s.Changes {
		data, err := h.Snapshots.Blob(t.Context(), h.Home, c.After.Sum)
		require.NoError(t, err)
		assert.Equal(t, text(t, c.Path), string(data))
	}
	data, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("mine")))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(data))
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, []plan.Snapshot{s}, list)
	h.Clock.Advance(-time.Hour)
	second := h.Apply(t, h.Deploy(t, root))
	assert.True(t, plan.Later(second, id), "an identifier is greater than every earlier one, whatever the clock says")
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("never seen")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
}

func originals(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "first", 0o600)
	require.NoError(t, os.Symlink("mine", h.Path("root", "link")))
	first := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "1"}, Wish{Path: h.Path("root", "link"), Text: "1"}, Wish{Path: h.Path("root", "new"), Text: "1"}))
	h.Put(t, h.Path("root", "mine"), "edited", 0o600)
	second := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "2"}, Wish{Path: h.Path("root", "new"), Text: "2"}, Wish{Path: h.Path("root", "link"), Text: "1"}))
	all, err := h.Snapshots.Originals(t.Context(), h.Home)
	require.NoError(t, err)
	require.Len(t, all, 2, "what was not there has no original, and only the first one counts")
	assert.Equal(t, plan.Original{Path: h.Path("root", "link"), Snapshot: first, Seen: plan.Seen{Kind: plan.Link, Link: "mine", Sum: deployment.SumOf([]byte("first"))}},
		withoutSize(all[0]))
	assert.Equal(t, plan.Original{Path: h.Path("root", "mine"), Snapshot: first,
		Seen: plan.Seen{Kind: plan.Regular, Sum: deployment.SumOf([]byte("first")), Size: 5, Mode: 0o600}}, all[1])
	_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{first, second})
	require.NoError(t, err)
	data, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("first")))
	require.NoError(t, err, "originals are kept for ever")
	assert.Equal(t, "first", string(data))
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("edited")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "and what only the snapshots needed is not")
}

// withoutSize forgets the size of what a link leads to: it is nobody's business.
func withoutSize(o plan.Original) plan.Original {
	o.Size = 0
	return o
}

func directories(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root"), h.Root("codex", "root", "made", "nested")}
	require.NoError(t, os.MkdirAll(h.Path("root", "mine"), 0o755))
	h.Apply(t, h.Deploy(t, root[:1], Wish{Path: h.Path("root", "mine", "made", "a"), Text: "a"}, Wish{Path: h.Path("root", "deep", "er", "b"), Text: "b"},
		Wish{Path: h.Path("root", "shared", "c"), Text: "c"}))
	h.Apply(t, h.Deploy(t, root[1:], Wish{Path: h.Path("root", "made", "nested", "d"), Text: "d"}))
	h.Put(t, h.Path("root", "shared", "note"), "mine", 0o644)
	h.Apply(t, h.Deploy(t, root[:1]))
	assert.DirExists(t, h.Path("root", "mine"), "this one was there before")
	assert.NoDirExists(t, h.Path("root", "mine", "made"))
	assert.NoDirExists(t, h.Path("root", "deep"))
	assert.FileExists(t, h.Path("root", "shared", "note"))
	h.Apply(t, h.Deploy(t, root[1:]))
	assert.DirExists(t, h.Path("root", "made", "nested"), "never a root itself")
}

func exchange(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	first := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "skill"), Text: "file"}))
	s, err := h.Snapshots.Load(t.Context(), h.Home, first)
	require.NoError(t, err)
	second := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "skill", "SKILL.md"), Text: "dir"}))
	assert.Equal(t, "dir", text(t, h.Path("root", "skill", "SKILL.md")))
	h.Apply(t, h.Inverse(t, second, root, s.Managed))
	assert.Equal(t, "file", text(t, h.Path("root", "skill")), "and back")
}

func edits(t *testing.T, h Host) {
	h.Put(t, h.Path("repo", "agentpack.yaml"), "version: 1\n", 0o644)
	data := deployment.Bytes([]byte("version: 1\nprofiles: {}\n"))
	tx := plan.Transaction{Kind: plan.KindEdit, Place: deployment.Place{Home: h.Home}, Writes: []plan.Write{
		{Op: plan.Update, Path: h.Path("repo", "agentpack.yaml"), Root: h.Path("repo"), Data: data,
			Before: plan.Seen{Kind: plan.Regular, Sum: deployment.SumOf([]byte("version: 1\n")), Mode: 0o644}, After: plan.Seen{Kind: plan.Regular, Sum: data.Sum, Mode: deployment.Plain}},
		{Op: plan.Create, Path: h.Path("repo", "overlays", "x", "f"), Root: h.Path("repo"), Data: data, After: plan.Seen{Kind: plan.Regular, Sum: data.Sum, Mode: deployment.Plain}},
	}}
	id := h.Apply(t, tx)
	assert.Empty(t, id)
	assert.Equal(t, string(data.Data), text(t, h.Path("repo", "agentpack.yaml")))
	assert.Equal(t, string(data.Data), text(t, h.Path("repo", "overlays", "x", "f")))
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list)
	all, err := h.Snapshots.Originals(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, all)
	pending, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, pending)
}

func inverse(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o604)
	h.Put(t, h.Path("root", "own", "run.sh"), "#!", 0o711)
	require.NoError(t, os.Symlink("own/run.sh", h.Path("root", "link")))
	before := Tree(t, h.Path("root"))
	id := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "x"}, Wish{Path: h.Path("root", "own", "run.sh"), Text: "x"}, Wish{Path: h.Path("root", "link"), Text: "x"},
		Wish{Path: h.Path("root", "new", "er", "x"), Text: "x", Mode: deployment.Executable}))
	assert.NotEqual(t, before, Tree(t, h.Path("root")))
	back := h.Apply(t, h.Inverse(t, id, root, nil))
	assert.Equal(t, before, Tree(t, h.Path("root")))
	s, err := h.Snapshots.Load(t.Context(), h.Home, back)
	require.NoError(t, err)
	assert.Equal(t, plan.KindRollback, s.Kind)
	assert.Equal(t, plan.Initial, s.RolledBackTo)
}

func prune(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	wish := func(shared, own string) []Wish {
		return []Wish{{Path: h.Path("root", "shared"), Text: shared}, {Path: h.Path("root", "own"), Text: own}}
	}
	large := strings.Repeat("large ", 5000)
	first := h.Apply(t, h.Deploy(t, root, wish("shared", "one"+large)...))
	second := h.Apply(t, h.Deploy(t, root, wish("shared", "two")...))
	third := h.Apply(t, h.Deploy(t, root, wish("shared", "three")...))
	freed, err := h.Snapshots.Prune(t.Context(), h.Home, []string{first, second})
	require.NoError(t, err)
	assert.Greater(t, freed, int64(len(large)))
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, third, list[0].ID)
	for _, f := range list[0].Managed {
		data, err := h.Snapshots.Blob(t.Context(), h.Home, f.Sum)
		require.NoError(t, err)
		assert.Equal(t, text(t, f.Path), string(data))
	}
	two, err := h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("two")))
	require.NoError(t, err, "what the third overwrote")
	assert.Equal(t, "two", string(two))
	_, err = h.Snapshots.Blob(t.Context(), h.Home, deployment.SumOf([]byte("one"+large)))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{third, first})
	assert.ErrorIs(t, err, deployment.ErrSnapshot, "one that is not there")
	_, err = h.Snapshots.Load(t.Context(), h.Home, third)
	require.NoError(t, err, "then none is pruned")
	h.Apply(t, h.Deploy(t, root, wish("shared", "four")...))
}

func cancelled(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o604)
	before := Tree(t, h.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	tx := h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "x"}, Wish{Path: h.Path("root", "a", "x"), Text: "x"}, Wish{Path: h.Path("root", "b", "x"), Text: "x"})
	_, err := h.Machine.Apply(ctx, tx, func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, before, Tree(t, h.Dir))
	pending, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, pending)
	h.Apply(t, tx)
	assert.Equal(t, "x", text(t, h.Path("root", "a", "x")), "the same plan is good again")
}

func orphans(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	mine := h.Deploy(t, root, Wish{Path: h.Path("root", "mine"), Text: "x"})
	h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "theirs"), Text: "x"}))
	_, err := h.Machine.Apply(t.Context(), mine, nil)
	require.ErrorIs(t, err, deployment.ErrStale, "its manifest would leave theirs without an owner")
	assert.ErrorContains(t, err, "theirs")
	assert.NoFileExists(t, h.Path("root", "mine"))
}

func identifiers(t *testing.T, h Host) {
	h.Put(t, filepath.Join(h.Home, "state", "secret.json"), `{"id":"1","kind":"deploy"}`, 0o600)
	for _, id := range []string{"", "..", "../secret", "1/../../secret", "/etc/passwd", "12 ", "a.b", strings.Repeat("1", 200), "404", "\x00"} {
		_, err := h.Snapshots.Load(t.Context(), h.Home, id)
		assert.ErrorIs(t, err, deployment.ErrSnapshot, "%q", id)
		_, err = h.Snapshots.Prune(t.Context(), h.Home, []string{id})
		assert.ErrorIs(t, err, deployment.ErrSnapshot, "%q", id)
	}
	assert.FileExists(t, filepath.Join(h.Home, "state", "secret.json"))
	h.Put(t, filepath.Join(h.Home, "state", "snapshots", "7.json"), `{"id":"8","kind":"deploy"}`, 0o600)
	h.Put(t, filepath.Join(h.Home, "state", "snapshots", "9.json"), `{`, 0o600)
	for _, id := range []string{"7", "9"} {
		_, err := h.Snapshots.Load(t.Context(), h.Home, id)
		assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged)
	}
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list)
	assert.Len(t, warnings, 2, "what cannot be read is said")
}

func progress(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	var wishes []Wish
	for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
		wishes = append(wishes, Wish{Path: h.Path("root", name, "x"), Text: name})
	}
	var told []int
	_, err := h.Machine.Apply(t.Context(), h.Deploy(t, root, wishes...), func(done, total int) {
		assert.Equal(t, 21, total, "with the manifest")
		told = append(told, done)
	})
	require.NoError(t, err)
	require.Len(t, told, 21)
	for i, n := range told {
		assert.Equal(t, i+1, n, "one after the other")
	}
}

func twins(t *testing.T, h Host) {
	require.NoError(t, os.MkdirAll(h.Path("root", "real"), 0o755))
	require.NoError(t, os.Symlink("real", h.Path("root", "alias")))
	root := []plan.Root{h.Root("codex", "root")}
	_, err := h.Machine.Apply(t.Context(), h.Deploy(t, root, Wish{Path: h.Path("root", "real", "x"), Text: "one"}, Wish{Path: h.Path("root", "alias", "x"), Text: "two"}), nil)
	require.ErrorIs(t, err, deployment.ErrPath, "it cannot be both")
	id := h.Apply(t, h.Deploy(t, root, Wish{Path: h.Path("root", "real", "x"), Text: "same"}, Wish{Path: h.Path("root", "alias", "x"), Text: "same"}))
	assert.Equal(t, "same", text(t, h.Path("root", "real", "x")))
	h.Apply(t, h.Inverse(t, id, root, nil))
	assert.NoFileExists(t, h.Path("root", "real", "x"))
}

func sources(t *testing.T, h Host) {
	root := []plan.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("origin"), "text", 0o644)
	tx := h.Deploy(t, root, Wish{Path: h.Path("root", "a"), Text: "text"})
	tx.Writes[0].Data.Data, tx.Writes[0].Data.Origin = nil, h.Path("origin")
	h.Put(t, h.Path("origin"), "other", 0o644)
	_, err := h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrStale)
	require.NoError(t, os.Remove(h.Path("origin")))
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrStale)
	assert.NoDirExists(t, h.Path("root"))
	h.Put(t, h.Path("origin"), "text", 0o644)
	h.Apply(t, tx)
	assert.Equal(t, "text", text(t, h.Path("root", "a")))
	tx = h.Deploy(t, root, Wish{Path: h.Path("root", "a"), Text: "text"}, Wish{Path: h.Path("root", "b"), Text: "bee"})
	tx.Writes[0].Data.Data = []byte("wasp")
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrStale)
	tx.Writes[0].Data = deployment.Content{Sum: tx.Writes[0].After.Sum}
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "content that is nowhere")
}
