package packfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// onDisk writes the trees below a temporary directory, with the secret beside the roots.
func onDisk(t testing.TB, roots map[pack.Root]rootFiles) packport.Excerpts {
	top := t.TempDir()
	outside := filepath.Join(top, "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret\n"), 0o600))
	dirs := map[pack.Root]string{}
	for name, tree := range roots {
		dir := filepath.Join(top, "root-"+string(name))
		dirs[name] = dir
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for path, text := range tree {
			file := filepath.Join(dir, filepath.FromSlash(path))
			if strings.HasSuffix(path, "/") {
				require.NoError(t, os.MkdirAll(file, 0o755))
				continue
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			to, isLink := strings.CutPrefix(text, linkTo)
			if !isLink {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				continue
			}
			to = strings.Replace(strings.Replace(to, ownRoot, dir+"/", 1), besideRoot, outside+"/", 1)
			require.NoError(t, os.Symlink(to, file))
		}
	}
	return packfile.NewSource(dirs)
}

// TestExcerpts holds it to what packport says of sources.
func TestExcerpts(t *testing.T) { excerpts(t, onDisk) }
