//go:build linux

package observe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
)

// BenchmarkLoad opens an index of 20,000 files and asks it for one.
func BenchmarkLoad(b *testing.B) {
	dir, file := b.TempDir(), filepath.Join(b.TempDir(), "index")
	path := filepath.Join(dir, "f")
	at := write(b, path, "text")
	x := observe.OpenIndexWithClock(file, indexLater)
	for n := range 20_000 {
		x.Put(fmt.Sprintf("/home/user/.codex/skills/some-skill-%04d/references/topic-%d.md", n/10, n%10), at, wrong())
	}
	x.Put(path, at, wrong())
	require.NoError(b, x.Close())
	on, err := os.Stat(file)
	require.NoError(b, err)
	b.ReportMetric(float64(on.Size())/20_000, "B/entry")
	b.ReportAllocs()
	for b.Loop() {
		_, known := observe.OpenIndexWithClock(file, indexLater).Known(path, observe.StatOf(at))
		require.True(b, known)
	}
}

// BenchmarkSum is a sum that is remembered.
func BenchmarkSum(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	at := write(b, path, "text")
	x := observe.OpenIndexWithClock("", indexLater)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Sum(path, at); err != nil {
			b.Fatal(err)
		}
	}
}
