package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// TestMain lets the test binary be the command, for scripts and for sessions with child processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"countersign": main, "edit-audit": editAudit})
}

// TestScripts runs every behaviour of the command line: testdata/script/*.txtar, one each. Every script has a HOME of its own and
// sees nothing of this machine's configuration.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would have every command end a second later
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			e.Setenv("GIT_AUTHOR_NAME", "A")
			e.Setenv("GIT_AUTHOR_EMAIL", "a@example.com")
			e.Setenv("GIT_COMMITTER_NAME", "A")
			e.Setenv("GIT_COMMITTER_EMAIL", "a@example.com")
			for _, dir := range []string{home, filepath.Join(e.WorkDir, "tmp")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			return nil
		},
		RequireExplicitExec: true,
	})
}

// editAudit is a command for scripts: it runs SQL on a database, as somebody would who wants to change the past.
func editAudit() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
