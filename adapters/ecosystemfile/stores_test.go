package ecosystemfile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// stores is everything that is kept, as one process sees it.
type stores struct {
	Places    ecosystemport.Places
	Manifests ecosystemport.Manifests
	States    ecosystemport.States
	Runs      ecosystemport.Runs
}

// user is whose things are kept, and what surrounds a process of theirs.
type user struct {
	Home  string            // absolute
	Dir   string            // the working directory
	Env   map[string]string // nothing else is set
	Clock ports.Clock
}

// opener opens what is kept for a user. Opened twice, it is what two processes see of the same.
type opener func(t testing.TB, u user) stores

// clockAt is a clock that stands.
type clockAt time.Time

// Now returns where it stands.
func (c clockAt) Now() time.Time { return time.Time(c) }

// noon returns when most of it happens.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// newUser returns a user who has nothing yet, at noon, in a workspace root that is a repository with an ecosystem.
func newUser(t testing.TB) user {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := user{Home: filepath.Join(base, "home"), Dir: workspace(t, filepath.Join(base, "ws"), "demo"), Env: map[string]string{}, Clock: clockAt(noon())}
	require.NoError(t, os.MkdirAll(u.Home, 0o755))
	return u
}

// workspace makes a workspace root with an ecosystem of one repository.
func workspace(t testing.TB, root, name string) string {
	t.Helper()
	file(t, filepath.Join(root, ".git", "HEAD"), "ref: refs/heads/main\n")
	file(t, filepath.Join(root, "ecosystems", name, "ecosystem.yaml"), "name: "+name+"\nrepos:\n  - {name: api, url: /srv/api.git, branch: main}\n")
	return root
}

func file(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func layoutOf(t testing.TB, h stores, root, name string) ecosystem.Layout {
	t.Helper()
	l, err := h.Places.Layout(t.Context(), root, name)
	require.NoError(t, err)
	return l
}

// together runs f that many times at once and waits for all of them.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	failures := make(chan error, n)
	for i := range n {
		go func() { failures <- f(i) }()
	}
	for range n {
		assert.NoError(t, <-failures)
	}
}

// cancelled returns a context that is over.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
