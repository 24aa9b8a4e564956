package porttest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// Settings are settings with everything set, at revision 0.
func Settings() ports.Settings {
	return ports.Settings{
		Level: policy.ExecuteWithConfirm,
		Tools: map[string]policy.Setting{"deploy": policy.AlwaysConfirm, "status": policy.Allowed, "rollback": policy.Blocked, "plan": policy.SettingNone},
		Auto:  policy.AutoApprove{Enabled: true, Tools: []string{"run_script", "git_commit"}},

		KeepReadsDays: 30,
	}
}

// SettingsStore runs the contract of ports.SettingsStore.
func SettingsStore(t *testing.T, open func(testing.TB) ports.SettingsStore) {
	for name, test := range map[string]func(*testing.T, ports.SettingsStore){
		"EmptyIsZero":             settingsEmpty,
		"KeepsEveryField":         settingsKeep,
		"StaleRevisionConflicts":  settingsConflict,
		"NoLostSave":              settingsContention,
		"RefusesUnwritable":       settingsUnwritable,
		"CopiesNotAliases":        settingsCopies,
		"EndedContextDoesNothing": settingsContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func settingsEmpty(t *testing.T, s ports.SettingsStore) {
	for range 2 {
		now, err := s.Load(t.Context())
		require.NoError(t, err)
		assert.Equal(t, ports.Settings{}, now)
	}
}

func settingsKeep(t *testing.T, s ports.SettingsStore) {
	for revision := range int64(3) {
		next := Settings()
		next.Revision = revision
		next.Tools[fmt.Sprintf("tool_%d", revision)] = policy.Blocked
		want := next
		want.Revision++
		saved, err := s.Save(t.Context(), next)
		require.NoError(t, err)
		assert.Equal(t, want, saved)
		now, err := s.Load(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, now, "what was saved is what is loaded, at once")
	}
}

func settingsConflict(t *testing.T, s ports.SettingsStore) {
	_, err := s.Save(t.Context(), ports.Settings{Revision: 1})
	require.ErrorIs(t, err, ports.ErrSettingsConflict, "nothing was ever saved")
	first, err := s.Save(t.Context(), Settings())
	require.NoError(t, err)
	for _, stale := range []int64{-1, 0, 2, 99} {
		_, err = s.Save(t.Context(), ports.Settings{Revision: stale})
		require.ErrorIs(t, err, ports.ErrSettingsConflict, "revision %d", stale)
	}
	now, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, first, now, "a conflict stores nothing")
}

func settingsContention(t *testing.T, s ports.SettingsStore) {
	const writers, each, patience = 16, 5, 10_000 // a store that serves stale settings conflicts for ever
	var conflicts atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for saved := 0; saved < each; {
				if conflicts.Load() > patience {
					t.Error("a writer that reads again still conflicts")
					return
				}
				next, err := s.Load(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if next.Tools == nil {
					next.Tools = map[string]policy.Setting{}
				}
				next.Tools[fmt.Sprintf("tool_%d_%d", w, saved)] = policy.Blocked
				switch _, err := s.Save(t.Context(), next); {
				case err == nil:
					saved++
				case errors.Is(err, ports.ErrSettingsConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	now, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, int64(writers*each), now.Revision)
	assert.Len(t, now.Tools, writers*each, "no save undid another (%d conflicts)", conflicts.Load())
}

func settingsUnwritable(t *testing.T, s ports.SettingsStore) {
	_, err := s.Save(t.Context(), ports.Settings{Level: 99})
	require.ErrorIs(t, err, policy.ErrWord)
	_, err = s.Save(t.Context(), ports.Settings{Tools: map[string]policy.Setting{"a": 99}})
	require.ErrorIs(t, err, policy.ErrWord)
	now, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ports.Settings{}, now)
}

func settingsCopies(t *testing.T, s ports.SettingsStore) {
	given := Settings()
	_, err := s.Save(t.Context(), given)
	require.NoError(t, err)
	want := Settings()
	want.Revision = 1
	given.Tools["deploy"], given.Auto.Tools[0] = policy.Allowed, "other"
	for range 3 {
		now, err := s.Load(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, now)
		now.Tools["deploy"], now.Auto.Tools[0] = policy.Allowed, "other"
		delete(now.Tools, "status")
	}
}

func settingsContext(t *testing.T, s ports.SettingsStore) {
	_, err := s.Save(ended(t), Settings())
	require.Error(t, err)
	_, err = s.Load(ended(t))
	require.Error(t, err)
	now, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Zero(t, now.Revision)
}

// BenchmarkSettingsStore measures Load while nothing changes, which happens before every decision.
func BenchmarkSettingsStore(b *testing.B, open func(testing.TB) ports.SettingsStore) {
	b.Run("LoadUnchanged", func(b *testing.B) {
		s := open(b)
		_, err := s.Save(b.Context(), Settings())
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("LoadEmpty", func(b *testing.B) {
		s := open(b)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
