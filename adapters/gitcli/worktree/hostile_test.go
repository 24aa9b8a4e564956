package worktree_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// trap is a clone whose configuration runs a program of its own wherever it can. Each leaves a file behind.
type trap struct {
	*place
	gitfixture.Traps
	t *testing.T
}

// careless runs a command in a worktree without any care, so that traps that catch nothing are found out.
func (r trap) careless(dir string, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a", "GIT_ALLOW_PROTOCOL=ext:file")
	_ = cmd.Run()
}

func set(t *testing.T) trap {
	p := openPlace(t, newRepos(t), "-- x.c --\none\n-- y.c --\ntwo\n-- .gitattributes --\n*.c diff=evil filter=evil merge=evil\n-- .gitignore --\n*.log\n-- .worktreeinclude --\n*.log\n")
	r := trap{place: p, Traps: gitfixture.NewTraps(t, "cat"), t: t}
	names := []string{"post-index-change", "reference-transaction", "post-checkout", "pre-commit", "post-commit", "post-merge", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"}
	hooks := r.Hooks(names...)
	require.NoError(t, os.MkdirAll(filepath.Join(p.Clone, ".git", "hooks"), 0o755))
	for _, hook := range names {
		require.NoError(t, os.Symlink(filepath.Join(hooks, hook), filepath.Join(p.Clone, ".git", "hooks", hook)))
	}
	for _, key := range []string{"core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "credential.helper",
		"credential.http://127.0.0.1.helper", "core.alternateRefsCommand", "gpg.program", "core.gitProxy", "filter.evil.smudge", "filter.evil.clean", "merge.evil.driver", "remote.origin.uploadpack", "sequence.editor"} {
		p.In(p.Clone, "config", key, r.Program(strings.ReplaceAll(key, "/", "_")))
	}
	p.In(p.Clone, "config", "remote.file://"+p.Remote+".uploadpack", r.Program("url.uploadpack"))
	p.In(p.Clone, "config", "core.hooksPath", hooks)
	p.In(p.Clone, "config", "filter.evil.required", "true")
	p.In(p.Clone, "config", "commit.gpgSign", "true")
	p.In(p.Clone, "config", "log.showSignature", "true")
	for _, alias := range []string{"status", "worktree", "reset", "clean"} {
		p.In(p.Clone, "config", "alias."+alias, "!"+r.Program("alias"))
	}
	p.In(p.Clone, "config", "remote.origin.url", "ext::"+r.Program("remote")+" %S")
	p.In(p.Clone, "config", "remote.origin.vcs", "ext")
	r.Sprung()
	return r
}

// everything goes through all there is.
func (r trap) everything() {
	t := r.t
	_, err := r.Repos.Root(t.Context(), r.Clone)
	require.NoError(t, err)
	require.NoError(t, r.Repos.Fetch(t.Context(), r.Clone, r.Access()))
	dir := r.Make("x", "")
	assert.Equal(t, "one\n", text(dir, "x.c"))
	later := time.Now().Add(time.Hour)
	for _, step := range []string{"reset", "remove"} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, "y.c"), later, later)) // git compares it again
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.c"), []byte("changed\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new.c"), []byte("new\n"), 0o644))
		list, err := r.Repos.Survey(t.Context(), r.Clone)
		require.NoError(t, err)
		assert.Equal(t, []any{2, ""}, []any{list[0].Changes, list[0].Err})
		_, err = r.Repos.Losses(t.Context(), r.Clone, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(r.Clone, step+".log"), nil, 0o644))
		copied, err := r.Repos.Include(t.Context(), r.Clone, dir)
		require.NoError(t, err)
		assert.NotEmpty(t, copied)
		_, err = r.Repos.Script(t.Context(), r.Clone, "main")
		require.NoError(t, err)
		compared, err := r.Repos.Compare(t.Context(), r.Clone, dir, sandboxport.Compare{BaseRef: "main", Lines: 1 << 20, Files: 9})
		require.NoError(t, err)
		assert.Equal(t, 2, compared.FileCount)
		if step == "reset" {
			done, err := r.Repos.Reset(t.Context(), r.Clone, dir, sandboxport.Reset{Name: "x", At: time.Unix(1e9, 0), CleanIgnored: true})
			require.NoError(t, err)
			require.Len(t, done.Backups, 1)
			continue
		}
		kept, err := r.Repos.Remove(t.Context(), r.Clone, dir, force("x", "sandbox/x"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		require.NoError(t, r.Repos.Restore(t.Context(), r.Clone, r.At("y"), kept[0], "y"))
		assert.Equal(t, []string{"changed\n", "new\n"}, []string{text(r.At("y"), "x.c"), text(r.At("y"), "new.c")})
	}
	r.merges()
}

// merges has both sides change files that have every kind of driver.
func (r trap) merges() {
	t, dir := r.t, r.Make("m", "")
	commit := func(dir, name, text string) {
		r.Put(dir, name, text)
		r.In(dir, "-c", "core.hooksPath=/dev/null", "-c", "filter.evil.clean=", "-c", "filter.evil.process=", "-c", "filter.evil.required=false", "-c", "core.fsmonitor=", "-c", "commit.gpgSign=false", "commit", "--quiet", "--all", "--message", name)
	}
	commit(dir, "x.c", "one\nmore\n")
	commit(r.Clone, "y.c", "more\ntwo\n")
	r.Sprung()
	for _, m := range []sandboxport.Merge{{Update: true}, {Method: sandboxport.MergeSquash}} {
		m.Name, m.Dir, m.BaseRef, m.At = "m", dir, "main", when()
		plan, err := r.Repos.PlanMerge(t.Context(), r.Clone, m)
		require.NoError(t, err)
		_, _, err = r.Repos.MergedLines(t.Context(), r.Clone, plan, 1<<20)
		require.NoError(t, err)
		_, err = r.Repos.Merge(t.Context(), r.Clone, plan, func(string) error { return nil })
		require.NoError(t, err)
	}
	commit(dir, "x.c", "one\nmore\nof it\n")
	commit(r.Clone, "x.c", "zero\none\nmore\n")
	r.Sprung()
	_, err := r.Repos.PlanMerge(t.Context(), r.Clone, sandboxport.Merge{Name: "m", Dir: dir, BaseRef: "main", At: when()})
	require.ErrorIs(t, err, sandbox.ErrConflicts, "the repository's own way to merge these is not taken, so a person has to look")
	assert.Equal(t, []string{"zero\none\nmore\n", "more\ntwo\n"}, []string{text(r.Clone, "x.c"), text(r.Clone, "y.c")})
}

func TestNothingThatARepositoryConfiguresRuns(t *testing.T) {
	for name, plant := range map[string]func(r trap){
		"plainly":      func(trap) {},
		"long-running": func(r trap) { r.In(r.Clone, "config", "filter.evil.process", r.Program("filter.evil.process")) },
		"through a file": func(r trap) {
			path := filepath.Join(r.Clone, ".git", "config")
			said, err := os.ReadFile(path)
			require.NoError(r.t, err)
			require.NoError(r.t, os.WriteFile(filepath.Join(r.Clone, ".git", "more"), said, 0o644))
			require.NoError(r.t, os.WriteFile(path, []byte("[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = more\n"), 0o644))
		},
		"through a link": func(r trap) {
			path := filepath.Join(r.Clone, ".git", "config")
			require.NoError(r.t, os.Rename(path, path+".elsewhere"))
			require.NoError(r.t, os.Symlink("config.elsewhere", path))
		},
		"only in worktrees": func(r trap) {
			r.In(r.Clone, "config", "--remove-section", "filter.evil")
			r.In(r.Clone, "config", "extensions.worktreeConfig", "true")
			require.NoError(r.t, os.WriteFile(filepath.Join(r.Clone, ".git", "config.worktree"), []byte("[FiLTeR \"evil\"]\n\tCLEAN = "+r.Program("filter.evil.clean")+"\n\tsmudge = "+r.Program("filter.evil.smudge")+"\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := set(t)
			plant(r)
			r.everything()
			assert.Empty(t, r.Sprung())

			r.careless(r.Clone, "-c", "filter.evil.process=", "-c", "core.fsmonitor=", "worktree", "add", "-b", "careless", r.At("careless"))
			r.careless(r.At("y"), "-c", "filter.evil.process=", "add", ".")
			r.careless(r.At("y"), "diff", "HEAD~0")
			ran := strings.Join(r.Sprung(), " ")
			for _, trapped := range []string{"filter.evil.", "reference-transaction", "core.fsmonitor"} {
				assert.Contains(t, ran, trapped, "the traps work")
			}
		})
	}
}

func TestSubmodulesRunNothing(t *testing.T) {
	p := openPlace(t, newRepos(t), "-- a --\na\n")
	r := trap{place: p, Traps: gitfixture.NewTraps(t, "cat"), t: t}
	lib := filepath.Join(t.TempDir(), "lib")
	p.Git("init", "--quiet", "--initial-branch=main", lib)
	p.Put(lib, "x.c", "lib\n")
	p.Put(lib, ".gitattributes", "*.c filter=evil\n")
	p.Save(lib, "lib")
	p.Git("submodule", "--quiet", "add", "--", lib, "lib")
	p.Commit("with lib")
	p.Git("push", "--quiet", "origin", "main")
	require.NoError(t, p.Repos.Fetch(t.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "reset", "--quiet", "--hard", "origin/main")
	dir := p.Make("x", "")
	sub := filepath.Join(dir, "lib")
	require.Equal(t, "lib\n", text(sub, "x.c"))
	for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.external"} {
		p.In(sub, "config", key, r.Program(key))
	}
	p.In(p.Clone, "config", "submodule.lib.update", "!"+r.Program("submodule.update"))
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(sub, "x.c"), later, later))
	p.Put(sub, "new.c", "new\n")
	list, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.True(t, list[0].Dirty)
	_, err = p.Repos.Losses(t.Context(), p.Clone, nil)
	require.NoError(t, err)
	_, err = p.Repos.Reset(t.Context(), p.Clone, dir, sandboxport.Reset{Name: "x", At: time.Unix(1e9, 0)})
	require.NoError(t, err)
	p.Put(sub, "x.c", "changed\n")
	kept, err := p.Repos.Remove(t.Context(), p.Clone, dir, force("x", "sandbox/x"))
	require.NoError(t, err)
	assert.NotEmpty(t, kept)
	assert.Empty(t, r.Sprung())
}

// TestTheUsersOwnFiltersStay: what the user configured for all repositories is not a repository's to say.
func TestTheUsersOwnFiltersStay(t *testing.T) {
	p := openPlace(t, newRepos(t), "-- x.big --\nLARGE\n-- .gitattributes --\n*.big filter=upper\n")
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte("[filter \"upper\"]\n\tclean = tr a-z A-Z\n\tsmudge = cat\n\trequired = true\n"), 0o644))
	p.In(p.Clone, "config", "filter.other.clean", "false")
	dir := p.Make("x", "")
	p.Put(dir, "x.big", "large\n")
	list, err := p.Repos.Survey(t.Context(), p.Clone)
	require.NoError(t, err)
	assert.False(t, list[0].Dirty)
}

// TestNobodyIsAskedForPasswords: a server that wants one is a server that cannot be reached, whatever helpers are configured.
func TestNobodyIsAskedForPasswords(t *testing.T) {
	alone(t)
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked += q.Header.Get("Authorization")
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer server.Close()
	r := set(t)
	helper := r.Program("user.helper")
	require.NoError(t, os.WriteFile(helper, []byte("#!/bin/sh\necho username=u\necho password=p\n>'"+r.Left("user.helper")+"'\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte("[credential]\n\thelper = "+helper+"\n[credential \""+server.URL+"\"]\n\thelper = "+helper+"\n"), 0o644))
	access := sandboxport.Access{URL: server.URL + "/a/b.git"}
	c := worktree.New(worktree.Options{Reach: 10 * time.Second})
	for name, err := range map[string]error{
		"reach": c.Reach(t.Context(), access), "fetch": c.Fetch(t.Context(), r.Clone, access),
	} {
		require.ErrorIs(t, err, sandbox.ErrGit, name)
	}
	require.ErrorIs(t, c.Clone(t.Context(), access, filepath.Join(t.TempDir(), "repo"), nil), sandbox.ErrClone)
	assert.Empty(t, asked)
	assert.Empty(t, r.Sprung())
}

// TestTheKeyIsUsedAsGiven: git has a shell read the command.
func TestTheKeyIsUsedAsGiven(t *testing.T) {
	alone(t)
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\nfor a; do echo \"[$a]\"; done >>'"+said+"'\necho 'Permission denied (publickey).' >&2\nexit 255\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GIT_SSH_COMMAND", "false")
	key := filepath.Join(bin, "it's $(touch x) a \"key\"")
	err := worktree.New(worktree.Options{}).Reach(t.Context(), sandboxport.Access{URL: "git@example.com:owner/repo.git", Key: key})
	require.ErrorIs(t, err, sandbox.ErrGit)
	assert.Contains(t, err.Error(), "Permission denied (publickey)")
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	assert.Contains(t, string(text), "[-i]\n["+key+"]\n[-o]\n[IdentitiesOnly=yes]\n[-o]\n[StrictHostKeyChecking=accept-new]\n[-o]\n[BatchMode=yes]\n")
	assert.Contains(t, string(text), "[git@example.com]\n[git-upload-pack 'owner/repo.git']\n")
}
