package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

func formsOn(s *app.Settings) error {
	s.Forms = []string{"some-host"}
	return nil
}

// TestAFormAnswersWhereAPersonSwitchedItOn, for that host entry, and for little; a denial by a form needs no less.
func TestAFormAnswersWhereAPersonSwitchedItOn(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		how            func(h *fixture)
		change         func(*app.Settings) error
		tool, args     string
		asks, answered string // host entries
		counts         bool
	}{
		"switched on":                 {nil, formsOn, "write_note", `{"name":"a"}`, "some-host", "some-host", true},
		"nobody switched it on":       {nil, nil, "write_note", `{"name":"a"}`, "some-host", "some-host", false},
		"asked from nowhere":          {nil, formsOn, "write_note", `{"name":"a"}`, "", "some-host", false},
		"asked from elsewhere":        {nil, formsOn, "write_note", `{"name":"a"}`, "other", "some-host", false},
		"answered from elsewhere":     {nil, formsOn, "write_note", `{"name":"a"}`, "some-host", "other", false},
		"a name has to be typed":      {nil, formsOn, "write_note", `{"name":"precious"}`, "some-host", "some-host", false},
		"what opens something":        {nil, formsOn, "set_mode", `{"mode":"execute"}`, "some-host", "some-host", false},
		"a row that somebody edited":  {func(h *fixture) { save(t, h.store, "some-host") }, nil, "write_note", `{"name":"a"}`, "some-host", "some-host", false},
		"not below the account's own": {func(h *fixture) { h.core.Account = memstore.New() }, formsOn, "write_note", `{"name":"a"}`, "some-host", "some-host", false},
		"below the account's own, too": {func(h *fixture) { h.core.Account = save(t, memstore.New(), "some-host") }, formsOn,
			"write_note", `{"name":"a"}`, "some-host", "some-host", true},
		"a proof is required": {nil, func(s *app.Settings) error {
			s.Require = map[string]policy.Proving{"write_note": policy.ProvingPerson}
			return formsOn(s)
		}, "write_note", `{"name":"a"}`, "some-host", "some-host", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, human, func(o *app.Options) { o.Policy.Mode = policy.Plan })
			if c.how != nil {
				c.how(h)
				var err error
				h.App, err = app.New(h.core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm, Mode: policy.Plan, Approval: policy.ApprovalHuman}}, h.caps...)
				require.NoError(t, err)
			}
			if c.change != nil {
				person.Settings(t, h.App, c.change)
			}
			asked := h.call(c.tool, c.args, func(call *tool.Call) { call.Entry, call.Mode = c.asks, policy.Execute })
			require.NotNil(t, asked.Request, "%v", asked.Err)
			for _, approve := range []bool{false, true} {
				if c.counts && !approve {
					continue
				}
				_, err := h.Answer(ctx, confirm.Decision{ID: asked.Request.ID, Approve: approve, By: "form", Proof: confirm.Proof{Surface: confirm.SurfaceForm, Entry: c.answered}})
				if c.counts {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, confirm.ErrProof)
			}
			still, err := h.ApprovalPending(ctx, asked.Request.ID)
			require.NoError(t, err)
			assert.Equal(t, !c.counts, still, "what does not count answers nothing")
		})
	}
}

// save edits the settings of a store, without the core.
func save(t *testing.T, store *memstore.Store, entry string) *memstore.Store {
	_, err := store.Save(t.Context(), ports.Settings{Forms: []string{entry}})
	require.NoError(t, err)
	return store
}
