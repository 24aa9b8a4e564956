package docfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docfile"
)

// TestWriteModeSetsPermissions, for a new document and over one that has others, also where the umask would take them away.
func TestWriteModeSetsPermissions(t *testing.T) {
	d := docfile.NewDir(filepath.Join(t.TempDir(), "new"))
	for _, mode := range []fs.FileMode{0o644, 0o600, 0o666, 0o755, 0o400, 0o640} {
		require.NoError(t, d.WriteMode("doc", []byte("x"), mode))
		info, err := os.Stat(d.File("doc"))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode())
	}
	require.NoError(t, d.Write("doc", []byte("y")))
	info, err := os.Stat(d.File("doc"))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode(), "Write sets its own")
}
