// Package workroom gives the tests of a package temporary directories, in memory if there is room (repositories are thousands of small files), and an empty
// home directory, so that tests can run in parallel. A TMPDIR that is set is used instead.
package workroom

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// memory is a file system in memory on Linux.
const memory = "/dev/shm"

// template is what new repositories begin with: places for hooks and exclusions, and none of git's samples.
const template = "\n[init]\n\ttemplateDir = ~/template\n"

// Run is m.Run with temporary directories that are removed afterwards. Only the given git configuration of the user applies.
func Run(m *testing.M, gitconfig string) int {
	room, err := open(gitconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(room) }()
	return m.Run()
}

// Far returns a directory on another file system than those of t.TempDir, where there is one; it goes when the test ends.
func Far(t testing.TB) string {
	t.Helper()
	top := memory
	if apart("/var/tmp", os.TempDir()) {
		top = "/var/tmp"
	}
	dir, err := os.MkdirTemp(top, "far-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func open(gitconfig string) (string, error) {
	top := os.TempDir()
	if os.Getenv("TMPDIR") == "" && roomy(memory) && runs(memory) {
		top = memory
	}
	room, err := os.MkdirTemp(top, "room-*")
	if err != nil {
		return "", err
	}
	home := filepath.Join(room, "home")
	for _, dir := range []string{"hooks", "info"} {
		if err := os.MkdirAll(filepath.Join(home, "template", dir), 0o755); err != nil {
			return room, err
		}
	}
	if err := os.WriteFile(filepath.Join(home, "template", "info", "exclude"), nil, 0o644); err != nil {
		return room, err
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig+template), 0o600); err != nil {
		return room, err
	}
	for _, pair := range os.Environ() { // a hook of git's has variables that lead every git elsewhere
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "GIT_") {
			if err := os.Unsetenv(name); err != nil {
				return room, err
			}
		}
	}
	for name, value := range map[string]string{"TMPDIR": room, "HOME": home, "XDG_CONFIG_HOME": "", "GIT_CONFIG_NOSYSTEM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			return room, err
		}
	}
	return room, nil
}

// runs reports whether programs can be run there: hooks are.
func runs(dir string) bool {
	trial, err := os.MkdirTemp(dir, "trial-*")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(trial) }()
	program := filepath.Join(trial, "run")
	return os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755) == nil && exec.Command(program).Run() == nil
}
