package osproc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/process"
)

// answerFD is where a supervisor says how it went: the first file behind the standard ones.
const answerFD = 3

// Start is ports.Processes.
func (p *Processes) Start(ctx context.Context, s process.Spec) (process.State, error) {
	if err := p.check(ctx, s); err != nil {
		return process.State{}, err
	}
	if len(p.o.Supervisor) == 0 {
		return process.State{}, process.ErrStart.WithMessage("background processes cannot be started here: this program has no supervisor")
	}
	rec, err := p.claim(ctx, s, true)
	if errors.Is(err, process.ErrLimit) { // some of those that count may have lost their owner
		if _, err := p.Recover(ctx); err != nil {
			return process.State{}, err
		}
		rec, err = p.claim(ctx, s, true)
	}
	if err != nil {
		return process.State{}, err
	}
	state, err := p.handOver(ctx, rec, s)
	if err != nil {
		failure := process.ErrStart.WithMessage("%s could not be started in the background: %v", rec.State.Argv[0], err)
		settled, _ := p.settle(context.WithoutCancel(ctx), rec.State.ID, settlement{never: failure.Message}) // as well as it can be
		if ctx.Err() != nil {
			return settled, ctx.Err()
		}
		return settled, failure
	}
	if state.Status.Final() && state.PID == 0 {
		return state, process.ErrStart.WithMessage("%s", state.Reason)
	}
	return state, nil
}

// handOver starts a supervisor, tells it what to run, and returns what it answers. When it fails the supervisor is dead.
func (p *Processes) handOver(ctx context.Context, rec record, s process.Spec) (state process.State, err error) {
	told, tell, err := os.Pipe()
	if err != nil {
		return state, err
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		return state, errors.Join(err, told.Close(), tell.Close())
	}
	defer answers.Close()
	cmd := exec.Command(p.o.Supervisor[0], p.o.Supervisor[1:]...)
	cmd.Env = SupervisorEnviron(os.Environ(), markName) // with the mark it would end with the run that we may be part of
	cmd.Dir, cmd.Stdin, cmd.ExtraFiles = "/", told, []*os.File{answer}
	SetSession(cmd)
	Seal()
	err = errors.Join(cmd.Start(), told.Close(), answer.Close())
	if cmd.Process == nil {
		return state, errors.Join(err, tell.Close())
	}
	deadline := time.Now().Add(startWait)
	_, _ = tell.SetDeadline(deadline), answers.SetDeadline(deadline)
	defer context.AfterFunc(ctx, func() { _, _ = tell.SetDeadline(time.Unix(1, 0)), answers.SetDeadline(time.Unix(1, 0)) })()
	err = errors.Join(err, LaunchRequest{Dir: p.o.Dir, ID: rec.State.ID, Owner: rec.Owner, Spec: s}.Write(tell), tell.Close())
	if err == nil {
		err = json.NewDecoder(answers).Decode(&state)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return state, fmt.Errorf("its supervisor %q did not answer: %w", strings.Join(p.o.Supervisor, " "), errors.Join(err, cmd.Wait()))
	}
	p.mu.Lock()
	p.supervisors = append(p.supervisors, cmd.Process.Pid)
	p.mu.Unlock()
	return state, cmd.Process.Release()
}

// Supervise is the program of a supervisor: it starts what in describes, answers, and stays with it to its end, whoever ends before.
// Being told to end itself, it ends the program first. o.Dir and o.Supervisor are not looked at.
func Supervise(in io.Reader, o Options) error {
	ctx, quiet := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer quiet()
	told, err := ReadLaunchRequest(in)
	if err != nil {
		return process.ErrSpec.WithMessage("only Countersign itself starts a supervisor").WithCause(err)
	}
	answer := os.NewFile(answerFD, "answer")
	defer answer.Close()
	Seal()
	o.Dir = told.Dir
	p := New(o)
	rec, err := p.takeOver(ctx, told)
	if err != nil {
		return err
	}
	c, err := p.launch(rec, told.Spec)
	unheard := say(answer, c.rec.State)
	if err == nil {
		c.attend(ctx)
	}
	return errors.Join(err, unheard)
}

// say answers and hangs up.
func say(answer *os.File, s process.State) error {
	doc, err := json.Marshal(s)
	if err == nil {
		_, err = io.Copy(answer, bytes.NewReader(doc))
	}
	return errors.Join(err, answer.Close())
}

// takeOver makes this process the owner, unless the requesting client has given up or ended.
func (p *Processes) takeOver(ctx context.Context, told LaunchRequest) (record, error) {
	lock, err := docfile.NewDir(p.o.Dir).Lock(ctx, string(told.ID)+"/"+lockName)
	if err != nil {
		return record{}, err
	}
	defer lock.Release() //nolint:errcheck // the file stays, the lock goes with the descriptor
	rec, err := p.load(told.ID)
	if err != nil {
		return record{}, err
	}
	if rec.State.Status != process.Starting || rec.Owner != told.Owner {
		return record{}, process.ErrTransition.WithMessage("process %s must no longer be started", told.ID)
	}
	rec = rec.ownedBy(SelfIdentity())
	return rec, p.save(rec)
}
