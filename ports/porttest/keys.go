package porttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/ports"
)

// Key returns the nth key of a test, with every field set.
func Key(n int) enrolled.Key {
	return enrolled.Key{Kind: enrolled.Passkey, Name: fmt.Sprintf("key %d – für alle", n), Owner: "local", Credential: fmt.Sprint("aGFuZGxl", n), Public: []byte{1, 0, 255, byte(n)},
		RPID: "localhost", Facts: enrolled.Facts{Verified: true, Backup: true, BackedUp: true, Model: "m", Transports: []string{"internal", "hybrid"}},
		EnrolledAt: time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.UTC), EnrolledBy: "terminal"}
}

// Keys runs the contract of ports.EnrolledKeys.
func Keys(t *testing.T, open func(testing.TB) ports.EnrolledKeys) {
	t.Run("KeepsEveryFieldInOrder", func(t *testing.T) {
		s := open(t)
		all, err := s.List(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all)
		require.ErrorIs(t, s.Remove(t.Context(), Key(1).ID()), enrolled.ErrMissing)
		require.NoError(t, s.Add(t.Context(), Key(2)))
		require.NoError(t, s.Add(t.Context(), Key(1)))
		all, err = s.List(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []enrolled.Key{Key(2), Key(1)}, all)
		all[0].Public[0]++
		again, err := s.List(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Key(2), again[0], "a copy")
	})
	t.Run("OneOfAHandle", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Add(t.Context(), Key(1)))
		other := Key(2)
		other.Credential = Key(1).Credential
		require.ErrorIs(t, s.Add(t.Context(), other), enrolled.ErrTaken)
		other.Kind, other.RPID = enrolled.SecurityKey, ""
		require.NoError(t, s.Add(t.Context(), other), "of another kind")
	})
	t.Run("Remove", func(t *testing.T) {
		s := open(t)
		for n := range 3 {
			require.NoError(t, s.Add(t.Context(), Key(n)))
		}
		require.NoError(t, s.Remove(t.Context(), Key(1).ID()))
		require.ErrorIs(t, s.Remove(t.Context(), Key(1).ID()), enrolled.ErrMissing)
		all, err := s.List(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []enrolled.Key{Key(0), Key(2)}, all)
		require.NoError(t, s.Add(t.Context(), Key(1)), "and again")
	})
	t.Run("EndedContextDoesNothing", func(t *testing.T) {
		s := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, s.Add(ctx, Key(1)))
		all, err := s.List(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all)
	})
}
