package opencode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Whatever stands in the table, it is read or refused as a whole, every server in it is found by its ID, and the default one is among them.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"servers":null}`, `{"default_server":"a","servers":[{"id":"a","url":"http://h:1"}]}`, `{"default_server":"n","servers":[{"git_url":"g","project_name":"n","url":"https://h","status":"active"},7]}`,
		`{"servers":[{"id":"a","backend_type":"claude_code"},{"id":"a","backend_type":"x"}],"default_server":""}`, `{"servers":[{"id":"\ud800","url":"http://\u0000"}]}`, `{"default_server":3}`,
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "servers.json")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		r := opencode.NewRouter(opencode.RouterOptions{Table: path})
		table, err := r.Table(t.Context(), "")
		require.NoError(t, err)
		if table.Problem != "" {
			require.Empty(t, table.Servers)
			require.Empty(t, table.Default)
		}
		standard := table.Default == ""
		for _, s := range table.Servers {
			require.NotEmpty(t, s.ID)
			require.NotEmpty(t, s.Status)
			found, err := r.Resolve(t.Context(), sandboxport.RouteRequest{Server: s.ID})
			require.NoError(t, err)
			require.Equal(t, s, found)
			standard = standard || s.ID == table.Default
		}
		require.True(t, standard)
	})
}
