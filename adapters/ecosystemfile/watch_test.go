package ecosystemfile_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

const id = "6f1c0000-0000-4000-8000-000000000001"

func openWatch(t *testing.T) (*ecosystemfile.RunStore, ecosystemfile.Watch) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	s := ecosystemfile.NewRunStore(ecosystemfile.RunOptions{Dir: func() (string, error) { return dir, nil }, Clock: system.Clock{}})
	require.NoError(t, s.Add(t.Context(), ecosystem.Run{ID: id, Status: ecosystem.RunRunning, Owner: "me", CreatedAt: time.Now()}))
	return s, ecosystemfile.NewWatch(s)
}

// TestUntil ends when the run is to stop, and says so; otherwise with its context.
func TestUntil(t *testing.T) {
	s, w := openWatch(t)
	ctx, stop := w.Until(t.Context(), id)
	defer stop()
	assert.NoError(t, ctx.Err())
	_, err := s.Change(t.Context(), id, func(r *ecosystem.Run) error {
		_, err := r.Cancel(time.Now())
		return err
	})
	require.NoError(t, err)
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), ecosystem.ErrStopped)

	calm, done := w.Until(t.Context(), "6f1c0000-0000-4000-8000-00000000ffff")
	done()
	<-calm.Done()
	assert.NotErrorIs(t, context.Cause(calm), ecosystem.ErrStopped)
}

// TestAwait returns with news, with the end, with time, and with its context, whichever comes first.
func TestAwait(t *testing.T) {
	s, w := openWatch(t)
	r, err := w.Await(t.Context(), id, 0, 10*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, ecosystem.RunRunning, r.Status, "time passed")
	require.NoError(t, s.Append(t.Context(), id, ecosystem.RunEvent{Type: "log", Message: "one"}))
	_, err = w.Await(t.Context(), id, 0, time.Hour)
	require.NoError(t, err, "there is news")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Await(ctx, id, 1, time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Change(t.Context(), id, func(r *ecosystem.Run) error { return r.End(0, time.Now()) })
	require.NoError(t, err)
	r, err = w.Await(t.Context(), id, 1, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, ecosystem.RunSuccess, r.Status)
	_, err = w.Await(t.Context(), "6f1c0000-0000-4000-8000-00000000ffff", 0, time.Hour)
	require.ErrorIs(t, err, ecosystem.ErrRunUnknown)
}
