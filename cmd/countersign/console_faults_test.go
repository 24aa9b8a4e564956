//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// ails holds a server whose database cannot be written to what it promises: pages and reads go on, every change is refused in words, and when the
// database is well again nothing is lost and everything goes on. A question waits meanwhile.
func (b *consoleFixture) ails(shop string, sicken, heal func()) {
	t := b.t
	v, agent := b.visitor(), b.agent("site", "projects", "--confirm-wait", "0s")
	hi := args{"project_path": shop, "script_name": "hi"}
	agent.fails("CONFIRMATION_PENDING", "run_script", hi)
	q := b.questions(1)[0]
	form := v.form("/approvals/" + q.ID)
	form.Set("decision", "approve")
	robot := b.program("robot")
	before := b.audited()

	sicken()
	for _, page := range []string{"/approvals", "/approvals/" + q.ID, "/activity", "/tools", "/settings", "/projects", "/deployments", "/packs", "/sandboxes"} {
		status, text := v.send(http.MethodGet, page, nil)
		assert.Equal(t, http.StatusOK, status, "%s: %s", page, text)
	}
	var list struct{ Total int }
	agent.sees(&list, "list_projects", args{})
	assert.Equal(t, 1, list.Total, "an agent's reads go on")
	value, failed := outcome(t, robot.later("list_projects", args{})())
	require.Nil(t, failed, "also over HTTP")
	assert.Contains(t, string(value), "shop")

	// Changes wait for the database before they give up, side by side.
	ho := args{"project_path": shop, "script_name": "ho"}
	local, remote := agent.later("run_script", ho), robot.later("run_script", ho)
	status, text := v.send(http.MethodPost, "/approvals/"+q.ID, form)
	assert.Equal(t, http.StatusServiceUnavailable, status, "an approval that cannot be kept is none: %s", text)
	assert.Contains(t, text, "database", "and says why")
	for _, answer := range []func() stdiotest.Result{local, remote} {
		_, failed = outcome(t, answer())
		require.NotNil(t, failed)
		assert.Contains(t, failed.Message, "database")
	}
	assert.NoFileExists(t, filepath.Join(shop, "ran"), "nothing is done that is not on record")

	heal()
	assert.Equal(t, q.ID, b.questions(1)[0].ID, "the question still waits")
	status, text = v.send(http.MethodPost, "/approvals/"+q.ID, form)
	require.Equal(t, http.StatusOK, status, text)
	var ran struct{ Success bool }
	agent.sees(&ran, "run_script", hi)
	assert.True(t, ran.Success)
	assert.Equal(t, "hi\n", read(t, filepath.Join(shop, "ran")))
	assert.Greater(t, b.audited(), before)
	b.must("audit", "verify")
	assert.True(t, agent.cmd.ProcessState == nil, "the agent's server lives")
}

// audited returns how many records the audit has.
func (b *consoleFixture) audited() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.database().QueryRow(`SELECT count(*) FROM audit`).Scan(&n))
	return n
}

func TestTheDatabaseIsLocked(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran", "ho": "echo ho >> ran"}, nil)
	conn, err := b.database().Conn(context.Background())
	require.NoError(t, err)
	defer conn.Close()
	b.ails(shop, func() {
		_, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		require.NoError(t, err)
	}, func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		require.NoError(t, err)
	})
}

// TestTheDiskIsFull: Countersign's home is a file system of its own, and somebody fills it.
func TestTheDiskIsFull(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	small := filepath.Join(base, "small")
	require.NoError(t, os.Mkdir(small, 0o700))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=24m,mode=0700"); errors.Is(err, syscall.EPERM) {
		t.Skip("a file system cannot be mounted here")
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(small, 0)) })
	b := newBureau(t, "COUNTERSIGN_HOME="+small)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran", "ho": "echo ho >> ran"}, nil)
	filler := filepath.Join(small, "filler")
	b.ails(shop, func() {
		f, err := os.Create(filler)
		require.NoError(t, err)
		defer f.Close()
		page := make([]byte, 4096)
		_, _ = rand.Read(page)
		for {
			if _, err = f.Write(page); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}, func() { require.NoError(t, os.Remove(filler)) })
	assert.NotContains(t, strings.ToLower(b.errors.String()), "panic")
}
