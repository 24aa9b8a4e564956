package control_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestWhatComesOfAConfirmation: the result is the denied request, or exactly the result of the repeated call.
func TestWhatComesOfAConfirmation(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	denied := confirm.View{ID: "cf_1", Tool: "deploy_apply", State: confirm.Denied.String(), PlanHash: canon.SumBytes("plan", nil), IssuedAt: at, ExpiresAt: at}
	cancelled := control.AmofCancelled{Status: "cancelled", Tool: "amof_push_ecosystem"}
	other := json.RawMessage(`{"id":"cf_1","state":"denied","status":"cancelled"}`)
	again[control.ConfirmAnswer](t, denied, control.ConfirmAnswer{Denied: &denied})
	again[control.ConfirmAnswer](t, other, control.ConfirmAnswer{Value: other})
	again[control.AmofConfirmed](t, cancelled, control.AmofConfirmed{Cancelled: &cancelled})
	again[control.AmofConfirmed](t, other, control.AmofConfirmed{Value: other})
}

func again[T any](t *testing.T, form any, answer T) {
	t.Helper()
	want, err := tool.Encode(form)
	require.NoError(t, err)
	doc, err := tool.Encode(answer)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(doc))
	var back T
	require.NoError(t, json.Unmarshal(doc, &back))
	assert.Equal(t, answer, back)
}
