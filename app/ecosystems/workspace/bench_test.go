package workspace_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// BenchmarkSyncWithNothingNew reports how much longer a whole sync takes, its run with record and log, than `git fetch` on each of its fifty
// repositories with the same parallelism. Both are measured in turns; the medians count. It must reach 1.2.
func BenchmarkSyncWithNothingNew(b *testing.B) {
	const repos, parallel, rounds = 50, 8, 9
	r := benchRig(b, repos)
	fetch := func() {
		var group errgroup.Group
		group.SetLimit(parallel)
		for i := range repos {
			group.Go(func() error {
				cmd := exec.Command("git", "fetch")
				cmd.Dir, cmd.Env = r.workspace("repos", fmt.Sprintf("r%d", i)), append(r.root.Env(), "GIT_CONFIG_COUNT=0")
				return cmd.Run()
			})
		}
		require.NoError(b, group.Wait())
	}
	sync := func() {
		id := r.queued(sync9, nil)
		done := r.drain(id)
		require.Equal(b, ecosystem.RunSuccess, done.Status, done.Error)
	}
	fetch()
	sync()
	var ours, theirs []time.Duration
	for b.Loop() {
		for range rounds {
			at := time.Now()
			fetch()
			theirs = append(theirs, time.Since(at))
			id := r.queued(sync9, nil)
			at = time.Now()
			r.drain(id)
			ours = append(ours, time.Since(at))
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	mine, git := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(mine.Milliseconds()), "sync-ms")
	b.ReportMetric(float64(git.Milliseconds()), "fetch-ms")
	b.ReportMetric(float64(mine)/float64(git), "ratio")
}

// benchRig returns an installed ecosystem of n repositories with some files and history each.
func benchRig(b *testing.B, n int) *rig {
	b.Helper()
	var files strings.Builder
	files.WriteString("first\n")
	for i := range 100 {
		fmt.Fprintf(&files, "-- dir%d/file%d.txt --\nline %d\n", i%10, i, i)
	}
	o := gitfixture.New(b, files.String())
	for range 20 {
		o.Commit("more")
	}
	o.Git("push", "--quiet", "origin", "main")
	var text strings.Builder
	text.WriteString("repos:\n")
	for i := range n {
		copied := filepath.Join(filepath.Dir(o.Remote), fmt.Sprintf("r%d.git", i))
		o.Git("clone", "--quiet", "--bare", "--no-local", o.Remote, copied)
		fmt.Fprintf(&text, "  - {name: r%d, url: %q, branch: main}\n", i, copied)
	}
	r := rootOf(b)
	r.manifest(text.String())
	r.open()
	done := r.drain(r.queued(install, nil))
	require.Equal(b, ecosystem.RunSuccess, done.Status, done.Error)
	return r
}
