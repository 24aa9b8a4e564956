// Package ecosystemtest is the conformance suite for the ports that keep ecosystems: places, manifests and states. A test passes it a function that opens an
// adapter.
package ecosystemtest

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

// House is everything that is kept, as one process sees it.
type House struct {
	Places    ecosystemport.Places
	Manifests ecosystemport.Manifests
	States    ecosystemport.States
	Runs      ecosystemport.Runs
}

// User is whose things are kept, and what surrounds a process of theirs.
type User struct {
	Home  string            // absolute
	Dir   string            // the working directory
	Env   map[string]string // nothing else is set
	Clock ports.Clock
}

// Open opens what is kept for a user. Opened twice, it is what two processes see of the same.
type Open func(t testing.TB, u User) House

// at is a clock that stands.
type at time.Time

// Now is where it stands.
func (c at) Now() time.Time { return time.Time(c) }

// Noon is when most of it happens.
func Noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// NewUser is a user who has nothing yet, at noon, in a workspace root that is a repository with an ecosystem.
func NewUser(t testing.TB) User {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := User{Home: filepath.Join(base, "home"), Dir: Workspace(t, filepath.Join(base, "ws"), "demo"), Env: map[string]string{}, Clock: at(Noon())}
	require.NoError(t, os.MkdirAll(u.Home, 0o755))
	return u
}

// Workspace makes a workspace root with an ecosystem of one repository.
func Workspace(t testing.TB, root, name string) string {
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

func layout(t testing.TB, h House, root, name string) ecosystem.Layout {
	t.Helper()
	l, err := h.Places.Layout(t.Context(), root, name)
	require.NoError(t, err)
	return l
}

// Together runs f that many times at once and waits for all of them.
func Together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	failures := make(chan error, n)
	for i := range n {
		go func() { failures <- f(i) }()
	}
	for range n {
		assert.NoError(t, <-failures)
	}
}

// Cancelled is a context that is over.
func Cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
