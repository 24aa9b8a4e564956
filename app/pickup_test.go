package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// TestWhatIsPickedUp: the question of a session that has gone is picked up by the same call of the same host entry alone, and an approval of it as far as
// the answer is on record.
func TestWhatIsPickedUp(t *testing.T) {
	ctx := t.Context()
	from := func(session, entry string) func(*tool.Call) {
		return func(c *tool.Call) { c.Session, c.Entry = session, entry }
	}
	h := open(t, human)
	asked := h.call("write_note", `{"name":"a"}`, from("first", "editor"))
	require.NotNil(t, asked.Request)
	require.NoError(t, h.EndSession(ctx, me.ID, "first"))
	for name, other := range map[string]func(*tool.Call){"host entry": from("second", "other"), "no host entry": from("third", "")} {
		assert.NotEqual(t, asked.Request.ID, h.call("write_note", `{"name":"a"}`, other).Request.ID, name)
	}
	assert.NotEqual(t, asked.Request.ID, h.call("write_note", `{"name":"b"}`, from("fourth", "editor")).Request.ID, "other arguments")
	again := h.call("write_note", `{"name":"a"}`, from("fifth", "editor"))
	require.Equal(t, asked.Request.ID, again.Request.ID)

	// Somebody edits the row, without the core.
	require.NoError(t, h.EndSession(ctx, me.ID, "fifth"))
	require.NoError(t, h.store.Settle(ctx, again.Request.Digest, func(g *confirm.Request) error {
		g.State, g.Answerer = confirm.Approved, "terminal"
		return nil
	}))
	edited := h.call("write_note", `{"name":"a"}`, from("sixth", "editor"))
	assert.Equal(t, "confirm_token_required", code(edited), "nobody has said so")
	assert.Zero(t, h.noteStore.writes.Load())

	// A user says so.
	asked = h.call("write_note", `{"name":"c"}`, from("seventh", "editor"))
	require.NoError(t, h.EndSession(ctx, me.ID, "seventh"))
	_, err := h.Answer(ctx, confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("write_note", `{"name":"c"}`, from("eighth", "editor")).Err)
	assert.EqualValues(t, 1, h.noteStore.writes.Load())
}
