package gitcli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// standIn puts a shell script where git is.
func standIn(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestHeadStartsNoProcess(t *testing.T) {
	r := gitfixture.New(t, "-- a --\n")
	linked, lib := filepath.Join(filepath.Dir(r.Dir), "linked"), gitfixture.New(t, "-- a --\n")
	r.Git("worktree", "add", "--quiet", "--detach", linked)
	r.Git("submodule", "--quiet", "add", "--", lib.Remote, "lib")
	r.Git("pack-refs", "--all")
	commit := r.Head()
	t.Setenv("PATH", t.TempDir()) // no git here
	dirs := []string{r.Dir, linked, filepath.Join(r.Dir, "lib"), r.Remote, t.TempDir()}
	results := gitcli.New(gitcli.Options{}).Heads(t.Context(), dirs)
	for i, want := range []project.Head{{Branch: "main"}, {Detached: true, Commit: commit}, {Branch: "main"}, {Branch: "main"}} {
		require.NoError(t, results[i].Err)
		assert.Equal(t, want, results[i].Head, dirs[i])
	}
	require.ErrorIs(t, results[4].Err, project.ErrNotRepository, "for that answer neither")
	_, err := gitcli.New(gitcli.Options{}).Status(t.Context(), r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	require.ErrorContains(t, err, "git cannot be started; install git")
	_, err = gitcli.New(gitcli.Options{}).Belongs(t.Context(), linked, r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionFailed, "no answer is not no")
}

// TestAnotherStorageIsAsked: a repository that keeps its references elsewhere leaves a stand-in in HEAD.
func TestAnotherStorageIsAsked(t *testing.T) {
	r := gitfixture.New(t, "-- a --\n")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, ".git", "HEAD"), []byte("ref: refs/heads/.invalid\n"), 0o644))
	standIn(t, `case "$*" in *symbolic-ref*) echo refs/heads/elsewhere;; esac`)
	head, err := gitcli.New(gitcli.Options{}).Head(t.Context(), r.Dir)
	require.NoError(t, err)
	assert.Equal(t, project.Head{Branch: "elsewhere"}, head)
}

// TestOneThatHangsHoldsUpNoOther also proves that a pipe is not waited for.
func TestOneThatHangsHoldsUpNoOther(t *testing.T) {
	good, pipe := gitfixture.New(t, "-- a --\n"), gitfixture.New(t, "-- a --\n")
	head := filepath.Join(pipe.Dir, ".git", "HEAD")
	require.NoError(t, os.Remove(head))
	require.NoError(t, syscall.Mkfifo(head, 0o644))
	standIn(t, "exec sleep 60")
	for limit := 100 * time.Millisecond; ; limit *= 2 { // as long as reading the good one takes
		results := gitcli.New(gitcli.Options{HeadTimeout: limit}).Heads(t.Context(), []string{pipe.Dir, good.Dir})
		require.ErrorIs(t, results[0].Err, fault.ErrTimeout)
		if results[1].Err == nil {
			assert.Equal(t, project.Head{Branch: "main"}, results[1].Head)
			break
		}
		require.ErrorIs(t, results[1].Err, fault.ErrTimeout)
		require.Less(t, limit, 10*time.Second, "one that hangs holds up the other")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, result := range gitcli.New(gitcli.Options{}).Heads(ctx, []string{good.Dir, pipe.Dir}) {
		require.ErrorIs(t, result.Err, fault.ErrCanceled)
	}
}

func TestAGitThatTakesTooLongIsStopped(t *testing.T) {
	r := gitfixture.New(t, "-- a --\n")
	standIn(t, "exec sleep 60")
	_, err := gitcli.New(gitcli.Options{Timeout: 50 * time.Millisecond}).Status(t.Context(), r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionTimeout)
	require.ErrorContains(t, err, "longer than 50ms")
}

func TestWhatGitNeverPrintsIsRefused(t *testing.T) {
	r := gitfixture.New(t, "-- a --\n")
	standIn(t, "echo hello")
	git := gitcli.New(gitcli.Options{})
	_, err := git.Status(t.Context(), r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	_, err = git.Staged(t.Context(), r.Dir, 0)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	_, err = git.Worktrees(t.Context(), r.Dir)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	standIn(t, "exec yes")
	_, err = git.Staged(t.Context(), r.Dir, 0)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	require.ErrorContains(t, err, "cannot parse a diff")
}

// repositories makes n of them, each on a branch of its own.
func repositories(tb testing.TB, n int) (*gitfixture.Repo, []string) {
	r := gitfixture.New(tb, "-- a --\n")
	dirs := make([]string, n)
	for i := range dirs {
		dirs[i] = filepath.Join(filepath.Dir(r.Dir), fmt.Sprintf("r%d", i))
		r.Git("clone", "--quiet", "--no-hardlinks", r.Remote, dirs[i])
		r.Git("-C", dirs[i], "checkout", "--quiet", "-b", fmt.Sprintf("b%d", i))
	}
	return r, dirs
}

// BenchmarkHeads compares the branches of 200 repositories with what eight gits at a time need for them; ratio is ours to theirs.
func BenchmarkHeads(b *testing.B) {
	r, dirs := repositories(b, 200)
	begun := time.Now()
	var group errgroup.Group
	group.SetLimit(8)
	for _, dir := range dirs {
		group.Go(func() error {
			cmd := exec.Command("git", "rev-parse", "--abbrev-ref", "HEAD")
			cmd.Dir, cmd.Env = dir, r.Env()
			return cmd.Run()
		})
	}
	require.NoError(b, group.Wait())
	theirs := time.Since(begun)
	git := gitcli.New(gitcli.Options{})
	for b.Loop() {
		for i, result := range git.Heads(b.Context(), dirs) {
			if result.Err != nil || result.Head.Branch != fmt.Sprintf("b%d", i) {
				b.Fatal(i, result)
			}
		}
	}
	b.ReportMetric(float64(theirs.Microseconds())/1000, "git-ms")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(theirs), "ratio")
}

// BenchmarkStatus compares one status with a plain git status.
func BenchmarkStatus(b *testing.B) {
	r := gitfixture.New(b, "-- a --\n")
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "status", "--porcelain=v2", "-z", "--branch")
			cmd.Dir, cmd.Env = r.Dir, r.Env()
			require.NoError(b, cmd.Run())
		}
	})
	b.Run("ours", func(b *testing.B) {
		git := gitcli.New(gitcli.Options{})
		for b.Loop() {
			_, err := git.Status(b.Context(), r.Dir)
			require.NoError(b, err)
		}
	})
}
