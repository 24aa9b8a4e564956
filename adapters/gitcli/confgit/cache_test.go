package confgit_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

const archive = "-- top.md --\ntop\n-- skills/a/SKILL.md --\nfirst\n-- skills/a/run.sh --\n#!/bin/sh\n"

func detailsOf(t *testing.T, err error) deployment.Details {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	details, ok := f.Details.(deployment.Details)
	require.True(t, ok, "%v", f.Details)
	return details
}

func canonical(at deployment.Locations, source deployment.ResolvedGit) string {
	return filepath.Join(at.Home, "cache", "git", deployment.SumOf([]byte(source.URL)).String(), source.Commit)
}

func TestASourceIsFetchedOnceAndThenReadWithoutGit(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	require.NoError(t, os.Chmod(filepath.Join(r.Dir, "skills", "a", "run.sh"), 0o755))
	first := r.Commit("executable")
	r.Write("-- skills/a/SKILL.md --\nsecond\n")
	r.Commit("second")
	r.Git("push", "--quiet")
	lines := spy(t)
	at, source := place(t), deployment.ResolvedGit{URL: "file://" + r.Remote, Commit: first, Subdir: "skills/a"}
	got, err := client().Git(t.Context(), at, source, false)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"SKILL.md": "first\n", "run.sh": "#!/bin/sh\n"}, texts(got))
	assert.Equal(t, []os.FileMode{deployment.PlainMode, deployment.ExecutableMode}, []os.FileMode{got[0].Mode, got[1].Mode})
	require.Len(t, lines("fetch"), 1)
	assert.Contains(t, lines("fetch")[0], "--depth=1 -- file://"+r.Remote+" "+first)
	assert.FileExists(t, filepath.Join(canonical(at, source), ".git", "shallow"))
	entries := below(t, filepath.Dir(canonical(at, source)))
	for _, entry := range entries {
		assert.True(t, strings.HasPrefix(entry, canonical(at, source)), "%s was left beside the checkout", entry)
	}

	t.Setenv("PATH", t.TempDir())
	got, err = client().Git(t.Context(), at, source, true)
	require.NoError(t, err, "no git is started for what is in the cache")
	assert.Len(t, got, 2)
	source.Subdir = " "
	got, err = client().Git(t.Context(), at, source, true)
	require.NoError(t, err)
	assert.Len(t, got, 3, "a blank subdir is everything")
}

func TestAServerThatGivesNoSingleCommitsIsClonedWhole(t *testing.T) {
	user(t, "[protocol]\n\tversion = 0\n")
	r := gitfixture.New(t, archive)
	first := r.Head()
	r.Write("-- top.md --\nchanged\n")
	r.Commit("second")
	r.Git("push", "--quiet")
	lines := spy(t)
	at, source := place(t), deployment.ResolvedGit{URL: r.Remote, Commit: first}
	got, err := client().Git(t.Context(), at, source, false)
	require.NoError(t, err)
	assert.Equal(t, "top\n", texts(got)["top.md"])
	assert.Len(t, lines("fetch"), 2, "once for the commit, once for everything")
	assert.NoFileExists(t, filepath.Join(canonical(at, source), ".git", "shallow"))

	_, err = client().Git(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: strings.Repeat("ab", 20)}, false)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "contains commit "+strings.Repeat("ab", 20))
}

func TestOfflineNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	source := deployment.ResolvedGit{URL: "https://ada:secret@example.com/x.git", Commit: strings.Repeat("cd", 20)}
	at := place(t)
	_, err := client().Git(t.Context(), at, source, true)
	require.ErrorIs(t, err, deployment.ErrOffline)
	assert.Contains(t, err.Error(), source.Commit)
	assert.Contains(t, err.Error(), "example.com/x.git")
	assert.NotContains(t, err.Error(), "secret")
	assert.Equal(t, "https://***@example.com/x.git", detailsOf(t, err)["url"])
	assert.NoDirExists(t, at.Home, "nothing is made")
}

func TestDiscard(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	at, source := place(t), deployment.ResolvedGit{URL: r.Remote, Commit: r.Head()}
	require.NoError(t, client().Discard(t.Context(), at, source))
	assert.NoDirExists(t, at.Home, "nothing is made")
	require.ErrorIs(t, client().Discard(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: "../.."}), deployment.ErrLock)

	_, err := client().Git(t.Context(), at, source, false)
	require.NoError(t, err)
	beside := filepath.Join(filepath.Dir(canonical(at, source)), strings.Repeat("ab", 20), "file")
	require.NoError(t, os.MkdirAll(filepath.Dir(beside), 0o700))
	require.NoError(t, os.WriteFile(beside, nil, 0o600))
	upper := source
	upper.Commit = strings.ToUpper(source.Commit)
	require.NoError(t, client().Discard(t.Context(), at, upper))
	left := below(t, filepath.Dir(canonical(at, source)))
	assert.Equal(t, []string{filepath.Dir(beside), beside}, left, "of this commit everything, of others nothing")
	_, err = client().Git(t.Context(), at, source, true)
	require.ErrorIs(t, err, deployment.ErrOffline)
	_, err = client().Git(t.Context(), at, source, false)
	require.NoError(t, err)
}

func TestOlderLayoutsAreMovedOrUsedWhereTheyAre(t *testing.T) {
	r := gitfixture.New(t, archive)
	source := deployment.ResolvedGit{URL: r.Remote, Commit: r.Head()}
	old := func(at deployment.Locations, name string) string {
		dir := filepath.Join(at.Home, "cache", "git", name, source.Commit)
		r.Git("clone", "--quiet", r.Remote, dir)
		r.Git("-C", dir, "checkout", "--quiet", source.Commit)
		return dir
	}
	for _, name := range []string{deployment.ModuleKey("skill:a"), deployment.SafeName("skill:a")} {
		at := place(t)
		dir := old(at, name)
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			got, err := client().Git(t.Context(), at, source, true)
			require.NoError(t, err)
			assert.Len(t, got, 3)
			assert.NoDirExists(t, filepath.Dir(dir))
			assert.DirExists(t, canonical(at, source))

			other := source
			other.URL = "https://example.com/other.git"
			_, err = client().Git(t.Context(), at, other, true)
			require.ErrorIs(t, err, deployment.ErrOffline, "a checkout of another URL is another source")
		})
	}
	t.Run("used in place", func(t *testing.T) {
		at := place(t)
		dir := old(at, "skill_a")
		require.NoError(t, os.WriteFile(filepath.Dir(canonical(at, source)), nil, 0o600)) // in the way
		got, err := client().Git(t.Context(), at, source, true)
		require.NoError(t, err)
		assert.Len(t, got, 3)
		assert.DirExists(t, dir)
	})
	t.Run("the new layout wins", func(t *testing.T) {
		at := place(t)
		old(at, "skill_a")
		_, err := client().Git(t.Context(), at, source, true)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(canonical(at, source), "mine"), nil, 0o600))
		dir := old(at, "skill_a")
		got, err := client().Git(t.Context(), at, source, true)
		require.NoError(t, err)
		assert.Len(t, got, 4)
		assert.DirExists(t, dir)
	})
}

func TestSeveralAtOnceFetchOnce(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	lines := spy(t)
	at, source := place(t), deployment.ResolvedGit{URL: r.Remote, Commit: r.Head()}
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = client().Git(t.Context(), at, source, false) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	assert.Len(t, lines("fetch"), 1)
}

func TestWhatDeadProcessesLeftIsTakenAway(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	at, source := place(t), deployment.ResolvedGit{URL: r.Remote, Commit: r.Head()}
	store := filepath.Dir(canonical(at, source))
	for _, commit := range []string{source.Commit, strings.Repeat("ef", 20)} {
		require.NoError(t, os.MkdirAll(filepath.Join(store, "."+commit+".partial", ".git"), 0o755))
	}
	_, err := client().Git(t.Context(), at, source, false)
	require.NoError(t, err)
	names, err := os.ReadDir(store)
	require.NoError(t, err)
	require.Len(t, names, 1)
	assert.Equal(t, source.Commit, names[0].Name())
}

// hanging returns a server that takes connections and never says a word. Each connection that ends is told to ended.
func hanging(t *testing.T) (url string, accepted, ended <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	in, out := make(chan struct{}, 16), make(chan struct{}, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in <- struct{}{}
			go func() {
				buffer := make([]byte, 1024)
				for err := error(nil); err == nil; {
					_, err = conn.Read(buffer)
				}
				_ = conn.Close()
				out <- struct{}{}
			}()
		}
	}()
	return "git://" + l.Addr().String() + "/x", in, out
}

func TestACancelledFetchLeavesNothing(t *testing.T) {
	user(t, "")
	url, accepted, ended := hanging(t)
	at := place(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-accepted; cancel() }()
	_, err := client().Git(ctx, at, deployment.ResolvedGit{URL: url, Commit: strings.Repeat("ab", 20)}, false)
	require.ErrorIs(t, err, fault.ErrCanceled)
	<-ended // git is gone
	assert.Empty(t, below(t, filepath.Join(at.Home, "cache", "git")))
}

func TestARemoteThatHangsIsGivenUp(t *testing.T) {
	user(t, "")
	url, _, _ := hanging(t)
	at := place(t)
	_, err := short().Git(t.Context(), at, deployment.ResolvedGit{URL: url, Commit: strings.Repeat("ab", 20)}, false)
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "took longer than 300ms")
	assert.Empty(t, below(t, filepath.Join(at.Home, "cache", "git")))

	_, err = short().Resolve(t.Context(), deployment.GitSource{URL: url})
	require.ErrorIs(t, err, deployment.ErrGit)
	require.ErrorContains(t, err, "took longer than 300ms")
}

func TestASubdirStaysInsideTheCheckout(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	outside := t.TempDir()
	for name, target := range map[string]string{"out": outside, "up": "..", "store": ".git", "in": "skills", "self": "."} {
		require.NoError(t, os.Symlink(target, filepath.Join(r.Dir, name)))
	}
	commit := r.Commit("links")
	r.Git("push", "--quiet")
	at, c := place(t), client()
	for sub, want := range map[string]error{
		"../x": deployment.ErrPath, "/etc": deployment.ErrPath, "a/../../b": deployment.ErrPath, ".git": deployment.ErrPath, "a/.GIT/b": deployment.ErrPath,
		"out": deployment.ErrPath, "up": deployment.ErrPath, "store": deployment.ErrPath, "none": deployment.ErrConfig, "skills/none": deployment.ErrConfig,
		"in/a": nil, "skills/./a/": nil, "self": nil, `skills\a`: nil, ".": nil,
	} {
		got, err := c.Git(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: commit, Subdir: sub}, false)
		if want != nil {
			require.ErrorIs(t, err, want, sub)
			continue
		}
		if sub != "self" && sub != "." { // those hold links that the reader of trees refuses
			require.NoError(t, err, sub)
			assert.Len(t, got, 2, sub)
		}
	}
}

func TestNoPathComesOutOfACommit(t *testing.T) {
	for _, commit := range []string{"", "../../../etc", strings.Repeat("0", 40), strings.Repeat("a", 39), strings.Repeat("a", 64), "-" + strings.Repeat("a", 39)} {
		_, err := client().Git(t.Context(), place(t), deployment.ResolvedGit{URL: "/x", Commit: commit}, true)
		require.ErrorIs(t, err, deployment.ErrLock, commit)
	}
}

// TestASourceRunsNothing: attributes, hooks and submodules of what is fetched have no effect, and nothing of the directory it is
// asked from has one either.
func TestASourceRunsNothing(t *testing.T) {
	user(t, "")
	mark := filepath.Join(t.TempDir(), "ran")
	r := gitfixture.New(t, "-- .gitattributes --\n* filter=evil\n-- a --\ntext\n-- .gitmodules --\n[submodule \"s\"]\n\tpath = s\n\turl = ext::touch "+mark+"\n")
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",s")
	r.Git("commit", "--quiet", "-m", "submodule")
	r.Git("push", "--quiet")
	here := gitfixture.New(t, "-- x --\n")
	for _, key := range []string{"filter.evil.smudge", "core.sshCommand", "core.fsmonitor", "core.gitProxy"} {
		here.Git("config", key, "touch "+mark)
	}
	here.Git("config", "url.ext::touch "+mark+" .insteadOf", r.Remote)
	t.Chdir(here.Dir)
	t.Setenv("GIT_SSH_COMMAND", "touch "+mark)
	t.Setenv("GIT_CONFIG_PARAMETERS", "'filter.evil.smudge=touch "+mark+"'")
	t.Setenv("GIT_DIR", here.Dir)
	at := place(t)
	commit, err := client().Resolve(t.Context(), deployment.GitSource{URL: r.Remote})
	require.NoError(t, err)
	assert.Equal(t, r.Head(), commit)
	got, err := client().Git(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: commit}, false)
	require.NoError(t, err)
	assert.Equal(t, "text\n", texts(got)["a"])
	assert.NoFileExists(t, mark)
}

func TestHostileURLsNeverReachGit(t *testing.T) {
	lines := spy(t)
	for _, url := range hostileURLs {
		_, err := client().Resolve(t.Context(), deployment.GitSource{URL: url})
		require.ErrorIs(t, err, deployment.ErrConfig, url)
		assert.NotContains(t, err.Error(), "secret")
		_, err = client().Git(t.Context(), place(t), deployment.ResolvedGit{URL: url, Commit: strings.Repeat("ab", 20)}, false)
		require.ErrorIs(t, err, deployment.ErrConfig, url)
	}
	assert.Empty(t, lines("ls-remote"))
	assert.Empty(t, lines("fetch"))
}

var hostileURLs = []string{
	"", "-u/x", "--upload-pack=touch x", "ext::sh -c id", "::x", "fd::17", "foo::bar", "http.evil::x", "https://", "https:///x", "https://-x/y", "ssh://-oProxyCommand=id/x",
	"ssh://-oProxyCommand=id@host/x", "ssh://git@-oProxyCommand=id/x", "-x@host:y", "git@-host:x", "host:-x", "host:", ":x", "ftp://h/x", "ext://x", "relative/path", "x", "./x", "../x",
	"https://h/x\ny", " https://h/x", "https://h/\x00", "https://ada:se/cret@h/x", "https://ada:secret@h:99x/y", "https://h/" + strings.Repeat("x", 2048), "\xff", "file://", "!::", "!:x", "a b:x", "@h:x",
}

func FuzzURL(f *testing.F) {
	for _, url := range append(hostileURLs, "https://github.com/a/b", "git@github.com:a/b.git", "/srv/x.git", "ssh://git@[::1]:22/x", "[::1]:x", "https://u:p@h:8/x") {
		f.Add(url)
	}
	f.Setenv("PATH", f.TempDir())
	f.Fuzz(func(t *testing.T, url string) {
		_, err := confgit.New(confgit.Options{}).Resolve(t.Context(), deployment.GitSource{URL: url})
		if errors.Is(err, deployment.ErrConfig) {
			return
		}
		require.ErrorIs(t, err, deployment.ErrGitMissing)
		behind := strings.TrimLeft(url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-")
		assert.False(t, url[0] == '-' || strings.HasPrefix(behind, "::"), "%q names a program or an option", url)
		assert.False(t, strings.ContainsAny(url, "\n\r\x00"), url)
	})
}
