package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestOldestFirst: runs of an ecosystem are carried out one by one, in the order they were asked for, and say their place.
func TestOldestFirst(t *testing.T) {
	r := newRig(t, "demo")
	var ids []string
	for range 3 {
		ids = append(ids, r.queue("demo", "sync", 1))
	}
	assert.Equal(t, []string{"demo", "demo", "demo"}, r.woken, "somebody sees to each")
	listed := r.call("amof_get_active_runs", args{})
	assert.EqualValues(t, 3, listed["count"])
	newest := listed["runs"].([]any)[0].(args)
	assert.Equal(t, ids[2], newest["run_id"])
	assert.EqualValues(t, 3, newest["position"])
	var did []string
	r.drain("demo", doing("sync", 1, func(_ context.Context, j runs.Job) (any, error) {
		did = append(did, j.Run.ID)
		j.Log("info", "working")
		j.Percent(1, 2)
		return args{"repos": []any{}}, nil
	}))
	assert.Equal(t, ids, did)
	status := r.call("amof_get_run_status", args{"run_id": ids[0][:8]})
	assert.Equal(t, "success", status["status"])
	assert.Equal(t, true, status["terminal"])
	assert.EqualValues(t, 0, status["exit_code"])
	assert.Equal(t, args{"repos": []any{}}, status["result"])
	logs := r.call("amof_get_run_logs", args{"run_id": ids[0]})
	var said []string
	for _, e := range logs["events"].([]any) {
		said = append(said, e.(args)["type"].(string))
	}
	assert.Equal(t, []string{"lifecycle_action_queued", "lifecycle_action_started", "log", "state", "lifecycle_action_completed", "exit"}, said)
	assert.Empty(t, r.call("amof_get_run_logs", args{"run_id": ids[0], "since": fmt.Sprint(logs["next"])})["events"], "a cursor goes on where it was")
	tail := r.call("amof_get_run_logs", args{"run_id": ids[0], "tail": 2})
	assert.Len(t, tail["events"], 2)
	assert.Equal(t, true, tail["truncated"])
	assert.Equal(t, "success", r.call("amof_summarize_run", args{"run_id": ids[1]})["status"])
	assert.EqualValues(t, 3, r.call("amof_get_global_telemetry", args{})["total_runs"])
	assert.EqualValues(t, 3, r.call("amof_list_runs", args{"status": "success", "action": "sync", "ecosystem": "demo"})["count"])
}

// TestHowRunsEnd: what was done, refused, cancelled, timed out and what panicked is told apart.
func TestHowRunsEnd(t *testing.T) {
	r := newRig(t, "demo")
	fail := func(err error) runs.Performer {
		return doing("push", 1, func(context.Context, runs.Job) (any, error) { return args{"repos": 2}, err })
	}
	for name, c := range map[string]struct {
		by   runs.Performer
		exit int
		code string
	}{
		"done":      {fail(nil), 0, ""},
		"failed":    {fail(ecosystem.ErrGit), 1, "eco_git_failed"},
		"unnamed":   {fail(errors.New("oops")), 1, "internal"},
		"deadline":  {runs.Performer{Action: "push", Limit: 1, Facts: fail(nil).Facts, Do: func(ctx context.Context, _ runs.Job) (any, error) { <-ctx.Done(); return nil, ctx.Err() }}, 124, "timeout"},
		"own limit": {fail(fault.ErrTimeout), 124, "timeout"},
		"changed":   {doing("push", 2, nil), 1, "eco_preview_changed"},
		"unknown":   {doing("other", 1, nil), 1, "eco_run_failed"},
		"panic":     {doing("push", 1, func(context.Context, runs.Job) (any, error) { panic("no") }), 1, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			id := r.queue("demo", "push", 1)
			r.drain("demo", c.by)
			run := r.load(id)
			require.NotNil(t, run.ExitCode)
			assert.Equal(t, c.exit, *run.ExitCode)
			assert.Equal(t, c.code, run.Code)
			assert.True(t, run.Status.Final())
			assert.NotContains(t, run.Error, "oops")
			if name == "failed" {
				assert.JSONEq(t, `{"repos":2}`, string(run.Result), "what was done is told beside the failure")
			}
		})
	}
}

// TestCancel: a run that waits never begins; one that is carried out is told to stop, and what has ended stays as it is.
func TestCancel(t *testing.T) {
	r := newRig(t, "demo")
	waiting, running := r.queue("demo", "push", 1), make(chan string)
	assert.Equal(t, "cancelled", r.call("amof_cancel_run", args{"run_id": waiting})["status"])
	id := r.queue("demo", "push", 1)
	go func() {
		at := <-running
		o := r.try("amof_cancel_run", args{"run_id": at})
		assert.NoError(t, o.Err)
	}()
	r.drain("demo", doing("push", 1, func(ctx context.Context, j runs.Job) (any, error) {
		running <- j.Run.ID
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	run := r.load(id)
	assert.Equal(t, ecosystem.RunCancelled, run.Status)
	assert.Equal(t, 130, *run.ExitCode)
	assert.Equal(t, ecosystem.RunCancelled, r.load(waiting).Status)
	assert.ErrorIs(t, r.try("amof_cancel_run", args{"run_id": id}).Err, ecosystem.ErrMove)
	assert.ErrorIs(t, r.try("amof_get_run_status", args{"run_id": "00000000"}).Err, ecosystem.ErrRunUnknown)
	assert.ErrorIs(t, r.try("amof_get_run_logs", args{"run_id": id, "since": "yesterday"}).Err, ecosystem.ErrArguments)
}

// TestAnInterruptedRunIsMendedFirst: what a process that is gone left is put in order before anything else happens, and shown as failed at once.
func TestAnInterruptedRunIsMendedFirst(t *testing.T) {
	r := newRig(t, "demo")
	dead, next := r.queue("demo", "install", 1), r.queue("demo", "install", 1)
	now := time.Now()
	_, err := r.deps.Runs.Change(t.Context(), dead, func(run *ecosystem.Run) error { return run.Begin("999999999 1 an-earlier-start", now) })
	require.NoError(t, err)
	shown := r.call("amof_get_run_status", args{"run_id": dead})
	assert.Equal(t, "failed", shown["status"])
	assert.Equal(t, "interrupted", shown["code"], "as the contract spells codes")
	left, err := r.worker().Unattended(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	r.woken = nil
	require.NoError(t, r.worker().Recover(t.Context()))
	assert.Equal(t, []string{"demo"}, r.woken)

	var order []string
	p := doing("install", 1, func(context.Context, runs.Job) (any, error) {
		order = append(order, "done")
		return nil, nil
	})
	p.Recover = func(_ context.Context, j runs.Job) error {
		order = append(order, "mended "+j.Run.Short())
		return nil
	}
	r.drain("demo", p)
	assert.Equal(t, []string{"mended " + dead[:8], "done"}, order)
	run := r.load(dead)
	assert.Equal(t, ecosystem.RunFailed, run.Status)
	assert.Equal(t, "eco_interrupted", run.Code)
	assert.Equal(t, ecosystem.RunSuccess, r.load(next).Status)
}

// TestALookMendsFirst: whoever looks at a run whose process is gone has what it left put in order, and is told what came of that, not what will.
func TestALookMendsFirst(t *testing.T) {
	r := newRig(t, "demo")
	var broken error
	p := doing("install", 1, nil)
	recovered := 0
	p.Recover = func(context.Context, runs.Job) error {
		recovered++
		return broken
	}
	r.deps.Settle = func(ctx context.Context, l ecosystem.Layout) error {
		return r.worker(p).Settle(ctx, l)
	}
	r.serve()
	for i, c := range []struct {
		look   string
		broken error
		said   string
	}{{"amof_get_run_status", nil, "was put in order"}, {"amof_list_runs", errors.New("a tree cannot be removed"), "not in order yet"}} {
		dead := r.queue("demo", "install", 1)
		_, err := r.deps.Runs.Change(t.Context(), dead, func(run *ecosystem.Run) error { return run.Begin("999999999 1 an-earlier-start", time.Now()) })
		require.NoError(t, err)
		broken = c.broken
		about := args{}
		if c.look == "amof_get_run_status" {
			about["run_id"] = dead
		}
		r.call(c.look, about)
		r.call(c.look, about)
		assert.Equal(t, i+1, recovered, "once")
		run := r.load(dead)
		assert.Equal(t, ecosystem.RunFailed, run.Status)
		assert.Contains(t, run.Error, c.said)
	}
}

// TestTheAverage is one of seconds and their parts, of runs whose end is known.
func TestTheAverage(t *testing.T) {
	r := newRig(t, "demo")
	start := time.Now()
	for _, took := range []time.Duration{1200 * time.Millisecond, 200 * time.Millisecond} {
		_, err := r.deps.Runs.Change(t.Context(), r.queue("demo", "sync", 1), func(run *ecosystem.Run) error {
			if err := run.Begin("1 1 here", start); err != nil {
				return err
			}
			end := start.Add(took)
			run.Status, run.FinishedAt = ecosystem.RunSuccess, &end
			return nil
		})
		require.NoError(t, err)
	}
	_, err := r.deps.Runs.Change(t.Context(), r.queue("demo", "sync", 1), func(run *ecosystem.Run) error {
		return run.Begin("999999999 1 an-earlier-start", start.Add(-time.Hour)) // whose process is gone
	})
	require.NoError(t, err)
	counted := r.call("amof_get_global_telemetry", args{})
	assert.EqualValues(t, 3, counted["total_runs"])
	assert.InDelta(t, 0.7, counted["avg_duration_seconds"], 0.0001)
}

// TestALookTriesOnceAnEcosystem: where somebody is at work in an ecosystem, a look at all of its runs waits for them once, and not once a run.
func TestALookTriesOnceAnEcosystem(t *testing.T) {
	r := newRig(t, "demo", "other")
	for _, name := range []string{"demo", "demo", "demo", "other"} {
		_, err := r.deps.Runs.Change(t.Context(), r.queue(name, "install", 1), func(run *ecosystem.Run) error { return run.Begin("999999999 1 an-earlier-start", time.Now()) })
		require.NoError(t, err)
	}
	tried := map[string]int{}
	r.deps.Settle = func(_ context.Context, l ecosystem.Layout) error {
		tried[l.Name]++
		return nil // somebody else is at it
	}
	r.serve()
	assert.EqualValues(t, 4, r.call("amof_list_runs", args{"status": "failed"})["count"])
	assert.Equal(t, map[string]int{"demo": 1, "other": 1}, tried)
	assert.EqualValues(t, args{"failed": 4.0}, r.call("amof_get_global_telemetry", args{})["by_status"])
	assert.Equal(t, map[string]int{"demo": 2, "other": 2}, tried)
}

// lastMoment is the owners of a machine on which a process records the end of its run and ends while somebody looks whether it is there.
type lastMoment struct {
	system.Owner
	end func()
}

func (l lastMoment) Judge(name string) owner.Verdict {
	l.end()
	return l.Owner.Judge(name)
}

// TestARunThatEndsWhileSomebodyLooks is not taken for one whose process was killed.
func TestARunThatEndsWhileSomebodyLooks(t *testing.T) {
	for _, name := range []string{"amof_get_run_status", "amof_list_runs"} {
		r := newRig(t, "demo")
		id := r.queue("demo", "install", 1)
		_, err := r.deps.Runs.Change(t.Context(), id, func(run *ecosystem.Run) error { return run.Begin("999999999 1 an-earlier-start", time.Now()) })
		require.NoError(t, err)
		r.deps.Owner = lastMoment{end: func() {
			if r.load(id).Status == ecosystem.RunRunning {
				_, err := r.deps.Runs.Change(t.Context(), id, func(run *ecosystem.Run) error { return run.End(0, time.Now()) })
				require.NoError(t, err)
			}
		}}
		r.serve()
		in := args{"run_id": id}
		if name == "amof_list_runs" {
			in = args{}
		}
		shown := r.call(name, in)
		if runs, ok := shown["runs"].([]any); ok {
			shown = runs[0].(args)
		}
		assert.Equal(t, "success", shown["status"], name)
	}
}

// TestARunOfAnotherPlaceIsLeftAlone: neither failed nor mended nor overtaken by whoever cannot see the process that carries it out.
func TestARunOfAnotherPlaceIsLeftAlone(t *testing.T) {
	r := newRig(t, "demo")
	away, next := r.queue("demo", "install", 1), r.queue("demo", "install", 1)
	now := time.Now()
	const owner = "7:100:another-start:4026531836:another-machine"
	_, err := r.deps.Runs.Change(t.Context(), away, func(run *ecosystem.Run) error { return run.Begin(owner, now) })
	require.NoError(t, err)
	shown := r.call("amof_get_run_status", args{"run_id": away})
	assert.Equal(t, "running", shown["status"])
	assert.Contains(t, shown["error"], "owned by another machine or container")

	p := doing("install", 1, func(context.Context, runs.Job) (any, error) { return nil, errors.New("it must not run") })
	p.Recover = func(context.Context, runs.Job) error { return errors.New("nor be mended") }
	w := r.worker(p)
	require.ErrorIs(t, w.Drain(t.Context(), r.root, "demo"), ecosystem.ErrBusy)
	l, err := r.deps.Places.Layout(t.Context(), r.root, "demo")
	require.NoError(t, err)
	require.NoError(t, w.Settle(t.Context(), l))
	assert.Equal(t, ecosystem.RunRunning, r.load(away).Status)
	assert.Empty(t, r.load(away).Error, "what is shown is not stored")
	assert.Equal(t, ecosystem.RunQueued, r.load(next).Status)
}

// TestOneAtATime: two workers of one ecosystem never work at once; those of several do, four at most.
func TestOneAtATime(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	r := newRig(t, names...)
	var now, most, inOne atomic.Int64
	var lock sync.Mutex
	several := make(chan struct{})
	meet := sync.OnceFunc(func() { close(several) })
	perform := doing("sync", 1, func(context.Context, runs.Job) (any, error) {
		lock.Lock()
		n := now.Add(1)
		most.Store(max(n, most.Load()))
		lock.Unlock()
		if n > 1 {
			meet()
		}
		select {
		case <-several: // the first waits for a second
		case <-time.After(time.Minute):
		}
		<-time.After(50 * time.Millisecond)
		now.Add(-1)
		return nil, nil
	})
	var all sync.WaitGroup
	for _, name := range names {
		for range 2 {
			r.queue(name, "sync", 1)
			all.Go(func() { r.drain(name, perform) })
		}
	}
	all.Wait()
	assert.LessOrEqual(t, most.Load(), int64(ecosystem.MaxParallel))
	assert.Greater(t, most.Load(), int64(1))
	for range 2 {
		r.queue("a", "sync", 1)
	}
	alone := doing("sync", 1, func(context.Context, runs.Job) (any, error) {
		assert.Equal(t, int64(1), inOne.Add(1))
		<-time.After(20 * time.Millisecond)
		inOne.Add(-1)
		return nil, nil
	})
	for range 2 {
		all.Go(func() { r.drain("a", alone) })
	}
	all.Wait()
	assert.Empty(t, r.call("amof_get_active_runs", args{})["runs"])
}

// TestAFullQueueTakesNoMore.
func TestAFullQueueTakesNoMore(t *testing.T) {
	r := newRig(t, "demo")
	for range ecosystem.MaxQueued {
		r.queue("demo", "sync", 1)
	}
	f, err := r.deps.FindAt(t.Context(), r.root, "demo")
	require.NoError(t, err)
	p, err := runs.Plan{Action: "sync"}.Sealed(f)
	require.NoError(t, err)
	_, err = r.deps.Enqueue(t.Context(), tool.Scope{}, p)
	assert.ErrorIs(t, err, ecosystem.ErrQueueFull)
}

// TestNobodyQueuedIt: a record of a run that no call queued, or that says something else than the call that queued it was let through to do, is carried
// out by nobody, and what it claims was interrupted is not put in order.
func TestNobodyQueuedIt(t *testing.T) {
	r := newRig(t, "demo", "other")
	for name, forge := range map[string]func(*ecosystem.Run){
		"no call":           func(run *ecosystem.Run) { run.Call = "" },
		"an unknown call":   func(run *ecosystem.Run) { run.Call = "0198" },
		"another action":    func(run *ecosystem.Run) { run.Action = "sync" },
		"another ecosystem": func(run *ecosystem.Run) { run.Ecosystem = "other" },
		"another payload":   func(run *ecosystem.Run) { run.Payload = []byte(`{"force":true}`) },
		"other facts":       func(run *ecosystem.Run) { run.Facts = "sha256:2" },
		"another preview":   func(run *ecosystem.Run) { run.Preview[0]++ },
		"another tool":      func(run *ecosystem.Run) { run.Tool = "amof_other" },
	} {
		for _, begun := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, begun: %t", name, begun), func(t *testing.T) {
				asked, err := r.deps.Runs.Load(t.Context(), r.queue("demo", "push", 1))
				require.NoError(t, err)
				_, err = r.deps.Runs.Change(t.Context(), asked.ID, func(run *ecosystem.Run) error {
					_, err := run.Cancel(time.Now())
					return err
				})
				require.NoError(t, err)
				forged := asked
				forged.ID = system.IDs{}.NewUUID()
				if forge(&forged); begun {
					require.NoError(t, forged.Begin("999999999 1 an-earlier-start", time.Now()))
				}
				require.NoError(t, r.deps.Runs.Add(t.Context(), forged))
				var performers []runs.Performer
				for _, action := range []string{"push", "sync"} {
					p := doing(action, 1, func(context.Context, runs.Job) (any, error) { panic("carried out") })
					p.Facts = func(context.Context, runs.Ecosystem, json.RawMessage) (any, error) { panic("looked at") }
					p.Recover = func(context.Context, runs.Job) error { panic("put in order") }
					performers = append(performers, p)
				}
				r.drain(forged.Ecosystem, performers...)
				run := r.load(forged.ID)
				assert.Equal(t, ecosystem.RunFailed, run.Status)
				assert.Equal(t, "eco_run_unknown_call", run.Code)
				assert.Contains(t, run.Error, "nothing was done")
			})
		}
	}
}

// TestACopyIsNotRepeated: one call that was let through has one run. A copy of its record, made when it waited, when it was carried out, or from before
// somebody cancelled it, is not carried out, and what it claims was interrupted is not put in order.
func TestACopyIsNotRepeated(t *testing.T) {
	r := newRig(t, "demo")
	done, recovered := 0, 0
	p := doing("push", 1, func(context.Context, runs.Job) (any, error) {
		done++
		return nil, nil
	})
	p.Recover = func(context.Context, runs.Job) error {
		recovered++
		return nil
	}
	copied := func(run ecosystem.Run, begun bool) ecosystem.Run {
		run.ID = system.IDs{}.NewUUID()
		if begun {
			require.NoError(t, run.Begin("999999999 1 an-earlier-start", time.Now()))
		}
		require.NoError(t, r.deps.Runs.Add(t.Context(), run))
		r.drain("demo", p)
		return r.load(run.ID)
	}
	asked := r.load(r.queue("demo", "push", 1))
	r.drain("demo", p)
	require.Equal(t, 1, done)
	cancelled := r.load(r.queue("demo", "push", 1))
	r.call("amof_cancel_run", args{"run_id": cancelled.ID})
	for _, run := range []ecosystem.Run{asked, cancelled} {
		for _, begun := range []bool{false, true} {
			again := copied(run, begun)
			assert.Equal(t, ecosystem.RunFailed, again.Status)
			assert.Equal(t, "eco_run_unknown_call", again.Code)
		}
	}
	assert.Equal(t, 1, done)
	assert.Zero(t, recovered)

	refused := r.load(r.queue("demo", "push", 1))
	plan, err := refused.Plan()
	require.NoError(t, err)
	require.NoError(t, r.store.Append(t.Context(), audit.Event{Phase: audit.Outcome, CallID: refused.Call, Plan: plan, Code: "confirm_token_used"}))
	r.drain("demo", p)
	assert.Equal(t, "eco_run_unknown_call", r.load(refused.ID).Code, "a call whose answer was no lets nothing run")
	assert.Equal(t, 1, done)
}
