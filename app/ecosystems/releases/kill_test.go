package releases_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// doomedArg starts the test binary as a worker that drains demo's queue.
const killedChildArg = "releasing-doomed"

// TestMain lets the test binary be a worker that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == killedChildArg {
		os.Exit(runUntilKilled(os.Args[2], os.Args[3], os.Args[4]))
	}
	remove, err := withGH()
	if err != nil {
		panic(err)
	}
	code := workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	remove()
	os.Exit(code)
}

func runUntilKilled(root, home, steps string) int {
	left, _ := strconv.Atoi(steps)
	d := stepping(depsOf(root, home, &clock.Fake{}), &stepper{left: left, then: func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }})
	if err := workerOf(d).Drain(context.Background(), root, "demo"); err != nil {
		return 1
	}
	return 0
}

// stepper does something once so many steps were begun or done: every call of a port that changes something is two.
type stepper struct {
	left int
	then func() error
}

func (s *stepper) step() error {
	if s.left--; s.left == 0 {
		return s.then()
	}
	return nil
}

func (s *stepper) around(do func() error) error {
	err := s.step()
	if err == nil {
		err = do()
	}
	if err == nil {
		err = s.step()
	}
	return err
}

func stepping(d releases.Deps, s *stepper) releases.Deps {
	d.States, d.Git, d.Forge = stepStates{d.States, s}, stepGit{d.Git, s}, stepForge{d.Forge, s}
	return d
}

type stepStates struct {
	ecosystemport.States
	s *stepper
}

func (w stepStates) Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error {
	return w.s.around(func() error { return w.States.Note(ctx, l, name, doc) })
}

type stepGit struct {
	ecosystemport.ReleaseGit
	s *stepper
}

func (w stepGit) Make(ctx context.Context, s ecosystemport.ReleaseStep) error {
	return w.s.around(func() error { return w.ReleaseGit.Make(ctx, s) })
}

func (w stepGit) Push(ctx context.Context, dir, branch string, tags []string) error {
	return w.s.around(func() error { return w.ReleaseGit.Push(ctx, dir, branch, tags) })
}

type stepForge struct {
	ecosystemport.Forge
	s *stepper
}

func (w stepForge) Release(ctx context.Context, r ecosystemport.ForgeRelease) (page string, err error) {
	err = w.s.around(func() error {
		page, err = w.Forge.Release(ctx, r)
		return err
	})
	return page, err
}

// doom carries out what is queued in a process that is killed; it reports whether it was.
func (r *rig) doom(steps int, env ...string) bool {
	r.t.Helper()
	cmd := exec.Command(os.Args[0], killedChildArg, r.root.Dir, r.home, strconv.Itoa(steps))
	cmd.Env = append(append(os.Environ(), "TMPDIR="+r.top), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(r.t, err, &exit)
	require.Equal(r.t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)
	return true
}

// settled is whether a killed release is there altogether; else nothing of it is.
func (r *rig) settled(id, tag string, before map[string]string) bool {
	r.t.Helper()
	done := r.drain(id)
	require.Equal(r.t, ecosystem.RunFailed, done.Status)
	require.NotContains(r.t, r.said(id), "could not be put in order")
	require.False(r.t, r.noted(), "the journal is closed")
	if len(r.git("api", "tag", "--list", tag)) == 0 {
		require.Equal(r.t, before, r.snapshot())
		return false
	}
	for name := range r.origins {
		require.Equal(r.t, "tag", r.git(name, "cat-file", "-t", tag))
		require.Equal(r.t, r.git(name, "rev-parse", "main"), r.git(name, "rev-parse", tag+"^{commit}"))
		require.Empty(r.t, r.git(name, "status", "--porcelain"))
		require.Equal(r.t, strings.TrimPrefix(tag, "v")+"\n", r.read(filepath.Join(r.dir(name), "VERSION")))
	}
	require.Contains(r.t, r.root.Git("show", "HEAD:ecosystems/demo/releases/"+tag+".json"), tag)
	require.Empty(r.t, r.root.Git("status", "--porcelain"))
	return true
}

// TestKilledBetweenSteps: whatever step a release is killed before or after, it is there altogether afterwards, or not at all.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	whole, undone := 0, 0
	for step := 1; ; step += map[bool]int{false: 3, true: 1}[step == 7] { // before and after take turns; the 8th is after the last tag
		before := r.snapshot()
		next := strings.TrimPrefix(r.ask(status, nil)["next_versions"].([]any)[0].(args)["version"].(string), "v")
		id := r.queued(bump, args{"bump_type": "patch", "push": true})
		if !r.doom(step) {
			done, err := r.deps.Runs.Load(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
			break
		}
		if r.settled(id, "v"+next, before) {
			whole++
		} else {
			undone++
		}
	}
	assert.Equal(t, 3, undone, "until the last repository is tagged")
	assert.GreaterOrEqual(t, undone+whole, 7)
	for name, o := range r.origins {
		assert.Equal(t, r.git(name, "tag"), o.Git("-C", o.Remote, "tag"), "what was left by killed pushes is pushed by the last one")
	}
}

// shim is a git that has its caller killed once it was started AT times, and goes on. Several may be started at a time.
const shim = `#!/bin/sh
case "$*" in *update-ref*|*update-index*|*for-each-ref*|*ls-files*|*cat-file*|*symbolic-ref*|*write-tree*|*mktag*)
	echo >> "$COUNT"
	[ "$(wc -l < "$COUNT")" -ge "$AT" ] && mkdir "$COUNT.$AT" 2>/dev/null && kill -9 $PPID
esac
exec "$GIT" "$@"
`

// TestKilledAmongGits is killed while a git runs, which outlives it.
func TestKilledAmongGits(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	r := newRig(t, "api", "web")
	bin, count := filepath.Join(r.top, "bin"), filepath.Join(r.top, "count")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(shim), 0o755))
	killed, whole := 0, 0
	for at := 16; ; at += 8 {
		require.NoError(t, os.WriteFile(count, nil, 0o644))
		before := r.snapshot()
		next := strings.TrimPrefix(r.ask(status, nil)["next_versions"].([]any)[0].(args)["version"].(string), "v")
		id := r.queued(bump, args{"bump_type": "patch"})
		if !r.doom(0, "PATH="+bin+":"+os.Getenv("PATH"), "GIT="+git, "COUNT="+count, "AT="+strconv.Itoa(at)) {
			break
		}
		killed++
		if r.settled(id, "v"+next, before) {
			whole++
		}
	}
	assert.Positive(t, whole)
	assert.Greater(t, killed-whole, 1)
}

// TestFailedAtEachStep takes everything back, whichever step fails: those before and after the changes take turns.
func TestFailedAtEachStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	failed := 0
	for step := 1; ; step += map[bool]int{false: 3, true: 1}[step == 7] { // the 8th is after the last tag, the 14th the last of all
		before := r.snapshot()
		id := r.queued(bump, args{"bump_type": "patch"})
		real := r.deps
		r.deps = stepping(real, &stepper{left: step, then: func() error { return errors.New("the disk is full") }})
		done := r.drain(id)
		r.deps = real
		if done.Status == ecosystem.RunSuccess {
			break
		}
		failed++
		require.Equal(t, before, r.snapshot())
		require.False(t, r.noted())
	}
	assert.Equal(t, 6, failed)
}

// TestNobodyElsesCommitIsTakenBack: what somebody put on top of a release that was killed stays, and the tag goes.
func TestNobodyElsesCommitIsTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch"})
	require.True(t, r.doom(4), "after the first repository")
	assert.Equal(t, "v0.0.1", r.git("api", "tag"))
	r.commit("api", "mine.txt", "feat: mine")
	mine := r.git("api", "rev-parse", "HEAD")
	assert.Equal(t, ecosystem.RunFailed, r.drain(id).Status)
	assert.Contains(t, r.said(id), "main has new commits")
	assert.Equal(t, mine, r.git("api", "rev-parse", "main"))
	assert.Empty(t, r.git("api", "status", "--porcelain"))
	assert.Empty(t, r.git("api", "tag"))
}

// TestOthersChangesSurvive an undone release: a file that was written meanwhile, and a tag of the same name that is somebody else's.
func TestOthersChangesSurvive(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch"})
	require.True(t, r.doom(4))
	r.write("api", "VERSION", "mine\n")
	r.git("api", "tag", "-f", "v0.0.1", "HEAD~1")
	r.drain(id)
	assert.Equal(t, "mine\n", r.read(filepath.Join(r.dir("api"), "VERSION")))
	assert.Equal(t, "commit", r.git("api", "cat-file", "-t", "v0.0.1"))
	assert.Equal(t, " M VERSION", r.git("api", "status", "--porcelain"))
}

// TestRecordedAgain: all tags were made, and somebody committed to the workspace root before the release was finished.
func TestRecordedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch"})
	require.True(t, r.doom(8), "after the last repository")
	r.root.Write("-- other.txt --\nother\n")
	r.root.Commit("other")
	r.drain(id)
	assert.Contains(t, r.said(id), "finishing v0.0.1")
	assert.Equal(t, "chore(release): v0.0.1\nother", r.root.Git("log", "-2", "--format=%s"))
	assert.Empty(t, r.root.Git("status", "--porcelain"))
}

// TestTidiedBeforeTheNext: a release that nobody mended is put in order when another is asked for.
func TestTidiedBeforeTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	before := r.snapshot()
	r.queued(bump, args{"bump_type": "patch"})
	require.True(t, r.doom(5))
	assert.NotEqual(t, before, r.snapshot())
	o := r.call(bump, "plan", args{"bump_type": "patch"})
	require.NoError(t, o.Err)
	assert.Equal(t, before, r.snapshot())
}

// TestCancelled between two repositories takes the first back.
func TestCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	before := r.snapshot()
	id := r.queued(bump, args{"bump_type": "patch"})
	ctx, cancel := context.WithCancel(t.Context())
	d := stepping(r.deps, &stepper{left: 4, then: func() error { cancel(); return nil }})
	job := workerOf(d)
	done, err := r.deps.Runs.Load(ctx, id)
	require.NoError(t, err)
	found, err := d.FindAt(ctx, r.root.Dir, "demo")
	require.NoError(t, err)
	_, err = job.Performers[0].Do(ctx, basisJob(found, done))
	require.Error(t, err)
	assert.Equal(t, before, r.snapshot())
}

func basisJob(f runs.Ecosystem, r ecosystem.Run) runs.Job {
	return runs.Job{Found: f, Run: r, Log: func(string, string) {}, Percent: func(int, int) {}}
}

// TestAnotherEcosystemRecords its release in the same workspace root at the same moment.
func TestAnotherEcosystemRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch", "message": "odd\x00\r\nlines\x1b"})
	real := r.deps
	r.deps = stepping(real, &stepper{left: 11, then: func() error {
		r.root.Write("-- other.txt --\nother\n")
		r.root.Commit("other")
		return nil
	}})
	done := r.drain(id)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, "chore(release): v0.0.1\nother", r.root.Git("log", "-2", "--format=%s"))
	assert.Empty(t, r.root.Git("status", "--porcelain"))
	assert.Contains(t, r.git("api", "cat-file", "-p", "v0.0.1"), "\n\nodd\nlines\n\nEcosystem")
}
