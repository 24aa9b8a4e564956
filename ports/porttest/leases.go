package porttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/ports"
)

// Leases runs the contract of ports.Leases. open is the same leases twice, as two processes have them.
func Leases(t *testing.T, open func(testing.TB) (one, other ports.Leases)) {
	const a, b = "7:100:boot-1:4026531836:m1", "1:5:boot-1:4026532999:m1@c1"
	now := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

	t.Run("OneSeesWhatTheOtherRenewed", func(t *testing.T) {
		one, other := open(t)
		found, err := other.Find(t.Context(), owner.Name(a))
		require.NoError(t, err)
		assert.Equal(t, owner.Lease{Name: owner.Name(a)}, found)
		require.NoError(t, one.Renew(t.Context(), a, now))
		require.NoError(t, one.Renew(t.Context(), b, now))
		require.NoError(t, one.Renew(t.Context(), a, now.Add(owner.RenewalInterval)))
		found, err = other.Find(t.Context(), owner.Name(a))
		require.NoError(t, err)
		assert.Equal(t, owner.Lease{Name: owner.Name(a), Owner: a, RenewedAt: now.Add(owner.RenewalInterval)}, found)
		all, err := other.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		assert.Less(t, all[0].Name, all[1].Name)
		assert.Contains(t, all, found)
	})
	t.Run("WhoEndsLeavesNothing", func(t *testing.T) {
		one, other := open(t)
		require.NoError(t, one.Release(t.Context(), a), "there is none")
		require.NoError(t, one.Renew(t.Context(), a, now))
		require.NoError(t, one.Release(t.Context(), a))
		all, err := other.List(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all)
	})
	t.Run("APersonsWordStays", func(t *testing.T) {
		one, other := open(t)
		require.NoError(t, one.Renew(t.Context(), a, now))
		said, err := other.Forget(t.Context(), owner.Name(a), "terminal", now)
		require.NoError(t, err)
		assert.Equal(t, owner.Lease{Name: owner.Name(a), Owner: a, RenewedAt: now, Forgotten: now, By: "terminal"}, said)
		require.NoError(t, one.Renew(t.Context(), a, now.Add(time.Hour)), "it was not gone at all")
		again, err := one.Forget(t.Context(), owner.Name(a), "another", now.Add(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, now, again.Forgotten)
		assert.Equal(t, "terminal", again.By)
		require.NoError(t, one.Release(t.Context(), a))
		found, err := other.Find(t.Context(), owner.Name(a))
		require.NoError(t, err)
		assert.Equal(t, owner.Lease{Name: owner.Name(a), Owner: a, Forgotten: now, By: "terminal"}, found)
	})
	t.Run("OfOneThatLeftNoLease", func(t *testing.T) {
		one, other := open(t)
		_, err := one.Forget(t.Context(), owner.Name(b), "terminal", now)
		require.NoError(t, err)
		all, err := other.List(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []owner.Lease{{Name: owner.Name(b), Forgotten: now, By: "terminal"}}, all)
	})
	t.Run("OnlyNames", func(t *testing.T) {
		one, _ := open(t)
		for _, bad := range []string{"", a, "../../etc/abc", "ABCDEFABCDEF"} {
			_, err := one.Find(t.Context(), bad)
			require.ErrorIs(t, err, owner.ErrName, "%q", bad)
			_, err = one.Forget(t.Context(), bad, "terminal", now)
			require.ErrorIs(t, err, owner.ErrName, "%q", bad)
		}
	})
	t.Run("EndedContextDoesNothing", func(t *testing.T) {
		one, other := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, one.Renew(ctx, a, now), context.Canceled)
		_, err := one.Forget(ctx, owner.Name(a), "terminal", now)
		require.ErrorIs(t, err, context.Canceled)
		all, err := other.List(t.Context())
		require.NoError(t, err)
		assert.Empty(t, all)
	})
}
