package ports

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// Processes starts programs and ends them. Every program leads a process group of its own, has an empty standard input, no terminal, no
// open files of ours and exactly the environment of its Spec, but for one variable that marks it and what it starts. What it
// prints is read at once, kept within process.MaxLines and MaxBytes, and kept clean: terminal escapes and control characters are taken out,
// secrets masked. A process is final when it, its group and whatever carries its mark are gone, and not before; one whose Spec says Leaves
// and that ended by itself, when it is gone.
type Processes interface {
	// Run starts a program and waits for its end. When ctx ends or Spec.Timeout passes, the program is told to end, is killed after a
	// grace of some seconds, and the result is what it printed until then with Stopped or TimedOut. watch, if not nil, is told the state
	// once the program runs, and must return at once. It fails with process.ErrSpec, with process.ErrLimit when too many Runs of this
	// Countersign process are going on, with process.ErrStart when the program cannot be started, and with the error of a ctx that had
	// ended before; a program that ran and failed is no error.
	Run(ctx context.Context, s process.Spec, watch func(process.State)) (process.Result, error)
	// Start starts a program that nobody waits for, and that goes on when this Countersign process ends. It returns once the program
	// runs; it fails like Run, and then with the state of what never started, when there is one. Its limit holds for all
	// Countersign processes together.
	Start(ctx context.Context, s process.Spec) (process.State, error)
	// Stop ends a process, whoever started it: it is told to end, killed when grace has passed (zero: at once), and Stop returns its
	// final state when it is gone. A process that ended before is left as it is, and no error. When ctx ends first, its error is returned
	// with the state so far, and the process goes on ending. It fails with process.ErrNotFound, and with process.ErrElsewhere for one whose
	// owner cannot be seen from here and does not hear.
	Stop(ctx context.Context, id process.ID, grace time.Duration) (process.State, error)

	// All processes of every Countersign process that shares the place they are kept in. A process whose owner died is never shown as running: it is
	// Lost. One whose owner cannot be seen from here is as it was recorded, with Elsewhere, and nobody ends it.

	// Inspect is one process, or process.ErrNotFound.
	Inspect(ctx context.Context, id process.ID) (process.State, error)
	// List is all of them, newest first. Ended ones are forgotten after an hour.
	List(ctx context.Context) ([]process.State, error)
	// Output is what a process printed after from; at most process.MaxLines lines are kept. It fails with process.ErrNotFound.
	Output(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error)
	// Watch is Output that waits until there is something after from, the process has ended, or ctx ends; the end of ctx is no error.
	Watch(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error)
	// Recover settles what dead Countersign processes left: what still runs of it is killed, and it is Failed and Lost. It returns those
	// it settled, and forgets processes that ended over an hour ago. With nothing to do it costs next to nothing.
	Recover(ctx context.Context) ([]process.State, error)
}
