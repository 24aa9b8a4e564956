package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// TestTheClockIsSetBack: an hour that comes twice lets nothing run twice, brings no question back that was answered, and takes no answer away.
func TestTheClockIsSetBack(t *testing.T) {
	h := open(t, human)
	says := func(yes bool) {
		waits := h.waiting(t)
		require.Len(t, waits, 1)
		_, err := h.Answer(context.Background(), confirm.Decision{ID: waits[0].ID, Approve: yes, By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
	}
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))))
	h.clock.Advance(-time.Hour)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))), "the question is still that question")
	says(true)
	h.clock.Advance(-time.Hour)
	require.NoError(t, h.call("write_note", note(1)).Err, "the answer counts")
	h.clock.Advance(-time.Hour)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))), "once")
	says(false)
	h.clock.Advance(-time.Hour)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))), "a no is no yes an hour earlier")
	assert.Len(t, h.waiting(t), 1)
	says(true)
	h.clock.Advance(2 * time.Hour)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))), "an approval that no call uses lapses")
	h.clock.Advance(-90 * time.Minute)
	_, err := h.VerifyAudit(context.Background())
	require.NoError(t, err, "the record is in the order of what happened")
}
