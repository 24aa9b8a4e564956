package project_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

func TestParseWorktrees(t *testing.T) {
	got, err := project.ParseWorktrees(records(
		"worktree /p", "HEAD "+commit, "branch refs/heads/main", "",
		"worktree /p/.worktrees/a b\nc", "HEAD "+commit, "detached", "locked on a\nstick", "",
		"worktree /gone", "HEAD "+strings.Repeat("0", 40), "branch refs/heads/feature/ü", "prunable gitdir file points to non-existent location", "something new", "",
		"worktree /l", "HEAD "+commit, "branch refs/heads/l", "locked", ""))
	require.NoError(t, err)
	assert.Equal(t, []project.Worktree{
		{Path: "/p", Head: commit, Branch: "main", Main: true},
		{Path: "/p/.worktrees/a b\nc", Head: commit, Detached: true, Locked: true},
		{Path: "/gone", Branch: "feature/ü", Prunable: true},
		{Path: "/l", Head: commit, Branch: "l", Locked: true},
	}, got)
	got, err = project.ParseWorktrees(records("worktree /p.git", "bare", ""))
	require.NoError(t, err)
	assert.Equal(t, []project.Worktree{{Path: "/p.git", Main: true, Bare: true}}, got)
	got, err = project.ParseWorktrees(nil)
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestParseWorktreesRefuses(t *testing.T) {
	for _, out := range [][]byte{records("HEAD " + commit), []byte("worktree /p"), records("worktree /a", "worktree /b"), records("worktree", ""), records("worktree /a", "", "bare")} {
		_, err := project.ParseWorktrees(out)
		require.ErrorIs(t, err, project.ErrExecutionFailed, "%q", out)
	}
}

// FuzzParseWorktrees: any bytes give a list whose first member alone is the main one, or the error.
func FuzzParseWorktrees(f *testing.F) {
	f.Add(records("worktree /p", "HEAD "+commit, "branch refs/heads/main", "", "worktree /q", "detached", ""))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		list, err := project.ParseWorktrees(out)
		if err != nil {
			require.ErrorIs(t, err, project.ErrExecutionFailed)
		}
		require.LessOrEqual(t, len(list), strings.Count(string(out), "worktree "))
		for i, w := range list {
			require.Equal(t, i == 0, w.Main)
			require.NotEmpty(t, w.Path)
		}
	})
}
