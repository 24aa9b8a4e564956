package packfile_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkManyRefsOneFile reads 40 ranges of three lines out of one 50 MB file. Its floor reads the file once into a buffer of the same size;
// it must stay within 1.5 times that.
func BenchmarkManyRefsOneFile(b *testing.B) {
	const size, refs = 50 << 20, 40
	line := "\tif err := verify(ctx, token); err != nil { // %07d\n"
	var text strings.Builder
	n := 0
	for ; text.Len() < size; n++ {
		fmt.Fprintf(&text, line, n)
	}
	s, root, _ := tree(b, map[string]string{"big.go": text.String()})
	var want []int
	for i := range refs {
		first := (n - 4) * i / (refs - 1)
		want = append(want, first+1, first+2, first+3)
	}
	floor := func() {
		f, err := os.Open(filepath.Join(root, "big.go"))
		require.NoError(b, err)
		defer f.Close()
		for buf := make([]byte, 128<<10); ; {
			if _, err := f.Read(buf); err == io.EOF {
				return
			}
		}
	}
	sourceRatio(b, floor, func() {
		got, _, err := read(b, s, at("big.go"), want...)
		require.NoError(b, err)
		require.Len(b, got, 3*refs)
	})
}

// BenchmarkManyFiles reads two ranges out of each of 50 files. Its floor reads each whole file once; it must stay within 2 times that.
func BenchmarkManyFiles(b *testing.B) {
	files := map[string]string{}
	var names []string
	for i := range 50 {
		name := fmt.Sprintf("internal/part%d/file%d.go", i%7, i)
		files[name] = strings.Repeat("\tif err := verify(ctx, token); err != nil {\n", 400)
		names = append(names, name)
	}
	s, root, _ := tree(b, files)
	floor := func() {
		for _, name := range names {
			_, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(b, err)
		}
	}
	sourceRatio(b, floor, func() {
		for _, name := range names {
			_, err := s.Read(b.Context(), at(name), 10, func(n int, _ []byte) int {
				switch {
				case n < 30:
					return n + 1
				case n < 350:
					return 350
				case n < 370:
					return n + 1
				}
				return 0
			})
			require.NoError(b, err)
		}
	})
}

// sourceRatio runs floor and work in turn and reports work as a multiple of floor, both at their best: what disturbs a run only ever adds.
func sourceRatio(b *testing.B, floor, work func()) {
	b.Helper()
	floor()
	work()
	least := map[bool]time.Duration{true: 1 << 62, false: 1 << 62}
	for b.Loop() {
		for isFloor, run := range map[bool]func(){true: floor, false: work} {
			start := time.Now()
			run()
			least[isFloor] = min(least[isFloor], time.Since(start))
		}
	}
	b.ReportMetric(float64(least[false])/float64(least[true]), "x-floor")
	b.ReportMetric(float64(least[false].Microseconds()), "µs/work")
}
