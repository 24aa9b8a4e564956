package ports

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// Processes starts and stops programs. Every program leads a process group of its own and has an empty standard input, no terminal, no inherited files and
// exactly the environment of its Spec, plus one variable that marks it and its descendants. Its output is read at once and kept within process.MaxLines
// and MaxBytes, without terminal escapes and control characters and with secrets redacted. A process is final once it, its group and everything with its
// mark have ended; one whose Spec has Leaves set and that ended by itself is final once it has ended.
type Processes interface {
	// Run starts a program and waits for it to end. When ctx ends or Spec.Timeout passes, the program is told to end and is killed after a grace period of
	// some seconds; the result is its output so far, with Stopped or TimedOut. watch, if not nil, is called with the state once the program runs, and must not
	// block. It fails with process.ErrSpec, process.ErrLimit (too many Runs of this Countersign process), process.ErrStart, and the error of a ctx that ended
	// before the start. A program with a non-zero exit is not an error.
	Run(ctx context.Context, s process.Spec, watch func(process.State)) (process.Result, error)
	// Start starts a background process, which outlives this Countersign process, and returns once it runs. It fails like Run, and then returns the state of
	// what could not be started, if any. Its limit covers all Countersign processes together.
	Start(ctx context.Context, s process.Spec) (process.State, error)
	// Stop ends a process, whoever started it: it is told to end and killed after grace (zero: at once). Stop returns its final state. A process that has
	// ended is left unchanged, without an error. If ctx ends first, Stop returns its error and the state so far, and the process still ends. It fails with
	// process.ErrNotFound, and with process.ErrElsewhere for a process whose owner cannot be observed from here and does not respond.
	Stop(ctx context.Context, id process.ID, grace time.Duration) (process.State, error)

	// All returns the processes of every Countersign process that shares this store. A process whose owner died is never shown as running: it is
	// Lost. If its owner cannot be observed from here, it is shown as recorded, with Elsewhere, and is not ended.

	// Inspect returns one process, or process.ErrNotFound.
	Inspect(ctx context.Context, id process.ID) (process.State, error)
	// List returns all processes, newest first. Those that ended more than an hour ago are removed.
	List(ctx context.Context) ([]process.State, error)
	// Output returns the output of a process after from, of which the last process.MaxLines lines are kept. It fails with process.ErrNotFound.
	Output(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error)
	// Watch is Output that waits until there is output after from, the process has ended, or ctx ends. The end of ctx is not an error.
	Watch(ctx context.Context, id process.ID, from process.Cursor) (process.Chunk, error)
	// Recover cleans up after Countersign processes that died: their programs are killed and become Failed and Lost. It returns those, and removes processes
	// that ended more than an hour ago. It is cheap if there is nothing to do.
	Recover(ctx context.Context) ([]process.State, error)
}
