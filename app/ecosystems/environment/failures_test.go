package environment_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TestProvisionersThatAreRefused: nothing is queued for them, in any mode, and the message says what to do.
func TestProvisionersThatAreRefused(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "evil.sh")
	require.NoError(t, os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o755))
	for name, c := range map[string]struct {
		manifest string
		prepare  func(r *rig)
		code     string
		says     string
	}{
		"none":             {"", nil, "eco_no_provisioner", "provisioner: <name>"},
		"missing":          {"provisioner: box\n", nil, "eco_provisioner_not_found", "provisioners/box/spin.sh"},
		"world-writable":   {"provisioner: box\n", func(r *rig) { r.write("provisioners/box/spin.sh", "true", 0o777) }, "eco_provisioner_refused", "chmod o-w"},
		"a link out":       {"provisioner: box\n", func(r *rig) { r.link(outside) }, "eco_provisioner_refused", outside},
		"a link to none":   {"provisioner: box\n", func(r *rig) { r.link(outside + "x") }, "eco_provisioner_refused", "is a dangling link"},
		"a directory":      {"provisioner: box\n", func(r *rig) { r.write("provisioners/box/spin.sh/x", "", 0o644) }, "eco_provisioner_refused", "not a readable regular file"},
		"no deploy":        {"spin: {destroy: \"true\"}\n", nil, "eco_spin_unsupported", "spin.deploy"},
		"nothing to start": {"provisioner: local\n", nil, "eco_no_repositories", "run:"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, manifest(c.manifest))
			if c.prepare != nil {
				c.prepare(r)
			}
			for _, mode := range []string{"plan", "execute"} {
				o := r.say(deploy, args{"mode": mode})
				assert.Equal(t, c.code, code(o.Err), "%v", o.Err)
				assert.Contains(t, o.Err.Error(), c.says)
			}
			assert.Equal(t, true, object(t, r.confirmed(destroy, nil).Value)["noop"], "nothing is deployed")
		})
	}
}

func (r *rig) link(to string) {
	r.t.Helper()
	dir := filepath.Join(r.root, "provisioners", "box")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	require.NoError(r.t, os.Symlink(to, filepath.Join(dir, "spin.sh")))
}

// TestScriptsThatFail: how they ended is the run's error, what they said last is with it, and the environment may be destroyed.
func TestScriptsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, code, says string
		exit               any
	}{
		"exit 3":       {"echo working; echo no disk left >&2; exit 3", "eco_spin_failed", "exit code 3: no disk left", 3},
		"exit 64":      {"exit 64", "eco_spin_unsupported", "does not know deploy", 64},
		"a signal":     {"kill -9 $$", "eco_spin_failed", "killed", nil},
		"no such file": {"exec /nowhere/program", "eco_spin_failed", "exit code 127", 127},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, manifest("provisioner: box\n"))
			r.script("box", "if [ $1 = deploy ]; then "+c.script+"; fi")
			rec, log := r.done(deploy, nil)
			assert.Equal(t, ecosystem.RunFailed, rec.Status)
			assert.Equal(t, c.code, rec.Code)
			assert.Contains(t, rec.Error, c.says)
			result := object(t, rec.Result)
			assert.Equal(t, "failed", result["state"])
			assert.EqualValues(t, c.exit, result["exit_code"])
			assert.Contains(t, log, "error ")
			st := r.state()
			assert.Equal(t, "failed", st["state"])
			assert.Equal(t, rec.Error, st["error"])
			rec, log = r.done(destroy, nil)
			assert.Equal(t, ecosystem.RunSuccess, rec.Status, log)
		})
	}
}

// TestHanging: a program that takes too long is told to end, and killed when it does not heed that; its children go with it.
func TestHanging(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("spin: {deploy: \"trap '' TERM; sleep 300 & wait; sleep 300\", timeout_seconds: 1}\n"))
	rec, log := r.done(deploy, nil)
	assert.Equal(t, ecosystem.RunFailed, rec.Status)
	assert.Equal(t, "timeout", rec.Code, log)
	assert.Equal(t, ecosystem.ExitTimeout, *rec.ExitCode)
	assert.Contains(t, rec.Error, "spin.timeout_seconds")
	assert.Empty(t, r.living())
	assert.Equal(t, ecosystem.PhaseFailed, r.note().State)
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range environs {
		env, _ := os.ReadFile(file) // it may have ended just now
		assert.NotContains(t, string(env), "AMOF_RUN_ID="+rec.ID, "%s outlives its time", file)
	}
}

// TestCancelled: a run that is cancelled ends its program before it says that it has ended.
func TestCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("spin: {deploy: \"echo here; sleep 300\"}\n"))
	id := r.queued(deploy, nil)
	drained := make(chan error, 1)
	go func() { drained <- r.worker.Drain(context.WithoutCancel(t.Context()), r.root, "demo") }()
	require.Eventually(t, func() bool { return len(r.living()) == 1 }, time.Minute, 5*time.Millisecond)
	_, err := r.store.Runs().Change(t.Context(), id, func(rec *ecosystem.Run) error {
		_, err := rec.Cancel(time.Now().UTC())
		return err
	})
	require.NoError(t, err)
	require.NoError(t, <-drained)
	rec, _ := r.ended(id)
	assert.Equal(t, ecosystem.RunCancelled, rec.Status)
	assert.Empty(t, r.living())
	assert.Equal(t, ecosystem.PhaseFailed, r.note().State)
}

// TestOutput: a quarter of a gigabyte of it costs little, secrets and control characters stay out of the log, and the outputs are still heard.
func TestOutput(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	r := newRig(t, manifest("provisioner: box\n"))
	r.script("box", fmt.Sprintf(`echo token %s
head -c 100000 /dev/urandom
printf '\033[31mred\033[0m\n\n'
head -c %d /dev/zero | tr '\0' 'x' | fold -w 1000
echo
echo ::amof url=http://late
echo the end`, secret, 256<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rec, log := r.done(deploy, nil)
	runtime.ReadMemStats(&after)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, rec.Error)
	assert.Equal(t, "http://late", object(t, rec.Result)["outputs"].(args)["url"])
	assert.NotContains(t, log, secret)
	assert.NotContains(t, log, "\x1b")
	assert.NotContains(t, log, "\x00")
	assert.Contains(t, log, "the end")
	assert.Contains(t, log, "more lines came than are kept")
	assert.Less(t, len(log), 12<<20)
	assert.Less(t, after.HeapInuse, before.HeapInuse+64<<20)
}

// TestServiceThatDies: the deploy fails with its last lines, and the services beside it end, too.
func TestServiceThatDies(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("exec sleep 300", "echo listening; echo address in use >&2; exit 7"))
	r.settles(func() bool { return len(r.living()) == 1 })
	rec, log := r.done(deploy, nil)
	assert.Equal(t, ecosystem.RunFailed, rec.Status)
	assert.Equal(t, "eco_spin_failed", rec.Code)
	assert.Contains(t, rec.Error, "web ended at once (exit code 7): address in use")
	assert.Contains(t, log, "web: listening")
	assert.Empty(t, r.living())
	assert.Equal(t, "failed", r.state()["state"])
	rec, log = r.done(destroy, nil)
	assert.Equal(t, ecosystem.RunSuccess, rec.Status, log)
}

// TestServiceThatEndsLater is seen in the status, is no reason not to deploy again, and destroying works without it.
func TestServiceThatEndsLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("exec sleep 300", "trap '' TERM; echo $$; while :; do sleep 1; done"))
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	_, err := r.procs.Stop(t.Context(), r.living()[1].ID, 0)
	require.NoError(t, err)
	st := r.state()
	assert.Equal(t, "deployed", st["state"])
	assert.Equal(t, false, st["healthy"])
	o := r.say(deploy, args{"mode": "plan"})
	require.NoError(t, o.Err)
	assert.True(t, o.DryRun, "there is something to do")
	rec, log = r.done(destroy, nil)
	assert.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.Empty(t, r.living(), "what ignores SIGTERM is killed")
}

// TestMissingClone: the built-in provisioner says which repository has none.
func TestMissingClone(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("true", "true"))
	require.NoError(t, os.RemoveAll(r.clones["web"]))
	o := r.say(deploy, args{"mode": "plan"})
	assert.Equal(t, "eco_not_installed", code(o.Err))
	assert.Contains(t, o.Err.Error(), "amof_sync_ecosystem")
}

// TestArguments: names that are none and arguments that no program takes are refused before anything is looked at.
func TestArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("true", "true"))
	for name, in := range map[string]args{
		"eco_name_invalid":      {"environment": "../x"},
		"eco_invalid_arguments": {"args": []string{"a\x00b"}},
	} {
		assert.Equal(t, name, code(r.say(deploy, in).Err))
	}
	assert.Equal(t, "eco_invalid_arguments", code(r.say(deploy, args{"args": make([]string, 33)}).Err))
	assert.Equal(t, "eco_invalid_arguments", code(r.say(deploy, args{"args": []string{"a"}, "mode": "plan"}).Err), "local takes none")
	require.Error(t, r.say(status, nil).Err, "for people alone")
}

// TestInterrupted: what a killed worker left is ended, the environment has failed, and can be destroyed.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]string{
		"a program": manifest("spin: {deploy: \"sleep 300\", destroy: \"true\"}\n"),
		"services":  services("exec sleep 300", "exec sleep 300"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, m)
			id := r.queued(deploy, nil)
			cmd := exec.Command(os.Args[0], "drain", r.root, filepath.Dir(r.root))
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return r.runs() > 0 && r.note().State == ecosystem.PhaseDeploying }, time.Minute, 2*time.Millisecond)
			require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
			_ = cmd.Wait()
			require.NotZero(t, r.runs(), "it outlives its worker")
			assert.Equal(t, true, r.state()["interrupted"])
			next := r.queued(destroy, nil) // asked for before anybody put things in order

			require.NoError(t, r.worker.Drain(t.Context(), r.root, "demo"))
			rec, log := r.ended(id)
			assert.Equal(t, ecosystem.RunFailed, rec.Status)
			assert.Equal(t, "eco_interrupted", rec.Code, log)
			assert.Contains(t, log, "ended ")
			assert.Empty(t, r.living())
			assert.Equal(t, ecosystem.PhaseNone, r.note().State)
			rec, log = r.ended(next)
			assert.Equal(t, ecosystem.RunSuccess, rec.Status, log)
		})
	}
}

// TestDoneButNotOnRecord: a run that was killed after its work was done leaves the work as it is.
func TestDoneButNotOnRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("exec sleep 300", "exec sleep 300"))
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	rec.Status = ecosystem.RunRunning
	rec.ID = "00000000-0000-4000-8000-000000000000"
	st := r.note()
	st.RunID = rec.ID
	require.NoError(t, r.keep(st))
	require.NoError(t, r.store.Runs().Add(t.Context(), rec))
	require.NoError(t, r.worker.Drain(t.Context(), r.root, "demo"))
	assert.Len(t, r.living(), 2)
	assert.Equal(t, ecosystem.PhaseDeployed, r.note().State)
}

// TestUnreadableState is said, and nothing is done about it.
func TestUnreadableState(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("true", "true"))
	require.NoError(t, r.store.States().Note(t.Context(), r.layout, ecosystem.StateKey("default"), []byte("{")))
	assert.Equal(t, "eco_state_unreadable", code(r.say(deploy, args{"mode": "plan"}).Err))
	require.ErrorIs(t, r.say(status, nil, person).Err, ecosystem.ErrState)
}
