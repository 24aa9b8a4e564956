package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The fake server is held to the real one: the same requests, where opencode is installed.
func TestRealOpencode(t *testing.T) {
	bin, err := exec.LookPath("opencode")
	if err != nil {
		t.Skip("opencode: it is not installed; npm install -g opencode-ai does that")
	}
	base := t.TempDir()
	at := sandbox.Layout{Base: base, Repo: filepath.Join(base, "repo"), ServerLog: filepath.Join(base, "server.log")}
	require.NoError(t, os.Mkdir(at.Repo, 0o700))
	require.NoError(t, exec.Command("git", "-C", at.Repo, "init", "-q").Run())
	settings := sandboxport.Settings{Password: password, Bin: bin, Environ: []string{"HOME=" + base, "PATH=" + os.Getenv("PATH")}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	p := osproc.New(osproc.Options{Dir: t.TempDir()})
	launcher := opencode.NewLauncher(opencode.LauncherOptions{Processes: p})
	ctx, stop := context.WithCancel(t.Context())
	running, over := make(chan process.State, 1), make(chan process.Result, 1)
	go func() {
		result, _ := p.Run(ctx, launcher.Spec(settings, at, port, ""), func(s process.State) { running <- s })
		over <- result
	}()
	defer func() {
		stop()
		assert.Equal(t, process.Stopped, (<-over).Status)
	}()
	state := <-running
	var version string
	require.Eventually(t, func() bool {
		version, err = launcher.Healthy(ctx, "127.0.0.1", port, password)
		return err == nil
	}, 2*time.Minute, 250*time.Millisecond)
	assert.NotEmpty(t, version)
	_, err = launcher.Healthy(ctx, "127.0.0.1", port, "not-the-password")
	require.ErrorIs(t, err, sandbox.ErrAuth)
	megabytes, err := opencode.Sockets{}.ResidentMB(state.PID)
	require.NoError(t, err)
	assert.Greater(t, megabytes, 50)
	table := filepath.Join(base, "servers.json")
	require.NoError(t, os.WriteFile(table, fmt.Appendf(nil, `{"default_server":"p","servers":[{"id":"p","url":"http://127.0.0.1:%d","password":%q,"status":"active","base_dir":%q}]}`, port, password, base), 0o600))
	router := opencode.NewRouter(opencode.RouterOptions{Table: table})
	ask := func(q sandboxport.RouteRequest) (json.RawMessage, error) {
		got, err := router.Call(ctx, q)
		return got.Body, err
	}
	body, err := ask(sandboxport.RouteRequest{Act: sandbox.SessionCreate, Title: "a title"})
	require.NoError(t, err)
	var session struct{ ID, Title, Directory string }
	require.NoError(t, json.Unmarshal(body, &session))
	assert.Equal(t, "a title", session.Title)
	assert.Equal(t, at.Repo, session.Directory)
	for _, q := range []sandboxport.RouteRequest{
		{Act: sandbox.SessionList, Limit: 10}, {Act: sandbox.SessionInfo, ID: session.ID}, {Act: sandbox.SessionMessages, ID: session.ID, Limit: 10}, {Act: sandbox.PermissionList},
		{Act: sandbox.QuestionList}, {Act: sandbox.SessionAbort, ID: session.ID}, {Act: sandbox.SessionDelete, ID: session.ID},
	} {
		body, err := ask(q)
		require.NoError(t, err, q.Act)
		assert.True(t, json.Valid(body), q.Act)
	}
	for _, q := range []sandboxport.RouteRequest{
		{Act: sandbox.SessionMessages, ID: "ses_none"}, {Act: sandbox.PermissionReply, ID: "per_none", Reply: "once"},
		{Act: sandbox.QuestionReply, ID: "que_none", Answers: [][]string{{"a"}}}, {Act: sandbox.QuestionReject, ID: "que_none"},
	} {
		_, err := ask(q)
		require.ErrorIs(t, err, sandbox.ErrRequest, q.Act)
	}
	models, err := launcher.Models(ctx, settings)
	for range 60 { // a busy machine is told to ask again
		if !errors.Is(err, sandbox.ErrTimeout) {
			break
		}
		models, err = launcher.Models(ctx, settings)
	}
	require.NoError(t, err)
	assert.NotEmpty(t, models)
}
