package present_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/packport"
)

func TestEveryOutcomeOfTheContextPackContract(t *testing.T) {
	all := outcomes()
	all["input"] = tool.Outcome{Value: json.RawMessage(`{"action":"get","payload":{"title":"a<b"}}`)}
	all["revision"] = tool.Outcome{RequestID: json.RawMessage(`"abc"`), Err: pack.ErrRevision.WithDetails(pack.RevisionConflict{
		ExpectedRevision: 3, ActualRevision: 5, CurrentRevision: 5, LastUpdatedAt: "2026-03-01T09:00:00Z", ChangedSectionKeys: []pack.Key{"flow"}, Guidance: "get it again",
	})}
	for name, o := range all {
		t.Run(name, func(t *testing.T) {
			d := present.For(present.ContextPack)(o)
			golden.JSON(t, "contextpack/"+name, map[string]any{"text": d.Text, "body": d.Body, "object": d.Object, "fail": d.Fail, "exit": present.ExitCode(d.Kind)})
			assert.True(t, json.Valid(d.Body))
			assert.Equal(t, o.Err != nil, d.Fail)
			assert.Nil(t, d.Object, "the contract has no structured content")
			if d.Fail {
				assert.JSONEq(t, d.Text, string(d.Body))
			}
		})
	}
}

// TestContextPackCodes is the kind and code of every failure that packs know, in the contract's words, and of every kind there is.
func TestContextPackCodes(t *testing.T) {
	for err, want := range map[*fault.Error]string{
		pack.ErrValue: "validation/invalid_data", pack.ErrNotFound: "not_found/not_found", pack.ErrTarget: "not_found/not_found",
		pack.ErrRevision: "conflict/revision_conflict", pack.ErrNameTaken: "conflict/conflict", pack.ErrAmbiguous: "conflict/conflict", pack.ErrExists: "conflict/conflict",
		pack.ErrFinalized: "invalid_state/invalid_state", pack.ErrEmpty: "invalid_state/invalid_state", pack.ErrStale: "invalid_state/invalid_state",
		pack.ErrStatus: "invalid_state/invalid_state", pack.ErrMalformed: "io_error/io_error", pack.ErrSchema: "migration_required/migration_required",
		packport.ErrMissing: "stale_ref/stale_ref", packport.ErrOutside: "validation/invalid_data", packport.ErrDirectory: "io_error/io_error",
		packport.ErrNotFile: "io_error/io_error", packport.ErrNotText: "io_error/io_error", packport.ErrDenied: "io_error/io_error",
		fault.New(fault.Internal, "x", "x"): "io_error/io_error", fault.New(fault.Invalid, "x", "x"): "validation/invalid_data",
		fault.New(fault.NotFound, "x", "x"): "not_found/not_found", fault.New(fault.Conflict, "x", "x"): "conflict/conflict",
		fault.New(fault.State, "x", "x"): "invalid_state/invalid_state", fault.New(fault.Denied, "policy_denied", "x"): "invalid_state/policy_denied",
		fault.New(fault.Unconfirmed, "confirm_token_required", "x"): "invalid_state/confirm_token_required",
		fault.New(fault.Unavailable, "x", "x"):                      "io_error/io_error", fault.ErrTimeout: "io_error/timeout", fault.ErrCanceled: "io_error/canceled",
	} {
		d := present.For(present.ContextPack)(tool.Outcome{Err: err.WithMessage("what is wrong")})
		var f struct {
			Error      bool
			Kind, Code string
			Message    string
			RequestID  any `json:"request_id"`
			Details    any
		}
		require.NoError(t, json.Unmarshal(d.Body, &f))
		assert.Equal(t, want, f.Kind+"/"+f.Code, err.Code)
		assert.Equal(t, "what is wrong", f.Message)
		assert.True(t, f.Error)
		assert.Equal(t, err.Kind, d.Kind)
	}
}
