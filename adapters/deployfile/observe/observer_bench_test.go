package observe_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const files = 10_000

// later is a clock for which everything was left alone for long enough.
func later() time.Time { return time.Now().Add(2 * observe.RacyWindow) }

// skills is a root with many files, ten a directory, and their paths.
func skills(b *testing.B) (deployment.Root, []string) {
	root := deployment.Root{Target: "codex", Path: b.TempDir(), ScanExtras: true}
	paths := make([]string, files)
	body := strings.Repeat("Line by line, what an agent should know.\n", 100)
	for i := range paths {
		paths[i] = filepath.Join(root.Path, "skills", fmt.Sprintf("some-skill-%04d", i/10), "references", fmt.Sprintf("topic-%d.md", i%10))
		if i%10 == 0 {
			require.NoError(b, os.MkdirAll(filepath.Dir(paths[i]), 0o755))
		}
		require.NoError(b, os.WriteFile(paths[i], []byte(body[i%400:]), 0o644))
	}
	return root, paths
}

// claim writes a manifest that lists all paths.
func claim(b *testing.B, root deployment.Root, paths []string) {
	m := observe.Manifest{GeneratedAt: time.Now(), Target: root.Target, Root: root.Path, SnapshotID: "1772359200500000000"}
	for _, path := range paths {
		m.Files = append(m.Files, deployment.Owned{Target: root.Target, Root: root.Path, Path: path, Sum: deployment.SumOf([]byte(path)), Modules: []string{"skill:some-skill"}})
	}
	data, err := observe.EncodeManifest(m)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(root.Path, observe.ManifestName(root.Target)), data, 0o644))
}

// BenchmarkObserveWarm is a second look at 10,000 files, given as paths or by a manifest as well; the floor is os.Lstat of the same paths.
func BenchmarkObserveWarm(b *testing.B) {
	root, paths := skills(b)
	index := observe.OpenIndexWithClock("", later)
	k := observe.NewObserver(index)
	observe := func(b *testing.B, want int) {
		o, err := k.Observe(b.Context(), deployport.Look{Roots: []deployment.Root{root}, Paths: paths})
		require.NoError(b, err)
		require.Len(b, o.Files, files)
		require.Len(b, o.Owned(), want)
	}
	observe(b, 0)
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, path := range paths {
				if _, err := os.Lstat(path); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("paths", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			observe(b, 0)
		}
	})
	claim(b, root, paths)
	b.Run("manifest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			observe(b, files)
		}
	})
}

// BenchmarkObserveCold is the first look; the floor is reading the same files and SHA-256 with as many goroutines as cores.
func BenchmarkObserveCold(b *testing.B) {
	root, paths := skills(b)
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			var group sync.WaitGroup
			workers := runtime.GOMAXPROCS(0)
			for w := range workers {
				group.Go(func() {
					for i := w; i < len(paths); i += workers {
						data, err := os.ReadFile(paths[i])
						if err != nil {
							panic(err)
						}
						_ = sha256.Sum256(data)
					}
				})
			}
			group.Wait()
		}
	})
	b.Run("observe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			o, err := observe.NewObserver(observe.OpenIndexWithClock("", later)).Observe(b.Context(), deployport.Look{Roots: []deployment.Root{root}, Paths: paths})
			require.NoError(b, err)
			require.Len(b, o.Files, files)
		}
	})
}

// BenchmarkExtras lists 10,000 files.
func BenchmarkExtras(b *testing.B) {
	root, _ := skills(b)
	for b.Loop() {
		found, err := observe.NewObserver(observe.OpenIndex("")).Extras(b.Context(), root)
		require.NoError(b, err)
		require.Len(b, found, files)
	}
}
