package forge_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/forge"
	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// TestASiteThatNobodyApprovedIsNotAsked: a repository's push URL leads a read to no site with the user's login.
func TestASiteThatNobodyApprovedIsNotAsked(t *testing.T) {
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "glab"), []byte("#!/bin/sh\n: >"+asked+"\necho '[]'\n"), 0o755))
	t.Setenv("PATH", bin)
	const approved, other = "https://gitlab.com/a/b", "https://gitlab.evil.example/a/b"
	ctx, refused := gitcli.Outreach{}.Guard(t.Context(), func(_ context.Context, url string) (bool, error) { return url == approved, nil })
	_, err := forge.Programs{}.Request(ctx, other, "main")
	require.ErrorIs(t, err, gitcli.ErrRemote)
	require.NoFileExists(t, asked)
	require.Equal(t, []string{other}, refused())
	_, err = forge.Programs{}.Request(ctx, approved, "main")
	require.NoError(t, err)
	require.FileExists(t, asked)
}
