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
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

func TestAnApprovalOfAnOutdatedPlanIsRefusedWithTheDifference(t *testing.T) {
	h := open(t, human)
	ctx := context.Background()
	asked := h.call("write_note", `{"name":"a","text":"1"}`).Request
	h.noteStore.mu.Lock()
	h.noteStore.version = 7 // somebody else wrote meanwhile
	h.noteStore.mu.Unlock()

	_, err := h.Answer(ctx, confirm.Decision{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: asked.PlanHash})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	changed, ok := fault.From(err).Details.(app.PlanChange)
	require.True(t, ok, "%T", fault.From(err).Details)
	assert.Equal(t, asked.PlanHash, changed.Confirmed)
	require.Len(t, changed.Differences, 1)
	assert.Equal(t, "7", string(changed.Differences[0].After))

	waiting, err := h.ApprovalPending(ctx, asked.ID)
	require.NoError(t, err)
	assert.False(t, waiting, "nobody can answer a question that is out of date")
	rec, err := h.CallRecord(ctx, asked.ID)
	require.NoError(t, err)
	assert.Equal(t, tool.ReasonContextChanged, rec.Reason)
	assert.Zero(t, h.noteStore.writes.Load())

	asked = h.call("write_note", `{"name":"a","text":"1"}`).Request
	_, err = h.Answer(ctx, confirm.Decision{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: asked.PlanHash})
	require.NoError(t, err)
	require.NoError(t, h.call("write_note", `{"name":"a","text":"1"}`).Err)
}

func TestAnApprovalIsForThePlanThatWasShown(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Request
	_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: canon.SumBytes("test", []byte("another"))})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	waiting, err := h.ApprovalPending(context.Background(), asked.ID)
	require.NoError(t, err)
	assert.True(t, waiting, "the question itself is as good as before")
}

func TestADenialOfAnOutdatedPlanIsADenial(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Request
	h.noteStore.mu.Lock()
	h.noteStore.version = 7
	h.noteStore.mu.Unlock()
	view, err := h.Answer(context.Background(), confirm.Decision{ID: asked.ID, By: "console", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.Equal(t, "denied", view.State)
}

// TestAnApprovalOfWhatCannotBeWorkedOutHereIsForThePlanOnRecord: nothing is destroyed by an approver that cannot see, and the call itself notices
// when there is nothing to see.
func TestAnApprovalOfWhatCannotBeWorkedOutHereIsForThePlanOnRecord(t *testing.T) {
	for name, err := range map[string]error{
		"the project's directory is missing": fault.New(fault.NotFound, "test_gone", "the shelf is gone"),
		"its files cannot be read":           fault.New(fault.Denied, "test_unreadable", "the shelf cannot be read"),
		"it makes no sense from here":        fault.New(fault.State, "test_state", "there is no shelf"),
		"its configuration is another":       fault.New(fault.Invalid, "test_invalid", "the shelf is no shelf"),
		"it does not answer":                 fault.New(fault.Unavailable, "test_away", "the shelf does not answer"),
		"it fails oddly":                     errors.New("odd"),
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, human)
			o := h.call("write_note", `{"name":"a"}`)
			h.noteStore.fail(err)
			view, got := h.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: o.Request.PlanHash})
			require.NoError(t, got)
			assert.Equal(t, "approved", view.State)
			require.Error(t, h.call("write_note", `{"name":"a"}`, after(o)).Err, "whoever carries it out looks again")
			assert.Zero(t, h.noteStore.writes.Load())
			h.noteStore.fail(nil)
			require.NoError(t, h.call("write_note", `{"name":"a"}`, after(o)).Err)
			assert.EqualValues(t, 1, h.noteStore.writes.Load())
		})
	}
}

// at is a process at a place.
type at string

func (a at) Self() string             { return string(a) }
func (at) Judge(string) owner.Verdict { return owner.Unknown }
func (at) Elsewhere(string) string    { return "elsewhere" }

// TestWhoCannotSeeApprovesThePlanOnRecord: from another container, another machine, or with other files before it, a plan looks otherwise; that is no
// reason to refuse the approval, let alone to withdraw the question.
func TestWhoCannotSeeApprovesThePlanOnRecord(t *testing.T) {
	const here = at("7:100:boot-1:4026531836:m1")
	for name, c := range map[string]struct {
		by    at
		sight string
		sees  bool
	}{
		"at the same place":                  {"8:200:boot-1:4026531836:m1", "root", true},
		"from another container":             {"7:100:boot-1:4026532999:m1", "root", false},
		"from another machine":               {"7:100:boot-2:4026531836:m2", "root", false},
		"from another mount or user":         {"8:200:boot-1:4026531836:m1", "nobody", false},
		"after the machine was started anew": {"8:200:boot-9:4026531836:m1", "root", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, human, func(o *app.Options) { o.Sight = "root" })
			openAs := func(by at, sight string) *app.App {
				core := h.core
				core.Owner = by
				a, err := app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}, Sight: sight}, h.caps...)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
				return a
			}
			asker := openAs(here, "root")
			call := tool.Call{Session: "s-1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: "write_note", Args: []byte(`{"name":"a"}`)}
			asked := asker.Call(t.Context(), call).Request
			require.NotNil(t, asked)
			h.noteStore.mu.Lock()
			was := h.noteStore.version
			h.noteStore.version = 7 // as it is, or as it looks from there
			h.noteStore.mu.Unlock()
			_, err := openAs(c.by, c.sight).Answer(t.Context(), confirm.Decision{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal, Shown: asked.PlanHash})
			if c.sees {
				require.ErrorIs(t, err, confirm.ErrMismatch)
				return
			}
			require.NoError(t, err)
			call.ApprovalDigest = asked.Digest
			require.ErrorIs(t, asker.Call(t.Context(), call).Err, confirm.ErrMismatch, "the call itself notices what has changed")
			assert.Zero(t, h.noteStore.writes.Load())
			h.noteStore.mu.Lock()
			h.noteStore.version = was
			h.noteStore.mu.Unlock()
			require.NoError(t, asker.Call(t.Context(), call).Err, "the approval was not spent on that")
			assert.EqualValues(t, 1, h.noteStore.writes.Load())
		})
	}
}

func TestACallIsServedOnlyWhatEveryNarrowingCovers(t *testing.T) {
	h := open(t)
	within := func(n ...tool.Restriction) func(*tool.Call) { return func(c *tool.Call) { c.Restrictions = n } }
	assert.Equal(t, "tool_unknown", code(h.call("read_note", `{"name":"a"}`, within(tool.Restriction{Toolsets: []string{"packs"}}))))
	assert.Equal(t, "tool_unknown", code(h.call("write_note", `{"name":"a"}`, within(tool.Restriction{}, tool.Restriction{ReadOnly: true}))))
	require.NoError(t, h.call("get_policy", `{}`, within(tool.Restriction{Toolsets: []string{"packs"}})).Err)
	require.NoError(t, h.call("read_note", `{"name":"a"}`, within(tool.Restriction{Toolsets: []string{"notes"}, ReadOnly: true})).Err)
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
	asked := h.call("write_note", `{"name":"a"}`).Request
	narrow := func(c *tool.Call) { c.Restrictions = []tool.Restriction{{Exclude: []string{"write_note"}}} }
	assert.Equal(t, "tool_unknown", code(h.call("confirm", `{"token":"`+asked.Token.Reveal()+`"}`, narrow)))
	assert.Zero(t, h.noteStore.writes.Load())
	require.NoError(t, h.call("confirm", `{"token":"`+asked.Token.Reveal()+`"}`).Err)
}

// TestACallIsToldThatItsQuestionIsOutOfDate: the caller that waits learns why it is not asked about any more.
func TestACallIsToldThatItsQuestionIsOutOfDate(t *testing.T) {
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`).Request
	h.noteStore.mu.Lock()
	h.noteStore.version = 7
	h.noteStore.mu.Unlock()
	_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.ID, Approve: true, By: "console", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrMismatch)
	o := h.call("write_note", `{"name":"a"}`, func(c *tool.Call) { c.ApprovalDigest = asked.Digest })
	require.ErrorIs(t, o.Err, confirm.ErrCanceled)
	assert.Contains(t, o.Err.Error(), "the plan changed")
}
