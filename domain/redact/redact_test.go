package redact_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// goroot is where the standard library's sources are; without the go command the test is skipped.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("go: not installed")
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(src); err != nil {
		t.Skip("the sources of the standard library are not installed")
	}
	return src
}

// Most code has no secret in it: of the lines of the standard library, tests and keys in them included, at most one in a thousand may change.
func TestTheStandardLibraryStaysAsItIs(t *testing.T) {
	src := goroot(t)
	r := redact.New(redact.Options{})
	lines, changed := 0, 0
	rules := map[string]int{}
	samples := map[string][]string{}
	var spent time.Duration
	size := 0
	require.NoError(t, filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		in := strings.Split(string(text), "\n")
		start := time.Now()
		out, _ := r.Lines(in)
		spent += time.Since(start)
		size += len(text)
		require.Len(t, out, len(in), path)
		lines += len(in)
		for i := range in {
			if in[i] == out[i] {
				continue
			}
			changed++
			_, rule, _ := strings.Cut(out[i], "[REDACTED:")
			rule, _, _ = strings.Cut(rule, "]")
			rules[rule]++
			samples[rule] = append(samples[rule], strings.TrimPrefix(path, src)+": "+strings.TrimSpace(in[i]))
		}
		return nil
	}))
	t.Logf("%d of %d lines changed (%.4f %%), %.0f MB/s", changed, lines, 100*float64(changed)/float64(lines), float64(size)/1e6/spent.Seconds())
	for rule, n := range rules {
		t.Logf("%s: %d", rule, n)
		rand.Shuffle(len(samples[rule]), func(i, j int) { samples[rule][i], samples[rule][j] = samples[rule][j], samples[rule][i] })
		for _, s := range samples[rule][:min(len(samples[rule]), 14)] {
			t.Log("    ", s[:min(len(s), 160)])
		}
	}
	require.LessOrEqual(t, float64(changed)/float64(lines), 0.001)
}

var _ = bufio.NewReader
var _ = bytes.NewReader
var _ = runtime.GOOS
