package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// instead returns the core over the same audit, with these settings where those were that users stored: somebody wrote to the database.
func (h *fixture) instead(t *testing.T, change func(s ports.Settings) ports.Settings) *app.App {
	t.Helper()
	core, now := h.core, memstore.New()
	had, err := h.store.Load(t.Context())
	require.NoError(t, err)
	if next := change(had.Copy()); next.Revision > 0 {
		for range had.Revision { // as often as they were changed
			next.Revision--
		}
		for range had.Revision {
			next, err = now.Save(t.Context(), next)
			require.NoError(t, err)
		}
	}
	core.Settings = now
	a, err := app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.caps...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	return a
}

// TestWhatWasNarrowedStaysSo: taking the stored settings away, or editing them, opens nothing and is told.
func TestWhatWasNarrowedStaysSo(t *testing.T) {
	for name, change := range map[string]func(ports.Settings) ports.Settings{
		"taken away": func(ports.Settings) ports.Settings { return ports.Settings{} },
		"edited": func(s ports.Settings) ports.Settings {
			s.Tools, s.Require, s.MaxMode = nil, nil, policy.ModeUnset
			return s
		},
		"put back": func(s ports.Settings) ports.Settings {
			delete(s.Tools, "create_token")
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, human)
			person.Settings(t, h.App, func(s *app.Settings) error {
				s.Tools["write_note"], s.Tools["burn_note"], s.Tools["scribble"] = policy.Blocked, policy.Allowed, policy.AlwaysConfirm
				return nil
			})
			person.Settings(t, h.App, func(s *app.Settings) error {
				s.Tools["create_token"], s.Require, s.MaxMode = policy.Blocked, map[string]policy.Proving{policy.RequireHigh: policy.ProvingTouch}, policy.Plan
				return nil
			})
			sound, err := h.PolicyInForce(t.Context())
			require.NoError(t, err)
			assert.Empty(t, sound.Missing)

			r, err := h.instead(t, change).PolicyInForce(t.Context())
			require.NoError(t, err)
			assert.True(t, r.OffRecord)
			require.Len(t, r.Missing, 1)
			assert.Contains(t, r.Missing[0], "deleted or edited")
			assert.Equal(t, policy.Blocked, r.Tools["write_note"])
			assert.Equal(t, policy.Blocked, r.Tools["create_token"], "whatever its name looks like")
			assert.Equal(t, policy.AlwaysConfirm, r.Tools["scribble"])
			assert.NotEqual(t, policy.Allowed, r.Tools["burn_note"], "it opens nothing")
			assert.Equal(t, policy.ProvingTouch, r.Require[policy.RequireHigh])
			assert.Equal(t, policy.Plan, r.Ceiling)
			assert.Contains(t, r.By["tool create_token"], "as last recorded")
			require.NotNil(t, r.Recovered)
		})
	}
}

// TestAProcessThatKnewNoSettingsLearnsOfThoseTakenAway: it worked out the policy before anybody stored settings, and looks again after another process has
// stored them, in this home or the account's, and somebody has deleted the row.
func TestAProcessThatKnewNoSettingsLearnsOfThoseTakenAway(t *testing.T) {
	for name, wire := range map[string]func(*app.Dependencies, *sqlitestore.Store){
		"of this home":   func(c *app.Dependencies, s *sqlitestore.Store) { c.Audit, c.Settings = s, s },
		"of the account": func(c *app.Dependencies, s *sqlitestore.Store) { c.AccountAudit, c.Account = s, s },
	} {
		t.Run(name, func(t *testing.T) {
			h, path := open(t, human), filepath.Join(t.TempDir(), "countersign.db")
			process := func(wire func(*app.Dependencies, *sqlitestore.Store)) *app.App {
				core, s, opts := h.core, sqlitestore.Open(path), app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
				wire(&core, s)
				var a *app.App
				ctl := control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions, Settings: core.Settings,
					Operator: opts.Policy, Toolsets: func() []tool.Toolset { return a.Toolsets() },
					Rules: func(ctx context.Context, s ports.Settings) (policy.Resolved, error) { return a.Resolve(ctx, s) }})
				made, err := app.New(core, opts, ctl, h.noteStore.capability())
				require.NoError(t, err)
				a = made
				t.Cleanup(func() {
					require.NoError(t, a.Close(context.Background()))
					require.NoError(t, s.Close())
				})
				return a
			}
			early := process(wire)
			r, err := early.PolicyInForce(t.Context())
			require.NoError(t, err)
			require.NotEqual(t, policy.Blocked, r.Tools["write_note"])

			person.Settings(t, process(func(c *app.Dependencies, s *sqlitestore.Store) { c.Audit, c.Settings = s, s }), func(s *app.Settings) error {
				s.Tools["write_note"] = policy.Blocked
				return nil
			})
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
			require.NoError(t, err)
			_, err = db.Exec("DELETE FROM settings")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			r, err = early.PolicyInForce(t.Context())
			require.NoError(t, err)
			assert.Equal(t, policy.Blocked, r.Tools["write_note"])
			require.Len(t, r.Missing, 1)
		})
	}
}

func TestWhereNobodyStoredAnythingNothingIsMissing(t *testing.T) {
	h := open(t, human)
	r, err := h.PolicyInForce(t.Context())
	require.NoError(t, err)
	assert.Empty(t, r.Missing)
	assert.False(t, r.OffRecord)
	assert.Nil(t, r.Recovered)
}

// TestRefusedChangesDoNotPushSettingsOffTheRecord: what a program has asked in vain many times is no change.
func TestRefusedChangesDoNotPushSettingsOffTheRecord(t *testing.T) {
	h := open(t, human)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.Tools["burn_note"] = policy.Allowed
		return nil
	})
	for i := range 45 {
		require.NoError(t, h.store.Append(t.Context(), audit.Event{CallID: fmt.Sprint("call_", i), Phase: audit.Outcome, Tool: "change_settings", Verdict: "confirm", Code: "confirm_token_required"}))
	}
	r, err := h.instead(t, func(s ports.Settings) ports.Settings { return s }).PolicyInForce(t.Context())
	require.NoError(t, err)
	assert.False(t, r.OffRecord)
	assert.Empty(t, r.Missing)
	assert.Equal(t, policy.Allowed, r.Tools["burn_note"])
}

// TestTheCeilingOfTheSettingsIsTheOneThatIsTold: a session is not asked about a mode that it could never have.
func TestTheCeilingOfTheSettingsIsTheOneThatIsTold(t *testing.T) {
	h := open(t, human)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.MaxMode = policy.Plan
		return nil
	})
	o := h.call("get_policy", `{}`)
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), `"max_mode":"plan"`)
	o = h.call("set_mode", `{"mode":"execute"}`)
	require.ErrorIs(t, o.Err, policy.ErrCeiling)
	assert.Contains(t, o.Err.Error(), "decided by your settings")
	assert.Nil(t, o.Request, "nobody is asked")
}
