package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const killedChildArg = "shipping-doomed"

// TestMain lets the test binary be a process that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 7 && os.Args[1] == killedChildArg {
		if err := runUntilKilled(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n"))
}

// doomed drains demo's queue, or brings it back from the trash, and is killed at that step: root, home, data, step, what.
func runUntilKilled(a []string) error {
	left, _ := strconv.Atoi(a[3])
	d := dependencies(a[0], a[1], &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	k := &killer{left: left}
	if a[2] != "" {
		d.Places = elsewhere{d.Places, a[2]}
	}
	d.States, d.Git, d.Trash = killStates{d.States, k}, killGit{d.Git, k}, killTrash{d.Trash, k}
	d.Releases = killReleases{d.Releases, k}
	if a[4] != restore {
		return runs.Worker{QueueDeps: runs.QueueDeps{Deps: d.Deps, Watch: ecosystemfile.NewWatch(d.Runs), Audit: ecosystemrig.Known{Runs: d.Runs}}, Performers: performers(d)}.Drain(context.Background(), a[0], "demo")
	}
	core, d, err := newCore(d, push.Entries)
	if err != nil {
		return err
	}
	o := core.Call(context.Background(), tool.Call{Session: "s", FromUser: true, Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: restore, Args: json.RawMessage(`{"ecosystem":"demo","mode":"execute"}`)})
	return o.Err
}

// killer ends the process at a step, as nothing else does.
type killer struct{ left int }

func (k *killer) step() {
	if k.left--; k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
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

type killGit struct {
	ecosystemport.PushGit
	k *killer
}

func (s killGit) Push(ctx context.Context, dir, branch string, tags []string) (ecosystemport.Pushed, error) {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Push(ctx, dir, branch, tags)
}

func (s killGit) Stage(ctx context.Context, dir string, changes []ecosystemport.Change) ([]string, error) {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Stage(ctx, dir, changes)
}

func (s killGit) Commit(ctx context.Context, dir, message string) (string, []string, error) {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Commit(ctx, dir, message)
}

func (s killGit) Record(ctx context.Context, dir, path, message string) error {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Record(ctx, dir, path, message)
}

func (s killGit) Bundle(ctx context.Context, dir, file string, o ecosystemport.BundleOptions) (bool, error) {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Bundle(ctx, dir, file, o)
}

type killReleases struct {
	ecosystemport.ReleaseGit
	k *killer
}

func (s killReleases) Make(ctx context.Context, step ecosystemport.ReleaseStep) error {
	s.k.step()
	defer s.k.step()
	return s.ReleaseGit.Make(ctx, step)
}

func (s killReleases) Push(ctx context.Context, dir, branch string, tags []string) error {
	s.k.step()
	defer s.k.step()
	return s.ReleaseGit.Push(ctx, dir, branch, tags)
}

type killTrash struct {
	ecosystemport.Trash
	k *killer
}

func (s killTrash) Keep(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) (ecosystemport.TrashEntry, error) {
	s.k.step()
	defer s.k.step()
	return s.Trash.Keep(ctx, l, e)
}

func (s killTrash) Take(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	s.k.step()
	defer s.k.step()
	return s.Trash.Take(ctx, l, e)
}

func (s killTrash) Bring(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	s.k.step()
	defer s.k.step()
	return s.Trash.Bring(ctx, l, e)
}

func (s killTrash) Forget(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	s.k.step()
	defer s.k.step()
	return s.Trash.Forget(ctx, l, e)
}

func (s killGit) Detach(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Detach(ctx, l, e)
}

func (s killGit) Reattach(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	s.k.step()
	defer s.k.step()
	return s.PushGit.Reattach(ctx, l, e)
}

// killed runs a process that is killed at that step, and reports whether it came so far.
func (r *rig) killed(step int, what string) bool {
	r.t.Helper()
	data := ""
	if e, ok := r.deps.Places.(elsewhere); ok {
		data = e.data
	}
	out, err := exec.CommandContext(context.Background(), os.Args[0], killedChildArg, r.root.Dir, r.home, data, strconv.Itoa(step), what).CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(r.t, err, &exit)
	require.Equal(r.t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), string(out))
	return true
}

// TestADiscardKilledAnywhere is finished or undone, and what was finished can be brought back.
func TestADiscardKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{false, true} {
		t.Run(fmt.Sprint("another device ", far), func(t *testing.T) {
			t.Parallel()
			r, step := newRig(t, "api", "web"), 1
			lived(r)
			if far {
				step = 2 // here after each change, there before it
				d := r.deps
				d.Places = elsewhere{d.Places, workroom.Far(t)}
				r.open(d)
			}
			before, undone, finished := r.picture(), 0, 0
			for ; ; step += 4 {
				id := r.queued(discard, nil)
				more := r.killed(step, discard)
				r.drain(id)
				if r.found().State.Installed() {
					undone++
					assert.Empty(t, decoded(t, r.call(trash, "", nil).Value)["trash"], step)
				} else {
					finished++
					assert.NoDirExists(t, r.at())
					assert.Empty(t, r.root.Git("branch", "--list", "workspace/demo"))
					require.NoError(t, r.call(restore, "execute", nil).Err, step)
				}
				require.Equal(t, before, r.picture(), step)
				assert.NoFileExists(t, filepath.Join(r.found().Layout.State, "shipping.json"), step)
				if !more {
					break
				}
			}
			t.Logf("%d undone, %d finished", undone, finished)
			assert.Positive(t, undone)
			assert.GreaterOrEqual(t, finished, 2)
		})
	}
}

// TestARestoreKilledAnywhere is gone on with by the next call.
func TestARestoreKilledAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	lived(r)
	before := r.picture()
	for step := 1; ; step += 3 {
		r.worked(discard, nil)
		more := r.killed(step, restore)
		o := r.call(restore, "execute", nil)
		if o.Err != nil {
			require.True(t, r.found().State.Installed(), "%d: %v", step, o.Err)
		}
		require.Equal(t, before, r.picture(), step)
		if !more {
			assert.Greater(t, step, 8)
			break
		}
	}
}

// TestAnArchiveKilledAnywhere leaves a workspace, or a record of all that was saved.
func TestAnArchiveKilledAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.commit("api", "unpushed.txt")
	r.write("stashed", "repos", "web", "web.txt")
	r.git("web", "stash", "push", "--quiet")
	before := r.picture()
	kept, gone := 0, 0
	for step := 1; ; step += 5 { // before and after take turns
		id := r.queued(archive, args{"offline": true})
		more := r.killed(step, archive)
		r.drain(id)
		records, err := filepath.Glob(filepath.Join(r.root.Dir, "ecosystems", "demo", "archives", "*.json"))
		require.NoError(t, err)
		assert.Empty(t, r.root.Git("status", "--porcelain"), step)
		dirs, err := filepath.Glob(filepath.Join(r.found().Layout.Data, "archives", "*"))
		require.NoError(t, err)
		assert.Len(t, dirs, len(records), "bundles are those of a record")
		if r.found().State.Installed() {
			kept++
		} else {
			require.NotEmpty(t, records)
			gone++
			require.NoError(t, r.call(restore, "execute", nil).Err, step)
		}
		now := r.picture()
		now["HEAD"], now["branches"], now["worktrees"] = before["HEAD"], before["branches"], before["worktrees"] // the record is a commit of the root
		delete(now, "repos/web/.git/refs/countersign")                                                           // an empty directory
		require.Equal(t, before, now, step)
		if !more {
			break
		}
	}
	t.Logf("%d kept, %d gone", kept, gone)
	assert.Greater(t, kept, 2)
	assert.Greater(t, gone, 1)
}

// TestAPushKilledAnywhere leaves nothing staged, and what arrived is recorded.
func TestAPushKilledAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.worked(shippingPush, nil)
	for step := 1; ; step += 3 {
		name := fmt.Sprintf("f%d.txt", step)
		r.write("x", "repos", "api", name)
		all := args{"commit_all": true, "message": name}
		id := r.queued(shippingPush, all)
		more := r.killed(step, shippingPush)
		r.drain(id)
		status := r.git("api", "status", "--porcelain")
		assert.Contains(t, []string{"", "?? " + name}, status, step)
		head := r.git("api", "rev-parse", "HEAD")
		if status == "" && r.remote("api", "main") == head {
			require.NotNil(t, r.lastPush("api"), step)
			assert.Equal(t, head, r.lastPush("api").CommitFull, step)
		}
		assert.NoFileExists(t, filepath.Join(r.found().Layout.State, "shipping.json"), step)
		if o := r.call(shippingPush, "execute", all); o.Request != nil {
			r.worked(shippingPush, all)
		}
		assert.Equal(t, r.git("api", "rev-parse", "HEAD"), r.remote("api", "main"))
		if !more {
			assert.Greater(t, step, 8)
			break
		}
	}
}
