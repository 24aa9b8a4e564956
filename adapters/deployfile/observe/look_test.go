package observe_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// looker is the part of deployport.Machine that only looks.
type looker interface {
	Observe(ctx context.Context, l deployport.Look) (deployment.Observed, error)
	Read(ctx context.Context, path string) (data []byte, found bool, err error)
	Extras(ctx context.Context, root deployment.Root) ([]string, error)
	Check(ctx context.Context, root deployment.Root) (deployport.RootHealth, error)
}

// look holds a machine to what deployport.Machine says of looking. open makes one that looks at the real file system.
func look(t *testing.T, open func(t testing.TB) looker) {
	for name, test := range map[string]func(*testing.T, looker){
		"ObserveSeesEveryKind":         observeSeesEveryKind,
		"ObserveReadsManifests":        observeReadsManifests,
		"ObserveKeepsTargetsApart":     observeKeepsTargetsApart,
		"ObserveLooksAgain":            observeLooksAgain,
		"ObserveIsDeterministic":       observeIsDeterministic,
		"ObserveRefusesImpossible":     observeRefusesImpossible,
		"ObserveGoesOn":                observeGoesOn,
		"ReadsFiles":                   readsFiles,
		"ExtrasInComponentOrder":       extrasInComponentOrder,
		"ExtrasSkipByRelativePath":     extrasSkipByRelativePath,
		"ExtrasOfWhatIsNoDirectory":    extrasOfWhatIsNoDirectory,
		"CheckTellsWhatIsWrong":        checkTellsWhatIsWrong,
		"CheckFindsWorktreesAndRules":  checkFindsWorktreesAndRules,
		"LookingStopsWhenItIsCanceled": lookingStops,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// putFiles makes files (and the directories above them) below dir.
func putFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// home is a directory for a test, by its real path.
func home(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// manifest is the bytes of a target's manifest in the original format (agentpack contract §4.1).
func manifest(target string, files map[string]string) string {
	var entries []string
	for path, text := range files {
		entries = append(entries, fmt.Sprintf(`{"path": %q, "sha256": "%s", "module_ids": ["skill:x"]}`, path, deployment.SumOf([]byte(text))))
	}
	slices.Sort(entries)
	return fmt.Sprintf(`{"schema_version": 1, "generated_at": "2026-03-01T10:00:00.5Z", "tool": %q, "snapshot_id": "1", "managed_files": [%s]}`,
		target, strings.Join(entries, ","))
}

func observed(t *testing.T, k looker, l deployport.Look) deployment.Observed {
	t.Helper()
	o, err := k.Observe(t.Context(), l)
	require.NoError(t, err)
	return o
}

func observeSeesEveryKind(t *testing.T, k looker) {
	dir := home(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	putFiles(t, dir, map[string]string{"plain": "text", "script": "#!", "empty": "", "dir/file": "inside"})
	require.NoError(t, os.Chmod(at("script"), 0o750))
	require.NoError(t, os.Chmod(at("plain"), 0o600))
	for name, to := range map[string]string{"link": "plain", "far": at("dir/file"), "chain": "link", "dangling": "nowhere", "todir": "dir", "loop": "loop", "topipe": "pipe"} {
		require.NoError(t, os.Symlink(to, at(name)))
	}
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o644))
	want := map[string]deployment.Seen{
		at("plain"):    {Kind: deployment.Regular, Sum: deployment.SumOf([]byte("text")), Size: 4, Mode: 0o600},
		at("script"):   {Kind: deployment.Regular, Sum: deployment.SumOf([]byte("#!")), Size: 2, Mode: 0o750},
		at("empty"):    {Kind: deployment.Regular, Sum: deployment.SumOf(nil), Mode: 0o644},
		at("dir/file"): {Kind: deployment.Regular, Sum: deployment.SumOf([]byte("inside")), Size: 6, Mode: 0o644},
		at("link"):     {Kind: deployment.Link, Link: "plain", Sum: deployment.SumOf([]byte("text")), Size: 4},
		at("far"):      {Kind: deployment.Link, Link: at("dir/file"), Sum: deployment.SumOf([]byte("inside")), Size: 6},
		at("chain"):    {Kind: deployment.Link, Link: "link", Sum: deployment.SumOf([]byte("text")), Size: 4},
		at("dangling"): {Kind: deployment.Link, Link: "nowhere"},
		at("todir"):    {Kind: deployment.Link, Link: "dir"},
		at("loop"):     {Kind: deployment.Link, Link: "loop"},
		at("topipe"):   {Kind: deployment.Link, Link: "pipe"},
		at("dir"):      {Kind: deployment.Directory, Mode: 0o755},
		at("pipe"):     {Kind: deployment.Special, Mode: 0o644},
		os.DevNull:     {Kind: deployment.Special, Mode: 0o666},
	}
	paths := []string{at("absent"), at("plain/below"), at("absent/below"), at("dangling/below"), at("plain")}
	for path := range want {
		paths = append(paths, path)
	}
	o := observed(t, k, deployport.Look{Paths: paths})
	for path, seen := range o.Files {
		if seen.Kind == deployment.Absent {
			delete(o.Files, path) // may be left out
		}
	}
	for path := range want {
		assert.Equal(t, want[path], o.Files[path], path)
	}
	assert.Len(t, o.Files, len(want))
}

func observeReadsManifests(t *testing.T, k looker) {
	dir := home(t)
	putFiles(t, dir, map[string]string{
		"own/.agentpack.manifest.codex.json":     manifest("codex", map[string]string{"a": "a", "sub/b": "b", "gone": "c", "../out": "d", "/etc/hosts": "e"}),
		"own/a":                                  "a",
		"own/sub/b":                              "edited",
		"old/.agentpack.manifest.json":           manifest("codex", map[string]string{"a": "a"}),
		"damaged/.agentpack.manifest.codex.json": "{",
		"out":                                    "d",
	})
	root := func(name string) deployment.Root {
		return deployment.Root{Target: "codex", Path: filepath.Join(dir, name)}
	}
	roots := []deployment.Root{root("own"), root("old"), root("damaged"), root("none"), root("own")}
	o := observed(t, k, deployport.Look{Roots: roots, Paths: []string{filepath.Join(dir, "own/a"), filepath.Join(dir, "new")}})

	require.Len(t, o.Ledgers, 4, "a root that is asked for twice is read once")
	for i, present := range []bool{true, true, false, false} {
		assert.Equal(t, roots[i], o.Ledgers[i].Root)
		assert.Equal(t, present, o.Ledgers[i].Present, roots[i].Path)
	}
	assert.True(t, o.Ledgers[1].Legacy)
	require.Len(t, o.Ledgers[0].Owned, 3, "what leaves the root is left out")
	first := o.Ledgers[0].Owned[0]
	assert.Equal(t, deployment.Owned{Target: "codex", Root: roots[0].Path, Path: filepath.Join(dir, "own/a"), Sum: deployment.SumOf([]byte("a")),
		Mode: deployment.PlainMode, Modules: []string{"skill:x"}, Claim: deployment.Beside}, first)
	assert.Equal(t, deployment.SumOf([]byte("edited")), o.Files[filepath.Join(dir, "own/sub/b")].Sum, "what stands there, not what was written")
	assert.Equal(t, deployment.Absent, o.Files[filepath.Join(dir, "own/gone")].Kind)
	assert.NotContains(t, o.Files, filepath.Join(dir, "out"))
	assert.Len(t, o.Warnings, 4, "two entries, the old name, the damaged one: %q", o.Warnings)
}

func observeKeepsTargetsApart(t *testing.T, k looker) {
	dir := home(t)
	putFiles(t, dir, map[string]string{
		".agentpack.manifest.codex.json": manifest("codex", map[string]string{"AGENTS.md": "a"}),
		".agentpack.manifest.zed.json":   manifest("zed", map[string]string{"AGENTS.md": "a", ".rules": "b"}),
		".agentpack.manifest.json":       manifest("cursor", map[string]string{"c": "c"}),
		"AGENTS.md":                      "a",
	})
	var roots []deployment.Root
	for _, target := range []string{"codex", "cursor", "vscode", "zed"} {
		roots = append(roots, deployment.Root{Target: target, Path: dir})
	}
	o := observed(t, k, deployport.Look{Roots: roots})
	require.Len(t, o.Ledgers, 4)
	for i, owned := range []int{1, 1, 0, 2} {
		assert.Len(t, o.Ledgers[i].Owned, owned, roots[i].Target)
	}
	assert.False(t, o.Ledgers[2].Present, "the old name counts for the target that it names only")
	assert.Len(t, o.Warnings, 1)
}

// observeLooksAgain: whatever is remembered between two looks, a change in between is seen.
func observeLooksAgain(t *testing.T, k looker) {
	path := filepath.Join(home(t), "f")
	look := func() deployment.Seen { return observed(t, k, deployport.Look{Paths: []string{path}}).Files[path] }
	assert.Equal(t, deployment.Absent, look().Kind)
	for n := range 50 { // as fast as it goes: sizes and often times are the same
		text := fmt.Appendf(nil, "version %02d", n)
		require.NoError(t, os.WriteFile(path, text, 0o644))
		require.Equal(t, deployment.SumOf(text), look().Sum, "version %d", n)
	}
	require.NoError(t, os.Remove(path))
	assert.Equal(t, deployment.Absent, look().Kind)
}

func observeIsDeterministic(t *testing.T, k looker) {
	dir := home(t)
	var paths []string
	for n := range 500 {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(n)))
	}
	for n := 0; n < 500; n += 2 {
		putFiles(t, dir, map[string]string{fmt.Sprint(n): fmt.Sprint("text ", n)})
	}
	l := deployport.Look{Paths: paths}
	first := observed(t, k, l)
	for range 5 {
		assert.Equal(t, first, observed(t, k, l))
	}
	for n := 100; n < 500; n += 50 { // of several faults it is always the first
		l.Paths[n] = filepath.Join(dir, strings.Repeat("n", 300)+fmt.Sprint(n))
	}
	for range 20 {
		_, err := k.Observe(t.Context(), l)
		require.ErrorIs(t, err, deployment.ErrPathLong)
		require.Contains(t, err.Error(), l.Paths[100])
	}
}

func observeRefusesImpossible(t *testing.T, k looker) {
	dir := home(t)
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	for path, want := range map[string]*fault.Error{
		filepath.Join(dir, strings.Repeat("n", 300)):               deployment.ErrPathLong,
		dir + strings.Repeat("/"+strings.Repeat("n", 200), 30):     deployment.ErrPathLong,
		filepath.Join(dir, "loop", "below"):                        deployment.ErrPath,
		filepath.Join(dir, "a\x00b"):                               deployment.ErrPath,
		filepath.Join(dir, "loop", "below", "further", "than\xff"): deployment.ErrPath,
	} {
		_, err := k.Observe(t.Context(), deployport.Look{Paths: []string{path}})
		require.ErrorIs(t, err, want, "%q", path)
		details, ok := fault.From(err).Details.(deployment.Details)
		require.True(t, ok)
		assert.Equal(t, path, details["path"])
		assert.Equal(t, path, details["path_posix"])
	}
}

func observeGoesOn(t *testing.T, k looker) {
	dir := home(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	putFiles(t, dir, map[string]string{"root/.agentpack.manifest.codex.json": manifest("codex", map[string]string{"loop/owned": "a", "b": "b"}), "root/b": "b"})
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.Symlink("loop", at("root/loop")))
	long := at(strings.Repeat("n", 300))
	root, lost := deployment.Root{Target: "codex", Path: at("root")}, deployment.Root{Target: "codex", Path: at("loop")}
	o := observed(t, k, deployport.Look{Roots: []deployment.Root{root, lost}, Paths: []string{at("absent"), at("loop/below"), at("root/b"), long}, GoOn: true})
	require.ErrorIs(t, o.Unread[at("loop/below")], deployment.ErrPath)
	require.ErrorIs(t, o.Unread[at("root/loop/owned")], deployment.ErrPath)
	require.ErrorIs(t, o.Unread[long], deployment.ErrPathLong)
	assert.Len(t, o.Unread, 3)
	assert.Equal(t, deployment.Regular, o.Files[at("root/b")].Kind)
	for path := range o.Unread {
		assert.Equal(t, deployment.Absent, o.Files[path].Kind, path)
	}
	require.Len(t, o.Ledgers, 2)
	assert.Len(t, o.Ledgers[0].Owned, 2)
	assert.Equal(t, deployment.OwnershipManifest{Root: lost}, o.Ledgers[1])
	require.Len(t, o.Warnings, 1)
	assert.Contains(t, o.Warnings[0], lost.Path)
	assert.Nil(t, observed(t, k, deployport.Look{Paths: []string{at("root/b")}}).Unread)
}

func readsFiles(t *testing.T, k looker) {
	dir := home(t)
	large := strings.Repeat("0123456789", 30_000)
	putFiles(t, dir, map[string]string{"f": "text", "empty": "", "large": large})
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	for name, want := range map[string]string{"f": "text", "empty": "", "large": large, "link": "text"} {
		data, found, err := k.Read(t.Context(), filepath.Join(dir, name))
		require.NoError(t, err)
		assert.True(t, found)
		assert.NotNil(t, data)
		assert.Equal(t, want, string(data), name)
	}
	for _, name := range []string{"absent", "f/below"} {
		data, found, err := k.Read(t.Context(), filepath.Join(dir, name))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Nil(t, data)
	}
	for _, name := range []string{"", "pipe"} {
		_, _, err := k.Read(t.Context(), filepath.Join(dir, name))
		assert.ErrorIs(t, err, deployment.ErrPath, name)
	}
	_, _, err := k.Read(t.Context(), filepath.Join(dir, strings.Repeat("n", 300)))
	assert.ErrorIs(t, err, deployment.ErrPathLong)
}

// extras is what Extras lists, relative to the root.
func extras(t *testing.T, k looker, dir string) []string {
	t.Helper()
	found, err := k.Extras(t.Context(), deployment.Root{Target: "codex", Path: dir, ScanExtras: true})
	require.NoError(t, err)
	for i := range found {
		rel, ok := strings.CutPrefix(found[i], dir+string(filepath.Separator))
		require.True(t, ok, found[i])
		found[i] = filepath.ToSlash(rel)
	}
	return found
}

func extrasInComponentOrder(t *testing.T, k looker) {
	dir := home(t)
	want := []string{".hidden", "A", "a/b", "a/c/d", "a-b", "a.md", "a0/x", "b/z"}
	for _, name := range want {
		putFiles(t, dir, map[string]string{name: name})
	}
	putFiles(t, dir, map[string]string{".agentpack.manifest.codex.json": "", ".agentpack.manifest.json": "", "a/.agentpack.manifest.zed.json": ""})
	outside := home(t)
	putFiles(t, outside, map[string]string{"not": "ours"})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "not"), filepath.Join(dir, "a", "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "a", "up")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	assert.Equal(t, want, extras(t, k, dir))

	link := filepath.Join(home(t), "root")
	require.NoError(t, os.Symlink(dir, link))
	assert.Equal(t, want, extras(t, k, link), "the root itself may be a link")
}

func extrasSkipByRelativePath(t *testing.T, k looker) {
	dir := filepath.Join(home(t), ".agentpack", ".git", "root")
	putFiles(t, dir, map[string]string{"a": "", ".git/config": "", "sub/.git": "gitdir: x", "sub/.agentpack/state": "", ".agentpack/x/y": "", ".gitignore": "", "sub/z": ""})
	assert.Equal(t, []string{".gitignore", "a", "sub/z"}, extras(t, k, dir))
}

func extrasOfWhatIsNoDirectory(t *testing.T, k looker) {
	dir := home(t)
	putFiles(t, dir, map[string]string{"file": ""})
	for _, name := range []string{"absent", "file", "file/below"} {
		assert.Empty(t, extras(t, k, filepath.Join(dir, name)), name)
	}
}

// health is what Check says of a root of target codex.
func health(t *testing.T, k looker, dir string) deployport.RootHealth {
	t.Helper()
	h, err := k.Check(t.Context(), deployment.Root{Target: "codex", Path: dir})
	require.NoError(t, err)
	return h
}

func checkTellsWhatIsWrong(t *testing.T, k looker) {
	dir := home(t)
	putFiles(t, dir, map[string]string{"file": "", "root/keep": ""})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("root", filepath.Join(dir, "link")))
	before := listing(t, dir)
	for name, want := range map[string]deployport.RootHealth{
		"root":       {Exists: true},
		"link":       {Exists: true},
		"absent":     {Issues: []string{"missing"}},
		"absent/far": {Issues: []string{"missing"}},
		"file":       {Exists: true, Issues: []string{"not_a_directory"}},
		"file/below": {Issues: []string{"not_a_directory"}},
		"dangling":   {Exists: true, Issues: []string{"not_a_directory"}},
	} {
		assert.Equal(t, want, health(t, k, filepath.Join(dir, name)), name)
	}
	assert.Equal(t, before, listing(t, dir), "nothing was written")
}

// listing is everything below dir with its modification time.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all = append(all, fmt.Sprint(path, d.Type(), info.ModTime()))
		return err
	}))
	return all
}

func checkFindsWorktreesAndRules(t *testing.T, k looker) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	tree := home(t)
	git := exec.Command("git", "init", "-q", tree)
	out, err := git.CombinedOutput()
	require.NoError(t, err, "%s", out)
	putFiles(t, tree, map[string]string{
		".gitignore":        "ignored/\n/by-name/.agentpack.manifest*.json\n",
		".git/info/exclude": "excluded\n",
		"open/.gitignore":   "*.json\n!.agentpack.manifest*.json\n",
		"nested/.gitignore": ".agentpack.manifest.codex.json\n",
		"nested/deep/x":     "",
		"by-name/x":         "",
		"ignored/root/x":    "",
		"excluded/x":        "",
		"linked/.git":       "gitdir: elsewhere",
		"linked/sub/x":      "",
		"open/without/x":    "",

		"linked/sub/.agentpack.manifest.codex.json": "{}",
		":(top)odd name/[x]":                        "",
	})
	for name, want := range map[string]bool{
		"": false, "open": false, "nested/deep": true, "by-name": true, "ignored/root": true, "ignored/absent": true, "excluded": true, ":(top)odd name": false,
	} {
		putFiles(t, filepath.Join(tree, name), map[string]string{".agentpack.manifest.codex.json": "{}"})
		h := health(t, k, filepath.Join(tree, name))
		assert.Equal(t, tree, h.Worktree, name)
		assert.Equal(t, want, h.Ignored, name)
	}
	h := health(t, k, filepath.Join(tree, "open", "without"))
	assert.True(t, h.Ignored, "there is no manifest")
	linked := health(t, k, filepath.Join(tree, "linked", "sub"))
	assert.Equal(t, filepath.Join(tree, "linked"), linked.Worktree, "a work tree may have a file for .git")
	assert.False(t, linked.Ignored, "git cannot tell")

	outside := home(t)
	require.NoError(t, os.Symlink(filepath.Join(tree, "excluded"), filepath.Join(outside, "root")))
	h = health(t, k, filepath.Join(outside, "root"))
	assert.Equal(t, tree, h.Worktree, "where the files really are")
	assert.True(t, h.Ignored)
	assert.Empty(t, health(t, k, outside).Worktree)
}

func lookingStops(t *testing.T, k looker) {
	dir := home(t)
	putFiles(t, dir, map[string]string{"f": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := deployment.Root{Target: "codex", Path: dir}
	_, err := k.Observe(ctx, deployport.Look{Roots: []deployment.Root{root}})
	require.ErrorIs(t, err, fault.ErrCanceled)
	_, err = k.Observe(ctx, deployport.Look{Paths: []string{filepath.Join(dir, "f")}})
	require.ErrorIs(t, err, fault.ErrCanceled)
	_, err = k.Extras(ctx, root)
	require.ErrorIs(t, err, fault.ErrCanceled)
	_, err = k.Check(ctx, root)
	require.ErrorIs(t, err, fault.ErrCanceled)
	_, _, err = k.Read(ctx, filepath.Join(dir, "f"))
	require.ErrorIs(t, err, fault.ErrCanceled)
}
