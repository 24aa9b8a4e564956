package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

func autoApproved(o *app.Options) {
	o.Policy.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"run_script"}}
}

func atTerminal(id string, revealed bool) confirm.Decision {
	return confirm.Decision{ID: id, Approve: true, By: "terminal", Proof: confirm.Proof{Surface: confirm.SurfaceTerminal}, Revealed: revealed}
}

// TestAMaskedPayloadIsRevealedBeforeItIsApproved: it is never approved in advance, never unseen, and only that very plan is revealed.
func TestAMaskedPayloadIsRevealedBeforeItIsApproved(t *testing.T) {
	h, w := openWorkshop(t, human, autoApproved)
	w.command["build"] = "deploy --token " + secret()
	asked := h.call("run_script", `{"script":"build"}`)
	require.NotNil(t, asked.Request, "in spite of auto-approval")
	assert.Equal(t, "high", asked.Request.Risk)
	assert.Equal(t, confirm.Redacted{Masked: 1, MustReveal: true}, asked.Request.Redacted)
	assert.Contains(t, asked.Request.Prompt, "must be revealed before you approve")
	v := h.waiting(t)[0]
	assert.Equal(t, asked.Request.Redacted, v.Redacted)
	assert.False(t, v.AllowsSessionGrant())
	assert.NotContains(t, string(v.Plan), secret())

	_, err := h.Answer(t.Context(), atTerminal(v.ID, false))
	require.ErrorIs(t, err, confirm.ErrReveal)
	for _, way := range []string{"countersign approve " + v.ID + " --reveal", "the key r", "console"} {
		assert.ErrorContains(t, err, way)
	}
	assert.Equal(t, "pending", h.waiting(t)[0].State, "it can still be answered")

	bare, err := h.Reveal(t.Context(), v.ID)
	require.NoError(t, err)
	assert.JSONEq(t, `{"script":"build","command":"deploy --token `+secret()+`"}`, string(bare.Plan))
	assert.True(t, bare.Revealed)
	assert.Equal(t, v.PlanHash, bare.PlanHash)
	stored := h.waiting(t)[0]
	assert.NotContains(t, string(stored.Plan), secret(), "it is shown, and stored nowhere")

	w.command["build"] = "deploy --token " + secret() + " --force"
	_, err = h.Reveal(t.Context(), v.ID)
	require.ErrorIs(t, err, confirm.ErrMismatch)
	assert.NotContains(t, err.Error(), secret())
	w.command["build"] = "deploy --token " + secret()
	_, err = h.Answer(t.Context(), atTerminal(v.ID, true))
	require.NoError(t, err)
	require.NoError(t, h.call("run_script", `{"script":"build"}`).Err)
	assert.Equal(t, []string{"build"}, w.ran)

	_, err = h.Reveal(t.Context(), "cf_none")
	require.ErrorIs(t, err, confirm.ErrNotFound)
}

// TestAHarmlessMaskStays: it is counted, and needs nothing.
func TestAHarmlessMaskStays(t *testing.T) {
	h, w := openWorkshop(t, human)
	w.knows["x"] = policy.Assessment{}
	asked := h.call("write_note", `{"name":"a","text":"`+secret()+`"}`)
	require.NotNil(t, asked.Request)
	assert.Equal(t, confirm.Redacted{Masked: 2}, asked.Request.Redacted, "in the plan, and in the arguments")
	_, err := h.Answer(t.Context(), atTerminal(asked.Request.ID, false))
	require.NoError(t, err)
}

// TestHiddenCharactersAreNeverApprovedInAdvance: neither by a setting nor by an "always" that was said before they were there.
func TestHiddenCharactersAreNeverApprovedInAdvance(t *testing.T) {
	h, w := openWorkshop(t, autoApproved)
	w.command["build"] = "vite build"
	require.NoError(t, h.call("run_script", `{"script":"build"}`).Err, "it is approved in advance")
	for _, command := range []string{"vite \u202ebuild", "v\u0456te build", "vite\rbuild", "vite\u200b build"} {
		w.command["build"] = command
		asked := h.call("run_script", `{"script":"build"}`)
		require.NotNil(t, asked.Request, "%q", command)
		assert.Equal(t, "high", asked.Request.Risk)
		assert.Contains(t, asked.Request.Prompt, "in command")
	}
	w.command["build"] = "echo 👩\u200d💻\r\n"
	require.NoError(t, h.call("run_script", `{"script":"build"}`).Err, "shown, and harmless")

	beside := &picture{Name: "sea", shows: map[string]string{"unified": "+\u202e"}}
	h = openWith(t, []tool.Capability{gallery(beside, false)}, human)
	asked := h.call("hang", `{"name":"sea"}`)
	require.NotNil(t, asked.Request)
	assert.Equal(t, "high", asked.Request.Risk, "what people see beside the plan counts")
	assert.Contains(t, asked.Request.Prompt, "U+202E in unified")
}
