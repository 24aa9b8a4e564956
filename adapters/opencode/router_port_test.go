package opencode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// routerFixture is where a router is tested.
type routerFixture struct {
	// Open is a router by the table in that file; secret tells the passwords that the table names.
	Open func(t testing.TB, table string, secret func(context.Context, string) (string, error)) sandboxport.Router
}

const (
	routerPassword = "router-password-0123456789"
	routerURL      = "git@github.com:owner/repo.git"
)

// router holds a router to its contract.
func router(t *testing.T, h routerFixture) {
	t.Run("servers are named", h.named)
	t.Run("every act", h.acts)
	t.Run("refusals", h.refusals)
	t.Run("what breaks in the middle", h.breaks)
	t.Run("the table changes", h.changes)
	t.Run("tables of others", h.tolerates)
	t.Run("many at once", h.many)
}

// road is a router with a table of one server, which runs.
type road struct {
	sandboxport.Router
	table  string
	server *httptest.Server
	base   string
}

func (h routerFixture) open(t testing.TB) road {
	server := httptest.NewServer(fakeserver.Handler(routerPassword))
	t.Cleanup(server.Close)
	r := road{table: filepath.Join(t.TempDir(), "servers.json"), server: server, base: t.TempDir()}
	r.Router = h.Open(t, r.table, func(_ context.Context, variable string) (string, error) {
		return map[string]string{"OPENCODE_PASSWORD": routerPassword}[variable], nil
	})
	r.write(t, `{"version":"1.0","default_server":%q,"servers":[%s]}`, routerURL, r.entry(routerURL, "owner-repo", "active"))
	return r
}

// entry returns a server in the table.
func (r road) entry(id, name, status string) string {
	doc, _ := json.Marshal(sandboxport.ServerEntry{ID: id, GitURL: id, ProjectName: name, Title: "A " + name, Description: "for tests", URL: r.server.URL, //nolint:errchkjson // plain strings
		PasswordEnv: "OPENCODE_PASSWORD", Status: status, BaseDir: r.base})
	return string(doc)
}

func (r road) write(t testing.TB, format string, args ...any) {
	fresh := r.table + ".new"
	require.NoError(t, os.WriteFile(fresh, fmt.Appendf(nil, format, args...), 0o600))
	require.NoError(t, os.Rename(fresh, r.table))
}

func (r road) session(t testing.TB) string {
	got, err := r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionCreate, Title: "for tests"})
	require.NoError(t, err)
	var s struct{ ID string }
	require.NoError(t, json.Unmarshal(got.Body, &s))
	return s.ID
}

func (h routerFixture) named(t *testing.T) {
	r := h.open(t)
	table, err := r.Table(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, sandboxport.RouteTable{Default: routerURL, Servers: []sandboxport.Route{
		{ID: routerURL, Name: "owner-repo", Title: "A owner-repo", Description: "for tests", Status: "active"}}}, table)
	for _, name := range []string{"", routerURL, "owner-repo", "ssh://git@github.com/owner/repo", "https://github.com/owner/repo/"} {
		route, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: name})
		require.NoError(t, err, name)
		assert.Equal(t, routerURL, route.ID, name)
	}
	_, err = r.Resolve(t.Context(), sandboxport.RouteRequest{Server: "another"})
	require.ErrorIs(t, err, sandbox.ErrServer)
	assert.ErrorContains(t, err, "not found in configuration")
	assert.ErrorContains(t, err, "owner-repo", "and which there are")
	r.write(t, `{"servers":[%s,%s]}`, r.entry("a", "twin", "active"), r.entry("b", "twin", "active"))
	_, err = r.Resolve(t.Context(), sandboxport.RouteRequest{Server: "twin"})
	require.ErrorIs(t, err, sandbox.ErrServer)
	assert.ErrorContains(t, err, "a, b")
	_, err = r.Resolve(t.Context(), sandboxport.RouteRequest{Server: ""})
	require.ErrorIs(t, err, sandbox.ErrServer, "there is no default one")
	route, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: "b"})
	require.NoError(t, err)
	assert.Equal(t, "b", route.ID)
}

func (h routerFixture) acts(t *testing.T) {
	r := h.open(t)
	id := r.session(t)
	ask := func(q sandboxport.RouteRequest) string {
		got, err := r.Call(t.Context(), q)
		require.NoError(t, err, q.Act)
		assert.Equal(t, routerURL, got.Server.ID)
		return string(got.Body)
	}
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionList, Limit: 5}), id)
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionInfo, ID: id}), "for tests")
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "ask hello", Model: "a/b", Agent: "build"}), "You said: ask hello")
	assert.Empty(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionPrompt, ID: id, Text: "later"}))
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionMessages, ID: id}), "later")
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.PermissionList}), "rm -rf build")
	ask(sandboxport.RouteRequest{Act: sandbox.PermissionReply, ID: "per_fake2", Reply: "once"})
	assert.JSONEq(t, "[]", ask(sandboxport.RouteRequest{Act: sandbox.PermissionList}))
	ask(sandboxport.RouteRequest{Act: sandbox.QuestionReply, ID: "que_fake2", Answers: [][]string{{"sqlite"}}})
	assert.JSONEq(t, "[]", ask(sandboxport.RouteRequest{Act: sandbox.QuestionList}))
	ask(sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "ask again"})
	ask(sandboxport.RouteRequest{Act: sandbox.QuestionReject, ID: "que_fake3"})
	ask(sandboxport.RouteRequest{Act: sandbox.SessionAbort, ID: id})
	box := filepath.Join(r.base, "worktrees", "feature")
	require.NoError(t, os.MkdirAll(box, 0o700))
	assert.Contains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionCreate, Sandbox: "feature"}), box, "the agent works in the sandbox")
	ask(sandboxport.RouteRequest{Act: sandbox.SessionDelete, ID: id})
	assert.NotContains(t, ask(sandboxport.RouteRequest{Act: sandbox.SessionList}), id)
}

func (h routerFixture) refusals(t *testing.T) {
	r := h.open(t)
	id := r.session(t)
	require.NoError(t, os.MkdirAll(filepath.Join(r.base, "worktrees"), 0o700))
	require.NoError(t, os.Symlink("/etc", filepath.Join(r.base, "worktrees", "link")))
	for what, c := range map[string]struct {
		q    sandboxport.RouteRequest
		want error
	}{
		"no session":     {sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: "ses_none", Text: "x"}, sandbox.ErrRequest},
		"no permission":  {sandboxport.RouteRequest{Act: sandbox.PermissionReply, ID: "per_none", Reply: "once"}, sandbox.ErrRequest},
		"an error":       {sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "fail now"}, sandbox.ErrAnswer},
		"no server":      {sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "none"}, sandbox.ErrServer},
		"no sandbox":     {sandboxport.RouteRequest{Act: sandbox.SessionList, Sandbox: "none"}, sandbox.ErrNotFound},
		"a way out":      {sandboxport.RouteRequest{Act: sandbox.SessionList, Sandbox: "../repo"}, sandbox.ErrName},
		"a linked place": {sandboxport.RouteRequest{Act: sandbox.SessionList, Sandbox: "link"}, sandbox.ErrNotFound},
		"another path":   {sandboxport.RouteRequest{Act: sandbox.SessionDelete, ID: ".."}, sandbox.ErrArguments},
		"no id":          {sandboxport.RouteRequest{Act: sandbox.SessionDelete}, sandbox.ErrArguments},
		"a crafted id":   {sandboxport.RouteRequest{Act: sandbox.SessionInfo, ID: "../permission?x="}, sandbox.ErrRequest},
		"no act":         {sandboxport.RouteRequest{Act: "server.shutdown"}, sandbox.ErrArguments},
	} {
		_, err := r.Call(t.Context(), c.q)
		require.ErrorIs(t, err, c.want, what)
		assert.NotContains(t, err.Error(), routerPassword, what)
	}
	got, err := r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "leak it"})
	require.NoError(t, err)
	assert.Contains(t, string(got.Body), "the password is ")
	assert.NotContains(t, string(got.Body), routerPassword)
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "long"})
	require.ErrorIs(t, err, sandbox.ErrAnswer, "an answer has a bound")
	r.write(t, `{"servers":[%s]}`, strings.Replace(r.entry("x", "x", "active"), "OPENCODE_PASSWORD", "OTHER", 1))
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "x"})
	require.ErrorIs(t, err, sandbox.ErrAuth)
}

func (h routerFixture) breaks(t *testing.T) {
	r := h.open(t)
	id := r.session(t)
	_, err := r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "break off"})
	require.ErrorIs(t, err, sandbox.ErrUnhealthy)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = r.Call(ctx, sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: "wait"})
	require.ErrorIs(t, err, context.DeadlineExceeded, "the caller's own end is told as such")
	r.server.CloseClientConnections()
	r.server.Close()
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList})
	require.ErrorIs(t, err, sandbox.ErrUnhealthy)
	assert.ErrorContains(t, err, "owner-repo")
}

func (h routerFixture) changes(t *testing.T) {
	r := h.open(t)
	r.session(t)
	r.write(t, `{"version":"1.0","default_server":null,"servers":[%s]}`, r.entry(routerURL, "owner-repo", "inactive"))
	_, err := r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "owner-repo"})
	require.ErrorIs(t, err, sandbox.ErrNotRunning)
	assert.ErrorContains(t, err, "not active (status: inactive)")
	r.write(t, `{"version":"1.0","default_server":"owner-repo","servers":[%s]}`, r.entry(routerURL, "owner-repo", "active"))
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList})
	require.NoError(t, err, "a default may be a name")
	for _, bad := range []string{"", "{", `{"servers":[`, `[1]`, `"text"`, `{"servers":7}`} {
		r.write(t, "%s", bad)
		table, err := r.Table(t.Context(), "")
		require.NoError(t, err)
		assert.Len(t, table.Servers, 1, "%q: the old one stays", bad)
		assert.NotEmpty(t, table.Problem, "%q", bad)
		_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList})
		require.NoError(t, err, bad)
	}
	require.NoError(t, os.WriteFile(r.table, []byte(`{"servers":[]}`), 0o600), "written in place, as others do")
	table, err := r.Table(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, sandboxport.RouteTable{Servers: []sandboxport.Route{}}, table)
	require.NoError(t, os.Remove(r.table))
	_, err = r.Resolve(t.Context(), sandboxport.RouteRequest{Server: "owner-repo"})
	require.ErrorIs(t, err, sandbox.ErrServer, "no table has no servers")
}

// tolerates is what files of other programs and later versions have.
func (h routerFixture) tolerates(t *testing.T) {
	r := h.open(t)
	r.write(t, `{"version":"2.0","more":{},"default_server":"gone","servers":[
		{"id":"plain-id","project_name":"old","url":%q,"password":%q,"status":"active","added_at":"yesterday","backend_type":"opencode","x":1},
		{"id":"claude","project_name":"claude","backend_type":"claude_code","working_dir":"/w","model":"m","status":"active"},
		{"id":"plain-id","url":"http://127.0.0.1:1","status":"active"}, {"id":"file","url":"file:///etc","status":"active"}, {"project_name":"no id","url":"http://127.0.0.1:1"}, "text",
		{"id":"quiet","url":%q}]}`, r.server.URL, routerPassword, r.server.URL)
	table, err := r.Table(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, table.Default, "a default that is not there is none")
	assert.Empty(t, table.Problem)
	var ids []string
	for _, s := range table.Servers {
		ids = append(ids, s.ID)
	}
	assert.Equal(t, []string{"plain-id", "claude", "quiet"}, ids)
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "old"})
	require.NoError(t, err, "an entry may hold its password itself")
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "claude"})
	require.ErrorIs(t, err, sandbox.ErrConfig)
	_, err = r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "quiet"})
	require.ErrorIs(t, err, sandbox.ErrNotRunning, "what says nothing is not active")
}

// many calls go on while the table is exchanged again and again.
func (h routerFixture) many(t *testing.T) {
	r := h.open(t)
	id := r.session(t)
	var calls, writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			r.write(t, `{"default_server":%q,"n":%d,"servers":[%s]}`, routerURL, i, r.entry(routerURL, "owner-repo", "active"))
		}
	})
	for i := range 50 {
		calls.Go(func() {
			text := fmt.Sprint("message ", i)
			got, err := r.Call(t.Context(), sandboxport.RouteRequest{Act: sandbox.SessionMessage, ID: id, Text: text})
			assert.NoError(t, err)
			assert.Contains(t, string(got.Body), "You said: "+text+`"`, "everybody gets his own answer")
		})
	}
	calls.Wait()
	close(done)
	writer.Wait()
}
