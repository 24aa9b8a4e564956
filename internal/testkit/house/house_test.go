//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// TestReport: everything that the report knows is found in a small module.
func TestReport(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/module.txtar")
	require.NoError(t, err)
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	files["a/long.go"] = &fstest.MapFile{Data: []byte("package a\n\nfunc long() {\n" + strings.Repeat("\t_ = 1\n", 900) + "}\n")}
	files["a/longer.go"] = &fstest.MapFile{Data: []byte("package a\n" + strings.Repeat("\n", 2000))}
	m, err := load(files)
	require.NoError(t, err)
	var out bytes.Buffer
	report(&out, m)
	golden.Text(t, "report", out.String())
}

// TestRan: of the counters of two processes, what ran in the one and not in the other.
func TestRan(t *testing.T) {
	const before = "example.com/m/a/a.go:3:\tOpen\t80.0%\nexample.com/m/a/a.go:9:\tCall\t0.0%\ntotal\t(statements)\t5.0%\n"
	const after = "example.com/m/a/a.go:3:\tOpen\t100.0%\nexample.com/m/a/a.go:9:\tCall\t50.0%\nexample.com/m/b/b.go:1:\tRun\t1.2%\ntotal\t(statements)\t5.0%\n"
	base, call := ran(before, "example.com/m"), ran(after, "example.com/m")
	assert.Equal(t, []string{"a/a.go:3: Open", "a/a.go:9: Call", "b/b.go:1: Run"}, call)
	assert.Equal(t, []string{"a/a.go:9: Call", "b/b.go:1: Run"}, without(call, base))
	assert.Equal(t, []string{"a", "b"}, dirs(call))
}
