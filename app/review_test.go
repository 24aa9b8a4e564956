package app_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/toolrun"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func TestAnApprovalOfAnOutdatedPlanIsRefusedWithTheDifference(t *testing.T) {
	h := open(t, human)
	ctx := context.Background()
	asked := h.call("write_note", `{"name":"a","text":"1"}`).Issued
	h.shelf.mu.Lock()
	h.shelf.version = 7 // somebody else wrote meanwhile
	h.shelf.mu.Unlock()

	_, err := h.Answer(ctx, confirm.Answer{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: asked.PlanHash})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	changed, ok := fault.From(err).Details.(app.Changed)
	require.True(t, ok, "%T", fault.From(err).Details)
	assert.Equal(t, asked.PlanHash, changed.Confirmed)
	require.Len(t, changed.Differences, 1)
	assert.Equal(t, "7", string(changed.Differences[0].After))

	waiting, err := h.Waiting(ctx, asked.ID)
	require.NoError(t, err)
	assert.False(t, waiting, "nobody can answer a question that is out of date")
	rec, err := h.RunRecord(ctx, asked.ID)
	require.NoError(t, err)
	assert.Equal(t, toolrun.ContextChanged, rec.Reason)
	assert.Zero(t, h.shelf.writes.Load())

	asked = h.call("write_note", `{"name":"a","text":"1"}`).Issued
	_, err = h.Answer(ctx, confirm.Answer{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: asked.PlanHash})
	require.NoError(t, err)
	require.NoError(t, h.call("write_note", `{"name":"a","text":"1"}`).Err)
}

func TestAnApprovalIsForThePlanThatWasShown(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Issued
	_, err := h.Answer(context.Background(), confirm.Answer{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: canon.Bytes("test", []byte("another"))})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	waiting, err := h.Waiting(context.Background(), asked.ID)
	require.NoError(t, err)
	assert.True(t, waiting, "the question itself is as good as before")
}

func TestADenialOfAnOutdatedPlanIsADenial(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Issued
	h.shelf.mu.Lock()
	h.shelf.version = 7
	h.shelf.mu.Unlock()
	view, err := h.Answer(context.Background(), confirm.Answer{ID: asked.ID, By: "console", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.Equal(t, "denied", view.State)
}

func TestWhatCannotBeWorkedOutAnyMoreCannotBeApproved(t *testing.T) {
	gone := fault.New(fault.NotFound, "test_gone", "the shelf is gone")
	away := fault.New(fault.Unavailable, "test_away", "the shelf does not answer")
	for err, want := range map[error]error{gone: confirm.ErrMismatch, away: nil, errors.New("odd"): nil} {
		h := open(t, human)
		asked := h.call("write_note", `{"name":"a"}`).Issued
		h.shelf.fail(err)
		_, got := h.Answer(context.Background(), confirm.Answer{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal})
		require.ErrorIs(t, got, want, "%v", err)
	}
}

func TestACallIsServedOnlyWhatEveryNarrowingCovers(t *testing.T) {
	h := open(t)
	within := func(n ...tool.Narrowing) func(*tool.Call) { return func(c *tool.Call) { c.Within = n } }
	assert.Equal(t, "tool_unknown", code(h.call("read_note", `{"name":"a"}`, within(tool.Narrowing{Toolsets: []string{"packs"}}))))
	assert.Equal(t, "tool_unknown", code(h.call("write_note", `{"name":"a"}`, within(tool.Narrowing{}, tool.Narrowing{ReadOnly: true}))))
	require.NoError(t, h.call("get_policy", `{}`, within(tool.Narrowing{Toolsets: []string{"packs"}})).Err)
	require.NoError(t, h.call("read_note", `{"name":"a"}`, within(tool.Narrowing{Toolsets: []string{"notes"}, ReadOnly: true})).Err)
}

func TestAPrincipalsCeilingHoldsWhateverTheModeIs(t *testing.T) {
	h := open(t)
	low := func(c *tool.Call) { c.Principal.Ceiling = policy.Plan }
	assert.True(t, h.call("write_note", `{"name":"a"}`, low).DryRun)
	h.setMode(t, "execute")
	assert.True(t, h.call("write_note", `{"name":"a"}`, low).DryRun)
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", `{"name":"a"}`)))
}

// TestAForwardedCallReachesNoFurther: who is not served a tool cannot have it carried out by confirming it either.
func TestAForwardedCallReachesNoFurther(t *testing.T) {
	h := open(t)
	asked := h.call("write_note", `{"name":"a"}`).Issued
	narrow := func(c *tool.Call) { c.Within = []tool.Narrowing{{Exclude: []string{"write_note"}}} }
	assert.Equal(t, "tool_unknown", code(h.call("confirm", `{"token":"`+asked.Token.Reveal()+`"}`, narrow)))
	assert.Zero(t, h.shelf.writes.Load())
	require.NoError(t, h.call("confirm", `{"token":"`+asked.Token.Reveal()+`"}`).Err)
}

// TestACallIsToldThatItsQuestionIsOutOfDate: the caller that waits learns why it is not asked about any more.
func TestACallIsToldThatItsQuestionIsOutOfDate(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Issued
	h.shelf.mu.Lock()
	h.shelf.version = 7
	h.shelf.mu.Unlock()
	_, err := h.Answer(context.Background(), confirm.Answer{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	o := h.call("write_note", `{"name":"a"}`, func(c *tool.Call) { c.Asked = asked.Digest })
	require.ErrorIs(t, o.Err, confirm.ErrCanceled)
	assert.Contains(t, o.Err.Error(), "has changed meanwhile")
}
