package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// edit does to a question what somebody does who writes to the database.
func (h *fixture) edit(t *testing.T, id string, f func(*confirm.Request)) {
	t.Helper()
	found, err := h.store.Pending(context.Background(), ports.PendingFilter{ID: id}, h.clock.Now())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, h.store.Settle(context.Background(), found[0].Digest, func(g *confirm.Request) error {
		f(g)
		return nil
	}))
}

// TestAnEditedQuestionIsShownToNobodyAndApprovesNothing: what the user reads is what was asked, or they are told that it is not.
func TestAnEditedQuestionIsShownToNobodyAndApprovesNothing(t *testing.T) {
	for name, f := range map[string]func(*confirm.Request){
		"its plan":    func(g *confirm.Request) { g.Plan = []byte(strings.ReplaceAll(string(g.Plan), "evil", "good")) },
		"its words":   func(g *confirm.Request) { g.Prompt = "write good" },
		"its exhibit": func(g *confirm.Request) { g.Exhibit = []byte(`"nothing much"`) },
		"its args":    func(g *confirm.Request) { g.Args = []byte(`{"name":"good"}`) },
		"its proof":   func(g *confirm.Request) { g.Risk, g.Needs = 0, 0; g.Strength = 0 },
		"its kind":    func(g *confirm.Request) { g.HumanOnly = false; g.Prompt = "write good" },
		"its form":    func(g *confirm.Request) { g.Entry = "mine" },
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, human)
			o := h.call("write_note", `{"name":"evil"}`)
			require.Len(t, h.waiting(t), 1)
			h.edit(t, o.Request.ID, f)
			_, err := h.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal, Shown: o.Request.PlanHash})
			require.ErrorIs(t, err, confirm.ErrEdited)
			require.Error(t, h.call("write_note", `{"name":"evil"}`, after(o)).Err)
			assert.Zero(t, h.noteStore.writes.Load())

			o = h.call("write_note", `{"name":"evil"}`)
			require.Equal(t, "confirm_token_required", code(o), "it is asked anew")
			h.edit(t, o.Request.ID, func(g *confirm.Request) { g.Prompt = "write good" })
			assert.Empty(t, h.waiting(t), "and an edited one is not even shown: it could be put right again before the answer")
			_, err = h.Reveal(t.Context(), o.Request.ID)
			require.Error(t, err)
			o = h.call("write_note", `{"name":"evil"}`)
			h.edit(t, o.Request.ID, func(g *confirm.Request) { g.Prompt = "write good" })
			assert.NotEqual(t, o.Request.ID, h.call("write_note", `{"name":"evil"}`).Request.ID, "nor is a call handed it")
			require.Len(t, h.waiting(t), 1)
			_, err = h.Answer(t.Context(), confirm.Decision{ID: h.waiting(t)[0].ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
			require.NoError(t, h.call("write_note", `{"name":"evil"}`).Err)
			assert.EqualValues(t, 1, h.noteStore.writes.Load())
		})
	}
}
