package porttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// key is a key as the application makes it: it holds a zero byte.
var key = ports.SessionKey("me", "s-1")

// Sessions runs the contract of ports.Sessions.
func Sessions(t *testing.T, open func(testing.TB) ports.Sessions) {
	for name, test := range map[string]func(*testing.T, ports.Sessions){
		"AbsentIsZero":            sessionsAbsent,
		"KeepsByKey":              sessionsKeep,
		"FailureStoresNothing":    sessionsFailure,
		"NoLostUpdate":            sessionsContention,
		"CopiesNotAliases":        sessionsCopies,
		"EndForgets":              sessionsEnd,
		"ManyKeys":                sessionsMany,
		"ListsAll":                sessionsList,
		"EndedContextDoesNothing": sessionsContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func sessionsAbsent(t *testing.T, s ports.Sessions) {
	assert.Equal(t, ports.Session{}, session(t, s, key))
	require.NoError(t, s.End(t.Context(), key), "ending what is absent is no error")
	require.NoError(t, s.Update(t.Context(), key, func(have *ports.Session) error {
		assert.Equal(t, ports.Session{}, *have)
		return nil
	}))
	assert.Equal(t, ports.Session{}, session(t, s, key))
}

func sessionsKeep(t *testing.T, s ports.Sessions) {
	want := map[string]ports.Session{
		key:                               {Mode: policy.Plan, Granted: Always("deploy", "status")},
		ports.SessionKey("me", "s-2"):     {Mode: policy.Ask, Granted: []confirm.SessionGrant{{Tool: "deploy", Scope: "s\x00 é"}}},
		ports.SessionKey("mes", "-1"):     {Granted: Always("deploy")},
		ports.SessionKey("me", "s-1\x00"): {Mode: policy.Execute},
		"me":                              {Mode: policy.Execute, Granted: Always("one")},
		"\xff\xfe":                        {Mode: policy.Ask, Granted: Always("two")},
		"":                                {Granted: Always("three")},
	}
	for k, v := range want {
		require.NoError(t, s.Update(t.Context(), k, func(have *ports.Session) error { *have = v; return nil }))
	}
	for range 2 {
		for k, v := range want {
			assert.Equal(t, v, session(t, s, k), "%q", k)
		}
	}
	require.NoError(t, s.Update(t.Context(), key, func(have *ports.Session) error {
		assert.Equal(t, want[key], *have)
		have.Mode = policy.Execute
		have.Grant(Always("plan")[0])
		return nil
	}))
	assert.Equal(t, ports.Session{Mode: policy.Execute, Granted: Always("deploy", "status", "plan")}, session(t, s, key), "at once")
}

func sessionsFailure(t *testing.T, s ports.Sessions) {
	set(t, s, ports.Session{Mode: policy.Plan, Granted: Always("deploy")})
	failure := errors.New("as it was")
	require.Equal(t, failure, s.Update(t.Context(), key, func(have *ports.Session) error {
		have.Mode, have.Granted[0].Tool = policy.Execute, "all"
		return failure
	}), "the function's own error comes back as it is")
	require.ErrorIs(t, s.Update(t.Context(), key, func(have *ports.Session) error { have.Mode = 99; return nil }), policy.ErrWord)
	require.PanicsWithValue(t, "boom", func() {
		s.Update(t.Context(), key, func(have *ports.Session) error { have.Mode = policy.Execute; panic("boom") }) //nolint:errcheck // it panics
	})
	assert.Equal(t, ports.Session{Mode: policy.Plan, Granted: Always("deploy")}, session(t, s, key))
	require.NoError(t, s.Update(t.Context(), key, func(*ports.Session) error { return nil }), "and the store is not locked")
}

func sessionsContention(t *testing.T, s ports.Sessions) {
	const writers, each = 16, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				err := s.Update(t.Context(), key, func(have *ports.Session) error { have.Grant(Always(fmt.Sprintf("tool_%d_%d", w, n))[0]); return nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	assert.Len(t, session(t, s, key).Granted, writers*each)
}

func sessionsCopies(t *testing.T, s ports.Sessions) {
	granted := Always("deploy", "status")
	set(t, s, ports.Session{Granted: granted})
	granted[0].Tool = "all"
	for range 3 {
		have := session(t, s, key)
		require.Equal(t, Always("deploy", "status"), have.Granted)
		have.Granted[0].Tool = "all"
		_ = append(have.Granted[:1], Always("all")...)
	}
}

func sessionsEnd(t *testing.T, s ports.Sessions) {
	set(t, s, ports.Session{Mode: policy.Plan})
	require.NoError(t, s.Update(t.Context(), "other", func(have *ports.Session) error { have.Mode = policy.Ask; return nil }))
	require.NoError(t, s.End(t.Context(), key))
	assert.Equal(t, ports.Session{}, session(t, s, key), "at once")
	assert.Equal(t, ports.Session{Mode: policy.Ask}, session(t, s, "other"))
	require.NoError(t, s.End(t.Context(), key))
}

// sessionsMany checks that no session is lost when there are more than a cache holds.
func sessionsMany(t *testing.T, s ports.Sessions) {
	set(t, s, ports.Session{Mode: policy.Plan})
	for n := range 3000 {
		require.Equal(t, ports.Session{}, session(t, s, fmt.Sprint(n)))
	}
	assert.Equal(t, ports.Session{Mode: policy.Plan}, session(t, s, key))
}

func sessionsList(t *testing.T, s ports.Sessions) {
	list := func() map[string]ports.Session {
		all, err := s.List(t.Context())
		require.NoError(t, err)
		return all
	}
	assert.Empty(t, list())
	want := map[string]ports.Session{key: {Granted: Always("deploy")}, "": {Mode: policy.Ask}, "\xff": {Notes: map[string]string{"a": "b"}}}
	for k, v := range want {
		require.NoError(t, s.Update(t.Context(), k, func(have *ports.Session) error { *have = v; return nil }))
	}
	require.Equal(t, want, list())
	list()[key].Granted[0].Tool = "all"
	assert.Equal(t, want, list(), "these are copies")
	require.NoError(t, s.End(t.Context(), key))
	delete(want, key)
	assert.Equal(t, want, list())
	_, err := s.List(ended(t))
	require.Error(t, err)
}

// Always returns an "always allow" of each of the tools.
func Always(tools ...string) []confirm.SessionGrant {
	var all []confirm.SessionGrant
	for _, name := range tools {
		all = append(all, confirm.SessionGrant{ID: "cf_" + name, Tool: name, By: "console", At: time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)})
	}
	return all
}

func sessionsContext(t *testing.T, s ports.Sessions) {
	require.Error(t, s.Update(ended(t), key, func(have *ports.Session) error { have.Mode = policy.Plan; return nil }))
	_, err := s.Load(ended(t), key)
	require.Error(t, err)
	assert.Equal(t, ports.Session{}, session(t, s, key))
	set(t, s, ports.Session{Mode: policy.Plan})
	require.Error(t, s.End(ended(t), key))
	assert.Equal(t, ports.Session{Mode: policy.Plan}, session(t, s, key))
}

func session(t testing.TB, s ports.Sessions, key string) ports.Session {
	t.Helper()
	have, err := s.Load(t.Context(), key)
	require.NoError(t, err)
	return have
}

func set(t testing.TB, s ports.Sessions, to ports.Session) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), key, func(have *ports.Session) error { *have = to; return nil }))
}

// BenchmarkSessions measures Load while nothing changes, which happens before every decision, and Update.
func BenchmarkSessions(b *testing.B, open func(testing.TB) ports.Sessions) {
	b.Run("LoadUnchanged", func(b *testing.B) {
		s := open(b)
		set(b, s, ports.Session{Mode: policy.Plan, Granted: Always("deploy")})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Load(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Update", func(b *testing.B) {
		s := open(b)
		for b.Loop() {
			err := s.Update(b.Context(), key, func(have *ports.Session) error { have.Mode = have.Mode%policy.Execute + 1; return nil })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
