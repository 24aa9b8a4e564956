package ecosystemfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// states holds a States to its contract.
func states(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, opener){
		"NothingIsRecorded":    nothingRecorded,
		"KeepsWhatIsRecorded":  keepsRecorded,
		"FailsWhole":           failsWhole,
		"ForgetsTheZeroState":  forgetsZero,
		"ManyChangeAtOnce":     manyChange,
		"OneWorksAtATime":      oneWorks,
		"WaitsForItsTurn":      waitsForTurn,
		"KeepsNotes":           keepsNotes,
		"TakesOverVersion3":    takesOver,
		"TakesOverLegacyFiles": takesOverLegacy,
		"IgnoresOlderVersions": ignoresOlder,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func nothingRecorded(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	s, err := h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Zero(t, s)
	doc, err := h.States.Noted(t.Context(), l, "journal.json")
	require.NoError(t, err)
	assert.Nil(t, doc)
	require.NoError(t, h.States.Note(t.Context(), l, "journal.json", nil))
	assert.NoDirExists(t, l.State)
}

// installed returns a state with something of everything.
func installed(l ecosystem.Layout) func(*ecosystem.State) error {
	return func(s *ecosystem.State) error {
		ticket := "PROJ-1"
		s.WorkspaceDir, s.WorkspaceBranch, s.ActiveTicket = l.Workspace, "workspace/demo", &ticket
		s.Tickets = map[string]ecosystem.Ticket{ticket: {CreatedAt: noon(), Repos: map[string]string{"api": "feature/PROJ-1"}, WorktreeBase: "/t", Ecosystem: "demo", Phase: "started"}}
		s.Repos = []ecosystem.RepoState{{Name: "api", URL: "/srv/<api>&co", Path: "repos/api", Branch: "main", Enabled: true,
			LastPush: &ecosystem.Push{Branch: "main", Commit: "abc1234", CommitFull: "abc1234abc", PushedAt: noon()}}}
		return nil
	}
}

func keepsRecorded(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	s, err := h.States.Update(t.Context(), l, installed(l))
	require.NoError(t, err)
	want := ecosystem.State{Version: 4, Ecosystem: "demo", Root: u.Dir, CreatedAt: noon(), LastModified: noon()}
	require.NoError(t, installed(l)(&want))
	assert.Equal(t, want, s)
	got, err := open(t, u).States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	later := u
	later.Clock = clockAt(noon().Add(time.Hour))
	_, err = open(t, later).States.Update(t.Context(), l, func(s *ecosystem.State) error { return nil })
	require.NoError(t, err)
	got, err = h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, want, got, "what is the same is not written again")
	_, err = open(t, later).States.Update(t.Context(), l, func(s *ecosystem.State) error { s.ActiveTicket = nil; return nil })
	require.NoError(t, err)
	got, err = h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, noon().Add(time.Hour), got.LastModified)
	assert.Equal(t, noon(), got.CreatedAt)
}

func failsWhole(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	before, err := h.States.Update(t.Context(), l, installed(l))
	require.NoError(t, err)
	refusal := errors.New("no")
	_, err = h.States.Update(t.Context(), l, func(s *ecosystem.State) error {
		s.Tickets["x"], s.Repos[0].Name = ecosystem.Ticket{}, "changed"
		return refusal
	})
	require.ErrorIs(t, err, refusal)
	after, err := h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	_, err = h.States.Update(cancelled(t), l, func(*ecosystem.State) error { return nil })
	require.Error(t, err)
}

func forgetsZero(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	_, err := h.States.Update(t.Context(), l, installed(l))
	require.NoError(t, err)
	s, err := h.States.Update(t.Context(), l, func(s *ecosystem.State) error { *s = ecosystem.State{}; return nil })
	require.NoError(t, err)
	assert.Zero(t, s)
	s, err = h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Zero(t, s)
	second := layoutOf(t, h, workspace(t, filepath.Join(u.Home, "second"), "demo"), "demo")
	assert.Equal(t, l.State, second.State, "the name is free for another workspace")
}

func manyChange(t *testing.T, open opener) {
	u := newUser(t)
	one, two := open(t, u), open(t, u)
	l := layoutOf(t, one, u.Dir, "demo")
	together(t, 16, func(i int) error {
		h := one
		if i%2 == 1 {
			h = two
		}
		for n := range 4 {
			if _, err := h.States.Update(t.Context(), l, func(s *ecosystem.State) error {
				s.Repos = append(s.Repos, ecosystem.RepoState{Name: fmt.Sprint(i, "-", n)})
				return nil
			}); err != nil {
				return err
			}
			if _, err := h.States.Load(t.Context(), l); err != nil {
				return err
			}
		}
		return nil
	})
	s, err := one.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Len(t, s.Repos, 64, "no change is lost")
}

func oneWorks(t *testing.T, open opener) {
	u := newUser(t)
	l := layoutOf(t, open(t, u), u.Dir, "demo")
	var working, worked atomic.Int32
	together(t, 16, func(int) error {
		_, release, err := open(t, u).States.Lock(t.Context(), l, time.Minute)
		if err != nil {
			return err
		}
		defer release()
		if n := working.Add(1); n != 1 {
			return fmt.Errorf("%d work at once", n)
		}
		worked.Add(1)
		working.Add(-1)
		return nil
	})
	assert.EqualValues(t, 16, worked.Load())
}

func waitsForTurn(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	_, release, err := h.States.Lock(t.Context(), l, 0)
	require.NoError(t, err)
	_, _, err = open(t, u).States.Lock(t.Context(), l, 0)
	require.ErrorIs(t, err, ecosystem.ErrBusy)
	assert.Contains(t, err.Error(), "demo")
	_, _, err = h.States.Lock(cancelled(t), l, time.Minute)
	require.ErrorIs(t, err, cancelled(t).Err())
	_, err = h.States.Update(t.Context(), l, installed(l))
	require.NoError(t, err, "whoever works on it records what it does")
	require.NoError(t, h.States.Note(t.Context(), l, "journal.json", []byte("{}")))
	_, other, err := h.States.Lock(t.Context(), layoutOf(t, h, u.Dir, "other"), 0)
	require.NoError(t, err, "another ecosystem is another matter")
	other()
	release()
	release()
	_, again, err := open(t, u).States.Lock(t.Context(), l, time.Minute)
	require.NoError(t, err)
	again()
}

func keepsNotes(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	for _, name := range []string{"journal.json", "spin/default.json"} {
		require.NoError(t, h.States.Note(t.Context(), l, name, []byte(name)))
		require.NoError(t, h.States.Note(t.Context(), l, name, []byte(name+"!")))
		doc, err := open(t, u).States.Noted(t.Context(), l, name)
		require.NoError(t, err)
		assert.Equal(t, name+"!", string(doc))
		require.NoError(t, h.States.Note(t.Context(), l, name, nil))
		doc, err = h.States.Noted(t.Context(), l, name)
		require.NoError(t, err)
		assert.Nil(t, doc)
	}
	require.NoError(t, h.States.Note(t.Context(), l, "empty", []byte{}))
	doc, err := h.States.Noted(t.Context(), l, "empty")
	require.NoError(t, err)
	assert.NotNil(t, doc, "an empty document is one")
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/b/c", ".x", "a/.x", "state.json", "a\x00"} {
		require.Error(t, h.States.Note(t.Context(), l, name, []byte("x")), "%q", name)
		_, err := h.States.Noted(t.Context(), l, name)
		require.Error(t, err, "%q", name)
	}
	second := layoutOf(t, h, workspace(t, filepath.Join(u.Home, "second"), "demo"), "demo")
	assert.NotEqual(t, l.State, second.State, "a note takes the place of a name")
	doc, err = h.States.Noted(t.Context(), second, "empty")
	require.NoError(t, err)
	assert.Nil(t, doc)
}

const third = `{"version":3,"ecosystem":"demo","workspace_branch":"workspace/demo","active_ticket":"PROJ-1",
"tickets":{"PROJ-1":{"created_at":"2026-01-02T03:04:05","repos":{"api":"feature/PROJ-1"},"worktree_base":"/t/PROJ-1","ecosystem":"demo","phase":"started","plan_items":{},"receipts":{}}},
"repos":[{"name":"api","url":"/srv/api","path":"repos/api","branch":"main","readonly":false,"last_push":{"branch":"main","commit":"abc1234","commit_full":"abc1234abc","pushed_at":"2026-01-02T03:04:05.123456Z"}}],
"created_at":"2026-01-02T03:04:05+01:00","last_modified":"nonsense"}`

func takesOver(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	file(t, filepath.Join(u.Home, ".config", "amof", "state.json"), third)
	l := layoutOf(t, h, u.Dir, "demo")
	s, err := h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.True(t, s.Installed())
	assert.Equal(t, 4, s.Version)
	assert.Equal(t, l.Workspace, s.WorkspaceDir)
	assert.Equal(t, "PROJ-1", s.Active())
	assert.Equal(t, map[string]string{"api": "feature/PROJ-1"}, s.Tickets["PROJ-1"].Repos)
	assert.Equal(t, "abc1234abc", s.Repos[0].LastPush.CommitFull)
	assert.True(t, s.Repos[0].Enabled)
	assert.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC), s.CreatedAt)
	assert.NoDirExists(t, l.State, "reading writes nothing")

	other, err := h.States.Load(t.Context(), layoutOf(t, h, u.Dir, "other"))
	require.NoError(t, err)
	assert.Zero(t, other, "it names one ecosystem")

	_, err = h.States.Update(t.Context(), l, func(s *ecosystem.State) error { s.ActiveTicket = nil; return nil })
	require.NoError(t, err)
	s, err = h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Empty(t, s.Active())
	assert.Len(t, s.Tickets, 1)
	second, err := h.States.Load(t.Context(), layoutOf(t, h, workspace(t, filepath.Join(u.Home, "second"), "demo"), "demo"))
	require.NoError(t, err)
	assert.Zero(t, second, "one workspace takes it over")
	_, err = h.States.Update(t.Context(), l, func(s *ecosystem.State) error { *s = ecosystem.State{}; return nil })
	require.NoError(t, err)
	s, err = h.States.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Zero(t, s, "and once")
	text, err := os.ReadFile(filepath.Join(u.Home, ".config", "amof", "state.json"))
	require.NoError(t, err)
	assert.Equal(t, third, string(text), "the file is somebody else's")
}

func takesOverLegacy(t *testing.T, open opener) {
	for _, where := range []string{".amof/state.json", "worktrees/demo/.amof/state.json"} {
		u := newUser(t)
		h := open(t, u)
		file(t, filepath.Join(u.Dir, where), third)
		l := layoutOf(t, h, u.Dir, "demo")
		_, err := h.States.Update(t.Context(), l, func(s *ecosystem.State) error { *s = ecosystem.State{}; return nil })
		require.NoError(t, err)
		s, err := h.States.Load(t.Context(), l)
		require.NoError(t, err)
		assert.Zero(t, s, "forgotten before it was ever written: %s", where)
	}
}

func ignoresOlder(t *testing.T, open opener) {
	for _, text := range []string{`{"version":2,"ecosystem":"demo","repos":[]}`, `{"version":3`, `[]`, "", `{"version":3,"ecosystem":"other"}`} {
		u := newUser(t)
		h := open(t, u)
		file(t, filepath.Join(u.Home, ".config", "amof", "state.json"), text)
		s, err := h.States.Load(t.Context(), layoutOf(t, h, u.Dir, "demo"))
		require.NoError(t, err, text)
		assert.Zero(t, s, text)
	}
}
