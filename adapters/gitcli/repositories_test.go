package gitcli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/projectport"
)

const twoFiles = "first\n-- a.txt --\none\ntwo\nthree\n-- b.txt --\nb\n"

// strange is a file name with all that git quotes, or takes for an option.
const strange = "-n \"q\"\n\tü 日"

// repositoriesDo runs the contract of projectport.Repositories over real repositories.
func repositoriesDo(t *testing.T, open func(testing.TB) projectport.Repositories) {
	emptyHome(t)
	for name, test := range map[string]func(*testing.T, projectport.Repositories){
		"HeadIsBranchOrCommit":         gitHead,
		"HeadOfEveryLayout":            gitLayouts,
		"StatusTellsEverythingApart":   gitStatus,
		"StatusOfNoCommit":             gitUnborn,
		"StatusCountsAgainstUpstream":  gitUpstream,
		"StatusShowsConflicts":         gitConflict,
		"StatusOfSubmodules":           gitSubmodule,
		"ChangedSinceACommit":          gitChanged,
		"StagedIsTheNextCommit":        gitStaged,
		"StagedIsCut":                  gitCut,
		"WorktreesAreAllThere":         gitWorktrees,
		"WorktreesOfBareAndSubmodules": gitOtherWorktrees,
		"RemoteHasNoCredentials":       gitRemote,
		"WhatIsNoRepository":           gitNone,
		"WhatHasNoWorkingTree":         gitBare,
		"LockedAndBrokenIndex":         gitIndex,
		"EndedContextDoesNothing":      gitContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// emptyHome keeps the configuration of whoever runs the tests out of them.
func emptyHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
}

// put writes a file below a directory.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// resolved returns where a path leads.
func resolved(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

func gitHead(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, "")
	head := func() project.Head {
		t.Helper()
		head, err := git.Head(t.Context(), r.Dir)
		require.NoError(t, err)
		return head
	}
	assert.Equal(t, project.Head{Branch: "main"}, head(), "a branch need not have a commit")
	first := r.Commit("first")
	r.Git("checkout", "--quiet", "-b", "feature/ü-(detached)")
	assert.Equal(t, project.Head{Branch: "feature/ü-(detached)"}, head())
	r.Git("pack-refs", "--all")
	assert.Equal(t, project.Head{Branch: "feature/ü-(detached)"}, head())
	r.Git("checkout", "--quiet", "-b", "(detached)")
	assert.Equal(t, project.Head{Branch: "(detached)"}, head())
	s, err := git.Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, []any{"(detached)", false}, []any{s.Branch, s.Detached}, "a branch may have that name")
	r.Git("checkout", "--quiet", "--detach")
	assert.Equal(t, project.Head{Detached: true, Commit: first}, head())
}

func gitLayouts(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	top := filepath.Dir(r.Dir)
	at := func(elem ...string) string { return filepath.Join(append([]string{top}, elem...)...) }
	r.Git("worktree", "add", "--quiet", "-b", "linked", at("linked"))
	r.Git("init", "--quiet", "--initial-branch=sub", at("lib"))
	r.Git("-C", at("lib"), "commit", "--quiet", "--allow-empty", "--message", "lib")
	r.Git("submodule", "--quiet", "add", "--", at("lib"), "vendor/lib")
	r.Git("init", "--quiet", "--object-format=sha256", "--initial-branch=long", at("sha256"))
	r.Git("-C", at("sha256"), "commit", "--quiet", "--allow-empty", "--message", "x")
	r.Git("init", "--quiet", "--initial-branch=apart", "--separate-git-dir="+at("apart.git"), at("apart"))
	r.Git("-C", at("lib"), "branch", "old-style")
	r.Git("-c", "core.preferSymlinkRefs=true", "-C", at("lib"), "symbolic-ref", "HEAD", "refs/heads/old-style")
	require.NoError(t, os.Symlink(r.Dir, at("link")))
	require.NoError(t, os.Mkdir(at("clone", "sub dir"), 0o755))
	for dir, branch := range map[string]string{
		r.Dir: "main", at("linked"): "linked", at("clone", "vendor", "lib"): "sub", at("clone", "vendor"): "main", r.Remote: "main", at("sha256"): "long",
		at("apart"): "apart", at("apart.git"): "apart", at("link"): "main", at("link", "sub dir"): "main", at("lib"): "old-style", filepath.Join(r.Dir, ".git"): "main",
	} {
		head, err := git.Head(t.Context(), dir)
		require.NoError(t, err, dir)
		assert.Equal(t, project.Head{Branch: branch}, head, dir)
	}
	r.Git("-C", at("sha256"), "checkout", "--quiet", "--detach")
	head, err := git.Head(t.Context(), at("sha256"))
	require.NoError(t, err)
	assert.Equal(t, project.Head{Detached: true, Commit: r.Git("-C", at("sha256"), "rev-parse", "HEAD")}, head)
	assert.Len(t, head.Commit, 64)
	r.Git("symbolic-ref", "HEAD", "refs/remotes/origin/main")
	head, err = git.Head(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, project.Head{Detached: true, Commit: r.Head()}, head, "what is no branch is a commit")
}

func gitStatus(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles+"-- gone.txt --\ng\n-- link.txt --\nl\n-- moved.txt --\na long enough text to be known again\n-- dropped.txt --\nd\n")
	s, err := git.Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.True(t, s.Clean)
	assert.Equal(t, []any{"main", r.Head(), "origin/main", true}, []any{s.Branch, s.Head, s.Upstream, s.HasUpstream})

	r.Git("mv", "moved.txt", "to here.txt")
	r.Git("rm", "--quiet", "--cached", "dropped.txt")
	put(t, r.Dir, "a.txt", "staged\n")
	r.Git("add", "a.txt")
	put(t, r.Dir, "a.txt", "and changed again\n")
	require.NoError(t, os.Remove(filepath.Join(r.Dir, "gone.txt")))
	require.NoError(t, os.Remove(filepath.Join(r.Dir, "link.txt")))
	require.NoError(t, os.Symlink("b.txt", filepath.Join(r.Dir, "link.txt")))
	put(t, r.Dir, strange, "x")
	require.NoError(t, os.Mkdir(filepath.Join(r.Dir, "new dir"), 0o755))
	put(t, filepath.Join(r.Dir, "new dir"), "x", "x")
	put(t, r.Dir, ".git/info/exclude", "ignored\n")
	put(t, r.Dir, "ignored", "x")
	for _, setting := range []string{"status.showUntrackedFiles=no", "status.renames=false", "status.relativePaths=true", "color.ui=always", "column.ui=always", "status.aheadBehind=false", "status.short=true"} {
		name, value, _ := strings.Cut(setting, "=")
		r.Git("config", name, value)
	}
	s, err = git.Status(t.Context(), filepath.Join(r.Dir, "new dir"))
	require.NoError(t, err)
	assert.Equal(t, project.GitStatus{
		Branch: "main", Head: r.Head(), Upstream: "origin/main", HasUpstream: true,
		Staged: []string{"a.txt", "dropped.txt", "to here.txt"}, Modified: []string{"a.txt", "gone.txt", "link.txt"}, Untracked: []string{strange, "dropped.txt", "new dir/"},
		Conflicted: []string{}, Renamed: []project.RenamedFile{{From: "moved.txt", To: "to here.txt"}}, Counts: project.ChangeCounts{Staged: 3, Modified: 3, Untracked: 3, Renamed: 1},
	}, s, "whatever is configured, and from any directory")
}

func gitUnborn(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, "")
	put(t, r.Dir, strange, "x\n")
	r.Git("add", "--all")
	s, err := git.Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, project.GitStatus{Branch: "main", Staged: []string{strange}, Modified: []string{}, Untracked: []string{}, Conflicted: []string{}, Renamed: []project.RenamedFile{},
		Counts: project.ChangeCounts{Staged: 1}}, s)
	d, err := git.Staged(t.Context(), r.Dir, 0)
	require.NoError(t, err)
	assert.Equal(t, []project.FileStat{{Path: strange, Insertions: 1}}, d.Files, "against nothing, everything is new")
	assert.Contains(t, d.Text, "+x\n")
}

func gitUpstream(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	r.Commit("theirs")
	r.Git("push", "--quiet")
	r.Git("reset", "--quiet", "--hard", "HEAD~")
	r.Commit("mine")
	r.Commit("mine too")
	r.Git("config", "status.aheadBehind", "false")
	status := func() project.GitStatus {
		s, err := git.Status(t.Context(), r.Dir)
		require.NoError(t, err)
		return s
	}
	s := status()
	assert.Equal(t, []any{"origin/main", true, 2, 1, true}, []any{s.Upstream, s.HasUpstream, s.Ahead, s.Behind, s.Clean})
	r.Git("update-ref", "-d", "refs/remotes/origin/main")
	s = status()
	assert.Equal(t, []any{"origin/main", false, 0, 0}, []any{s.Upstream, s.HasUpstream, s.Ahead, s.Behind}, "configured, and not there")
	r.Git("checkout", "--quiet", "--detach")
	s = status()
	assert.Equal(t, []any{"", true, "", false, r.Head()}, []any{s.Branch, s.Detached, s.Upstream, s.HasUpstream, s.Head})
}

// gitConflict stops a rebase and a merge half-way.
func gitConflict(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	r.Git("checkout", "--quiet", "-b", "other")
	r.Write("-- a.txt --\nother\n-- " + "c.txt --\nc\n")
	r.Commit("other")
	r.Git("checkout", "--quiet", "main")
	r.Write("-- a.txt --\nmain\n")
	onto := r.Commit("main")
	for _, stop := range []struct {
		command, branch string
		detached        bool
	}{{"merge", "main", false}, {"rebase", "", true}} {
		args := []string{stop.command, "other"}
		if stop.detached {
			args = []string{"rebase", "--quiet", "main", "other"}
		}
		r.Git("-c", "alias.stop=!git "+strings.Join(args, " ")+" >/dev/null 2>&1; true", "stop")
		s, err := git.Status(t.Context(), r.Dir)
		require.NoError(t, err)
		assert.Equal(t, []any{stop.branch, stop.detached, onto, false}, []any{s.Branch, s.Detached, s.Head, s.Clean}, stop.command)
		assert.Equal(t, []any{[]string{"a.txt"}, []string{"c.txt"}, []string{}}, []any{s.Conflicted, s.Staged, s.Modified}, stop.command)
		d, err := git.Staged(t.Context(), r.Dir, 0)
		require.NoError(t, err)
		assert.Equal(t, []project.FileStat{{Path: "c.txt", Insertions: 1}}, d.Files, "what has conflicts is not staged")
		head, err := git.Head(t.Context(), r.Dir)
		require.NoError(t, err)
		assert.Equal(t, stop.detached, head.Detached)
		r.Git(stop.command, "--abort")
	}
}

func gitSubmodule(t *testing.T, git projectport.Repositories) {
	r, lib := gitfixture.New(t, twoFiles), gitfixture.New(t, twoFiles)
	r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
	r.Commit("lib")
	sub := filepath.Join(r.Dir, "lib")
	r.Git("config", "diff.ignoreSubmodules", "all")
	put(t, sub, "a.txt", "changed")
	s, err := git.Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.True(t, s.Clean, "what is changed within it is its own business")
	s, err = git.Status(t.Context(), sub)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.txt"}, s.Modified)
	r.Git("-C", sub, "commit", "--quiet", "--all", "--message", "more")
	s, err = git.Status(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"lib"}, s.Modified, "it stands on another commit")
	r.Git("config", "diff.submodule", "log")
	r.Git("add", "lib")
	d, err := git.Staged(t.Context(), r.Dir, 0)
	require.NoError(t, err)
	assert.Contains(t, d.Text, "+Subproject commit "+r.Git("-C", sub, "rev-parse", "HEAD"))
}

func gitNone(t *testing.T, git projectport.Repositories) {
	plain := t.TempDir()
	put(t, plain, "file", "")
	pointer := filepath.Join(plain, "pointer")
	require.NoError(t, os.Mkdir(pointer, 0o755))
	put(t, pointer, ".git", "gitdir: /nowhere/at all\n")
	garbage := filepath.Join(plain, "garbage")
	require.NoError(t, os.Mkdir(garbage, 0o755))
	put(t, garbage, ".git", "\x00\xff")
	empty := filepath.Join(plain, "empty")
	require.NoError(t, os.MkdirAll(filepath.Join(empty, ".git"), 0o755))
	for _, dir := range []string{plain, filepath.Join(plain, "file"), filepath.Join(plain, "missing"), "", ".", "-C", "a\x00b", pointer, garbage, empty} {
		_, headErr := git.Head(t.Context(), dir)
		_, statusErr := git.Status(t.Context(), dir)
		_, stagedErr := git.Staged(t.Context(), dir, 0)
		_, listErr := git.Worktrees(t.Context(), dir)
		_, remoteErr := git.Remote(t.Context(), dir)
		for _, err := range []error{headErr, statusErr, stagedErr, listErr, remoteErr} {
			require.ErrorIs(t, err, project.ErrNotRepository, "%q", dir)
		}
	}
	_, err := git.Head(t.Context(), filepath.Join(plain, "missing"))
	assert.ErrorContains(t, err, filepath.Join(plain, "missing")+" no longer exists")
}

func gitBare(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	for _, dir := range []string{r.Remote, filepath.Join(r.Dir, ".git")} {
		_, err := git.Status(t.Context(), dir)
		require.ErrorIs(t, err, project.ErrNotRepository)
		require.ErrorContains(t, err, "bare git repository")
		_, err = git.Staged(t.Context(), dir, 0)
		require.ErrorIs(t, err, project.ErrNotRepository)
	}
}

func gitIndex(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	put(t, r.Dir, "a.txt", "staged\n")
	r.Git("add", "a.txt")
	put(t, r.Dir, ".git/index.lock", "")
	s, err := git.Status(t.Context(), r.Dir)
	require.NoError(t, err, "somebody else is writing; reading goes on")
	assert.Equal(t, []string{"a.txt"}, s.Staged)
	d, err := git.Staged(t.Context(), r.Dir, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, d.FilesChanged)
	put(t, r.Dir, ".git/index", "torn")
	_, err = git.Status(t.Context(), r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	require.ErrorContains(t, err, "index file")
	_, err = git.Staged(t.Context(), r.Dir, 0)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
}

func gitContext(t *testing.T, git projectport.Repositories) {
	r := gitfixture.New(t, twoFiles)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := git.Head(ctx, r.Dir)
	require.ErrorIs(t, err, fault.ErrCanceled)
	_, err = git.Status(ctx, r.Dir)
	require.ErrorIs(t, err, fault.ErrCanceled)
}

// gitChanged: what was committed since, what was not, what is gone and what git does not know yet, each by its path below the directory that was asked about.
func gitChanged(t *testing.T, r projectport.Repositories) {
	repo := gitfixture.New(t, "first\n-- a.txt --\na\n-- sub/b.txt --\nb\n-- sub/c.txt --\nc\n-- .gitignore --\nignored\n")
	put(t, repo.Dir, "sub/b.txt", "other")
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, "sub/c.txt")))
	put(t, repo.Dir, "sub/"+strange, "")
	put(t, repo.Dir, "sub/ignored", "")
	put(t, repo.Dir, "a.txt", "other")
	files, err := r.Changed(t.Context(), repo.Dir, "HEAD")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"a.txt", "sub/" + strange, "sub/b.txt", "sub/c.txt"}, files)
	files, err = r.Changed(t.Context(), filepath.Join(repo.Dir, "sub"), "HEAD")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{strange, "b.txt", "c.txt"}, files)
	for _, ref := range []string{"", "none", "--help", "HEAD:a.txt", "HEAD^", "a\x00b"} {
		_, err = r.Changed(t.Context(), repo.Dir, ref)
		assert.ErrorIs(t, err, project.ErrArgument, ref)
	}
	_, err = r.Changed(t.Context(), t.TempDir(), "HEAD")
	assert.ErrorIs(t, err, project.ErrNotRepository)
}
