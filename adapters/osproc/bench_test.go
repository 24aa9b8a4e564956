package osproc_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
)

// BenchmarkRun compares a program that prints 100 MB with the same one writing them to a file (≤ 1.3 x-floor), and shows what one that does
// nothing costs on top of starting it.
func BenchmarkRun(b *testing.B) {
	const text = `yes 'src/app/main.ts:17:4 - built in 12 ms, nothing to complain about here' | head -c 100000000`
	p := open(filepath.Join(b.TempDir(), "processes"))
	b.Run("100MB", func(b *testing.B) { // in turn, because the machine's speed changes
		spec, file := sh(b, text), sh(b, "("+text+") > out")
		best := [2]float64{math.Inf(1), math.Inf(1)}
		for range max(b.N, 10) {
			for i, run := range []func(){func() {
				cmd := exec.Command("sh", file.Argv[1:]...)
				cmd.Dir = file.Dir
				require.NoError(b, cmd.Run())
			}, func() {
				result, err := p.Run(b.Context(), spec, nil)
				require.NoError(b, err)
				require.True(b, result.OK())
			}} {
				began := time.Now()
				run()
				best[i] = min(best[i], time.Since(began).Seconds()*1e3)
			}
			require.NoError(b, os.Remove(filepath.Join(file.Dir, "out")))
		}
		b.ReportMetric(best[0], "to-file-ms")
		b.ReportMetric(best[1], "ours-ms")
		b.ReportMetric(best[1]/best[0], "x-floor")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("NothingAlone", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command("true").Run())
		}
	})
	b.Run("Nothing", func(b *testing.B) {
		spec := sh(b, "")
		spec.Argv = []string{"true"}
		for b.Loop() {
			_, err := p.Run(b.Context(), spec, nil)
			require.NoError(b, err)
		}
	})
}

// BenchmarkStart is what a process in the background costs until it runs.
func BenchmarkStart(b *testing.B) {
	p := open(filepath.Join(b.TempDir(), "processes"))
	spec := sh(b, "exec sleep 300")
	for b.Loop() {
		s, err := p.Start(b.Context(), spec)
		require.NoError(b, err)
		b.StopTimer()
		stop(b, p, s.ID)
		b.StartTimer()
	}
}

// BenchmarkTable reads the newest 100 of 10,000 lines, and looks for something to recover where there is nothing.
func BenchmarkTable(b *testing.B) {
	p := open(filepath.Join(b.TempDir(), "processes"))
	var id process.ID
	_, err := p.Run(b.Context(), sh(b, "yes 'a line of output as there are many, none of them very long, all the same' | head -n 10000"), func(s process.State) { id = s.ID })
	require.NoError(b, err)
	b.Run("Tail100", func(b *testing.B) {
		for b.Loop() {
			chunk, err := p.Output(b.Context(), id, process.TailCursor(100))
			require.NoError(b, err)
			require.Len(b, chunk.Lines, 100)
		}
	})
	b.Run("All", func(b *testing.B) {
		for b.Loop() {
			_, err := p.Output(b.Context(), id, 0)
			require.NoError(b, err)
		}
	})
	b.Run("Recover", func(b *testing.B) {
		for b.Loop() {
			_, err := p.Recover(b.Context())
			require.NoError(b, err)
		}
	})
}
