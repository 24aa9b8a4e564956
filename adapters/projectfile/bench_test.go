package projectfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
)

// village is that many ordinary projects: 30 entries each, a package.json of 40 scripts and 60 dependencies.
func village(b *testing.B, n int) (roots []string) {
	b.Helper()
	var text strings.Builder
	text.WriteString(`{"name":"shop","version":"1.2.3","packageManager":"pnpm@9.1.0","scripts":{`)
	for i := range 40 {
		fmt.Fprintf(&text, `"task:%d":"node scripts/task.js --number %d && eslint --fix src/part%d",`, i, i, i)
	}
	text.WriteString(`"build":"vite build"},"dependencies":{`)
	for i := range 60 {
		fmt.Fprintf(&text, `"@scope/package-%d":"^%d.2.3",`, i, i)
	}
	text.WriteString(`"react":"^19.0.0"}}`)
	base, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	for i := range n {
		dir := filepath.Join(base, fmt.Sprintf("project-%03d", i))
		require.NoError(b, os.Mkdir(dir, 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(dir, "package.json"), []byte(text.String()), 0o644))
		for j := range 30 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.txt", j)), nil, 0o644))
		}
		roots = append(roots, dir)
	}
	return roots
}

// BenchmarkFacts is what 200 projects say of themselves; it must stay below a millisecond each.
func BenchmarkFacts(b *testing.B) {
	roots := village(b, 200)
	d := open(b, machine{Home: "/nowhere"})
	each(b, len(roots), func() {
		for _, dir := range roots {
			_, err := d.Facts(b.Context(), dir)
			require.NoError(b, err)
		}
	})
}

// BenchmarkResolve finds a directory among 200 roots.
func BenchmarkResolve(b *testing.B) {
	roots := village(b, 200)
	d := open(b, machine{Home: "/nowhere"})
	each(b, 1, func() {
		_, _, err := d.Resolve(b.Context(), roots[150], roots)
		require.NoError(b, err)
	})
}

// BenchmarkSurroundings is what a process would find on this very machine.
func BenchmarkSurroundings(b *testing.B) {
	roots := village(b, 1)
	d := projectfile.New(projectfile.Options{})
	each(b, 1, func() {
		_, err := d.Surroundings(b.Context(), roots[0])
		require.NoError(b, err)
	})
}

func each(b *testing.B, n int, work func()) {
	b.Helper()
	b.ReportAllocs()
	var spent time.Duration
	runs := 0
	for b.Loop() {
		start := time.Now()
		work()
		spent += time.Since(start)
		runs++
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(runs*n), "µs/each")
}
