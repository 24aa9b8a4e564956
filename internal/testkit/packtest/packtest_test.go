package packtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/memstore"
	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/packtest"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

func inMemory(_ testing.TB, c ports.Clock) packport.Repository { return memstore.NewPacks(c) }

// onDisk writes the trees below a temporary directory, with the secret beside the roots.
func onDisk(t testing.TB, roots map[pack.Root]packtest.Tree) packport.Excerpts {
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
			to, isLink := strings.CutPrefix(text, packtest.Link)
			if !isLink {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				continue
			}
			to = strings.Replace(strings.Replace(to, packtest.Root, dir+"/", 1), packtest.Outside, outside+"/", 1)
			require.NoError(t, os.Symlink(to, file))
		}
	}
	return packfile.NewSource(dirs)
}

// The suites can be passed: the reference repository and the real source do.
func TestSuites(t *testing.T) {
	t.Run("Repository", func(t *testing.T) { packtest.Repository(t, inMemory) })
	t.Run("Excerpts", func(t *testing.T) { packtest.Excerpts(t, onDisk) })
}

func BenchmarkMemory(b *testing.B)  { packtest.BenchmarkRepository(b, inMemory) }
func BenchmarkSources(b *testing.B) { packtest.BenchmarkExcerpts(b, onDisk) }
