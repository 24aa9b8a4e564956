//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// farModule returns a config repository whose module comes from a server, which counts what is asked of it.
func (s *site) farModule(text string) (url string, asked *atomic.Int64) {
	s.t.Helper()
	upstream, commit := s.gitModule(text)
	s.git(upstream, "update-server-info")
	asked = new(atomic.Int64)
	files := http.FileServer(http.Dir(upstream))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		files.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	url = server.URL + "/.git"
	s.manifest(oneModule(fmt.Sprintf(`{id: "instructions:far", type: instructions, tags: [base], source: {git: {url: %q, subdir: rules}}}`, url)))
	s.lock(url, commit, text)
	return url, asked
}

// waiting returns the questions that wait.
func (s *site) waiting() []question {
	s.t.Helper()
	var found struct{ Confirmations []question }
	cmd := s.commandIn(s.project, "confirmations", "--json")
	out, err := cmd.Output()
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(out, &found), string(out))
	return found.Confirmations
}

// TestWithoutATerminalTheQuestionStays: a command that changes something, run where nobody can be asked, leaves its question to the user.
func TestWithoutATerminalTheQuestionStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.strict = true
	for i, command := range [][]string{{"add", "instructions", "local:modules/instructions/base", "--id", "instructions:again"}, {"deploy", "--apply", "--json"}, {"deploy", "--apply", "--yes"}} {
		cmd := s.commandIn(s.project, append([]string{"agents"}, command...)...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Equal(t, 6, cmd.ProcessState.ExitCode(), "%v: %s", command, out)
		assert.Contains(t, string(out), "E_CONFIRM_PENDING", "%v", command)
		assert.Len(t, s.waiting(), min(i+1, 2), "%v: %s", command, out)
	}
}

// TestAnUnapprovedRemoteIsAskedAbout: a read that would fetch from a URL which only the agent has written somewhere asks the user first, once, and reaches
// nothing until then. What the user has approved is not asked about again, by whatever call.
func TestAnUnapprovedRemoteIsAskedAbout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.strict = true
	_, asked := s.farModule("# Far rules\n")
	a := s.agentIn(s.project, "--confirm-wait", "0s")
	for _, read := range []string{"plan", "preview", "deploy", "status", "plan"} {
		p := a.refuses("E_CONFIRM_PENDING", read, nil)
		assert.Contains(t, p.Message, "fetch from http://127.0.0.1", read)
	}
	require.Zero(t, asked.Load(), "nothing is reached before a person has said so")
	waits := s.waiting()
	require.Len(t, waits, 1, "one URL is one question, whoever wants it")
	assert.Equal(t, "approve_remote", waits[0].Tool)

	seen, code := typedAt(t, s.commandIn(s.project, "approve", waits[0].ID), "y")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "fetch from http://127.0.0.1")
	require.Zero(t, asked.Load(), "a yes carries nothing out by itself")
	assert.NotEmpty(t, a.does("plan", nil).Changes)
	assert.NotZero(t, asked.Load())
	a.does("preview", nil)
	assert.Empty(t, s.waiting())

	// another URL, and a row that nobody's answer stands behind
	_, other := s.farModule("# Other rules\n")
	a.refuses("E_CONFIRM_PENDING", "plan", nil)
	db := openDB(t, s.countersign)
	_, err := db.Exec("UPDATE grants SET state = 1, answerer = 'terminal'")
	require.NoError(t, err)
	a.refuses("E_CONFIRM_PENDING", "plan", nil)
	assert.Zero(t, other.Load())

	// a question that shows, or would approve, another URL than it was asked about
	for _, edits := range []string{
		`UPDATE grants SET state = 0, answerer = '', prompt = 'fetch from https://example.com', plan = CAST(replace(CAST(plan AS TEXT), '127.0.0.1', 'example.com') AS BLOB) WHERE id = ?`,
		`UPDATE grants SET extra = CAST(json_set(CAST(extra AS TEXT), '$.remotes', json('["https://example.com"]')) AS BLOB) WHERE id = ?`,
	} {
		a.refuses("E_CONFIRM_PENDING", "plan", nil)
		waits = s.waiting()
		require.NotEmpty(t, waits)
		id := waits[len(waits)-1].ID
		_, err = db.Exec(edits, id)
		require.NoError(t, err)
		seen, code = typedAt(t, s.commandIn(s.project, "approve", id), "y")
		assert.NotZero(t, code, seen)
		assert.NotContains(t, seen, "example.com")
		a.refuses("E_CONFIRM_PENDING", "plan", nil)
		assert.Zero(t, other.Load())
	}

	url, typed := s.farModule("# Typed rules\n")
	s.manifest("version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n  codex: {mode: files, scope: project}\nmodules: []\n")
	seen, code = typedAt(t, s.commandIn(s.project, "agents", "add", "instructions", "git:"+url+"#subdir=rules", "--id", "instructions:far", "--tags", "base"), "y")
	require.Zero(t, code, seen)
	assert.NotEmpty(t, a.does("plan", nil).Changes, "a person has added that URL at a terminal")
	assert.NotZero(t, typed.Load())

	_, third := s.farModule("# Third rules\n")
	a.refuses("E_CONFIRM_PENDING", "plan", nil)
	waits = s.waiting()
	require.NotEmpty(t, waits)
	seen, code = typedAt(t, s.commandIn(s.project, "deny", waits[len(waits)-1].ID), "")
	require.Zero(t, code, seen)
	a.refuses("E_CONFIRM_PENDING", "plan", nil)
	assert.Zero(t, third.Load(), "a no is no yes")
}

// TestASyncGoesWhereAPersonSaw: the question has the URLs, commits and hooks, and what is allowed until a date covers no other ones.
func TestASyncGoesWhereAPersonSaw(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.strict = true
	s.commitRepo()
	far := t.TempDir()
	good, evil, ran := filepath.Join(far, "good.git"), filepath.Join(far, "evil.git"), filepath.Join(far, "ran")
	for _, bare := range []string{good, evil} {
		s.git(s.repo, "init", "-q", "--bare", bare)
	}
	s.git(s.repo, "remote", "add", "origin", good)
	a := s.agentIn(s.project, "--confirm-wait", "0s", "--toolsets", "authoring")
	sync := args{"yes": true}
	approves := func(words ...string) {
		t.Helper()
		waits := s.waiting()
		require.Len(t, waits, 1)
		seen, code := typedAt(t, s.commandIn(s.project, append([]string{"approve", waits[0].ID}, words...)...), "y")
		require.Zero(t, code, seen)
		assert.Contains(t, seen, good)
		assert.Contains(t, seen, s.git(s.repo, "rev-parse", "HEAD"))
	}
	a.refuses("E_CONFIRM_PENDING", "agents_sync", sync)
	approves()
	a.does("agents_sync", sync)
	a.refuses("E_CONFIRM_PENDING", "agents_sync", sync) // nothing is to be pushed any more
	approves("--for", "8h")
	a.does("agents_sync", sync)
	a.does("agents_sync", sync)
	assert.Empty(t, s.waiting())

	s.git(s.repo, "config", "remote.origin.pushurl", evil)
	a.refuses("E_CONFIRM_PENDING", "agents_sync", sync)
	s.git(s.repo, "config", "--unset", "remote.origin.pushurl")
	write(t, s.inRepo(".git/hooks/pre-push"), "#!/bin/sh\ntouch '"+ran+"'\n")
	require.NoError(t, os.Chmod(s.inRepo(".git/hooks/pre-push"), 0o755))
	a.refuses("E_CONFIRM_PENDING", "agents_sync", sync)
	waits := s.waiting()
	require.NotEmpty(t, waits)
	assert.Equal(t, "high", waits[len(waits)-1].Risk)
	assert.NoFileExists(t, ran)
	assert.Empty(t, s.git(evil, "branch", "--list"))
}
