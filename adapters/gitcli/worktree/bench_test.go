package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// wide makes a place of n files.
func wide(b *testing.B, n int) *place {
	p := openPlace(b, newRepos(b), "-- first --\nx\n")
	for i := range n {
		p.Put(p.Dir, fmt.Sprintf("d%02d/e%d/file-%d.txt", i%97, i%7, i), fmt.Sprintf("line %d\nanother line of text\n", i))
	}
	p.Commit("wide")
	p.Git("push", "--quiet", "origin", "main")
	require.NoError(b, p.Repos.Fetch(b.Context(), p.Clone, p.Access()))
	p.In(p.Clone, "reset", "--quiet", "--hard", "origin/main")
	return p
}

// bare runs git without any care.
func bare(b *testing.B, dir string, args ...string) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
}

// BenchmarkAdd compares a sandbox in a repository of 10,000 files with a bare git worktree add, turn by turn: ratio must stay below 1.2.
func BenchmarkAdd(b *testing.B) {
	p := wide(b, 10_000)
	var ours, theirs, busy, floor time.Duration
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("s", i)
		begin, used := time.Now(), cputime.All()
		plan, err := p.Repos.Plan(b.Context(), p.Clone, name, "")
		require.NoError(b, err)
		_, err = p.Repos.Add(b.Context(), p.Clone, p.At(name), plan)
		require.NoError(b, err)
		ours, busy = ours+time.Since(begin), busy+cputime.All()-used
		b.StopTimer()
		other := filepath.Join(p.Base, "bare", name)
		begin, used = time.Now(), cputime.All()
		bare(b, p.Clone, "worktree", "add", "-b", "bare/"+name, other)
		theirs, floor = theirs+time.Since(begin), floor+cputime.All()-used
		_, err = p.Repos.Remove(b.Context(), p.Clone, p.At(name), force(name, "sandbox/"+name))
		require.NoError(b, err)
		bare(b, p.Clone, "worktree", "remove", "--force", other)
		require.NoError(b, os.RemoveAll(other))
		b.StartTimer()
	}
	b.ReportMetric(float64(busy)/float64(floor), "cpu-ratio")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

// BenchmarkClone compares a project's clone of a repository on this machine, with 200 commits to its 2,000 files, with git's own by path and through the protocol,
// turn by turn. BENCH_CLONE names another repository.
func BenchmarkClone(b *testing.B) {
	alone(b)
	source, repos := os.Getenv("BENCH_CLONE"), newRepos(b).Repos
	if source == "" {
		r := gitfixture.New(b, "-- first --\nx\n")
		source = r.Dir
		for i := range 200 {
			for j := range 10 {
				name := filepath.Join(r.Dir, fmt.Sprintf("d%02d", j), fmt.Sprintf("file-%d.txt", i))
				require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
				require.NoError(b, os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line %d of %d\n", i, j), 100)), 0o644))
			}
			r.Commit(fmt.Sprint(i))
		}
		r.Git("gc", "--quiet")
	}
	var used [3]time.Duration
	base := b.TempDir()
	for b.Loop() {
		for i, clone := range []func(dir string){
			func(dir string) {
				require.NoError(b, repos.Clone(b.Context(), sandboxport.Access{URL: source}, dir, nil))
			},
			func(dir string) { bare(b, base, "clone", "--quiet", source, dir) },
			func(dir string) { bare(b, base, "clone", "--quiet", "file://"+source, dir) },
		} {
			dir, before := filepath.Join(base, "repo"), cputime.All()
			clone(dir)
			used[i] += cputime.All() - before
			require.NoError(b, os.RemoveAll(dir))
		}
	}
	b.ReportMetric(float64(used[0])/float64(used[1]), "path-ratio")
	b.ReportMetric(float64(used[0])/float64(used[2]), "protocol-ratio")
	b.ReportMetric(float64(used[0].Milliseconds())/float64(b.N), "cpu-ms")
}

// BenchmarkSurvey compares the survey of 50 worktrees with the 50 status calls it needs, as many at a time, turn by turn: ratio must stay below 1.3.
func BenchmarkSurvey(b *testing.B) {
	p := wide(b, 300)
	var dirs []string
	for i := range 50 {
		dir := p.Make(fmt.Sprint("s", i), "")
		dirs = append(dirs, dir)
		if i%3 == 0 {
			p.Put(dir, "new", "x")
		}
		if i%5 == 0 {
			p.Save(dir, "ahead")
		}
	}
	var ours, theirs time.Duration
	for b.Loop() {
		begin := time.Now()
		list, err := p.Repos.Survey(b.Context(), p.Clone)
		ours += time.Since(begin)
		require.NoError(b, err)
		require.Len(b, list, 50)
		b.StopTimer()
		begin = time.Now()
		var group errgroup.Group
		group.SetLimit(8)
		for _, dir := range dirs {
			group.Go(func() error {
				cmd := exec.Command("git", "-C", dir, "status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty")
				cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
				return cmd.Run()
			})
		}
		require.NoError(b, group.Wait())
		theirs += time.Since(begin)
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}
