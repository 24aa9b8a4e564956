package local

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// TestAPersonSaysThatAnOwnerHasEnded: no agent is served that, whoever does it by hand is asked whatever policy says, one that is seen to live is not
// forgotten, and what is said counts for every process of the home.
func TestAPersonSaysThatAnOwnerHasEnded(t *testing.T) {
	dir := t.TempDir()
	open := func() *Local {
		l, err := Open(Config{Trust: noPolicy(t), Dir: dir, Toolsets: []string{"control"}, Options: app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.FullAccess}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	one, other := open(), open()
	const away = "7:100:another-start:4026531836:another-machine"
	call := func(of string) tool.Call {
		args, err := json.Marshal(map[string]string{"owner": owner.Name(of)})
		require.NoError(t, err)
		return tool.Call{Session: "cli", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: "forget_owner", Args: args}
	}
	assert.Equal(t, fault.Code("tool_unknown"), fault.From(one.Call(t.Context(), call(away)).Err).Code, "an agent calls")
	byHand := call(away)
	byHand.FromUser = true
	asked := one.Call(t.Context(), byHand)
	require.Equal(t, fault.Code("confirm_token_required"), fault.From(asked.Err).Code)
	assert.Equal(t, owner.Unknown, other.Judge(away))
	require.NoError(t, person.Call(t.Context(), one.App, call(away)).Err)
	assert.Equal(t, owner.Dead, other.Judge(away))
	assert.Empty(t, other.Elsewhere(away))
	all, err := other.Owners(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "local", all[0].By)

	require.NoError(t, system.NewLeases(filepath.Join(dir, "owners")).Renew(t.Context(), system.Owner{}.Self(), system.Clock{}.Now()))
	require.ErrorIs(t, person.Call(t.Context(), other.App, call(system.Owner{}.Self())).Err, owner.ErrAlive)
}
