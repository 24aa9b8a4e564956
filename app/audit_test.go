package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

func TestTheAuditTrailIsReadPageByPage(t *testing.T) {
	h, ctx := open(t), context.Background()
	for range 2500 {
		require.NoError(t, h.store.Append(ctx, audit.Event{Tool: "x"}))
	}
	var seqs []int64
	for r, err := range h.AuditTrail(ctx, 400) {
		require.NoError(t, err)
		seqs = append(seqs, r.Seq)
	}
	assert.Len(t, seqs, 2100)
	assert.EqualValues(t, 401, seqs[0])
	assert.True(t, slices.IsSorted(seqs))
	for range h.AuditTrail(ctx, 0) {
		break // a reader may stop
	}
	n, err := h.VerifyAudit(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 2500, n)
	tail, err := h.AuditTail(ctx, 2)
	require.NoError(t, err)
	assert.EqualValues(t, 2499, tail[0].Seq)

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = h.VerifyAudit(stopped)
	assert.Error(t, err, "what cannot be read does not count as intact")
}

func TestSettingsNarrowWhatIsBuiltIn(t *testing.T) {
	h := open(t, func(o *app.Options) {
		o.Policy.Tools = map[string]policy.Setting{"burn_note": policy.Blocked}
	})
	saved := person.Settings(t, h.App, func(s *app.Settings) error {
		s.Level = policy.FullAccess
		s.Tools["scribble"] = policy.Blocked
		return nil
	})
	assert.EqualValues(t, 1, saved.Revision)
	assert.Equal(t, map[string]policy.Setting{"scribble": policy.Blocked}, saved.Tools)
	assert.Equal(t, "policy_denied", code(h.call("burn_note", `{"name":"a"}`)), "what is blocked in code stays blocked")
	assert.Equal(t, "policy_denied", code(h.call("scribble", `{"name":"a"}`)))
	require.NoError(t, h.call("write_note", `{"name":"a"}`).Err)

	records, err := h.AuditSearch(t.Context(), audit.Filter{Tool: "change_settings"})
	require.NoError(t, err)
	slices.Reverse(records)
	records = slices.DeleteFunc(records, func(r audit.Record) bool { return r.Event.Code != "" }) // the call that asked is on record at some time
	require.Len(t, records, 3)
	assert.Equal(t, []audit.Phase{audit.Answer, audit.Intent, audit.Outcome}, []audit.Phase{records[0].Event.Phase, records[1].Event.Phase, records[2].Event.Phase})
	assert.Equal(t, "terminal", records[0].Event.Surface)
	assert.Contains(t, string(records[0].Event.Proof), "tester")
	assert.Contains(t, string(records[1].Event.Args), "full_access")
}

func TestSettingsThatAreNotChangedStayAsTheyWere(t *testing.T) {
	h, ctx := open(t), context.Background()
	refused := errors.New("no")
	_, err := h.SettingsCall(ctx, func(*app.Settings) error { return refused })
	require.ErrorIs(t, err, refused)
	late, err := h.SettingsCall(ctx, func(s *app.Settings) error {
		s.Level = policy.FullAccess
		return nil
	})
	require.NoError(t, err)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.Level = policy.ReadOnly
		return nil
	})
	require.ErrorIs(t, person.Call(ctx, h.App, late).Err, ports.ErrSettingsConflict, "of two changes at once the second loses")
	now, err := h.Settings(ctx)
	require.NoError(t, err)
	assert.Equal(t, policy.ReadOnly, now.Level)
}

// TestARowThatSomebodyEditedOpensNothing: settings count as far as a change of them is on record; what they narrow counts all the same.
func TestARowThatSomebodyEditedOpensNothing(t *testing.T) {
	h := open(t, human)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.Tools["scribble"] = policy.Blocked
		return nil
	})
	forged, err := h.store.Load(t.Context())
	require.NoError(t, err)
	forged.Level, forged.Approval = policy.FullAccess, policy.ApprovalCaller
	_, err = h.store.Save(t.Context(), forged)
	require.NoError(t, err)
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", `{"name":"a"}`)))
	assert.Equal(t, "policy_denied", code(h.call("scribble", `{"name":"a"}`)))
	in, err := h.PolicyInForce(t.Context())
	require.NoError(t, err)
	assert.False(t, in.Approval.ByCaller())
	assert.NotEmpty(t, in.Wider)

	// Nor does the next change make it count, however little that changes itself.
	c, err := h.SettingsCall(t.Context(), func(s *app.Settings) error {
		s.Tools["read_note"] = policy.AlwaysConfirm
		return nil
	})
	require.NoError(t, err)
	c.Session, c.Principal = "cli", me
	o := h.App.Call(t.Context(), c)
	require.NotNil(t, o.Request, "a person is asked about all that it opens: %v", o.Err)
	assert.Contains(t, o.Request.Prompt, "full_access")
	assert.Contains(t, string(o.Request.Plan), "the user is no longer asked")
}

// TestOneBadCallCostsNobodysRecord: arguments that are no JSON are refused, and neither their record nor that of any call beside them is lost; and a
// secret that was sent as the name of a tool is masked.
func TestOneBadCallCostsNobodysRecord(t *testing.T) {
	h := open(t)
	for _, args := range []string{"{", "{} {}", "[", "\xff", "{\"a\":\xff}"} {
		require.NoError(t, h.call("read_note", `{"name":"before"}`).Err)
		require.Error(t, h.call("read_note", args).Err, "%q", args)
		require.NoError(t, h.call("read_note", `{"name":"after"}`).Err)
	}
	require.Error(t, h.call(secret(), `{}`).Err)
	require.Error(t, h.call(strings.Repeat("long", 1000), `{}`).Err)
	require.NoError(t, h.App.Close(context.Background()))
	records, err := h.store.Records(context.Background(), 0, 100)
	require.NoError(t, err)
	assert.Len(t, records, 17)
	doc, err := json.Marshal(records)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), secret())
	assert.LessOrEqual(t, len(records[16].Event.Tool), 64)
}
