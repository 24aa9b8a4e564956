package gitfixture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Traps are programs that must never run: each leaves a file behind when it does.
type Traps struct {
	t    testing.TB
	dir  string
	left string
	then string
}

// NewTraps is none yet. Each will end with the shell command then, empty for none.
func NewTraps(t testing.TB, then string) Traps {
	t.Helper()
	r := Traps{t: t, dir: t.TempDir(), then: then}
	r.left = filepath.Join(r.dir, "left")
	require.NoError(t, os.Mkdir(r.left, 0o755))
	return r
}

// Program returns the path of the program of that name.
func (r Traps) Program(name string) string {
	r.t.Helper()
	file := filepath.Join(r.dir, "run-"+name)
	require.NoError(r.t, os.WriteFile(file, []byte("#!/bin/sh\n>'"+r.Left(name)+"'\n"+r.then+"\n"), 0o755))
	return file
}

// Hooks returns a directory of hooks of those names.
func (r Traps) Hooks(names ...string) string {
	r.t.Helper()
	dir := filepath.Join(r.dir, "hooks")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	for _, name := range names {
		require.NoError(r.t, os.Rename(r.Program(name), filepath.Join(dir, name)))
	}
	return dir
}

// Left returns the file that the program of that name leaves.
func (r Traps) Left(name string) string { return filepath.Join(r.left, name) }

// Sprung returns the names of the programs that ran since it was last asked, sorted.
func (r Traps) Sprung() (names []string) {
	r.t.Helper()
	entries, err := os.ReadDir(r.left)
	require.NoError(r.t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
		require.NoError(r.t, os.Remove(filepath.Join(r.left, entry.Name())))
	}
	return names
}
