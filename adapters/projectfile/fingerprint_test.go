package projectfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
)

// TestFingerprint is another one when a file that a pattern names is another, is new or is gone, and the same for everything else.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	d := projectfile.New(projectfile.Options{Home: t.TempDir()})
	print := func() string {
		sum, err := d.Fingerprint(t.Context(), dir, []string{"src/**/*.ts", "*.json"})
		require.NoError(t, err)
		return sum
	}
	assert.Empty(t, print(), "there is nothing to compare")
	write("src/a.ts", "1")
	last := print()
	assert.Equal(t, last, print())
	for _, change := range []func(){
		func() { write("src/deep/er/b.ts", "2") },
		func() { write("src/a.ts", "11") },
		func() { write("package.json", "{}") },
		func() { require.NoError(t, os.Rename(filepath.Join(dir, "src/a.ts"), filepath.Join(dir, "src/c.ts"))) },
		func() { require.NoError(t, os.Symlink("c.ts", filepath.Join(dir, "src/link.ts"))) },
		func() { require.NoError(t, os.Remove(filepath.Join(dir, "src/deep/er/b.ts"))) },
	} {
		change()
		now := print()
		assert.NotEqual(t, last, now)
		last = now
	}
	write("src/readme.md", "x")
	write("node_modules/src/x.json", "x")
	write("other/a.ts", "x")
	write(".git/a.json", "x")
	assert.Equal(t, last, print(), "nothing of that was named")
}
