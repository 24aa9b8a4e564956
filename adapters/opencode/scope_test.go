package opencode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// TestScopes: a token that is derived for a project lets in to that project's servers, one for an isolated sandbox to that sandbox's alone; and an isolated sandbox is
// asked at its own server, never at the project's.
func TestScopes(t *testing.T) {
	const shop, box, tool, token = "git@example.com:acme/shop.git", "git@example.com:acme/shop.git#box", "git@example.com:acme/tool.git", "secret"
	table := filepath.Join(t.TempDir(), "servers.json")
	require.NoError(t, os.WriteFile(table, []byte(`{"default_server":"`+tool+`","servers":[
		{"id":"`+shop+`","git_url":"`+shop+`","project_name":"acme-shop","url":"http://127.0.0.1:1","key_id":"k"},
		{"id":"`+box+`","git_url":"`+shop+`","project_name":"acme-shop/box","sandbox":"box","key_id":"k"},
		{"id":"`+tool+`","git_url":"`+tool+`","project_name":"acme-tool","url":"http://127.0.0.1:2"}]}`), 0o600))
	r := opencode.NewRouter(opencode.RouterOptions{Table: table})
	for _, c := range []struct{ scope, server, sandbox, want string }{
		{"", "", "", tool}, {"", "acme-shop", "", shop}, {"", "acme-shop", "Box", box}, {"", shop, "box", box}, {"", "acme-shop/box", "", box}, {"", "acme-shop", "other", shop},
		{"", "acme-shop/box", "other", ""},
		{shop, "", "", shop}, {shop, "acme-shop/box", "", box}, {shop, "acme-tool", "", ""}, {shop, tool, "", ""},
		{box, "", "", box}, {box, "acme-shop", "box", box}, {box, "acme-shop", "", ""}, {box, shop, "other", ""}, {box, tool, "", ""},
		{"git@example.com:acme/gone.git", "", "", ""},
	} {
		route, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Scope: c.scope, Server: c.server, Sandbox: c.sandbox})
		if c.want == "" {
			require.ErrorIs(t, err, sandbox.ErrServer, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		assert.Equal(t, c.want, route.ID, "%+v", c)
	}
	for id, key := range map[string]string{shop: "k", box: "k"} {
		scope, known := r.Scope(token, sandbox.GatewayToken(token, id, key))
		assert.True(t, known && scope == id, "%s", id)
	}
	for _, wrong := range []string{"", token, sandbox.GatewayToken(token, shop, "of one before"), sandbox.GatewayToken("another", shop, "k"), sandbox.GatewayToken(token, tool, "")} {
		_, known := r.Scope(token, wrong)
		assert.False(t, known, "%q", wrong)
	}
}
