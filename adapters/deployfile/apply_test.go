package deployfile_test

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// applying is what every machine promises of Apply and of the snapshots that come of it.
func applying(t *testing.T, open func(t *testing.T) machineHost) {
	for name, test := range map[string]func(t *testing.T, h machineHost){
		"creates, updates and deletes":          createsFiles,
		"modes":                                 modes,
		"a stale plan writes nothing":           staleness,
		"paths that leave their root":           confinement,
		"links among the directories":           links,
		"owners keep to themselves":             owners,
		"repositories keep to themselves":       repositories,
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
			before := tree(t, h.Path("canary"))
			test(t, h)
			assert.Equal(t, before, tree(t, h.Path("canary")), "nothing outside the roots is touched")
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

func createsFiles(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "a.md"), Text: "a"}, wish{Path: h.Path("root", "sub", "dir", "b.md"), Text: "b"}, wish{Path: h.Path("root", "empty")}))
	assert.Equal(t, "a", text(t, h.Path("root", "a.md")))
	assert.Equal(t, "b", text(t, h.Path("root", "sub", "dir", "b.md")))
	assert.Empty(t, text(t, h.Path("root", "empty")))
	assert.Len(t, tree(t, h.Path("root")), 6, "and nothing beside them")
	again := h.Deploy(t, root, wish{Path: h.Path("root", "a.md"), Text: "a"}, wish{Path: h.Path("root", "sub", "dir", "b.md"), Text: "b"}, wish{Path: h.Path("root", "empty")})
	assert.Empty(t, again.Writes, "a plan after apply is empty")
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "a.md"), Text: "A"}, wish{Path: h.Path("root", "empty")}))
	assert.Equal(t, "A", text(t, h.Path("root", "a.md")))
	assert.NoFileExists(t, h.Path("root", "sub", "dir", "b.md"))
	id := h.Apply(t, h.Deploy(t, root))
	assert.NoDirExists(t, h.Path("root"), "the root goes with them, because a deployment made it")
	list, warnings, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Len(t, list, 3)
	assert.Equal(t, id, list[2].ID)
}

func modes(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine.sh"), "old", 0o640)
	h.Put(t, h.Path("root", "tool"), "old", 0o750)
	h.Put(t, h.Path("umask"), "", 0)
	require.NoError(t, os.Remove(h.Path("umask")))
	f, err := os.OpenFile(h.Path("umask"), os.O_CREATE, 0o777)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	umask := 0o777 &^ mode(t, h.Path("umask")).Perm()
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "mine.sh"), Text: "new", Mode: deployment.ExecutableMode}, wish{Path: h.Path("root", "tool"), Text: "new"},
		wish{Path: h.Path("root", "run"), Mode: deployment.ExecutableMode}, wish{Path: h.Path("root", "doc")}))
	assert.Equal(t, 0o750, int(mode(t, h.Path("root", "mine.sh"))), "who may read may execute now")
	assert.Equal(t, 0o640, int(mode(t, h.Path("root", "tool"))), "nobody may execute now")
	assert.Equal(t, deployment.ExecutableMode&^umask, mode(t, h.Path("root", "run")))
	assert.Equal(t, deployment.PlainMode&^umask, mode(t, h.Path("root", "doc")))
	require.NoError(t, os.Chmod(h.Path("root", "run"), 0o644))
	tx := h.Deploy(t, root, wish{Path: h.Path("root", "mine.sh"), Text: "new", Mode: deployment.ExecutableMode}, wish{Path: h.Path("root", "tool"), Text: "new"},
		wish{Path: h.Path("root", "run"), Mode: deployment.ExecutableMode}, wish{Path: h.Path("root", "doc")})
	require.Len(t, tx.Writes, 1, "only the mode differs")
	h.Apply(t, tx)
	assert.Equal(t, fs.FileMode(0o755), mode(t, h.Path("root", "run")))
	w := deployment.Write{Target: "codex", Op: deployment.OpUpdate, Path: h.Path("root", "doc"), Before: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf(nil), Mode: deployment.PlainMode &^ umask},
		After: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf([]byte("x")), Mode: 0o406}, Data: deployment.ContentOf([]byte("x"))}
	tx = deployment.Transaction{Kind: deployment.KindDeploy, Place: deployment.Locations{Home: h.Home}, Roots: root, Writes: []deployment.Write{w}}
	h.Apply(t, tx)
	assert.Equal(t, fs.FileMode(0o406), mode(t, h.Path("root", "doc")), "any other mode is meant as it is, whatever the umask")
}

func staleness(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	for _, name := range []string{"update", "mode", "link", "delete", "gone"} {
		h.Put(t, h.Path("root", name), name, 0o644)
	}
	wishes := []wish{{Path: h.Path("root", "create"), Text: "new"}}
	for _, name := range []string{"update", "mode", "link", "gone"} {
		wishes = append(wishes, wish{Path: h.Path("root", name), Text: "new"})
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
		before := tree(t, h.Dir)
		_, err := h.Machine.Apply(t.Context(), tx, nil)
		require.ErrorIs(t, err, deployment.ErrStale, name)
		assert.ErrorContains(t, err, h.Path("root", name))
		assert.Equal(t, before, tree(t, h.Dir), name)
	}
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, list, "what did not happen leaves no record")
}

func confinement(t *testing.T, h machineHost) {
	root := h.Root("codex", "root")
	h.Put(t, h.Path("root", "file"), "x", 0o644)
	require.NoError(t, os.Symlink(h.Path("canary"), h.Path("root", "out")))
	require.NoError(t, os.Symlink("../canary", h.Path("root", "up")))
	require.NoError(t, os.Symlink("nowhere", h.Path("root", "broken")))
	require.NoError(t, os.Symlink("file", h.Path("root", "tofile")))
	before := tree(t, h.Dir)
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
			data := deployment.ContentOf([]byte("x"))
			tx := deployment.Transaction{Kind: deployment.KindDeploy, Place: deployment.Locations{Home: h.Home}, Roots: []deployment.Root{root}, Claim: true,
				Writes: []deployment.Write{{Target: "codex", Op: deployment.OpCreate, Path: path, Root: named, After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}, Data: data}}}
			_, err := h.Machine.Apply(t.Context(), tx, nil)
			assert.ErrorIs(t, err, deployment.ErrPath, name)
		}
	}
	assert.Equal(t, before, tree(t, h.Dir))
}

func links(t *testing.T, h machineHost) {
	h.Put(t, h.Path("real", "inner", "seed"), "", 0o644)
	require.NoError(t, os.Symlink("real", h.Path("root")))
	require.NoError(t, os.Symlink(h.Path("real", "inner"), h.Path("real", "absolute")))
	require.NoError(t, os.Symlink("inner", h.Path("real", "relative")))
	root := []deployment.Root{h.Root("codex", "root")}
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "a"), Text: "a"}, wish{Path: h.Path("root", "absolute", "b"), Text: "b"}, wish{Path: h.Path("root", "relative", "new", "c"), Text: "c"}))
	assert.Equal(t, "a", text(t, h.Path("real", "a")), "a root may be a link")
	assert.Equal(t, "b", text(t, h.Path("real", "inner", "b")), "and so may a directory, as long as it stays inside")
	assert.Equal(t, "c", text(t, h.Path("real", "inner", "new", "c")))
	assert.Equal(t, fs.ModeSymlink, mode(t, h.Path("root")).Type())
}

func owners(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	boot := h.Deploy(t, root, wish{Path: h.Path("root", "operator.md"), Text: "op"})
	boot.Kind, boot.Owner = deployment.KindBootstrap, deployment.OwnerBootstrap
	for i := range boot.Owned {
		boot.Owned[i].Owner = deployment.OwnerBootstrap
	}
	h.Apply(t, boot)
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "a"), Text: "a"}))
	h.Apply(t, h.Deploy(t, root))
	assert.Equal(t, "op", text(t, h.Path("root", "operator.md")))
	assert.NoFileExists(t, h.Path("root", "a"))
	seen, err := h.Machine.Observe(t.Context(), deployport.Look{Place: deployment.Locations{Home: h.Home}, Roots: root})
	require.NoError(t, err)
	require.Len(t, seen.Owned(), 1)
	assert.Equal(t, deployment.OwnerBootstrap, seen.Owned()[0].Owner)
}

func repositories(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	one := func(name, text string) wish { return wish{Path: h.Path("root", name), Text: text} }
	h.Apply(t, h.DeployAs(t, "/team", root, one("a", "a"), one("both", "x"), one("team", "t")))
	first := h.Apply(t, h.DeployAs(t, "/mine", root, one("b", "b"), one("both", "x")))
	assert.Empty(t, h.DeployAs(t, "/team", root, one("a", "a"), one("both", "x"), one("team", "t")).Writes, "nothing of the other one's is a leftover")

	p := h.PlanAs(t, "/mine", root, one("b", "b"), one("both", "y"), one("a", "mine"))
	require.Len(t, p.Changes, 2)
	for _, c := range p.Changes {
		assert.Equal(t, deployment.AdoptUpdate, c.Gate)
		assert.Equal(t, "/team", c.Holder)
		assert.Contains(t, c.Reason, "/team")
	}
	assert.Len(t, p.HeldWarnings(), 1)
	h.Apply(t, h.DeployAs(t, "/mine", root, one("b", "b"), one("both", "x"), one("a", "mine")))
	p = h.PlanAs(t, "/team", root, one("a", "a"), one("both", "x"), one("team", "t"))
	require.Len(t, p.Changes, 1, "it was taken over, and is the other one's now")
	assert.Equal(t, "/mine", p.Changes[0].Holder)

	h.Apply(t, h.DeployAs(t, "/team", root))
	assert.NoFileExists(t, h.Path("root", "team"))
	assert.Equal(t, "mine", text(t, h.Path("root", "a")), "what was taken over does not go with who had it")
	assert.Equal(t, "x", text(t, h.Path("root", "both")), "what both have stays until the last lets go of it")

	s, err := h.Snapshots.Load(t.Context(), h.Home, first)
	require.NoError(t, err)
	assert.Equal(t, "/mine", s.Repo)
	h.Apply(t, h.DeployAs(t, "/mine", root))
	assert.NoDirExists(t, h.Path("root"))
}

func directories(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root"), h.Root("codex", "root", "made", "nested")}
	require.NoError(t, os.MkdirAll(h.Path("root", "mine"), 0o755))
	h.Apply(t, h.Deploy(t, root[:1], wish{Path: h.Path("root", "mine", "made", "a"), Text: "a"}, wish{Path: h.Path("root", "deep", "er", "b"), Text: "b"},
		wish{Path: h.Path("root", "shared", "c"), Text: "c"}))
	h.Apply(t, h.Deploy(t, root[1:], wish{Path: h.Path("root", "made", "nested", "d"), Text: "d"}))
	h.Put(t, h.Path("root", "shared", "note"), "mine", 0o644)
	h.Apply(t, h.Deploy(t, root[:1]))
	assert.DirExists(t, h.Path("root", "mine"), "this one was there before")
	assert.NoDirExists(t, h.Path("root", "mine", "made"))
	assert.NoDirExists(t, h.Path("root", "deep"))
	assert.FileExists(t, h.Path("root", "shared", "note"))
	h.Apply(t, h.Deploy(t, root[1:]))
	assert.NoDirExists(t, h.Path("root", "made"), "a root that a deployment made, and what it made above")
	assert.DirExists(t, h.Path("root"), "this one has other things in it")
}

func exchange(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	first := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "skill"), Text: "file"}))
	s, err := h.Snapshots.Load(t.Context(), h.Home, first)
	require.NoError(t, err)
	second := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "skill", "SKILL.md"), Text: "dir"}))
	assert.Equal(t, "dir", text(t, h.Path("root", "skill", "SKILL.md")))
	h.Apply(t, h.Inverse(t, second, root, s.Managed))
	assert.Equal(t, "file", text(t, h.Path("root", "skill")), "and back")
}

func cancelled(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("root", "mine"), "mine", 0o604)
	before := tree(t, h.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	tx := h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "x"}, wish{Path: h.Path("root", "a", "x"), Text: "x"}, wish{Path: h.Path("root", "b", "x"), Text: "x"})
	_, err := h.Machine.Apply(ctx, tx, func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, before, tree(t, h.Dir))
	pending, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, pending)
	h.Apply(t, tx)
	assert.Equal(t, "x", text(t, h.Path("root", "a", "x")), "the same plan is good again")
}

func orphans(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	mine := h.Deploy(t, root, wish{Path: h.Path("root", "mine"), Text: "x"})
	h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "theirs"), Text: "x"}))
	_, err := h.Machine.Apply(t.Context(), mine, nil)
	require.ErrorIs(t, err, deployment.ErrStale, "its manifest would leave theirs without an owner")
	assert.ErrorContains(t, err, "theirs")
	assert.NoFileExists(t, h.Path("root", "mine"))
}

func progress(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	var wishes []wish
	for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
		wishes = append(wishes, wish{Path: h.Path("root", name, "x"), Text: name})
	}
	var told []int
	_, err := h.Machine.Apply(t.Context(), h.Deploy(t, root, wishes...), func(done, total int) {
		assert.Equal(t, 20, total)
		told = append(told, done)
	})
	require.NoError(t, err)
	require.Len(t, told, 20)
	for i, n := range told {
		assert.Equal(t, i+1, n, "one after the other")
	}
}

func twins(t *testing.T, h machineHost) {
	require.NoError(t, os.MkdirAll(h.Path("root", "real"), 0o755))
	require.NoError(t, os.Symlink("real", h.Path("root", "alias")))
	root := []deployment.Root{h.Root("codex", "root")}
	_, err := h.Machine.Apply(t.Context(), h.Deploy(t, root, wish{Path: h.Path("root", "real", "x"), Text: "one"}, wish{Path: h.Path("root", "alias", "x"), Text: "two"}), nil)
	require.ErrorIs(t, err, deployment.ErrPath, "it cannot be both")
	before := tree(t, h.Path("root"))
	_, err = h.Machine.Apply(t.Context(), h.Deploy(t, root, wish{Path: h.Path("root", "real", "x"), Text: "one"}, wish{Path: h.Path("root", "alias", "x", "y"), Text: "two"}), nil)
	require.ErrorIs(t, err, deployment.ErrPath, "nor a file and a directory")
	assert.Equal(t, before, tree(t, h.Path("root")))
	id := h.Apply(t, h.Deploy(t, root, wish{Path: h.Path("root", "real", "x"), Text: "same"}, wish{Path: h.Path("root", "alias", "x"), Text: "same"}))
	assert.Equal(t, "same", text(t, h.Path("root", "real", "x")))
	h.Apply(t, h.Inverse(t, id, root, nil))
	assert.NoFileExists(t, h.Path("root", "real", "x"))
}

func sources(t *testing.T, h machineHost) {
	root := []deployment.Root{h.Root("codex", "root")}
	h.Put(t, h.Path("origin"), "text", 0o644)
	tx := h.Deploy(t, root, wish{Path: h.Path("root", "a"), Text: "text"})
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
	tx = h.Deploy(t, root, wish{Path: h.Path("root", "a"), Text: "text"}, wish{Path: h.Path("root", "b"), Text: "bee"})
	tx.Writes[0].Data.Data = []byte("wasp")
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrStale)
	tx.Writes[0].Data = deployment.Content{Sum: tx.Writes[0].After.Sum}
	_, err = h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "content that is nowhere")
}
