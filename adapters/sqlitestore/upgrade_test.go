package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// TestOlderDatabaseIsBroughtUpToDate: what the first schema holds is all there after an update, also when the first call only reads.
func TestOlderDatabaseIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	first, err := os.ReadFile("migrations/0001_store.sql")
	require.NoError(t, err)
	want, token := porttest.Grant(1)
	want.Scope, want.Risk, want.Exhibit, want.Place = "", policy.RiskNone, nil, "" // it had none
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
	found, err := sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, want.IssuedAt)
	require.NoError(t, err)
	assert.Equal(t, []confirm.Request{want}, found)
	require.NoError(t, sqlitestore.NewLedger(s).Settle(t.Context(), digest, func(g *confirm.Request) error {
		g.Scope, g.Risk = "web build", policy.RiskHigh
		return g.Approve("terminal", "", want.IssuedAt.Add(time.Second))
	}))
	found, err = sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, want.IssuedAt)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "web build", found[0].Scope)
	assert.Equal(t, policy.RiskHigh, found[0].Risk)
}

// TestADatabaseWithoutCredentialsIsBroughtUpToDate: the fourth schema had none; what it holds stays, and credentials find their place. A look for
// one does it as well, and to a program that knows the fourth schema the database is too new.
func TestADatabaseWithoutCredentialsIsBroughtUpToDate(t *testing.T) {
	for name, first := range map[string]func(*testing.T, *sqlitestore.Credentials){
		"reading": func(t *testing.T, c *sqlitestore.Credentials) {
			_, err := c.Find(t.Context(), access.DigestOf("x"))
			require.ErrorIs(t, err, access.ErrUnknown)
		},
		"writing": func(*testing.T, *sqlitestore.Credentials) {},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			db := raw(t, path)
			for _, script := range []string{"0001_store", "0002_runs", "0003_projects", "0004_sealed"} {
				body, err := os.ReadFile("migrations/" + script + ".sql")
				require.NoError(t, err)
				do(t, db, string(body))
			}
			do(t, db, `INSERT INTO settings (one, revision, body) VALUES (1, 1, CAST('{"revision":1,"permission_level":"read_only"}' AS BLOB))`)
			do(t, db, "PRAGMA user_version = 4")
			require.NoError(t, db.Close())

			s := openAt(t, path)
			credentials := sqlitestore.NewCredentials(s)
			first(t, credentials)
			require.NoError(t, credentials.Add(t.Context(), porttest.Credential(1)))
			got, err := credentials.Find(t.Context(), porttest.Credential(1).Digest)
			require.NoError(t, err)
			assert.Equal(t, porttest.Credential(1), got)
			settings, err := s.Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, policy.ReadOnly, settings.Level)
			var version int
			require.NoError(t, raw(t, path).QueryRow("PRAGMA user_version").Scan(&version))
			scripts, err := os.ReadDir("migrations")
			require.NoError(t, err)
			assert.Equal(t, len(scripts), version)
		})
	}
}
