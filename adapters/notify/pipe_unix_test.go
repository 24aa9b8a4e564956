//go:build unix

package notify_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/notify"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// TestASecretIsNotWaitedFor: a pipe that nobody writes into is not a file with a secret.
func TestASecretIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	c, err := notify.NewWebhook(notify.WebhookSettings{URL: "file:" + pipe}, env, &clock.Fake{})
	require.NoError(t, err)
	require.ErrorIs(t, c.Send(t.Context(), message()), notify.ErrSecret)
}
