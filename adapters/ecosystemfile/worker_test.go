package ecosystemfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func workers(dir string) *ecosystemfile.Workers {
	return ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: func() (string, error) { return dir, nil }})
}

func TestOnlySoManyWorkAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "workers")
	var working, most atomic.Int32
	done := make(chan error, 16)
	for range 16 {
		go func() {
			release, err := workers(dir).Turn(t.Context(), 3)
			if err == nil {
				most.Store(max(most.Load(), working.Add(1)))
				<-time.After(2 * time.Millisecond)
				working.Add(-1)
				release()
				release()
			}
			done <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-done)
	}
	assert.LessOrEqual(t, most.Load(), int32(3))
	assert.Positive(t, most.Load())
}

func TestWhoeverGivesUpHasNoPlace(t *testing.T) {
	dir := t.TempDir()
	w := workers(dir)
	release, err := w.Turn(t.Context(), 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = workers(dir).Turn(ctx, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	second, err := workers(dir).Turn(t.Context(), 2)
	require.NoError(t, err, "there is a second place when there may be two")
	second()
	release()
	again, err := workers(dir).Turn(t.Context(), 1)
	require.NoError(t, err)
	again()
	standard, err := w.Turn(t.Context(), 0)
	require.NoError(t, err)
	standard()
}

func TestPlacesThatCannotBeTaken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err := workers(dir).Turn(t.Context(), 1)
	require.ErrorIs(t, err, ecosystem.ErrStorage)
	refusal := errors.New("no home")
	_, err = ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: func() (string, error) { return "", refusal }}).Turn(t.Context(), 1)
	require.ErrorIs(t, err, refusal)
}

func TestWakeStartsTheProgram(t *testing.T) {
	var argv []string
	var dir string
	command := append(make([]string, 0, 9), "countersign", "eco", "work")
	w := ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Command: command, Start: func(_ context.Context, a []string, d string) error {
		argv, dir = a, d
		return nil
	}})
	require.NoError(t, w.Wake(t.Context(), ecosystem.Layout{Name: "demo", Root: "/ws"}))
	assert.Equal(t, []string{"countersign", "eco", "work", "--root", "/ws", "--ecosystem", "demo"}, argv)
	assert.Equal(t, "/ws", dir)
	assert.Equal(t, []string{"countersign", "eco", "work"}, command)

	refusal := errors.New("no memory")
	w = ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Start: func(context.Context, []string, string) error { return refusal }})
	require.ErrorIs(t, w.Wake(t.Context(), ecosystem.Layout{}), refusal)
}
