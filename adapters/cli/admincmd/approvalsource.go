package admincmd

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// ApprovalItem is a pending approval request.
type ApprovalItem struct {
	confirm.View
	Client string // the client, if known
	Always bool   // a session grant can be given
	Dated  bool   // a dated grant can be given
	Touch  bool   // a security key can approve it
	Unmet  string // why it cannot be approved here, and where it can; empty if it can
}

// ApprovalSource is the data source of the view.
type ApprovalSource interface {
	// Waiting returns the pending requests, oldest first.
	Waiting(ctx context.Context) ([]ApprovalItem, error)
	// ChangeCounter returns a number that changes when Waiting may have changed; it is fast enough to call several times a second.
	ChangeCounter(ctx context.Context) (int64, error)
	// Answer applies a decision, with the proof of a touch if it has one. It fails with the errors of package confirm.
	Answer(ctx context.Context, a confirm.Decision) (confirm.View, error)
	// Touch returns the proof that a security key was touched to approve a request, and blocks until then. tell is called with the key that it waits
	// for, at any time before Touch returns.
	Touch(ctx context.Context, i ApprovalItem, tell func(line string)) (confirm.Proof, error)
	// Reveal returns a request without redaction, only for the user at the terminal.
	Reveal(ctx context.Context, i ApprovalItem) (ApprovalItem, error)
	// Fate describes the result of a request that is no longer pending, in one line.
	Fate(ctx context.Context, i ApprovalItem) string
	// Diffs returns the changes of a request's plan as unified diffs, if the plan itself does not show them; otherwise empty.
	Diffs(ctx context.Context, i ApprovalItem) string
	// Before returns how often the same was approved before.
	Before(ctx context.Context, i ApprovalItem) int
}

// How often the view checks for changes, and for how long it uses what it has read.
const (
	pace    = 200 * time.Millisecond
	trusted = time.Second
)

// answerTime is the time limit of a decision: the plan is computed again.
const answerTime = 5 * time.Minute
