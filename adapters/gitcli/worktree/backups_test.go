package worktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// keeping runs the contracts of sandboxport.Repositories.
func keeping(t *testing.T, open func(testing.TB) repos) {
	for name, test := range map[string]func(*testing.T, *place){
		"LossesOfOne":             lossesOne,
		"LossesOfEverything":      lossesAll,
		"LossesAreCut":            lossesCut,
		"FetchAndPrune":           fetch,
		"BackupsAreListed":        backups,
		"RestoreIsWhole":          restore,
		"IncludeCopiesWhatItMay":  include,
		"IncludeReadsTheListing":  includePatterns,
		"IncludeIsBounded":        includeBounded,
		"ScriptIsTheCommitted":    script,
		"LinksOnTheWay":           linksOnTheWay,
		"EndedContextDoesNothing": ended,
	} {
		t.Run(name, func(t *testing.T) { test(t, openPlace(t, open(t), files)) })
	}
	t.Run("LongNames", func(t *testing.T) { longNames(t, open(t)) })
}

func lossesOne(t *testing.T, p *place) {
	dir := p.Make("x", "")
	for _, dirs := range [][]string{{dir}, {p.Clone, dir}, nil, {p.At("never")}} {
		none, err := p.Repos.Losses(t.Context(), p.Clone, dirs)
		require.NoError(t, err)
		assert.Empty(t, none)
	}
	p.Mess(dir)
	found, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir, dir + "/", p.Clone})
	require.NoError(t, err)
	short := p.In(dir, "rev-parse", "--short", "HEAD")
	assert.Equal(t, []sandboxport.Loss{{Directory: dir, Branch: "sandbox/x",
		Changes: []string{"MM a.txt", " D b.txt", "A  staged.txt", `?? "-n \"q\"\n\tü 日"`, "?? deep/er/x"}, Commits: []string{short + " only here"}}}, found)
}

func lossesAll(t *testing.T, p *place) {
	p.Put(p.Make("x", ""), "a.txt", "changed")
	p.In(p.Make("y", ""), "checkout", "--quiet", "--detach")
	loose := p.Save(p.At("y"), "loose")
	p.Put(p.Clone, "stashed", "x")
	p.In(p.Clone, "stash", "push", "--quiet", "--include-untracked", "--message", "put aside")
	p.In(p.Clone, "checkout", "--quiet", "-b", "forgotten")
	p.Save(p.Clone, "forgotten work")
	p.In(p.Clone, "checkout", "--quiet", "main")
	require.NoError(t, os.RemoveAll(p.At("y")))
	found, err := p.Repos.Losses(t.Context(), p.Clone, nil)
	require.NoError(t, err)
	told := map[string]string{}
	for _, loss := range found {
		told[filepath.Base(loss.Directory)+" "+loss.Branch] = strings.Join(lines(loss), "|")
	}
	assert.Equal(t, map[string]string{"x sandbox/x": " M a.txt", "y ": loose[:7] + " loose", "repo forgotten": p.In(p.Clone, "rev-parse", "--short", "forgotten") + " forgotten work",
		"repo refs/stash": "stash@{0} On main: put aside"}, told)
}

func lossesCut(t *testing.T, p *place) {
	dir := p.Make("x", "")
	for i := range 60 {
		p.Save(dir, fmt.Sprint("commit ", i))
	}
	for i := range 70 {
		p.Put(dir, fmt.Sprint("new/", i), "")
	}
	found, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, []int{sandbox.MaxChanges, sandbox.MaxChanges, 30}, []int{len(found[0].Changes), len(found[0].Commits), found[0].More})
	assert.Contains(t, found[0].Commits[0], "commit 59")
	assert.Equal(t, 60, p.Find("x").Unpushed)
}

func fetch(t *testing.T, p *place) {
	p.Git("push", "--quiet", "origin", "main:refs/heads/soon-gone")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	assert.NotEmpty(t, p.In(p.Clone, "rev-parse", "origin/soon-gone"))
	next := p.Commit("next")
	p.Git("push", "--quiet", "origin", "main", ":soon-gone")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	assert.Equal(t, []string{next, "", "origin/main"}, []string{p.In(p.Clone, "rev-parse", "origin/main"),
		p.In(p.Clone, "for-each-ref", "refs/remotes/origin/soon-gone"), p.In(p.Clone, "rev-parse", "--abbrev-ref", "origin/HEAD")})
	p.Git("commit", "--quiet", "--amend", "--allow-empty", "--message", "rewritten")
	p.Git("push", "--quiet", "--force", "origin", "main")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	assert.Equal(t, p.Head(), p.In(p.Clone, "rev-parse", "origin/main"))

	before := p.Traces()
	require.NoError(t, os.Rename(p.Remote, p.Remote+".away"))
	err := p.Repos.Fetch(t.Context(), p.Clone, p.Access())
	require.ErrorIs(t, err, sandbox.ErrGit)
	assert.Contains(t, fault.From(err).Message, p.Remote)
	require.ErrorIs(t, p.Repos.Fetch(t.Context(), p.Clone, sandboxport.Access{URL: "https://user:secret@h.example/a/b"}), sandbox.ErrURL)
	assert.Equal(t, before, p.Traces())
}

func backups(t *testing.T, p *place) {
	none, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.Empty(t, none)
	for i, name := range []string{"b", "a", "b"} {
		p.Save(p.Make(name, ""), fmt.Sprint("work ", i))
		removal := force(name, "sandbox/"+name)
		removal.At = when().Add(time.Duration(i) * time.Hour)
		_, err := p.Repos.Remove(t.Context(), p.Clone, p.At(name), removal)
		require.NoError(t, err)
	}
	p.In(p.Clone, "update-ref", "refs/opencode-backup/of/somebody/else", "HEAD")
	list, err := p.Repos.Backups(t.Context(), p.Clone)
	require.NoError(t, err)
	var told []string
	for _, b := range list {
		told = append(told, b.Sandbox+" "+b.At.Format(time.TimeOnly))
	}
	assert.Equal(t, []string{"b 05:04:05", "a 04:04:05", "b 03:04:05"}, told)
}

func restore(t *testing.T, p *place) {
	p.Mess(p.Make("x", ""))
	kept, err := p.Repos.Remove(t.Context(), p.Clone, p.At("x"), force("x", "sandbox/x"))
	require.NoError(t, err)
	p.Put(p.At("full"), "mine", "x")
	before := p.Traces()
	for name, test := range map[string]struct {
		dir, ref, branch string
		want             error
	}{
		"no backup":     {p.At("y"), "refs/heads/main", "y", sandbox.ErrArguments},
		"an option":     {p.At("y"), "--all", "y", sandbox.ErrArguments},
		"gone":          {p.At("y"), "refs/opencode-backup/x/1", "y", sandbox.ErrNotFound},
		"taken branch":  {p.At("y"), kept[0], "main", sandbox.ErrExists},
		"no branch":     {p.At("y"), kept[0], "", sandbox.ErrArguments},
		"a full place":  {p.At("full"), kept[0], "y", sandbox.ErrExists},
		"option branch": {p.At("y"), kept[0], "-f", sandbox.ErrArguments},
	} {
		require.ErrorIs(t, p.Repos.Restore(t.Context(), p.Clone, test.dir, test.ref, test.branch), test.want, name)
		assert.Equal(t, before, p.Traces(), name)
	}
	lost := p.In(p.Clone, "rev-parse", kept[1]+"^3:deep/er/x") // the object of a file is damaged
	require.NoError(t, os.Remove(filepath.Join(p.Clone, ".git", "objects", lost[:2], lost[2:])))
	require.Error(t, p.Repos.Restore(t.Context(), p.Clone, p.At("y"), kept[1], "y"))
	assert.Equal(t, before, p.Traces(), "all or nothing")
}

func include(t *testing.T, p *place) {
	dir := p.Make("x", "")
	none, err := p.Repos.Include(t.Context(), p.Clone, dir)
	require.NoError(t, err)
	assert.Empty(t, none)
	outside := t.TempDir()
	p.Put(outside, "secret", "not yours")
	p.Put(p.Clone, ".worktreeinclude", ".env*\na.txt\n*.log\nnew.txt\n/node_modules/one/\n")
	for _, name := range []string{".env", "dir/.env.local", "x.log", "new.txt", "node_modules/one/deep/f", "node_modules/two/f", strange + ".log", ":(top)m*.log"} {
		p.Put(p.Clone, name, "of "+name)
	}
	require.NoError(t, os.Chmod(filepath.Join(p.Clone, ".env"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join(p.Clone, "x.log"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(p.Clone, "link.log")))
	require.NoError(t, os.Symlink("x.log", filepath.Join(p.Clone, "inner.log")))
	require.NoError(t, os.Symlink(outside, filepath.Join(p.Clone, "node_modules", "out")))
	p.Put(dir, "dir/.env.local", "own")
	got, err := p.Repos.Include(t.Context(), p.Clone, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{strange + ".log", ".env", ":(top)m*.log", "node_modules/one/deep/f", "x.log"}, got, "ignored and listed")
	assert.Equal(t, []string{"of .env", "own", "of x.log", "one\n", ""}, []string{text(dir, ".env"), text(dir, "dir/.env.local"), text(dir, "x.log"), text(dir, "a.txt"), text(dir, "new.txt")})
	assert.NoFileExists(t, filepath.Join(dir, "link.log"))
	for name, mode := range map[string]os.FileMode{".env": 0o600, "x.log": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
	got, err = p.Repos.Include(t.Context(), p.Clone, dir)
	require.NoError(t, err)
	assert.Empty(t, got, "nothing is overwritten")

	trap := p.Make("trap", "")
	require.NoError(t, os.Symlink(outside, filepath.Join(trap, "node_modules")))
	got, err = p.Repos.Include(t.Context(), p.Clone, trap)
	require.NoError(t, err)
	assert.Equal(t, []string{strange + ".log", ".env", ":(top)m*.log", "dir/.env.local", "x.log"}, got)
	assert.Equal(t, []string{"secret"}, beside(t, outside), "nothing is written through links")
}

func includePatterns(t *testing.T, p *place) {
	dir := p.Make("x", "")
	p.Put(p.Clone, ".worktreeinclude", "# comment\n*.log\n!no.log\nsub/*.env\n\n")
	p.Put(p.Clone, ".gitignore", "*.log\n!tracked-not.log\n*.env\n")
	for _, name := range []string{"a.log", "deep/b.log", "no.log", "tracked-not.log", "sub/x.env", "other/x.env"} {
		p.Put(p.Clone, name, "x")
	}
	got, err := p.Repos.Include(t.Context(), p.Clone, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.log", "deep/b.log", "sub/x.env"}, got)
	require.NoError(t, os.Remove(filepath.Join(p.Clone, ".worktreeinclude")))
	require.NoError(t, os.Symlink("/etc/hosts", filepath.Join(p.Clone, ".worktreeinclude")))
	_, err = p.Repos.Include(t.Context(), p.Clone, dir)
	require.ErrorIs(t, err, sandbox.ErrArguments)
}

func includeBounded(t *testing.T, p *place) {
	dir := p.Make("x", "")
	p.Put(p.Clone, ".worktreeinclude", "*.log\n")
	for i := range 1001 {
		p.Put(p.Clone, fmt.Sprintf("%d.log", i), "")
	}
	_, err := p.Repos.Include(t.Context(), p.Clone, dir)
	require.ErrorIs(t, err, sandbox.ErrArguments)
	assert.NoFileExists(t, filepath.Join(dir, "1.log"))
	require.NoError(t, os.Remove(filepath.Join(p.Clone, "1.log")))
	got, err := p.Repos.Include(t.Context(), p.Clone, dir)
	require.NoError(t, err)
	assert.Len(t, got, 1000)
	p.Put(p.Clone, "large.log", "")
	require.NoError(t, os.Truncate(filepath.Join(p.Clone, "large.log"), 100<<20+1))
	_, err = p.Repos.Include(t.Context(), p.Clone, dir)
	require.ErrorIs(t, err, sandbox.ErrArguments)
}

func ended(t *testing.T, p *place) {
	dir := p.Make("x", "")
	p.Put(dir, "new", "x")
	before := p.Traces()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range map[string]func() error{
		"survey": func() error { _, err := p.Repos.Survey(ctx, p.Clone); return err },
		"plan":   func() error { _, err := p.Repos.Plan(ctx, p.Clone, "y", ""); return err },
		"remove": func() error {
			_, err := p.Repos.Remove(ctx, p.Clone, dir, force("x", "sandbox/x"))
			return err
		},
		"reset":   func() error { _, err := p.Repos.Reset(ctx, p.Clone, dir, again("x")); return err },
		"losses":  func() error { _, err := p.Repos.Losses(ctx, p.Clone, nil); return err },
		"fetch":   func() error { return p.Repos.Fetch(ctx, p.Clone, p.Access()) },
		"backups": func() error { _, err := p.Repos.Backups(ctx, p.Clone); return err },
		"restore": func() error { return p.Repos.Restore(ctx, p.Clone, p.At("y"), "refs/opencode-backup/x/1", "y") },
		"root":    func() error { _, err := p.Repos.Root(ctx, p.Clone); return err },
		"clone":   func() error { return p.Repos.Clone(ctx, p.Access(), filepath.Join(p.Base, "other"), nil) },
	} {
		require.ErrorIs(t, do(), fault.ErrCanceled, name)
		assert.Equal(t, before, p.Traces(), name)
	}
}

// longNames: a repository whose commits have the longer IDs goes through everything.
func longNames(t *testing.T, h repos) {
	p := placeWith(t, h, files)
	long := filepath.Join(t.TempDir(), "long")
	p.Git("init", "--quiet", "--object-format=sha256", "--initial-branch=main", long)
	p.Put(long, "a.txt", "one\n")
	p.Put(long, "b.txt", "b\n")
	p.Put(long, ".gitignore", "*.log\n")
	p.Save(long, "first")
	require.NoError(t, h.Repos.Clone(t.Context(), sandboxport.Access{URL: "file://" + long}, p.Clone, nil))
	head := p.Mess(p.Make("x", ""))
	assert.Len(t, head, 64)
	found := p.Find("x")
	assert.Equal(t, []any{head, 1, 5}, []any{found.Head, found.Unpushed, found.Changes})
	done, err := h.Repos.Reset(t.Context(), p.Clone, p.At("x"), again("x"))
	require.NoError(t, err)
	require.Len(t, done.Backups, 2)
	require.NoError(t, h.Repos.Restore(t.Context(), p.Clone, p.At("back"), done.Backups[1], "back"))
	p.Messy(p.At("back"), head)
	_, err = h.Repos.Remove(t.Context(), p.Clone, p.At("back"), force("back", "back"))
	require.NoError(t, err)
	p.Gone("back", "back")
}

func script(t *testing.T, p *place) {
	text, err := p.Repos.Script(t.Context(), p.Clone, "main")
	require.NoError(t, err)
	assert.Empty(t, text)
	p.Put(p.Clone, ".worktreesetup", "only on disk\n")
	p.Put(p.Dir, ".worktreesetup", "# first\nmake\n\n  npm ci \n")
	commit := p.Commit("setup")
	p.Git("push", "--quiet", "origin", "main:refs/heads/far")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	for _, ref := range []string{"origin/far", commit} {
		text, err = p.Repos.Script(t.Context(), p.Clone, ref)
		require.NoError(t, err)
		assert.Equal(t, "# first\nmake\n\n  npm ci \n", text)
	}
	for _, ref := range []string{"gone", "--all", "main:a.txt", ""} {
		_, err = p.Repos.Script(t.Context(), p.Clone, ref)
		require.ErrorIs(t, err, sandbox.ErrBranch, ref)
	}
	for name, change := range map[string]func(file string){
		"link":      func(file string) { require.NoError(t, os.Symlink("a.txt", file)) },
		"directory": func(file string) { p.Put(p.Dir, ".worktreesetup/x", "x") },
		"long":      func(file string) { p.Put(p.Dir, ".worktreesetup", strings.Repeat("x", 64<<10+1)) },
		"binary":    func(file string) { p.Put(p.Dir, ".worktreesetup", "\xff") },
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(p.Dir, ".worktreesetup")))
		change(filepath.Join(p.Dir, ".worktreesetup"))
		p.Commit(name)
		p.Git("push", "--quiet", "origin", "main:refs/heads/far")
		require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
		_, err = p.Repos.Script(t.Context(), p.Clone, "origin/far")
		require.ErrorIs(t, err, sandbox.ErrArguments, name)
	}
}

// linksOnTheWay: git resolves links in paths that it remembers; who asked is answered in the words of the question.
func linksOnTheWay(t *testing.T, p *place) {
	real := p.Base
	p.Base = filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, p.Base))
	p.Clone = filepath.Join(p.Base, "repo")
	dir := p.Make("x", "")
	p.Put(dir, "new", "x")
	found := p.Find("x")
	assert.Equal(t, []any{dir, 1}, []any{found.Directory, found.Changes})
	losses, err := p.Repos.Losses(t.Context(), p.Clone, []string{dir})
	require.NoError(t, err)
	require.Len(t, losses, 1)
	assert.Equal(t, dir, losses[0].Directory)
	_, err = p.Repos.Reset(t.Context(), p.Clone, dir, again("x"))
	require.NoError(t, err)
	_, err = p.Repos.Remove(t.Context(), p.Clone, dir, force("x", "sandbox/x"))
	require.NoError(t, err)
	assert.NoDirExists(t, dir)
	assert.NoDirExists(t, filepath.Join(real, "repo", ".git", "worktrees", "x"))
}
