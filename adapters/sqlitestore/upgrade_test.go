package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore/grantdb"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/porttest"
	"github.com/countersign-dev/countersign/ports"
)

// TestOlderDatabaseIsBroughtUpToDate: what the first schema holds is all there after an update, also when the first call only reads.
func TestOlderDatabaseIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	first, err := os.ReadFile("migrations/0001_store.sql")
	require.NoError(t, err)
	want, token := porttest.Grant(1)
	want.Scope, want.Risk = "", policy.RiskNone // it had none
	db := raw(t, path)
	do(t, db, string(first))
	digest := token.Digest()
	do(t, db, `INSERT INTO grants (digest, id, session, principal, tool, subject, args, mode, strength, target, prompt, plan, human_only,
		issued_at, expires_at, state, misses, answerer) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		digest[:], want.ID, want.Binding.Session, want.Binding.Principal, want.Binding.Tool, want.Binding.Subject[:], []byte(want.Args), int(want.Mode),
		int(want.Strength), want.Target, want.Prompt, []byte(want.Plan), 0, want.IssuedAt.UnixNano(), want.ExpiresAt.UnixNano(), 0, 0, "")
	do(t, db, "PRAGMA user_version = 1")
	require.NoError(t, db.Close())

	s := openAt(t, path)
	found, err := grantdb.New(s).Pending(t.Context(), ports.PendingFilter{}, want.IssuedAt)
	require.NoError(t, err)
	assert.Equal(t, []confirm.Grant{want}, found)
	require.NoError(t, grantdb.New(s).Settle(t.Context(), digest, func(g *confirm.Grant) error {
		g.Scope, g.Risk = "web build", policy.RiskHigh
		return g.Approve("terminal", "", want.IssuedAt.Add(time.Second))
	}))
	found, err = grantdb.New(s).Pending(t.Context(), ports.PendingFilter{}, want.IssuedAt)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "web build", found[0].Scope)
	assert.Equal(t, policy.RiskHigh, found[0].Risk)
}
