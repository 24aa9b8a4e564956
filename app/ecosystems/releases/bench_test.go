package releases_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPreview is a dry run of a release over 50 repositories with commits since the last one: at most 2 seconds. It reports how many times
// the gits it needs it takes (×gits), started side by side as it starts them: status, tags and history, once a repository.
func BenchmarkPreview(b *testing.B) {
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprintf("repo%02d", i)
	}
	r := newRig(b, names...)
	for _, name := range names {
		r.git(name, "tag", "-a", "-m", "first", "v0.0.0", "HEAD~1")
	}
	floor := func() time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		places := make(chan struct{}, 8)
		for _, name := range names {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				for _, args := range [][]string{{"status", "--porcelain=v2", "-z", "--branch"}, {"for-each-ref", "--format=%(refname) %(objectname)", "refs/tags"},
					{"log", "--format=%H %ct %s", "--max-count=50", "v0.0.0..HEAD"}} {
					cmd := exec.Command("git", append([]string{"-C", r.dir(name)}, args...)...)
					cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+filepath.Dir(r.home))
					require.NoError(b, cmd.Run())
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	floor()
	var gits, ours time.Duration
	for b.Loop() {
		gits += floor()
		began := time.Now()
		o := r.call(bump, "plan", args{"bump_type": "patch"})
		ours += time.Since(began)
		require.NoError(b, o.Err)
	}
	b.ReportMetric(float64(ours)/float64(gits), "×gits")
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/preview")
}
