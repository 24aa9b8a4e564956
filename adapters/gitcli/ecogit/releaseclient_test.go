package ecogit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var (
	_ ecosystemport.ReleaseGit = (*ecogit.ReleaseClient)(nil)
)

// home gives the user a configuration.
func home(t *testing.T, config string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(config), 0o644))
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("EMAIL", "")
}

const ada = "[user]\n\tname = Ada\n\temail = ada@example.com\n"

// work returns a release of what the repository has, writing those files.
func work(t *testing.T, r *gitfixture.Repo, files map[string]string) ecosystemport.ReleaseWork {
	t.Helper()
	foot := ecogit.NewReleaseClient().ReleaseBases(t.Context(), []string{r.Dir})[0]
	require.NoError(t, foot.Err)
	w := ecosystemport.ReleaseWork{Name: "api", Dir: r.Dir, Branch: foot.Branch, Head: foot.Head, Message: "chore(release): v1\n", Tag: "v1", Annotation: "v1\n", At: gitfixture.Epoch.Add(time.Hour)}
	for name, text := range files {
		old, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			old = nil
		}
		w.Files = append(w.Files, ecosystemport.FileEdit{Path: name, Old: old, New: []byte(text)})
	}
	return w
}

// seen returns what anybody sees of a repository.
func seen(r *gitfixture.Repo) string {
	return r.Git("for-each-ref") + r.Git("status", "--porcelain=v2", "--branch") + r.Git("ls-files", "--stage") + r.Git("stash", "list")
}

// TestThereAndBack: preparing shows nothing, making it is one commit and one tag, making it again is nothing, and undoing it leaves what there was.
func TestReleaseThereAndBack(t *testing.T) {
	home(t, ada)
	for name, prepare := range map[string]func(*gitfixture.Repo){
		"plain": func(*gitfixture.Repo) {},
		"other changes": func(r *gitfixture.Repo) {
			r.Write("-- other --\nstaged\n")
			r.Git("add", "other")
			r.Write("-- other --\nchanged\n-- stray --\nstray\n")
		},
		"a program": func(r *gitfixture.Repo) {
			require.NoError(t, os.Chmod(filepath.Join(r.Dir, "VERSION"), 0o755))
			r.Git("commit", "-qam", "program")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, c := gitfixture.New(t, "-- VERSION --\n1\n-- other --\nx\n"), ecogit.NewReleaseClient()
			prepare(r)
			before, head := seen(r), r.Head()
			s, err := c.Prepare(t.Context(), work(t, r, map[string]string{"VERSION": "2\n", "sub/dir/new": "new\n"}))
			require.NoError(t, err)
			assert.Equal(t, before, seen(r))
			for range 2 {
				require.NoError(t, c.Make(t.Context(), s))
			}
			is, err := c.Tagged(t.Context(), s)
			require.NoError(t, err)
			assert.True(t, is)
			assert.Equal(t, s.New, r.Head())
			assert.Equal(t, head, r.Git("rev-parse", "HEAD~1"))
			assert.Equal(t, "VERSION\nsub/dir/new", r.Git("show", "--format=", "--name-only"))
			assert.Equal(t, "2", r.Git("show", "v1:VERSION"))
			assert.Equal(t, "new\n", read(t, r, "sub/dir/new"))
			assert.Empty(t, r.Git("diff", "--name-only", "--", "VERSION", "sub"))
			for range 2 {
				left, err := c.Undo(t.Context(), s)
				require.NoError(t, err)
				assert.Empty(t, left)
			}
			assert.Equal(t, before, seen(r))
			assert.Equal(t, "1\n", read(t, r, "VERSION"))
			assert.NoFileExists(t, filepath.Join(r.Dir, "sub/dir/new"))
			left, err := c.Finish(t.Context(), s)
			require.NoError(t, err)
			assert.Empty(t, left)
			assert.Equal(t, s.New, r.Head())
		})
	}
}

func read(t *testing.T, r *gitfixture.Repo, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, name))
	require.NoError(t, err)
	return string(text)
}

// TestForms: a repository without commits, one with SHA-256, another working tree of a clone, and one without anything to write.
func TestForms(t *testing.T) {
	home(t, ada)
	c := ecogit.NewReleaseClient()
	try := func(t *testing.T, r *gitfixture.Repo, files map[string]string) {
		before := seen(r)
		s, err := c.Prepare(t.Context(), work(t, r, files))
		require.NoError(t, err)
		require.NoError(t, c.Make(t.Context(), s))
		assert.Equal(t, s.New, r.Git("rev-parse", "v1^{commit}"))
		assert.Empty(t, r.Git("status", "--porcelain"))
		_, err = c.Undo(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, before, seen(r))
	}
	t.Run("unborn", func(t *testing.T) { try(t, gitfixture.New(t, ""), map[string]string{"a": "a\n"}) })
	t.Run("nothing to write", func(t *testing.T) { try(t, gitfixture.New(t, "-- a --\na\n"), nil) })
	t.Run("the same", func(t *testing.T) { try(t, gitfixture.New(t, "-- a --\na\n"), map[string]string{"a": "a\n"}) })
	t.Run("emptied", func(t *testing.T) { try(t, gitfixture.New(t, "-- a --\na\n"), map[string]string{"a": ""}) })
	t.Run("a linked tree", func(t *testing.T) {
		r := gitfixture.New(t, "-- a --\na\n")
		r.Git("worktree", "add", "-q", "-b", "side", filepath.Join(r.Dir, "..", "side"))
		r.Dir = filepath.Join(r.Dir, "..", "side")
		try(t, r, map[string]string{"a": "b\n"})
	})
	t.Run("sha256", func(t *testing.T) {
		r := gitfixture.New(t, "")
		require.NoError(t, os.RemoveAll(filepath.Join(r.Dir, ".git")))
		r.Git("init", "-q", "--object-format=sha256", "--initial-branch=main")
		try(t, r, map[string]string{"a": "a\n"})
		r.Write("-- a --\na\n")
		r.Commit("one")
		try(t, r, map[string]string{"a": "b\n"})
	})
}

// TestLineEndings that git converts: the file keeps its carriage returns, and the commit has none.
func TestLineEndings(t *testing.T) {
	home(t, ada+"[core]\n\tautocrlf = true\n")
	r, c := gitfixture.New(t, "-- .gitattributes --\n*.txt text eol=crlf\n-- a.txt --\n1\n2\n"), ecogit.NewReleaseClient()
	require.NoError(t, os.Remove(filepath.Join(r.Dir, "a.txt")))
	r.Git("checkout", "--", "a.txt")
	require.Equal(t, "1\r\n2\r\n", read(t, r, "a.txt"))
	s, err := c.Prepare(t.Context(), work(t, r, map[string]string{"a.txt": "1\r\n3\r\n"}))
	require.NoError(t, err)
	require.NoError(t, c.Make(t.Context(), s))
	assert.Equal(t, "1\r\n3\r\n", read(t, r, "a.txt"))
	assert.Equal(t, "1\n3", r.Git("show", "HEAD:a.txt"))
	assert.Empty(t, r.Git("status", "--porcelain"))
}

// TestRefusals: what is not as the work says is said before anything is made, and what changes between preparing and making stops it.
func TestRefusals(t *testing.T) {
	home(t, ada)
	c := ecogit.NewReleaseClient()
	for name, spoil := range map[string]func(*gitfixture.Repo){
		"changed": func(r *gitfixture.Repo) { r.Write("-- VERSION --\nmine\n") },
		"staged": func(r *gitfixture.Repo) {
			r.Write("-- VERSION --\nmine\n")
			r.Git("add", ".")
			r.Write("-- VERSION --\n1\n")
		},
		"untracked": func(r *gitfixture.Repo) { r.Git("rm", "-q", "--cached", "VERSION"); r.Git("commit", "-qm", "gone") },
	} {
		r := gitfixture.New(t, "-- VERSION --\n1\n-- other --\n")
		w := work(t, r, map[string]string{"VERSION": "2\n"})
		spoil(r)
		w.Head = r.Head()
		_, err := c.Prepare(t.Context(), w)
		require.ErrorIs(t, err, ecosystem.ErrChanged, name)
	}
	for name, spoil := range map[string]func(*gitfixture.Repo){
		"committed":    func(r *gitfixture.Repo) { r.Commit("mine") },
		"tagged":       func(r *gitfixture.Repo) { r.Git("tag", "v1") },
		"switched":     func(r *gitfixture.Repo) { r.Git("checkout", "-q", "-b", "mine") },
		"file changed": func(r *gitfixture.Repo) { r.Write("-- VERSION --\nmine\n") },
	} {
		r := gitfixture.New(t, "-- VERSION --\n1\n")
		s, err := c.Prepare(t.Context(), work(t, r, map[string]string{"VERSION": "2\n"}))
		require.NoError(t, err)
		spoil(r)
		before := seen(r)
		require.ErrorIs(t, c.Make(t.Context(), s), ecosystem.ErrChanged, name)
		_, err = c.Undo(t.Context(), s)
		require.NoError(t, err)
		assert.Equal(t, before, seen(r), name)
	}
	r := gitfixture.New(t, "-- VERSION --\n1\n")
	for _, bad := range []string{".git/config", "../x", "/x", "a/.GIT/x", ""} {
		w := work(t, r, nil)
		w.Files = []ecosystemport.FileEdit{{Path: bad, New: []byte("x")}}
		_, err := c.Prepare(t.Context(), w)
		require.Error(t, err, bad)
	}
	home(t, "")
	_, err := c.Prepare(t.Context(), work(t, r, nil))
	require.ErrorIs(t, err, ecosystem.ErrIdentity)
	_, err = c.Author(t.Context(), r.Dir)
	require.ErrorIs(t, err, ecosystem.ErrIdentity)
	r.Git("config", "user.name", "Bob")
	r.Git("config", "user.email", "bob@example.com")
	who, err := c.Author(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, "Bob <bob@example.com>", who)
}

// TestLocked: an index that another git holds stops the release, which can be taken back then.
func TestLocked(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "-- VERSION --\n1\n"), ecogit.NewReleaseClient()
	before := seen(r)
	s, err := c.Prepare(t.Context(), work(t, r, map[string]string{"VERSION": "2\n"}))
	require.NoError(t, err)
	lock := filepath.Join(r.Dir, ".git", "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	err = c.Make(t.Context(), s)
	require.ErrorIs(t, err, ecosystem.ErrBusy)
	assert.Contains(t, err.Error(), lock)
	_, err = c.Undo(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, os.Remove(lock))
	assert.Equal(t, before, seen(r))
	require.NoError(t, os.RemoveAll(r.Dir))
	left, err := c.Undo(t.Context(), s)
	require.NoError(t, err)
	assert.Empty(t, left)
	is, err := c.Tagged(t.Context(), s)
	require.NoError(t, err)
	assert.False(t, is)
}

// TestClockBackwards: the commit is not older than the one it follows.
func TestClockBackwards(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "-- VERSION --\n1\n"), ecogit.NewReleaseClient()
	w := work(t, r, map[string]string{"VERSION": "2\n"})
	w.At = gitfixture.Epoch.Add(-1000 * time.Hour)
	s, err := c.Prepare(t.Context(), w)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(gitfixture.Epoch.Unix(), " ", w.At.Unix()), r.Git("show", "-s", "--format=%ct %at", s.New))
}

func TestFootings(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "-- a --\na\n"), ecogit.NewReleaseClient()
	look := func() ecosystemport.ReleaseBase {
		t.Helper()
		f := c.ReleaseBases(t.Context(), []string{r.Dir})[0]
		require.NoError(t, f.Err)
		return f
	}
	r.Git("tag", "light")
	r.Git("tag", "-a", "-m", "x", "v1")
	f := look()
	assert.Equal(t, ecosystemport.ReleaseBase{Branch: "main", Head: r.Head(), Tags: map[string]string{"light": r.Head(), "v1": r.Git("rev-parse", "v1")}}, f)
	r.Write("-- a --\nb\n-- d/new --\n\n")
	f = look()
	assert.Equal(t, []string{"a", "d/"}, f.Changed)
	assert.NotEmpty(t, f.Tree)
	r.Commit("two")
	r.Git("push", "-q", "origin", "main")
	r.Git("reset", "-q", "--hard", "HEAD~1")
	assert.Equal(t, 1, look().Behind)
	for name, want := range map[string]string{"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "BISECT_LOG": "bisect"} {
		file := filepath.Join(r.Dir, ".git", name)
		require.NoError(t, os.WriteFile(file, []byte(r.Head()+"\n"), 0o644))
		assert.Equal(t, want, look().Doing)
		require.NoError(t, os.Remove(file))
	}
	r.Git("checkout", "-q", "--detach")
	assert.Empty(t, look().Branch)
	all := c.ReleaseBases(t.Context(), []string{gitfixture.New(t, "").Dir, t.TempDir(), filepath.Join(r.Dir, "nowhere")})
	assert.Equal(t, "main", all[0].Branch)
	assert.Empty(t, all[0].Head)
	require.ErrorIs(t, all[1].Err, ecosystem.ErrGit)
	require.ErrorIs(t, all[2].Err, ecosystem.ErrGit)
}

func TestSince(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "-- a --\na\n"), ecogit.NewReleaseClient()
	r.Git("tag", "-a", "-m", "x", "v1")
	for i := range 12 {
		r.Commit(fmt.Sprintf("feat: %d äöü\n\nbody", i))
	}
	spans := []ecosystemport.CommitRange{{Dir: r.Dir, From: r.Git("rev-parse", "v1"), Head: r.Head()}, {Dir: r.Dir, Head: r.Head()}, {Dir: r.Dir}, {Dir: t.TempDir(), Head: r.Head()}}
	got := c.Since(t.Context(), spans, 10)
	assert.Equal(t, 12, got[0].Total)
	assert.Equal(t, 13, got[1].Total)
	assert.Len(t, got[0].Commits, 10)
	assert.Equal(t, "feat: 11 äöü", got[0].Commits[0].Subject)
	assert.Equal(t, r.Head(), got[0].Commits[0].ID)
	assert.Zero(t, got[2].Total)
	require.Error(t, got[3].Err)
	assert.Equal(t, 12, c.Since(t.Context(), spans[:1], 50)[0].Total)
	times, err := c.Times(t.Context(), r.Dir, []string{"v1", "v2"})
	require.NoError(t, err)
	assert.Equal(t, map[string]time.Time{"v1": gitfixture.Epoch.Add(time.Minute)}, times)
}

func TestTextsAndRecords(t *testing.T) {
	top, c := t.TempDir(), ecogit.NewReleaseClient()
	for name, text := range map[string]string{"a": "a", "empty": "", "d/b.json": "{}", "d/c.txt": "x", "d/e.json": "{1}"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("a", filepath.Join(top, "link")))
	require.NoError(t, os.Symlink("d", filepath.Join(top, "linked")))
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(top, "d", "z.json")))
	got := c.Texts(t.Context(), top, []string{"a", "empty", "none", "none/x", "link", "linked/b.json", "d", "../x"})
	assert.Equal(t, "a", string(got[0].Data))
	assert.NotNil(t, got[1].Data)
	assert.True(t, got[2].Missing && got[3].Missing)
	for _, bad := range got[4:] {
		require.Error(t, bad.Err)
		assert.Nil(t, bad.Data)
	}
	records, err := c.Records(t.Context(), top, "d")
	require.NoError(t, err)
	assert.Equal(t, [][]byte{[]byte("{}"), []byte("{1}")}, records)
	records, err = c.Records(t.Context(), top, "none")
	require.NoError(t, err)
	assert.Empty(t, records)
}

// TestNothingOfARepositoryRuns: hooks, filters, and whatever else its configuration names.
func TestNothingOfARepositoryRuns(t *testing.T) {
	traps := gitfixture.NewTraps(t, "exit 1")
	hooks := traps.Hooks("pre-commit", "commit-msg", "post-commit", "reference-transaction", "pre-push", "post-index-change")
	home(t, ada)
	r, c := gitfixture.New(t, "-- VERSION --\n1\n-- .gitattributes --\n* filter=evil diff=evil\n"), ecogit.NewReleaseClient()
	for _, setting := range [][2]string{{"core.hooksPath", hooks}, {"core.fsmonitor", traps.Program("fsmonitor")}, {"core.sshCommand", traps.Program("ssh")}, {"filter.evil.clean", traps.Program("clean")},
		{"filter.evil.smudge", traps.Program("smudge")}, {"filter.evil.required", "true"}, {"gpg.program", traps.Program("gpg")}, {"commit.gpgSign", "true"}, {"tag.gpgSign", "true"}, {"push.gpgSign", "true"},
		{"log.showSignature", "true"}, {"core.pager", traps.Program("pager")}, {"core.editor", traps.Program("editor")}, {"diff.evil.command", traps.Program("diff")}, {"diff.evil.textconv", traps.Program("textconv")},
		{"remote.origin.receivepack", traps.Program("receivepack")}, {"remote.origin.uploadpack", traps.Program("uploadpack")}, {"core.alternateRefsCommand", traps.Program("alternates")}} {
		r.Git("config", setting[0], setting[1])
	}
	traps.Sprung()
	s, err := c.Prepare(t.Context(), work(t, r, map[string]string{"VERSION": "2\n"}))
	require.NoError(t, err)
	require.NoError(t, c.Make(t.Context(), s))
	c.Since(t.Context(), []ecosystemport.CommitRange{{Dir: r.Dir, Head: s.New}}, 10)
	found, err := c.Obstacles(t.Context(), r.Dir, "main", "v1")
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.PushObstacles{}, found)
	require.NoError(t, c.Push(t.Context(), r.Dir, "main", []string{"v1"}))
	found, err = c.Obstacles(t.Context(), r.Dir, "main", "v1")
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.PushObstacles{Tag: true}, found)
	_, err = c.Undo(t.Context(), s)
	require.NoError(t, err)
	assert.Empty(t, traps.Sprung())
}

// TestObstacles are those of every URL that a push goes to, and not of the one that is fetched from.
func TestObstacles(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "first\n-- a --\n1\n"), ecogit.NewReleaseClient()
	other := filepath.Join(t.TempDir(), "other.git")
	r.Git("clone", "--quiet", "--bare", r.Remote, other)
	obstacles := func() ecosystemport.PushObstacles {
		found, err := c.Obstacles(t.Context(), r.Dir, "main", "v1")
		require.NoError(t, err)
		return found
	}
	r.Git("commit", "--quiet", "--allow-empty", "--message", "mine")
	assert.Equal(t, ecosystemport.PushObstacles{}, obstacles())
	mine := r.Git("rev-parse", "HEAD")
	theirs := r.Git("commit-tree", "-p", "HEAD~1", "-m", "theirs", "HEAD^{tree}")
	r.Git("push", "--quiet", other, theirs+":refs/heads/main")
	assert.Equal(t, ecosystemport.PushObstacles{}, obstacles(), "nobody pushes there")
	r.Git("remote", "set-url", "--push", "origin", other)
	assert.Equal(t, ecosystemport.PushObstacles{Moved: true}, obstacles())
	r.Git("remote", "set-url", "--push", "--add", "origin", r.Remote)
	assert.Equal(t, ecosystemport.PushObstacles{Moved: true}, obstacles(), "in one of them")
	r.Git("push", "--quiet", "--force", other, mine+":refs/heads/main", mine+":refs/tags/v1")
	assert.Equal(t, ecosystemport.PushObstacles{Tag: true}, obstacles())
	r.Git("remote", "set-url", "--push", "--add", "origin", filepath.Join(t.TempDir(), "nowhere"))
	_, err := c.Obstacles(t.Context(), r.Dir, "main", "v1")
	require.ErrorIs(t, err, ecosystem.ErrGit)
	assert.ErrorContains(t, err, "does not answer")
}

// TestPush is of branch and tags together, or of none of them, and masks what a URL holds.
func TestPush(t *testing.T) {
	home(t, ada)
	r, c := gitfixture.New(t, "-- VERSION --\n1\n"), ecogit.NewReleaseClient()
	r.Git("push", "-q", "origin", "main")
	other := filepath.Join(t.TempDir(), "other")
	r.Git("clone", "-q", r.Remote, other)
	r.Git("-C", other, "commit", "-q", "--allow-empty", "-m", "theirs")
	r.Git("-C", other, "push", "-q", "origin", "main")
	r.Commit("mine")
	r.Git("tag", "v1")
	r.Git("tag", "-a", "-m", "x", "private")
	err := c.Push(t.Context(), r.Dir, "main", []string{"v1"})
	require.ErrorIs(t, err, ecosystem.ErrGit)
	assert.Empty(t, r.Git("-C", r.Remote, "tag"))
	r.Git("-C", r.Dir, "pull", "-q", "--rebase", "origin", "main")
	require.NoError(t, c.Push(t.Context(), r.Dir, "main", []string{"v1"}))
	assert.Equal(t, "v1", r.Git("-C", r.Remote, "tag"))
	r.Git("remote", "set-url", "origin", "https://ada:secret@localhost:1/x.git")
	err = c.Push(t.Context(), r.Dir, "main", nil)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	r.Git("remote", "remove", "origin")
	require.Error(t, c.Push(t.Context(), r.Dir, "main", nil))
}
