package sandbox_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

func TestPort(t *testing.T) {
	for in, want := range map[string]int{
		"git@github.com:user/repo.git":                 4113,
		"git@github.com:AvengerMoJo/MoJoAssistant.git": 4104,
		"git@github.com:jumpstartmojo/BSL.git":         4173,
		"git@github.com:user/repo1.git":                4169,
		"git@github.com:user/repo2.git":                4127,
	} {
		assert.Equal(t, want, sandbox.PreferredPort(parse(t, in)), in)
	}
}

func TestChoosePortProbesUpwardsAndWraps(t *testing.T) {
	url := parse(t, "git@github.com:jumpstartmojo/BSL.git") // 4173
	none := func(int) bool { return false }
	all := func(int) bool { return true }
	port, err := sandbox.ChoosePort(url, none, all)
	require.NoError(t, err)
	assert.Equal(t, 4173, port)
	port, err = sandbox.ChoosePort(url, func(p int) bool { return p == 4173 }, func(p int) bool { return p != 4174 })
	require.NoError(t, err)
	assert.Equal(t, 4175, port)
	port, err = sandbox.ChoosePort(url, func(p int) bool { return p >= 4173 }, all)
	require.NoError(t, err)
	assert.Equal(t, 4100, port, "after 4199 comes 4100")

	asked := map[int]int{}
	_, err = sandbox.ChoosePort(url, none, func(p int) bool { asked[p]++; return false })
	require.ErrorIs(t, err, sandbox.ErrNoPort)
	assert.Len(t, asked, sandbox.Ports)
	for port, times := range asked {
		assert.Equal(t, 1, times)
		assert.True(t, 4100 <= port && port <= 4199, port)
	}
}

func TestLayoutOf(t *testing.T) {
	dirs := sandbox.RootDirs{Projects: "/home/me/.opencode-projects", Memory: "/home/me/.memory"}
	assert.Equal(t, sandbox.Layout{
		Base: "/home/me/.opencode-projects/user-repo", Repo: "/home/me/.opencode-projects/user-repo/repo",
		Worktrees: "/home/me/.opencode-projects/user-repo/worktrees", Secrets: "/home/me/.memory/opencode-sandboxes/user-repo/.env",
		Key: "/home/me/.memory/opencode-keys/user-repo-deploy", ServerLog: "/home/me/.memory/opencode-logs/user-repo-opencode.log",
		PIDFile: "/home/me/.opencode-projects/user-repo/opencode.pid",
	}, sandbox.LayoutOf(dirs, "user-repo", ""))
	own := sandbox.LayoutOf(dirs, "user-repo", "/data/x")
	assert.Equal(t, "/data/x", own.Base)
	assert.Equal(t, filepath.Join("/data/x", "worktrees"), own.Worktrees)
	assert.Equal(t, "/home/me/.memory/opencode-sandboxes/user-repo/.env", own.Secrets, "secrets stay in the memory root")
}

func TestRunningCount(t *testing.T) {
	s := sandbox.State{Projects: map[string]sandbox.Project{
		"a": {Server: sandbox.Server{PID: 1}}, "b": {Server: sandbox.Server{PID: 2}}, "c": {Server: sandbox.Server{PID: 3}},
	}}
	assert.Equal(t, 2, sandbox.RunningCount(s, func(s sandbox.Server) bool { return s.PID != 2 }))
	assert.Zero(t, sandbox.RunningCount(sandbox.State{}, func(sandbox.Server) bool { return true }))
}

func TestStanding(t *testing.T) {
	for _, row := range []struct {
		recorded sandbox.Status
		alive    bool
		want     sandbox.Status
	}{
		{sandbox.Running, true, sandbox.Running}, {sandbox.Running, false, sandbox.Stopped}, {sandbox.Starting, true, sandbox.Running},
		{sandbox.Starting, false, sandbox.Stopped}, {sandbox.Failed, false, sandbox.Failed}, {sandbox.Failed, true, sandbox.Running},
		{sandbox.Stopped, false, sandbox.Stopped}, {sandbox.Unknown, false, sandbox.Stopped}, {"", false, sandbox.Stopped},
	} {
		assert.Equal(t, row.want, sandbox.Server{Status: row.recorded}.StatusNow(row.alive), row)
	}
}
