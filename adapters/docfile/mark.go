package docfile

import "context"

// WorkMark is the name of the variable by which programs are found that a killed process had started.
const WorkMark = "COUNTERSIGN_WORK"

type markKey struct{}

// WithMark is ctx for work that another process may have to take back. Programs that are started with it carry mark ("NAME=value") in their
// environment, and so does what they start: whoever goes on after this process was killed finds them by it, and ends them first.
func WithMark(ctx context.Context, mark string) context.Context {
	return context.WithValue(ctx, markKey{}, mark)
}

// Mark is what programs started with ctx carry in their environment; empty for nothing.
func Mark(ctx context.Context) string {
	mark, _ := ctx.Value(markKey{}).(string)
	return mark
}
