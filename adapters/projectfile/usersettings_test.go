package projectfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project"
)

// TestUserSettings: what the user's own files have package managers run belongs to what is looked at, as the project's does: with a script-shell there every
// approved script is another one.
func TestUserSettings(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	environ := []string{"HOME=" + home}
	dirs := projectfile.New(projectfile.Options{Home: home, Env: func() []string { return environ }})
	settings := func() []project.ManagerSetting {
		t.Helper()
		around, err := dirs.Surroundings(t.Context(), dir)
		require.NoError(t, err)
		return around.Settings
	}
	put := func(name, text string) string {
		file := filepath.Join(home, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return filepath.ToSlash(file)
	}
	assert.Empty(t, settings())
	npm := put(".npmrc", "registry=https://r.example\nscript-shell=/tmp/evil\nignore-scripts=true\n")
	pnpm := put(".config/pnpm/rc", "script-shell=/tmp/evil2\n")
	yarn := put(".yarnrc.yml", "yarnPath: /tmp/evil3\n")
	bun := put(".bunfig.toml", "preload = [\"/tmp/evil4\"]\n")
	assert.ElementsMatch(t, []project.ManagerSetting{{File: npm, Key: "script-shell", Value: "/tmp/evil"}, {File: npm, Key: "ignore-scripts", Value: "true", Usual: true},
		{File: pnpm, Key: "script-shell", Value: "/tmp/evil2"}, {File: yarn, Key: "yarnPath", Value: "/tmp/evil3"}, {File: bun, Key: "preload", Value: "[\"/tmp/evil4\"]"}}, settings())
	environ = []string{"HOME=" + t.TempDir()}
	assert.Empty(t, settings(), "the home is the one that the program is given")
}
