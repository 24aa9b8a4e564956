package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

var _ ports.CombinedLoader = (*sqlitestore.Store)(nil)

// TestLoadBothIsNow: what another store of the same database has just saved shows, from the very first moment on.
func TestLoadBothIsNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	one, other := sqlitestore.Open(path), sqlitestore.Open(path)
	t.Cleanup(func() { require.NoError(t, one.Close()); require.NoError(t, other.Close()) })
	load := func(key string) (ports.Settings, ports.Session) {
		s, session, err := ports.LoadBoth(t.Context(), one, one.Sessions(), key)
		require.NoError(t, err)
		return s, session
	}
	settings, session := load("a")
	assert.Zero(t, settings.Revision, "there is no database yet")
	assert.Zero(t, session)
	for _, level := range []policy.Level{policy.ReadOnly, policy.FullAccess, policy.ExecuteWithConfirm} {
		settings.Level = level
		_, err := other.Save(t.Context(), settings)
		require.NoError(t, err)
		settings, session = load("a")
		assert.Equal(t, level, settings.Level)
		require.NoError(t, other.Sessions().Update(t.Context(), "a", func(s *ports.Session) error { s.Grant(porttest.Always(level.String())[0]); return nil }))
		_, session = load("a")
		assert.Contains(t, session.Granted, porttest.Always(level.String())[0])
		_, session = load("b")
		assert.Empty(t, session.Granted)
	}
}

// TestLoadBothOfTwoStores asks each for its own.
func TestLoadBothOfTwoStores(t *testing.T) {
	one := sqlitestore.Open(filepath.Join(t.TempDir(), "countersign.db"))
	t.Cleanup(func() { require.NoError(t, one.Close()) })
	require.NoError(t, one.Sessions().Update(t.Context(), "a", func(s *ports.Session) error { s.Mode = policy.Plan; return nil }))
	elsewhere := memstore.New().Sessions()
	require.NoError(t, elsewhere.Update(t.Context(), "a", func(s *ports.Session) error { s.Mode = policy.Ask; return nil }))
	_, session, err := ports.LoadBoth(t.Context(), one, elsewhere, "a")
	require.NoError(t, err)
	assert.Equal(t, policy.Ask, session.Mode)
}
