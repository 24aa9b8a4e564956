package osproc

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports"
)

// The limits of packageflow-security contract §4.4. A slot is held until everything of the process is gone.
const (
	MaxForeground = 4  // runs of one Countersign process at a time
	MaxBackground = 20 // processes in the background of all that share a directory
)

// The times of packageflow contract §6.3.
const (
	StopGrace = 5 * time.Second // between telling a program to end and killing it
	waitDelay = 2 * time.Second // for output that what a program left behind may still print
	keepEnded = time.Hour
	keepMost  = 200 // ended ones, each with a megabyte of output at most
)

const (
	leftoverGrace = time.Second      // for what a program left behind: it is told to end first, too
	killWait      = 10 * time.Second // for what was killed to be gone
	startWait     = 15 * time.Second // for a supervisor to say something
	markName      = "COUNTERSIGN_RUN_ID"
)

// Options is where processes are kept and how they are started. Only Dir is needed by all; Start also needs Supervisor.
type Options struct {
	Dir        string                  // made, with mode 0700, when the first process is started
	Clock      ports.Clock             // nil is the system's
	Redact     func() *redact.Redactor // what else is masked in output, asked for once a process; nil is the rules alone
	Supervisor []string                // a program, absolute, and arguments that make it call Supervise
	Foreground int                     // zero is the constant
	Background int                     // zero is the constant

	Judge func(owner string) owner.Verdict // what is known of whoever looks after a process; nil is what the system tells
}

// Processes is a ports.Processes. It holds nothing open between calls.
type Processes struct {
	o  Options
	mu sync.Mutex
	// running are the foreground runs by what they run, "" until that is known.
	running map[process.ID]string
	slots   int
	// unsaved are records that could not be written: the directory is full or read-only, and what it says is out of date.
	unsaved     map[process.ID]record
	supervisors []int // children that nobody waits for
	pruned      time.Time
}

// New returns the processes kept in o.Dir. It touches nothing.
func New(o Options) *Processes {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Redact == nil {
		o.Redact = func() *redact.Redactor { return redact.New(redact.Options{}) }
	}
	if o.Foreground <= 0 {
		o.Foreground = MaxForeground
	}
	if o.Background <= 0 {
		o.Background = MaxBackground
	}
	if o.Judge == nil {
		o.Judge = Judge
	}
	if dir, err := filepath.Abs(o.Dir); err == nil { // supervisors work elsewhere
		o.Dir = dir
	}
	return &Processes{o: o, running: map[process.ID]string{}, unsaved: map[process.ID]record{}}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now().UTC() }

// Self identifies this process for Judge, here or anywhere else: a word without blanks.
func Self() string { return string(SelfIdentity()) }

// Judge returns what the system tells of the process that Self named. It is not misled by numbers that came again, by restarts of the machine or by
// namespaces: what it cannot see it knows nothing of.
func Judge(identity string) owner.Verdict { return JudgeIdentity(identity, false) }

// Run is ports.Processes.
func (p *Processes) Run(ctx context.Context, s process.Spec, watch func(process.State)) (process.Result, error) {
	if err := p.check(ctx, s); err != nil {
		return process.Result{}, err
	}
	if err := p.acquire(); err != nil {
		return process.Result{}, err
	}
	var id process.ID
	defer func() { p.release(id) }()
	rec, err := p.claim(ctx, s, false)
	if err != nil {
		return process.Result{}, err
	}
	id = rec.State.ID
	p.mu.Lock()
	p.running[id] = title(rec.State)
	p.mu.Unlock()
	c, err := p.launch(rec, s)
	if err != nil {
		return process.Result{Status: process.Failed}, err
	}
	if watch != nil {
		state := c.rec.State
		state.Argv, state.Labels = slices.Clone(state.Argv), maps.Clone(state.Labels)
		watch(state)
	}
	p.prune() // while it runs: a server may run a great many
	c.attend(ctx)
	return c.result(), nil
}

// check rejects before anything is done.
func (p *Processes) check(ctx context.Context, s process.Spec) error {
	p.reap()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if !strings.HasPrefix(s.Dir, "/") {
		return process.ErrSpec.WithMessage("the directory %q is not an absolute path", s.Dir)
	}
	if !Supported {
		return process.ErrStart.WithMessage("programs cannot run on this system, because it has no process groups to stop them by")
	}
	if !SeesProcesses() {
		return process.ErrStart.WithMessage("programs cannot run here, because /proc shows another PID namespace and they could not be stopped; mount /proc again (unshare --mount-proc does that)")
	}
	return nil
}

// acquire takes a foreground slot, or says what has them.
func (p *Processes) acquire() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots < p.o.Foreground {
		p.slots++
		return nil
	}
	return process.ErrLimit.WithMessage("%d programs are running, the maximum: %s; wait for one to end, or stop one",
		p.slots, strings.Join(slices.Sorted(maps.Values(p.running)), ", "))
}

func (p *Processes) release(id process.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots--
	delete(p.running, id)
}

// title returns a process in a few words.
func title(s process.State) string {
	const most = 60
	words := []rune(strings.Join(s.Argv, " "))
	if len(words) > most {
		words = append(words[:most-1], '…')
	}
	return string(s.ID) + " (" + string(words) + ")"
}

// reap notices the end of supervisors this process started. Nothing waits for them, so that nothing has to be shut down.
func (p *Processes) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.supervisors = slices.DeleteFunc(p.supervisors, ReapChild)
}

// mark returns the variable that a process and all it starts carry.
func mark(id process.ID) string { return markName + "=" + string(id) }

// treeOf returns everything that belongs to the process of a record.
func treeOf(rec record) ProcessTree { return ProcessTree{Leader: rec.Leader, Mark: mark(rec.State.ID)} }
