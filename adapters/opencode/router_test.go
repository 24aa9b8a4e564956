package opencode_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/domain/sandbox"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

var (
	_ sandboxport.Router          = (*opencode.Router)(nil)
	_ sandboxport.GatewayLauncher = opencode.GatewayProcess{}
)

func TestRouter(t *testing.T) {
	router(t, routerFixture{
		Open: func(_ testing.TB, table string, secret func(context.Context, string) (string, error)) sandboxport.Router {
			return opencode.NewRouter(opencode.RouterOptions{Table: table, Secret: secret})
		},
	})
}

// A table that is damaged is said once to be so, and counts stay.
func TestDamagedTableIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "servers.json")
	r := opencode.NewRouter(opencode.RouterOptions{Table: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	servers, active := r.Counts()
	assert.Zero(t, servers+active, "before there is a table")
	require.NoError(t, os.WriteFile(path, []byte(`{"default_server":"c","servers":[{"id":"a","url":"http://h","status":"active"},{"id":"b","url":"http://h"}]}`), 0o600))
	servers, active = r.Counts()
	assert.Equal(t, 2, servers)
	assert.Equal(t, 1, active)
	assert.Equal(t, 1, strings.Count(log.String(), "treated as null"), log.String())
	require.NoError(t, os.WriteFile(path, []byte(`{"servers":`), 0o600))
	for range 5 {
		servers, active = r.Counts()
		assert.Equal(t, 3, servers+active)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "the previous version is used"), log.String())
}

// Proxies and redirections are told nothing.
func TestRequestsStayHere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") }))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "servers.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"servers":[{"id":"a","url":"`+server.URL+`","status":"active","password":"secret-password"}]}`), 0o600))
	_, err := opencode.NewRouter(opencode.RouterOptions{Table: path}).Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionCreate, Server: "a"})
	require.ErrorIs(t, err, sandbox.ErrRefused)
}

func TestFront(t *testing.T) {
	f := opencode.GatewayProcess{Command: []string{"/bin/countersign", "gateway"}, Table: "/m/servers.json", Log: "/m/gateway.log", Env: map[string]string{"COUNTERSIGN_HOME": "/c"}}
	spec := f.Spec(sandboxport.Settings{GatewayToken: "token-0123456789", Password: "password-1", Environ: []string{"HOME=/h", "OPENAI_API_KEY=k"}}, 5103)
	assert.Equal(t, []string{"/bin/countersign", "gateway", "--port", "5103", "--servers-config", "/m/servers.json"}, spec.Argv)
	assert.Equal(t, "token-0123456789", spec.Env[opencode.TokenVariable])
	assert.Equal(t, "/c", spec.Env["COUNTERSIGN_HOME"])
	assert.NotContains(t, spec.Env, "OPENAI_API_KEY")
	assert.Contains(t, spec.Secrets, "token-0123456789")
	assert.Equal(t, "/m/gateway.log", spec.Log)
	require.NoError(t, spec.Validate())
	for body, want := range map[string]error{`{"status":"ok","servers":0,"active":0}`: nil, `{"healthy":true}`: sandbox.ErrGateway, `<html>`: sandbox.ErrGateway} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "/health", r.URL.Path)
			_, _ = w.Write([]byte(body))
		}))
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		require.NoError(t, err)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		if err := f.Healthy(t.Context(), n); want == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, want, body)
		}
		server.Close()
		require.ErrorIs(t, f.Healthy(t.Context(), n), sandbox.ErrGateway, "nobody is there")
	}
}

// The table changes while many ask: whoever is in every version of it is always found, whether the file is exchanged, damaged or growing.
func TestTableChangesUnderLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "servers.json")
	exchange := func(text string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	const stays = `{"id":"git@h:o/stays.git","project_name":"stays","url":"http://127.0.0.1:1","status":"active"}`
	exchange(`{"default_server":"stays","servers":[` + stays + `]}`)
	r := opencode.NewRouter(opencode.RouterOptions{Table: path})
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				for _, name := range []string{"", "stays", "https://h/o/stays"} {
					route, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: name})
					if !assert.NoError(t, err) || !assert.True(t, route.Active()) {
						return
					}
				}
			}
		})
	}
	for i := range 300 {
		switch i % 3 {
		case 0:
			exchange(fmt.Sprintf(`{"default_server":"stays","servers":[{"id":"n%d","project_name":"n%d","url":"http://127.0.0.1:2","status":"active"},%s]}`, i, i, stays))
			_, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: fmt.Sprintf("n%d", i)})
			assert.NoError(t, err, "it counts at once")
		case 1:
			require.NoError(t, os.WriteFile(path, []byte(`{"default_server":"stays","serv`), 0o600))
		case 2:
			exchange(`{"default_server":"stays","servers":[` + stays + `]}`)
			_, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: fmt.Sprintf("n%d", i-2)})
			assert.Error(t, err, "and is gone at once")
		}
	}
	end()
	all.Wait()
}
