package admincmd

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// ApprovalItem is one question that waits.
type ApprovalItem struct {
	confirm.View
	Client string // who asks, as far as that is known
	Always bool   // it may be answered with "always"
	Dated  bool   // it may be answered with "allow this until"
	Touch  bool   // a security key can be asked to approve it
	Unmet  string // why it cannot be approved here, and where it can; empty where it can
}

// ApprovalSource is what the view works with.
type ApprovalSource interface {
	// Waiting is what waits for an answer, oldest first.
	Waiting(ctx context.Context) ([]ApprovalItem, error)
	// Stamp is another number once Waiting may have changed; cheap enough to ask several times a second.
	Stamp(ctx context.Context) (int64, error)
	// Answer settles a question, with the proof of a touch where the answer brings one along. It fails with the faults of package confirm.
	Answer(ctx context.Context, a confirm.Answer) (confirm.View, error)
	// Touch is the proof that somebody touched a security key to approve a question, which takes until that has happened. tell is told which key is waited
	// for, at any time before Touch returns.
	Touch(ctx context.Context, i ApprovalItem, tell func(line string)) (confirm.Proof, error)
	// Reveal is a question with nothing masked, for the user at the terminal alone.
	Reveal(ctx context.Context, i ApprovalItem) (ApprovalItem, error)
	// Fate says what became of a question that does not wait any more, in one line.
	Fate(ctx context.Context, i ApprovalItem) string
	// Diffs is what a question's plan changes as unified diffs, where the plan itself does not show them; empty where there is nothing more to show.
	Diffs(ctx context.Context, i ApprovalItem) string
	// Before is how often the same was approved before.
	Before(ctx context.Context, i ApprovalItem) int
}

// How often the view looks whether something changed, and how long it trusts what it knows.
const (
	pace    = 200 * time.Millisecond
	trusted = time.Second
)

// answerTime bounds an answer: the plan is worked out anew.
const answerTime = 5 * time.Minute
