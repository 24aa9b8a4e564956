package present_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// outcomes returns every shape an outcome can have, the same for all contracts.
func outcomes() map[string]tool.Outcome {
	err := func(k fault.Kind, code fault.Code, details any) tool.Outcome {
		return tool.Outcome{Err: fault.New(k, code, "the message").WithDetails(details), RequestID: json.RawMessage(`7`)}
	}
	issued := &tool.ApprovalRequest{ID: "cf_aaaaaaaaaa", Token: confirm.NewToken("3f0c8b1e-token"), Tool: "burn", Strength: policy.Typed, Prompt: "burn it",
		Target: "it", PlanHash: canon.SumBytes("t", nil), Plan: json.RawMessage(`{"burns":["it"]}`), ExpiresAt: time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC)}
	unconfirmed := err(fault.Unconfirmed, "confirm_token_required", nil)
	unconfirmed.Request = issued
	human := err(fault.Unconfirmed, "confirm_token_required", nil)
	byPerson := *issued
	byPerson.Token, byPerson.Pending = confirm.Token{}, true
	human.Request = &byPerson
	explained := err(fault.Denied, "mode_forbids", nil)
	explained.Explained, explained.Value = true, json.RawMessage(`{"burns":["it"]}`)
	return map[string]tool.Outcome{
		"success":     {Value: json.RawMessage(`{"a":1}`), RequestID: json.RawMessage(`7`)},
		"text":        {Text: "# Title\n"},
		"dry_run":     {Value: json.RawMessage(`{"burns":["it"]}`), DryRun: true},
		"denied":      err(fault.Denied, "policy_denied", nil),
		"explained":   explained,
		"unconfirmed": unconfirmed,
		"human":       human,
		"expired":     err(fault.Unconfirmed, "confirm_token_expired", nil),
		"not_found":   err(fault.NotFound, "pack_not_found", nil),
		"conflict":    err(fault.Conflict, "plan_stale", map[string]int{"actual": 4}),
		"internal":    err(fault.Internal, "internal", nil),
		"no_contract": err(fault.NotFound, "tool_unknown", nil),
	}
}

func TestEveryOutcomeOfTheControlContract(t *testing.T) {
	for name, o := range outcomes() {
		t.Run(name, func(t *testing.T) {
			d := present.For(present.Control)(o)
			exit := 0
			if d.Fail {
				exit = present.ExitCode(d.Kind)
			}
			golden.JSON(t, "control/"+name, map[string]any{"text": d.Text, "body": d.Body, "object": d.Object, "fail": d.Fail, "exit": exit})
			assert.True(t, json.Valid(d.Body))
			assert.Equal(t, o.Err != nil, d.Fail)
		})
	}
}

func TestExitCodes(t *testing.T) {
	for kind, want := range map[fault.Kind]int{fault.Internal: 1, fault.Invalid: 2, fault.NotFound: 3, fault.Conflict: 4, fault.State: 4,
		fault.Denied: 5, fault.Unconfirmed: 6, fault.Unavailable: 7, fault.Timeout: 7, fault.Canceled: 130} {
		assert.Equal(t, want, present.ExitCode(kind), kind)
	}
}

// TestCodesMapped feeds every error code of the catalogue to every contract: none may fall out of a contract's vocabulary.
func TestCodesMapped(t *testing.T) {
	catalogue, err := os.ReadFile("../../internal/testkit/archtest/testdata/codes.golden")
	require.NoError(t, err)
	kinds := map[string]fault.Kind{}
	for k := fault.Internal; k <= fault.Canceled; k++ {
		kinds[strings.ReplaceAll(k.String(), "_", "")] = k
	}
	packKinds := []string{"validation", "not_found", "conflict", "invalid_state", "stale_ref", "io_error", "migration_required"} // context-pack contract
	n := 0
	for line := range strings.Lines(string(catalogue)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		kind, ok := kinds[strings.ToLower(fields[1])]
		require.True(t, ok, "kind %s of %s", fields[1], fields[0])
		o := tool.Outcome{Err: fault.New(kind, fault.Code(fields[0]), "the message")}
		var pack struct{ Kind, Code, Message string }
		d := present.For(present.ContextPack)(o)
		require.NoError(t, json.Unmarshal(d.Body, &pack))
		assert.Contains(t, packKinds, pack.Kind, fields[0])
		assert.NotEmpty(t, pack.Code, fields[0])
		var own struct{ Kind, Code string }
		require.NoError(t, json.Unmarshal(present.For(present.Control)(o).Body, &own))
		assert.Equal(t, fields[0], own.Code)
		assert.Equal(t, kind.String(), own.Kind)
	}
	assert.Greater(t, n, 50, "the catalogue was read")
}

// TestAnAnswerSaysWhenNoPersonIsAsked: beside itself, in whatever contract, which stays as it is.
func TestAnAnswerSaysWhenNoPersonIsAsked(t *testing.T) {
	for _, contract := range []tool.Contract{present.Control, present.ContextPack, present.Agentpack, present.Packageflow, present.Opencode, present.Amof, "none"} {
		for name, o := range outcomes() {
			o.Spec.Contract = contract
			asked := present.For(contract)(o)
			assert.NotContains(t, string(asked.Meta), present.MetaApproval)
			o.Unasked = true
			d := present.For(contract)(o)
			var meta, before map[string]any
			require.NoError(t, json.Unmarshal(d.Meta, &meta), "%s %s: %s", contract, name, d.Meta)
			assert.Equal(t, "caller", meta[present.MetaApproval])
			delete(meta, present.MetaApproval)
			if len(asked.Meta) > 0 {
				require.NoError(t, json.Unmarshal(asked.Meta, &before))
				assert.Equal(t, before, meta)
			}
			d.Meta, asked.Meta = nil, nil
			assert.Equal(t, asked, d)
		}
	}
}
