//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// once holds a question that waits to being answerable still, and its call to running exactly once.
func (v *victim) once(t *testing.T, id string) {
	t.Helper()
	a := v.agent()
	if _, failed := outcome(t, a.Call("run_script", v.mark())); failed != nil {
		require.Equal(t, "CONFIRMATION_PENDING", failed.Code, failed.Message)
		assert.False(t, v.marked(), "nothing has run")
		seen, code := v.atTerminal("y", "approve", id)
		require.Zero(t, code, seen)
		var ran struct{ Success bool }
		a.sees(&ran, "run_script", v.mark())
	}
	assert.True(t, v.marked())
	a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	v.must("audit", "verify")
}

// TestTheDatabaseIsOfNoUse: it is on a read-only file system, or emptied, while a question waits. Nothing is approved, nothing runs and none is begun in
// its place; once it is back the question is answered.
func TestTheDatabaseIsOfNoUse(t *testing.T) {
	for name, sicken := range map[string]func(t *testing.T, home string) (heal func()){
		"read-only": func(t *testing.T, home string) func() {
			err := syscall.Mount(home, home, "", syscall.MS_BIND, "")
			if errors.Is(err, syscall.EPERM) {
				t.Skip("nothing can be mounted here")
			}
			require.NoError(t, err)
			require.NoError(t, syscall.Mount(home, home, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
			heals := func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) }
			t.Cleanup(heals)
			return heals
		},
		"zero bytes": func(t *testing.T, home string) func() {
			kept, db := t.TempDir(), filepath.Join(home, "countersign.db")
			for _, name := range []string{"countersign.db", "countersign.db-wal", "countersign.db-shm"} {
				if err := os.Rename(filepath.Join(home, name), filepath.Join(kept, name)); !errors.Is(err, os.ErrNotExist) {
					require.NoError(t, err)
				}
			}
			write(t, db, "")
			return func() {
				info, err := os.Stat(db)
				require.NoError(t, err)
				assert.Zero(t, info.Size(), "none was begun in its place")
				for _, name := range names(t, kept) {
					require.NoError(t, os.Rename(filepath.Join(kept, name), filepath.Join(home, name)))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			id := v.questions(1)[0].ID
			a.leaves()
			heal := sicken(t, filepath.Join(v.home, ".countersign"))
			b := v.agent()
			_, failed := outcome(t, b.Call("run_script", v.mark()))
			require.NotNil(t, failed)
			assert.NotEqual(t, "CONFIRMATION_PENDING", failed.Code)
			b.CloseStdin()
			b.Wait()
			seen, code := v.atTerminal("y", "approve", id)
			assert.NotZero(t, code, seen)
			assert.NotContains(t, seen, "approved "+id)
			assert.False(t, v.marked())
			heal()
			v.once(t, id)
		})
	}
}

// TestAnApproverIsKilled: whoever approves at a terminal dies before the answer is typed, or with it.
func TestAnApproverIsKilled(t *testing.T) {
	for name, typed := range map[string]string{"before the answer": "", "with the answer": "y\n"} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			id := v.questions(1)[0].ID
			a.leaves() // and leaves its question to the next of the same
			s := v.sits(140, 60, "approve", id)
			s.sees("echo done > mark", "Approve?")
			s.types(typed)
			require.NoError(t, s.cmd.Process.Kill())
			<-s.exited
			if typed == "" {
				assert.Equal(t, id, v.questions(1)[0].ID)
			}
			assert.False(t, v.marked(), "an answer runs nothing by itself")
			v.once(t, id)
		})
	}
}

// TestATerminalOfItsOwn documents what succeeds: a program that runs as the same user, with no guard on its shell, opens a pseudo-terminal and answers
// itself. What stops it is a proof that it cannot make.
func TestATerminalOfItsOwn(t *testing.T) {
	v := newVictim(t)
	a := v.agent()
	a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	seen, code := v.atTerminal("y", "approve", v.questions(1)[0].ID)
	require.Zero(t, code, seen)
	var ran struct{ Success bool }
	a.sees(&ran, "run_script", v.mark())
	require.NoError(t, os.Remove(filepath.Join(v.project, "mark")))
	for _, proof := range []string{"touch", "passkey"} {
		out, problems, code := v.try("policy", "require", proof, "run_script")
		require.Zero(t, code, "%s%s", out, problems)
		a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		for _, q := range v.questions(-1) {
			seen, code = v.atTerminal("y", "approve", q.ID)
			assert.NotZero(t, code, seen)
		}
		seen, code = v.atTerminal("y", "policy", "require", "person", "for", "run_script")
		assert.NotZero(t, code, seen)
		a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		assert.False(t, v.marked())
	}
}

// TestAFormIsAnsweredTwice over the bytes of a host whose forms the user switched on: an answer to another question is nobody's, the second to the same one
// counts for nothing, and neither does one that comes after the user has decided elsewhere, or after the host was killed.
func TestAFormIsAnsweredTwice(t *testing.T) {
	v := newVictim(t)
	for _, connects := range [][]string{{"connect", "codex"}, {"connect", "codex", "--forms"}} {
		seen, code := v.atTerminal("y", connects...)
		require.Zero(t, code, seen)
	}
	host := func() *stdiotest.Client {
		c := stdiotest.Start(t, v.command("mcp", "--toolsets", "projects", "--confirm-wait", "10m", "--host", "codex"))
		c.Send(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"codex","version":"1"}}}`)
		c.Recv()
		c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		return c
	}
	call, err := json.Marshal(args{"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": args{"name": "run_script", "arguments": v.mark()}})
	require.NoError(t, err)
	hears := func(c *stdiotest.Client, is func(id json.RawMessage, method string) bool) (json.RawMessage, string) {
		t.Helper()
		for {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			raw := c.Recv()
			require.NoError(t, json.Unmarshal(raw, &m))
			if is(m.ID, m.Method) {
				return m.ID, string(raw)
			}
		}
	}
	asks := func(c *stdiotest.Client) string {
		t.Helper()
		c.Send(string(call))
		id, shown := hears(c, func(_ json.RawMessage, method string) bool { return method == "elicitation/create" })
		assert.Contains(t, shown, "echo done")
		return string(id)
	}
	says := func(c *stdiotest.Client, id string) {
		c.Send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"decision":"approve"}}}`)
	}
	answered := func(id json.RawMessage, method string) bool { return method == "" && string(id) == `"call"` }

	c := host()
	form := asks(c)
	for _, other := range []string{`"another"`, `99999`, `"` + v.questions(1)[0].ID + `"`} {
		says(c, other)
	}
	assert.Len(t, v.questions(1), 1, "an answer to another question answers nothing")
	assert.False(t, v.marked())
	says(c, form)
	says(c, form)
	_, said := hears(c, answered)
	assert.Contains(t, said, "success")
	require.NoError(t, os.Remove(filepath.Join(v.project, "mark")))
	says(c, form) // once more, late

	form = asks(c)
	seen, code := v.atTerminal("n", "approve", v.questions(1)[0].ID)
	require.Zero(t, code, seen)
	_, said = hears(c, answered)
	assert.Contains(t, said, "USER_CANCELLED")
	says(c, form)
	assert.False(t, v.marked(), "a person has denied it before")

	asks(c)
	id := v.questions(1)[0].ID
	c.Kill()
	assert.False(t, v.marked())
	seen, code = v.atTerminal("y", "approve", id)
	require.Zero(t, code, seen)
	again := v.agent("--host", "codex")
	var ran struct{ Success bool }
	again.sees(&ran, "run_script", v.mark())
	again.fails("CONFIRMATION_PENDING", "run_script", v.mark())
}
