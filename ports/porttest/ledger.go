// Package porttest is the conformance suites for the ports of package ports, one for each port, with benchmarks. Every adapter runs them. A suite opens an
// adapter for each case; the adapter closes itself by t.Cleanup:
//
//	func TestLedger(t *testing.T) {
//		porttest.Ledger(t, func(t testing.TB) ports.ApprovalStore { return open(t) })
//	}
package porttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// issued is when the grants of this package are issued; they live for confirm.DefaultTTL. It has nanoseconds, so that a store that
// rounds times is found out.
var issued = time.Date(2026, 3, 4, 5, 6, 7, 123_456_789, time.UTC)

// Contenders is how many redeem one token at once (product rules on confirmation).
const Contenders = 64

// Grant returns the nth grant of a test, and the token that redeems it. Every field is set; grants are issued a second apart.
func Grant(n int) (confirm.Request, confirm.Token) {
	token := confirm.NewToken(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	at := issued.Add(time.Duration(n) * time.Second)
	return confirm.Request{
		ID: fmt.Sprintf("cf_%08d", n), Digest: token.Digest(),
		Binding: confirm.Binding{Session: "s-1", Principal: "me", Tool: "deploy_apply", Subject: canon.SumBytes("test", fmt.Append(nil, n))},
		Args:    json.RawMessage(`{"profile": "work",  "n": 1.50, "html": "<&>"}`), Mode: policy.Execute, Strength: policy.Preview,
		Risk: policy.RiskMedium, Scope: "p-1/build", Target: "work", Prompt: "Deploy 3 files — überall?", Plan: json.RawMessage(`{"changes":["a","b"]}`), Exhibit: json.RawMessage(`{"files":["c"]}`), Place: "/work/überall",
		IssuedAt: at, ExpiresAt: at.Add(confirm.DefaultTTL), Misses: 0,
	}, token
}

// Ledger runs the contract of ports.ApprovalStore.
func Ledger(t *testing.T, open func(testing.TB) ports.ApprovalStore) {
	for name, test := range map[string]func(*testing.T, ports.ApprovalStore){
		"EmptyKnowsNothing":        ledgerEmpty,
		"KeepsEveryField":          ledgerKeeps,
		"RefusesDoubles":           ledgerDoubles,
		"OnceUnderContention":      ledgerContention,
		"ExpiresAtTheSecond":       ledgerExpiry,
		"BoundToAllFour":           ledgerBinding,
		"ThreeMissesBurn":          ledgerBurns,
		"StoresWhatAFailureLeaves": ledgerFailure,
		"IdentityCannotChange":     ledgerIdentity,
		"PanicStoresNothing":       ledgerPanic,
		"CopiesNotAliases":         ledgerCopies,
		"PendingOldestFirst":       ledgerOrder,
		"PendingFilters":           ledgerFilters,
		"PurgeForgetsExpired":      ledgerPurge,
		"EndedContextDoesNothing":  ledgerContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func ledgerEmpty(t *testing.T, l ports.ApprovalStore) {
	_, token := Grant(1)
	err := l.Settle(t.Context(), token.Digest(), func(*confirm.Request) error { t.Error("there is nothing to settle"); return nil })
	require.ErrorIs(t, err, confirm.ErrUnknown)
	pending, err := l.Pending(t.Context(), ports.PendingFilter{}, issued)
	require.NoError(t, err)
	assert.Empty(t, pending)
	n, err := l.Purge(t.Context(), issued.Add(time.Hour))
	require.NoError(t, err)
	assert.Zero(t, n)
}

func ledgerKeeps(t *testing.T, l ports.ApprovalStore) {
	full, _ := Grant(1)
	full.HumanOnly, full.State, full.Misses, full.Answerer = true, confirm.Approved, 2, "terminal"
	bare := confirm.Request{ID: "cf_bare", Digest: confirm.NewToken("bare").Digest(), ExpiresAt: issued.Add(time.Minute)}
	far := full
	far.ID, far.Digest, far.IssuedAt = "cf_far", confirm.NewToken("far").Digest(), issued.In(time.FixedZone("far", -7*3600))
	require.NoError(t, l.Issue(t.Context(), full))
	require.NoError(t, l.Issue(t.Context(), bare))
	require.NoError(t, l.Issue(t.Context(), far))
	far.IssuedAt = issued
	for _, want := range []confirm.Request{full, bare, far} {
		assert.Equal(t, want, peek(t, l, want.Digest))
		pending, err := l.Pending(t.Context(), ports.PendingFilter{ID: want.ID}, issued)
		require.NoError(t, err)
		assert.Equal(t, []confirm.Request{want}, pending)
	}
}

func ledgerDoubles(t *testing.T, l ports.ApprovalStore) {
	first, _ := Grant(1)
	second, _ := Grant(2)
	require.NoError(t, l.Issue(t.Context(), first))
	sameID := second
	sameID.ID = first.ID
	require.Error(t, l.Issue(t.Context(), sameID))
	sameDigest := second
	sameDigest.Digest = first.Digest
	require.Error(t, l.Issue(t.Context(), sameDigest))
	require.NoError(t, l.Issue(t.Context(), second), "what was refused left nothing behind")
	assert.Equal(t, first, peek(t, l, first.Digest))
}

func ledgerContention(t *testing.T, l ports.ApprovalStore) {
	for n := range 5 {
		g, token := Grant(n)
		require.NoError(t, l.Issue(t.Context(), g))
		var won, used atomic.Int64
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range Contenders {
			wg.Go(func() {
				<-start
				switch err := redeem(l, token, g.Binding, "", g.IssuedAt); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, confirm.ErrUsed):
					used.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		assert.Equal(t, int64(1), won.Load(), "exactly one wins")
		assert.Equal(t, int64(Contenders-1), used.Load(), "and all others learn that it was used")
	}
}

func ledgerExpiry(t *testing.T, l ports.ApprovalStore) {
	for n, at := range []struct {
		after time.Duration
		want  error
	}{
		{0, nil},
		{confirm.DefaultTTL - time.Second, nil},
		{confirm.DefaultTTL - time.Nanosecond, nil},
		{confirm.DefaultTTL, confirm.ErrExpired},
		{confirm.DefaultTTL + time.Nanosecond, confirm.ErrExpired},
	} {
		g, token := Grant(n)
		require.NoError(t, l.Issue(t.Context(), g))
		now := g.IssuedAt.Add(at.after)
		pending, err := l.Pending(t.Context(), ports.PendingFilter{ID: g.ID}, now)
		require.NoError(t, err)
		if at.want == nil {
			assert.Len(t, pending, 1, "%v after issue", at.after)
		} else {
			assert.Empty(t, pending, "%v after issue", at.after)
		}
		require.ErrorIs(t, redeem(l, token, g.Binding, "", now), at.want, "%v after issue", at.after)
	}
}

func ledgerBinding(t *testing.T, l ports.ApprovalStore) {
	g, token := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	for name, change := range map[string]func(*confirm.Binding){
		"session":   func(b *confirm.Binding) { b.Session = "s-2" },
		"principal": func(b *confirm.Binding) { b.Principal = "you" },
		"tool":      func(b *confirm.Binding) { b.Tool = "rollback" },
		"plan":      func(b *confirm.Binding) { b.Subject[31] ^= 1 },
	} {
		b := g.Binding
		change(&b)
		require.ErrorIs(t, redeem(l, token, b, "", issued), confirm.ErrMismatch, name)
	}
	require.ErrorIs(t, redeem(l, confirm.NewToken("another"), g.Binding, "", issued), confirm.ErrUnknown)
	require.NoError(t, redeem(l, token, g.Binding, "", issued), "mismatches spend nothing")
}

func ledgerBurns(t *testing.T, l ports.ApprovalStore) {
	g, token := Grant(1)
	g.Strength = policy.Typed
	require.NoError(t, l.Issue(t.Context(), g))
	require.ErrorIs(t, redeem(l, token, g.Binding, "", issued), confirm.ErrTyped)
	assert.Zero(t, peek(t, l, g.Digest).Misses, "typing nothing is no miss")
	for miss := range confirm.MaxMisses - 1 {
		require.ErrorIs(t, redeem(l, token, g.Binding, "wrk", issued), confirm.ErrTyped)
		assert.Equal(t, miss+1, peek(t, l, g.Digest).Misses, "a miss is stored although redeeming fails")
	}
	require.ErrorIs(t, redeem(l, token, g.Binding, "wrk", issued), confirm.ErrBurnt)
	require.ErrorIs(t, redeem(l, token, g.Binding, "work", issued), confirm.ErrBurnt, "the right name comes too late")
	pending, err := l.Pending(t.Context(), ports.PendingFilter{}, issued)
	require.NoError(t, err)
	assert.Empty(t, pending)
}

func ledgerFailure(t *testing.T, l ports.ApprovalStore) {
	g, _ := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	failure := errors.New("as it was")
	err := l.Settle(t.Context(), g.Digest, func(g *confirm.Request) error {
		g.State, g.Answerer, g.Misses, g.Prompt = confirm.Denied, "console", 1, "?"
		g.Args, g.Exhibit, g.Plan = nil, nil, json.RawMessage(`[]`)
		g.ExpiresAt = g.ExpiresAt.Add(time.Nanosecond)
		return failure
	})
	require.Equal(t, failure, err, "the function's own error comes back as it is")
	g.State, g.Answerer, g.Misses, g.Prompt, g.Args, g.Exhibit, g.Plan = confirm.Denied, "console", 1, "?", nil, nil, json.RawMessage(`[]`)
	g.ExpiresAt = g.ExpiresAt.Add(time.Nanosecond)
	assert.Equal(t, g, peek(t, l, g.Digest))
}

func ledgerIdentity(t *testing.T, l ports.ApprovalStore) {
	g, _ := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	require.NoError(t, l.Settle(t.Context(), g.Digest, func(g *confirm.Request) error {
		g.ID, g.Digest = "cf_other", confirm.NewToken("other").Digest()
		return nil
	}))
	assert.Equal(t, g, peek(t, l, g.Digest))
}

func ledgerPanic(t *testing.T, l ports.ApprovalStore) {
	g, token := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	require.PanicsWithValue(t, "boom", func() {
		l.Settle(t.Context(), g.Digest, func(g *confirm.Request) error { g.State = confirm.Spent; panic("boom") }) //nolint:errcheck // it panics
	})
	require.NoError(t, redeem(l, token, g.Binding, "", issued), "the ledger is neither locked nor changed")
}

func ledgerCopies(t *testing.T, l ports.ApprovalStore) {
	g, _ := Grant(1)
	want, _ := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	g.Args[2], g.Plan[2], g.Exhibit[2] = 'X', 'X', 'X'
	assert.Equal(t, want, peek(t, l, g.Digest), "what was issued is not what the caller still holds")
	pending, err := l.Pending(t.Context(), ports.PendingFilter{}, issued)
	require.NoError(t, err)
	pending[0].Args[2], pending[0].Plan[2], pending[0].Exhibit[2], pending[0].State = 'X', 'X', 'X', confirm.Spent
	assert.Equal(t, want, peek(t, l, g.Digest), "what is listed can be scribbled on")
	var leaked *confirm.Request
	require.NoError(t, l.Settle(t.Context(), g.Digest, func(g *confirm.Request) error { leaked = g; return nil }))
	leaked.Args[2], leaked.State = 'X', confirm.Spent
	assert.Equal(t, want, peek(t, l, g.Digest), "what was settled is out of reach afterwards")
}

func ledgerOrder(t *testing.T, l ports.ApprovalStore) {
	var want []string
	for n := range 10 {
		want = append(want, fmt.Sprintf("cf_%08d", n))
	}
	for _, n := range []int{3, 1, 4, 0, 9, 2, 6, 5, 8, 7} {
		g, _ := Grant(n)
		require.NoError(t, l.Issue(t.Context(), g))
	}
	pending, err := l.Pending(t.Context(), ports.PendingFilter{}, issued)
	require.NoError(t, err)
	assert.Equal(t, want, names(pending))
}

func ledgerFilters(t *testing.T, l ports.ApprovalStore) {
	var all []confirm.Request
	for n := range 8 {
		g, _ := Grant(n)
		g.State = confirm.State(n)
		if n >= 6 { // two more that wait: one in another session, one of another tool
			g.State = confirm.Pending
		}
		if n == 6 {
			g.Binding.Session = "s-2"
		}
		if n == 7 {
			g.Binding.Tool = "rollback"
		}
		require.NoError(t, l.Issue(t.Context(), g))
		all = append(all, g)
	}
	stranger := all[0].Binding
	stranger.Principal = "you"
	for name, c := range map[string]struct {
		filter ports.PendingFilter
		want   []string
	}{
		"everything":      {ports.PendingFilter{}, []string{all[0].ID, all[1].ID, all[6].ID, all[7].ID}},
		"id":              {ports.PendingFilter{ID: all[1].ID}, []string{all[1].ID}},
		"id of a final":   {ports.PendingFilter{ID: all[2].ID}, nil},
		"session":         {ports.PendingFilter{Session: "s-2"}, []string{all[6].ID}},
		"id and session":  {ports.PendingFilter{ID: all[0].ID, Session: "s-2"}, nil},
		"binding":         {ports.PendingFilter{Binding: &all[0].Binding}, []string{all[0].ID}},
		"unknown binding": {ports.PendingFilter{Binding: &stranger}, nil},
	} {
		pending, err := l.Pending(t.Context(), c.filter, issued)
		require.NoError(t, err)
		assert.Equal(t, c.want, names(pending), name)
		c.filter.Brief = true
		brief, err := l.Pending(t.Context(), c.filter, issued)
		require.NoError(t, err)
		for i := range pending {
			pending[i].Plan, pending[i].Exhibit = nil, nil
		}
		assert.Equal(t, pending, brief, "%s, in brief", name)
	}
}

func ledgerPurge(t *testing.T, l ports.ApprovalStore) {
	states := []confirm.State{confirm.Pending, confirm.Approved, confirm.Spent, confirm.Burnt}
	for n, state := range states {
		g, _ := Grant(n)
		g.State = state
		require.NoError(t, l.Issue(t.Context(), g))
	}
	edge, _ := Grant(2)
	n, err := l.Purge(t.Context(), edge.ExpiresAt)
	require.NoError(t, err)
	assert.Equal(t, 2, n, "the two that expired before the third did")
	for n, want := range []error{confirm.ErrUnknown, confirm.ErrUnknown, confirm.ErrUsed, confirm.ErrBurnt} {
		g, token := Grant(n)
		require.ErrorIs(t, redeem(l, token, g.Binding, "", issued), want, "a spent token is told apart from an unknown one until it expires")
	}
}

func ledgerContext(t *testing.T, l ports.ApprovalStore) {
	g, token := Grant(1)
	require.NoError(t, l.Issue(t.Context(), g))
	other, _ := Grant(2)
	ctx := ended(t)
	require.Error(t, l.Issue(ctx, other))
	require.Error(t, l.Settle(ctx, g.Digest, func(g *confirm.Request) error { g.State = confirm.Spent; return nil }))
	_, err := l.Purge(ctx, issued.Add(time.Hour))
	require.Error(t, err)
	_, err = l.Pending(ctx, ports.PendingFilter{}, issued)
	require.Error(t, err)
	require.NoError(t, redeem(l, token, g.Binding, "", issued))
	require.NoError(t, l.Issue(t.Context(), other))
}

// peek returns the grant as it is stored.
func peek(t *testing.T, l ports.ApprovalStore, d confirm.Digest) confirm.Request {
	t.Helper()
	var found confirm.Request
	require.NoError(t, l.Settle(t.Context(), d, func(g *confirm.Request) error { found = *g; return nil }))
	return found
}

func redeem(l ports.ApprovalStore, token confirm.Token, b confirm.Binding, typed string, now time.Time) error {
	return l.Settle(context.Background(), token.Digest(), func(g *confirm.Request) error { return g.Redeem(b, typed, now) })
}

func names(grants []confirm.Request) []string {
	var out []string
	for _, g := range grants {
		out = append(out, g.ID)
	}
	return out
}

// BenchmarkLedger measures one redemption and one look at what waits.
func BenchmarkLedger(b *testing.B, open func(testing.TB) ports.ApprovalStore) {
	b.Run("Settle", func(b *testing.B) {
		l := open(b)
		g, token := Grant(1)
		require.NoError(b, l.Issue(b.Context(), g))
		for b.Loop() {
			err := l.Settle(b.Context(), token.Digest(), func(g *confirm.Request) error { g.Misses++; return nil })
			require.NoError(b, err)
		}
	})
	b.Run("Pending", func(b *testing.B) {
		l := open(b)
		for n := range 10 {
			g, _ := Grant(n)
			require.NoError(b, l.Issue(b.Context(), g))
		}
		for b.Loop() {
			_, err := l.Pending(b.Context(), ports.PendingFilter{}, issued)
			require.NoError(b, err)
		}
	})
}
