package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/countersign-dev/countersign/adapters/isolation"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/cmd/internal/wiring"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
)

// TestMain lets the test binary be the command, for scripts and for sessions with child processes.
func TestMain(m *testing.M) {
	fakeserver.RunIfAsked()
	testscript.Main(m, map[string]func(){"countersign": lenient, "countersign-strict": strict, "agentserver": playAgentServer, "edit-audit": editAudit, "envelope": readEnvelope})
}

// lenient is the command built into a program in which the caller approves, so that behaviours can be tested that have nothing to do with approval. A
// script has users approve with COUNTERSIGN_APPROVAL=human.
func lenient() {
	check := checkJSON(os.Args[1:])
	code := wiring.Build{Version: version, Approval: policy.ApprovalCaller, Trust: trust()}.Main(os.Args[1:])
	os.Exit(check(code))
}

// strict is the command as users install it, but for where the machine's layers of policy are.
func strict() { os.Exit(wiring.Build{Version: version, Trust: trust()}.Main(os.Args[1:])) }

// trust returns a machine of the test's own: its account's directory is $HOME, and the system's file lies beside it.
func trust() local.Trust {
	home := os.Getenv("HOME")
	return local.Trust{SystemFile: filepath.Join(home, "..", "system", "policy.yaml"), AnyOwner: true, AccountHome: home}
}

// TestScripts runs every behaviour of the command line: testdata/script/*.txtar, one each. Every script has a HOME of its own and
// sees nothing of this machine's configuration.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(name string) (bool, error) { // landlock: the kernel keeps programs inside of a sandbox
			if name != "landlock" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return isolation.Available(true) == nil, nil
		},
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"hookserver": serveHooks},
		RequireExplicitExec: true,
	})
}

// serveHooks is a command for scripts: it starts a server on this machine that says back what it was asked, with 500 for /bad, and puts its
// address into $HOOK.
func serveHooks(ts *testscript.TestScript, _ bool, _ []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	}))
	ts.Defer(server.Close)
	ts.Setenv("HOOK", server.Listener.Addr().String())
}

// editAudit is a command for scripts: it runs SQL on a database, as somebody would who wants to change the past.
func editAudit() {
	db, err := sql.Open("sqlite", os.Args[1]+"?_pragma=busy_timeout(60000)")
	if err == nil {
		_, err = db.Exec(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// readEnvelope is a command for scripts: it reads one envelope of the agentpack contract, and nothing beside it, and says what is in it.
func readEnvelope() {
	var e struct {
		Schema   int               `json:"schema_version"`
		OK       bool              `json:"ok"`
		Command  string            `json:"command"`
		ID       string            `json:"command_id"`
		Path     []string          `json:"command_path"`
		Version  string            `json:"version"`
		Data     map[string]any    `json:"data"`
		Warnings []string          `json:"warnings"`
		Errors   []json.RawMessage `json:"errors"`
	}
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&e)
	if _, more := decoder.Token(); err == nil && more != io.EOF {
		err = fmt.Errorf("there is more than one document")
	}
	if err == nil && (e.Schema != 1 || e.Version == "" || len(e.Path) == 0 || e.Data == nil || e.Warnings == nil || e.OK != (len(e.Errors) == 0)) {
		err = fmt.Errorf("it is no envelope: %+v", e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := "ok"
	if !e.OK {
		code = failureCode(e.Errors[0])
	}
	fmt.Printf("%s: %s (%s)\n", code, e.ID, e.Command)
}

func failureCode(failure json.RawMessage) string {
	var f struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal(failure, &f); err != nil {
		return err.Error()
	}
	return f.Code
}
