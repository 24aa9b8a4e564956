package porttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/ports"
)

// DatedGrant returns the nth dated grant of a test: each is a second younger than the one before.
func DatedGrant(n int) confirm.Dated {
	at := time.Date(2026, time.January, 2, 3, 4, 5, 678, time.UTC).Add(time.Duration(n) * time.Second)
	return confirm.Dated{ID: fmt.Sprintf("cf_%08d", n), Tool: "run_script", Scope: "shop/é@1", Content: canon.SumBytes("test", []byte{byte(n)}), Args: confirm.ArgsSum([]byte(`{"a":1}`)),
		Principal: "local", Entry: "codex", AnyEntry: n%2 == 0, What: "run it", By: "terminal", User: "me", At: at, Until: at.Add(time.Hour)}
}

// DatedGrants runs the contract of ports.DatedGrants.
func DatedGrants(t *testing.T, open func(testing.TB) ports.DatedGrants) {
	for name, test := range map[string]func(*testing.T, ports.DatedGrants){
		"Empty": func(t *testing.T, s ports.DatedGrants) {
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.Empty(t, all)
			require.ErrorIs(t, s.Remove(t.Context(), "cf_none"), confirm.ErrNoSessionGrant)
			require.ErrorIs(t, s.Change(t.Context(), "cf_none", func(*confirm.Dated) error { return nil }), confirm.ErrNoSessionGrant)
		},
		"KeepsInOrder": func(t *testing.T, s ports.DatedGrants) {
			for _, n := range []int{2, 1, 3} {
				require.NoError(t, s.Add(t.Context(), DatedGrant(n)))
			}
			require.Error(t, s.Add(t.Context(), DatedGrant(1)), "an id that exists")
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []confirm.Dated{DatedGrant(1), DatedGrant(2), DatedGrant(3)}, all)
			for i, d := range all {
				assert.Equal(t, DatedGrant(i+1).Rule(), d.Rule(), "what it says is what was put there")
			}
			require.NoError(t, s.Remove(t.Context(), DatedGrant(2).ID))
			require.ErrorIs(t, s.Remove(t.Context(), DatedGrant(2).ID), confirm.ErrNoSessionGrant)
			all, err = s.List(t.Context())
			require.NoError(t, err)
			assert.Len(t, all, 2)
		},
		"FailureStoresNothing": func(t *testing.T, s ports.DatedGrants) {
			require.NoError(t, s.Add(t.Context(), DatedGrant(1)))
			failure := errors.New("no")
			require.ErrorIs(t, s.Change(t.Context(), DatedGrant(1).ID, func(d *confirm.Dated) error { d.Uses = 9; return failure }), failure)
			require.NoError(t, s.Change(t.Context(), DatedGrant(1).ID, func(d *confirm.Dated) error { d.ID = "cf_other"; return nil }))
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []confirm.Dated{DatedGrant(1)}, all)
		},
		"NoUseIsLost": func(t *testing.T, s ports.DatedGrants) {
			require.NoError(t, s.Add(t.Context(), DatedGrant(1)))
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					assert.NoError(t, s.Change(t.Context(), DatedGrant(1).ID, func(d *confirm.Dated) error { d.Uses++; return nil }))
				})
			}
			group.Wait()
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 8, all[0].Uses)
		},
		"EndedContextDoesNothing": func(t *testing.T, s ports.DatedGrants) {
			ctx := ended(t)
			require.Error(t, s.Add(ctx, DatedGrant(1)))
			require.Error(t, s.Remove(ctx, DatedGrant(1).ID))
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.Empty(t, all)
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}
