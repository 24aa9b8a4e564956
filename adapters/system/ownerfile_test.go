package system_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func TestLeases(t *testing.T) {
	porttest.Leases(t, func(t testing.TB) (one, other ports.Leases) {
		dir := filepath.Join(t.TempDir(), "home", "owners")
		return system.NewLeases(dir), system.NewLeases(dir)
	})
}

// TestWhatIsNoLeaseIsNone: nothing is made of files that nobody here wrote, and a lease that cannot be read is none that ran out.
func TestWhatIsNoLeaseIsNone(t *testing.T) {
	dir := t.TempDir()
	name := owner.Name("7:1:b:s:m")
	for file, text := range map[string]string{"notes.json": "{}", "0123456789ab.txt": "{}", name + ".json": `{"renewed_at":`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	_, err := system.NewLeases(dir).Find(t.Context(), name)
	require.Error(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, name+".json")))
	all, err := system.NewLeases(dir).List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
}
