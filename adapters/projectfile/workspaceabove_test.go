package projectfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

// TestAMemberOnItsOwn is run by the package manager of the workspace above it, which is looked for up to the top of the git repository and no further.
func TestAMemberOnItsOwn(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write := func(name, text string) {
		file := filepath.Join(top, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	manager := func(dir string) string {
		f, err := open(t, machine{Home: top}).Facts(t.Context(), filepath.Join(top, filepath.FromSlash(dir)))
		require.NoError(t, err)
		return string(f.Manager) + " " + f.ManagerVersion
	}
	write("package.json", `{"name":"all","packageManager":"pnpm@9.1.0"}`)
	write("pnpm-workspace.yaml", "packages: ['**']\n")
	write("repo/packages/api/package.json", `{"name":"api"}`)
	assert.Equal(t, "npm ", manager("repo/packages/api"), "there is no git repository, so that nothing above counts")
	write("repo/.git/HEAD", "ref: refs/heads/main\n")
	assert.Equal(t, "npm ", manager("repo/packages/api"), "what lies above the repository does not count")
	write("repo/package.json", `{"name":"repo","packageManager":"yarn@4.1.0","workspaces":["packages/*"]}`)
	assert.Equal(t, "yarn 4.1.0", manager("repo/packages/api"))
	write("repo/packages/package.json", `{"name":"no workspace","packageManager":"bun@1.0.0"}`)
	assert.Equal(t, "yarn 4.1.0", manager("repo/packages/api"))
	write("repo/packages/api/package-lock.json", "{}")
	assert.Equal(t, string(project.NPM)+" ", manager("repo/packages/api"), "its own lockfile decides")
}
