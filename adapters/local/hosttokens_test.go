package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/softkey"
)

// TestTheSystemsFileClearsAPasskey: it is enrolled, is there in the next process, and counts no longer where the system's file names it.
func TestTheSystemsFileClearsAPasskey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	system := filepath.Join(t.TempDir(), "policy.yaml")
	open := func() *local.Local {
		l, err := local.Open(local.Config{Dir: dir, Options: local.Defaults(), Env: func(string) string { return "" }, Packs: local.Packs{Root: dir, Source: dir},
			Trust: local.Trust{SystemFile: system, AnyOwner: true, AccountHome: t.TempDir()}, Journal: filepath.Join(dir, "none")})
		require.NoError(t, err)
		return l
	}
	l := open()
	require.NoError(t, person.Call(t.Context(), l.App, tool.Call{Tool: "enroll_key", Args: softkey.New(t).Input("laptop")}).Err)
	require.NoError(t, l.Close())
	l = open()
	all, err := l.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.True(t, all[0].Counts, all[0].Why)
	assert.Equal(t, "terminal", all[0].EnrolledBy)
	require.NoError(t, l.Close())

	require.NoError(t, os.WriteFile(system, []byte("forget_keys: ["+all[0].ID+"]\n"), 0o600))
	l = open()
	defer func() { require.NoError(t, l.Close()) }()
	all, err = l.Keys(t.Context())
	require.NoError(t, err)
	assert.Contains(t, all[0].Why, "the system's file")
	require.NoError(t, person.Call(t.Context(), l.App, tool.Call{Tool: "enroll_key", Args: softkey.New(t).Input("new")}).Err, "the next one is a first one again")
}
