package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// How a worker of the test binary is started, and what stands for a number of steps: a disk with no room.
const (
	killedChildArg = "installing-doomed"
	full           = -2
)

// TestMain lets the test binary be a worker that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == killedChildArg {
		steps, _ := strconv.Atoi(os.Args[4])
		os.Exit(runUntilKilled(os.Args[2], os.Args[3], steps))
	}
	if len(os.Args) > 3 && (os.Args[1] == "start" || os.Args[1] == "die") { // another process that starts a ticket, or dies before that is recorded
		os.Exit(another(os.Args[1], os.Args[2], os.Args[3]))
	}
	os.Exit(workroom.Run(m, ""))
}

// doomed drains demo's queue, and is killed at that step.
func runUntilKilled(root, home string, steps int) int {
	d := dependencies(&testing.T{}, root, home)
	if steps == full {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: 256 << 10}); err != nil {
			return 2
		}
		steps = 1000
	}
	k := &killer{left: steps}
	d.States, d.Grounds, d.Clones = killStates{d.States, k}, killGrounds{d.Grounds, k}, killClones{d.Clones, k}
	if err := workerOf(d).Drain(context.Background(), root, "demo"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killer ends the process at a step, as nothing else does. A negative number of steps is: while a clone is being made.
type killer struct{ left int }

func (k *killer) step() {
	if k.left--; k.left == 0 {
		die()
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type killStates struct {
	ecosystemport.States
	k *killer
}

func (s killStates) Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error {
	s.k.step()
	defer s.k.step()
	return s.States.Note(ctx, l, name, doc)
}

func (s killStates) Update(ctx context.Context, l ecosystem.Layout, change func(*ecosystem.State) error) (ecosystem.State, error) {
	s.k.step()
	defer s.k.step()
	return s.States.Update(ctx, l, change)
}

type killGrounds struct {
	ecosystemport.WorkspaceInstaller
	k *killer
}

func (g killGrounds) Stage(ctx context.Context, b ecosystemport.Build) error {
	defer g.k.step()
	return g.WorkspaceInstaller.Stage(ctx, b)
}

func (g killGrounds) Place(ctx context.Context, b ecosystemport.Build) error {
	if g.k.left < 0 {
		return g.WorkspaceInstaller.Place(ctx, b)
	}
	if g.k.left == 1 { // between the move and what git has to be told of it
		if err := os.Rename(b.Tree(), b.Dir); err != nil {
			return err
		}
	}
	g.k.step()
	defer g.k.step()
	return g.WorkspaceInstaller.Place(ctx, b)
}

type killClones struct {
	ecosystemport.Clones
	k *killer
}

func (c killClones) Clone(ctx context.Context, r ecosystem.Repo, dir string, tell ecosystemport.ProgressFunc) (string, error) {
	if c.k.left < 0 {
		go func() {
			for partial := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".cloning", ".git", "HEAD"); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(partial); err == nil {
					die()
				}
			}
		}()
	}
	return c.Clones.Clone(ctx, r, dir, tell)
}

// stall has git wait in the middle of a clone of that origin: its list of refs is a pipe that nobody writes to. The result ends that for whoever comes
// later; whatever waits there already waits on.
func (r *rig) stall(name string) (again func()) {
	r.t.Helper()
	refs := filepath.Join(r.origins[name].Remote, "packed-refs")
	said, err := os.ReadFile(refs)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(r.t, err)
	}
	_ = os.Remove(refs)
	require.NoError(r.t, syscall.Mkfifo(refs, 0o600))
	return func() {
		require.NoError(r.t, os.Remove(refs))
		if said != nil {
			require.NoError(r.t, os.WriteFile(refs, said, 0o600))
		}
	}
}

// mark returns what the programs carry that a worker of demo has started.
func (r *rig) mark() string {
	held, release, err := r.deps.States.Lock(context.Background(), r.found().Layout, time.Minute)
	require.NoError(r.t, err)
	release()
	return osproc.MarkOf(held)
}

// doom carries out what is queued in a process that is killed at that step; it reports whether it was.
func (r *rig) doom(steps int) bool {
	r.t.Helper()
	out, err := exec.Command(os.Args[0], killedChildArg, r.root.Dir, filepath.Join(r.top, "home"), strconv.Itoa(steps)).CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(r.t, err, &exit)
	require.Equal(r.t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)
	return true
}

// TestInstallKilled at every step leaves, once the next worker has looked at it, a whole workspace or none, and nothing that was there before is
// touched. steps: note, staged, placing, placed, recording, recorded, forgetting.
func TestInstallKilled(t *testing.T) {
	t.Parallel()
	killed, whole := 0, 0
	for _, steps := range []int{-1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10} {
		t.Run(strconv.Itoa(steps), func(t *testing.T) {
			r := newRig(t, "api", "web")
			before := r.tree()
			id := r.queued(install, nil)
			again := func() {}
			if steps < 0 {
				again = r.stall("web")
			}
			if !r.doom(steps) {
				require.True(t, r.found().State.Installed())
				return
			}
			again()
			killed++
			done := r.drain(id)
			assert.Equal(t, ecosystem.RunFailed, done.Status)
			doc, err := r.deps.States.Noted(context.Background(), r.found().Layout, "install")
			require.NoError(t, err)
			assert.Nil(t, doc, "the journal is closed")
			if !r.found().State.Installed() {
				assert.Equal(t, before, r.tree())
				again := r.do(install, nil)
				require.Equal(t, ecosystem.RunSuccess, again.Status, again.Error)
			} else {
				whole++
			}
			assert.Empty(t, r.root.Git("worktree", "prune", "--dry-run", "--verbose", "--expire=now"))
			assert.NotContains(t, r.root.Git("worktree", "list", "--porcelain"), "locked")
			assert.Contains(t, r.root.Git("worktree", "list", "--porcelain"), r.workspace())
			for name, origin := range r.origins {
				assert.Equal(t, origin.Head(), r.git(name, "rev-parse", "HEAD"))
			}
			entries, err := os.ReadDir(filepath.Dir(r.workspace()))
			require.NoError(t, err)
			assert.Len(t, entries, 1, "no half workspace is left beside")
		})
	}
	assert.Equal(t, 10, killed)
	assert.Equal(t, 6, whole, "from the move on, it is finished")
}

// TestSyncKilled in the middle of a clone leaves no half clone, and the next sync makes it.
func TestSyncKilled(t *testing.T) {
	t.Parallel()
	r := installedRig(t, "api", "web")
	require.NoError(t, os.RemoveAll(r.workspace("repos", "web")))
	id := r.queued(sync9, nil)
	again := r.stall("web")
	require.True(t, r.doom(-1))
	again()
	assert.Equal(t, ecosystem.RunFailed, r.drain(id).Status)
	assert.Empty(t, osproc.ProcessTree{Mark: r.mark()}.Living(), "git and what it started were ended first")
	entries, err := os.ReadDir(r.workspace("repos"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	done := r.do(sync9, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, r.origins["web"].Head(), r.git("web", "rev-parse", "HEAD"))
}

// TestInstallStopped: a run that is cancelled takes everything back.
func TestInstallStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	before := r.tree()
	id := r.queued(install, nil)
	r.deps.Clones = stopping{r.deps.Clones, func() {
		_, err := r.deps.Runs.Change(context.Background(), id, func(is *ecosystem.Run) error { _, err := is.Cancel(time.Now()); return err })
		require.NoError(t, err)
	}}
	r.worker = workerOf(r.deps)
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunCancelled, done.Status)
	assert.Equal(t, before, r.tree())
}

// stopping has the run stopped once its clones begin, and waits until that has come through.
type stopping struct {
	ecosystemport.Clones
	stop func()
}

func (s stopping) Clone(ctx context.Context, r ecosystem.Repo, dir string, tell ecosystemport.ProgressFunc) (string, error) {
	s.stop()
	<-ctx.Done()
	return s.Clones.Clone(ctx, r, dir, tell)
}

// TestNoRoomForAClone: what the file system refuses is said, and nothing is left.
func TestNoRoomForAClone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = byte(i * i >> 7)
	}
	o := r.origins["api"]
	require.NoError(t, os.WriteFile(filepath.Join(o.Dir, "big"), big, 0o644))
	o.Commit("big")
	o.Git("push", "--quiet", "origin", "main")
	before := r.tree()
	id := r.queued(install, nil)
	require.False(t, r.doom(full))
	done, err := r.deps.Runs.Load(context.Background(), id)
	require.NoError(t, err)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "git clone of "+o.Remote+" failed")
	assert.Equal(t, before, r.tree())
}

// TestNothingOfARepositoryRuns: neither hooks nor filters nor what a configuration names.
func TestNothingOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	traps := gitfixture.NewTraps(t, "exit 1")
	hooks := traps.Hooks("post-checkout", "post-merge", "reference-transaction", "pre-push")
	r.root.Git("config", "core.hooksPath", hooks)
	r.root.Git("config", "filter.evil.smudge", traps.Program("smudge"))
	r.root.Write("-- .gitattributes --\n* filter=evil\n")
	r.root.Git("-c", "filter.evil.smudge=cat", "-c", "core.hooksPath=/dev/null", "add", ".gitattributes")
	r.root.Git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "attributes")
	traps.Sprung()
	done := r.do(install, args{"push": true})
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Empty(t, traps.Sprung())

	for _, setting := range [][2]string{{"core.hooksPath", hooks}, {"core.fsmonitor", traps.Program("fsmonitor")}, {"core.sshCommand", traps.Program("ssh")},
		{"credential.helper", "!" + traps.Program("credential")}, {"core.askPass", traps.Program("askpass")}, {"filter.evil.smudge", traps.Program("smudge")},
		{"filter.evil.clean", traps.Program("clean")}, {"remote.origin.uploadpack", traps.Program("uploadpack")}, {"core.gitProxy", traps.Program("proxy")},
		{"core.alternateRefsCommand", traps.Program("alternates")}, {"gpg.program", traps.Program("gpg")}, {"core.pager", traps.Program("pager")}} {
		r.git("api", "config", setting[0], setting[1])
	}
	o := r.origins["api"]
	o.Write("-- .gitattributes --\n* filter=evil\n-- api.txt --\nthree\n")
	o.Commit("attributes")
	o.Git("push", "--quiet", "origin", "main")
	traps.Sprung()
	done = r.do(sync9, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, "updated", outcomes(t, done)["api"].Result)
	assert.Empty(t, traps.Sprung())
}
