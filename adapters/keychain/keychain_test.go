package keychain_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/keychain"
)

// TestWithoutAKeychain: where no session bus is, or nobody answers on it, that is said, and no bus is started to find out.
func TestWithoutAKeychain(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // the others always have one
	}
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dbus-launch"), []byte("#!/bin/sh\n: >"+started+"\n"), 0o755))
	t.Setenv("PATH", dir)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for _, address := range []string{"", "unix:path=" + filepath.Join(dir, "nobody")} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		value, found, err := keychain.Get("TOKEN")
		require.ErrorIs(t, err, keychain.ErrUnavailable, address)
		assert.False(t, found)
		assert.Empty(t, value)
	}
	assert.NoFileExists(t, started)
	assert.Equal(t, "secret-tool store --label=TOKEN service countersign username TOKEN (secret-tool comes with libsecret)", keychain.HowToStore("TOKEN"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret-tool"), []byte("#!/bin/sh\n"), 0o755))
	assert.Equal(t, "secret-tool store --label=TOKEN service countersign username TOKEN", keychain.HowToStore("TOKEN"))
}
