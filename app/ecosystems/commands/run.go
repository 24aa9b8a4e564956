package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
)

// The labels of the processes, by which they are found again.
const (
	labelState = "ecosystem_state" // the state directory, which no two ecosystems share
	labelRun   = "run"
	labelRepo  = "exec_repository"
)

// RepoResult is what came of the program in one repository.
type RepoResult struct {
	Name      string   `json:"name"`
	Status    string   `json:"status"`    // success, failed, timed_out or not_run
	ExitCode  *int     `json:"exit_code"` // null if it was killed
	Seconds   float64  `json:"seconds"`
	LastLines []string `json:"last_lines"` // 20 at most; the log has more
	Error     string   `json:"error,omitempty"`
}

// Result is what came of a run.
type Result struct {
	Status  string       `json:"status"` // success or failed
	Command []string     `json:"command"`
	Repos   []RepoResult `json:"repos"`
	Failed  int          `json:"failed"`
}

// line is one of the log, or the end of one repository's part.
type line struct {
	level, text string
	done        bool
}

// do implements runs.Performer: a failure in one repository does not stop the others.
func (s service) do(ctx context.Context, j runs.Job) (any, error) {
	var in payload
	if err := json.Unmarshal(j.Run.Payload, &in); err != nil {
		return nil, err
	}
	places, _, err := s.choose(ctx, j.Found, ExecInput{Repos: in.Repos})
	if err != nil {
		return nil, err
	}
	out := Result{Status: "success", Command: in.Command, Repos: make([]RepoResult, len(places))}
	said := make(chan line) // one writer of the log at a time
	var all errgroup.Group
	all.Go(func() error {
		defer close(said)
		var group errgroup.Group
		group.SetLimit(in.Parallel)
		for i, p := range places {
			group.Go(func() error {
				out.Repos[i] = s.one(ctx, j, in, p, func(level, message string) { said <- line{level: level, text: message} })
				said <- line{done: true}
				return nil
			})
		}
		return group.Wait()
	})
	done := 0
	for l := range said {
		if !l.done {
			j.Log(l.level, l.text)
			continue
		}
		done++
		j.Percent(done, len(places))
	}
	_ = all.Wait()
	var bad []string
	for _, r := range out.Repos {
		if r.Status != "success" {
			out.Failed++
			bad = append(bad, r.Name+" ("+r.Error+")")
		}
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if out.Failed > 0 {
		out.Status = "failed"
		return out, ecosystem.ErrFailed.WithMessage("%s failed in %d of %s: %s", clip(quoted(in.Command)), out.Failed, counted(len(places)), strings.Join(bad, "; "))
	}
	return out, nil
}

// one runs the program in one repository, to its end.
func (s service) one(ctx context.Context, j runs.Job, in payload, p Place, log func(level, message string)) RepoResult {
	r := RepoResult{Name: p.Name, Status: "not_run", LastLines: []string{}}
	if err := ctx.Err(); err != nil {
		r.Error = "it was not started any more"
		return r
	}
	log("info", p.Name+": "+clip(quoted(in.Command)))
	heard := environment.NewProcessOutput(log, map[string]string{})
	heard.SetService(p.Name)
	begun := s.Clock.Now()
	st, err := environment.Programs{Processes: s.Processes}.Run(ctx, s.spec(j, in, p), heard)
	r.Seconds, r.LastLines = s.Clock.Now().Sub(begun).Round(time.Millisecond).Seconds(), heard.LastLines()
	switch {
	case err != nil:
		r.Error = fault.From(err).Message
	case st.Status == process.TimedOut:
		r.Status, r.Error = "timed_out", fmt.Sprintf("it took longer than %d s and was ended", in.Timeout)
	case st.Exit.Signal != "":
		r.Status, r.Error = "failed", "it was ended by a signal ("+st.Exit.Signal+")"
	case st.Status != process.Completed && st.Exit.Code == 0:
		r.Status, r.Error = "failed", st.Reason
	default:
		code := st.Exit.Code
		if r.ExitCode, r.Status = &code, "success"; code != 0 {
			r.Status, r.Error = "failed", fmt.Sprintf("exit code %d%s", code, heard.FailureMessage())
		}
	}
	if r.Status == "success" {
		log("info", p.Name+": done")
	} else {
		log("error", p.Name+": "+r.Error)
	}
	return r
}

// spec returns how the program is started: with what every program is given, and where it is.
func (s service) spec(j runs.Job, in payload, p Place) process.Spec {
	l := j.Found.Layout
	settings := ecosystem.ProvisionerEnv(l, ecosystem.ActionContext{Ticket: p.Ticket, RunID: j.Run.ID})
	maps.DeleteFunc(settings, func(name, value string) bool {
		return value == "" || name == "AMOF_ENVIRONMENT" || name == "AMOF_SPIN_DIR"
	})
	settings["AMOF_REPO"] = p.Name
	env, secrets := process.ChildEnvironment(s.Inherited(), nil, settings, nil)
	return process.Spec{Argv: in.Command, Dir: p.Dir, Env: env, Secrets: secrets, Timeout: time.Duration(in.Timeout) * time.Second,
		Labels: map[string]string{labelState: l.State, labelRun: j.Run.ID, labelRepo: p.Name}}
}

// recoverRun ends what an interrupted run left running.
func (s service) recoverRun(ctx context.Context, j runs.Job) error {
	if _, err := s.Processes.Recover(ctx); err != nil {
		return err
	}
	all, err := s.Processes.List(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, st := range all {
		if st.Labels[labelRun] != j.Run.ID || st.Labels[labelState] != j.Found.Layout.State || !environment.IsRunning(st) {
			continue
		}
		if _, err := s.Processes.Stop(ctx, st.ID, ecosystem.StopGrace); err != nil {
			failed = append(failed, err)
			continue
		}
		j.Log("warning", "ended what ran in "+st.Labels[labelRepo])
	}
	return errors.Join(failed...)
}
