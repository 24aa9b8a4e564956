package environment

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/process"
)

// settling is Deps.Settling where nothing else is said.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 1500*time.Millisecond)
}

// startAll has the services of all repositories run, in place of those that run already. Either all run afterwards, or none.
func (w *work) startAll(ctx context.Context) error {
	_, err := w.stopAll(ctx, isService)
	if err != nil {
		return err
	}
	w.state.Services = nil
	if err = w.launch(ctx); err == nil {
		err = w.settle(ctx)
	}
	if err != nil {
		_, stopping := w.stopAll(context.WithoutCancel(ctx), isService)
		w.state.Services = nil
		return errors.Join(err, stopping)
	}
	return nil
}

// launch starts the services.
func (w *work) launch(ctx context.Context) error {
	services := w.startables()
	for i, r := range services {
		spec := w.spec([]string{"sh", "-c", r.Run}, w.clone(r), map[string]string{labelService: r.Name})
		spec.Log = path.Join(w.dir, r.Name+".log")
		st, err := w.Processes.Start(ctx, spec)
		if err != nil {
			return err
		}
		w.Log("info", fmt.Sprintf("started %s (pid %d): %s", r.Name, st.PID, r.Run))
		w.state.Services = append(w.state.Services, ecosystem.Service{Repo: r.Name, Command: r.Run, ProcessID: string(st.ID), PID: st.PID, StartedAt: st.StartedAt, Log: spec.Log})
		w.Percent(i+1, len(services))
	}
	return w.note(ctx, w.state)
}

// settle listens to the services for a while, and fails when one of them ends meanwhile.
func (w *work) settle(ctx context.Context) error {
	heard := NewProcessOutput(w.Log, w.out.Outputs)
	settle := w.Settling
	if settle == nil {
		settle = settling
	}
	window, done := settle(ctx)
	defer done()
	for _, v := range w.state.Services { // while one is read the others continue; their output is kept
		heard.SetService(v.Repo)
		if err := w.listen(window, v, heard); err != nil {
			return err
		}
	}
	heard.End()
	return ctx.Err()
}

// listen hears a service until the window closes.
func (w *work) listen(window context.Context, v ecosystem.Service, heard *ProcessOutput) error {
	var at process.Cursor
	for {
		chunk, err := w.Processes.Watch(window, process.ID(v.ProcessID), at)
		if err != nil {
			return err
		}
		heard.Add(chunk)
		switch at = chunk.Next; {
		case chunk.Ended:
			return w.died(window, v, heard)
		case window.Err() != nil:
			return nil
		}
	}
}

// died says how a service ended that should not have.
func (w *work) died(ctx context.Context, v ecosystem.Service, heard *ProcessOutput) error {
	st, err := w.programs().Inspect(context.WithoutCancel(ctx), v.ProcessID)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("exit code %d", st.Exit.Code)
	if st.Exit.Signal != "" {
		how = st.Exit.Signal
	}
	return ecosystem.ErrProgram.WithMessage("the service of %s ended at once (%s)%s", v.Repo, how, heard.FailureMessage()).
		WithDetails(map[string]any{"repo": v.Repo, "exit_code": st.Exit.Code, "last_lines": heard.LastLines(), "log": v.Log})
}

// isService reports what keeps running until it is ended.
func isService(p process.State) bool { return p.Labels[labelService] != "" }

// stopAll ends the processes of this environment that are chosen, side by side, makes sure that they are gone, and returns what they were.
func (w *work) stopAll(ctx context.Context, chosen func(process.State) bool) (stopped []string, err error) {
	all, err := w.Processes.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p process.State) bool {
		return p.Labels[labelState] != w.Found.Layout.State || p.Labels[labelEnvironment] != w.environment || p.Status.Final() || !chosen(p)
	})
	failures := make([]error, len(all))
	var group errgroup.Group
	for i, p := range all {
		group.Go(func() error {
			failures[i] = w.stopOne(ctx, p)
			return nil
		})
	}
	_ = group.Wait() // never fails
	for i, p := range all {
		if failures[i] == nil {
			stopped = append(stopped, title(p))
			w.Log("info", title(p)+" has ended")
		}
	}
	return stopped, errors.Join(failures...)
}

// title returns a process for users.
func title(p process.State) string {
	if name := p.Labels[labelService]; name != "" {
		return fmt.Sprintf("%s (pid %d)", name, p.PID)
	}
	return fmt.Sprintf("the provisioner's program (pid %d)", p.PID)
}

func (w *work) stopOne(ctx context.Context, p process.State) error {
	st, err := w.Processes.Stop(ctx, p.ID, ecosystem.StopGrace)
	if errors.Is(err, process.ErrNotFound) { // it ended long ago
		return nil
	}
	if err == nil && !IsGone(st) {
		err = ecosystem.ErrProgram.WithMessage("%s could not be ended: %s", title(p), st.Reason)
	}
	return err
}
