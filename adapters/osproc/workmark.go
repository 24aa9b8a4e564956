package osproc

import "context"

// workVariable is the name of the variable by which programs are found that a killed process had started.
const workVariable = "COUNTERSIGN_WORK"

// WorkMark returns the Mark of programs that were started for that work.
func WorkMark(work string) string { return workVariable + "=" + work }

type markKey struct{}

// ForWork is ctx for work that another process may have to take back. Programs that are started with it carry the work's mark in their environment,
// and so does what they start: whoever goes on after this process was killed finds them by it, and ends them first.
func ForWork(ctx context.Context, work string) context.Context {
	return context.WithValue(ctx, markKey{}, WorkMark(work))
}

// MarkOf returns what programs started with ctx carry in their environment; empty for nothing.
func MarkOf(ctx context.Context) string {
	mark, _ := ctx.Value(markKey{}).(string)
	return mark
}
