package release_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

// TestSetRanges: what names one version of a package goes on to the one that is released, in the form that it has, and no other byte changes.
func TestSetRanges(t *testing.T) {
	t.Parallel()
	v, err := release.ParseVersion("2.3.0")
	require.NoError(t, err)
	all := map[string]release.Version{"@x/lib": v, "lib": v, "core": v}
	for was, want := range map[string]string{"^1.2.3": "^2.3.0", "~1.2": "~2.3", "1.2.3": "2.3.0", "=1.2.3-rc.1": "=2.3.0", "workspace:^1.2.3": "workspace:^2.3.0", "^1": "^2", "workspace:*": "", "*": "", ">=1.0.0": "",
		"1.x": "", "^1.2.3 || ^2": "", "file:../lib": "", "https://example.com/lib-1.2.3.tgz": "", "latest": ""} {
		if want == "" {
			want = was
		}
		text := func(r string) string {
			return `{"name": "app", "version": "1.2.3", "dependencies": {"other": "^1.2.3", "@x/lib": "` + r + `"}, "x": {"dependencies": {"@x/lib": "^1.2.3"}}, "peerDependencies": {"lib": "` + r + `"}}`
		}
		out, changes := release.SetRanges("package.json", []byte(text(was)), all)
		assert.Equal(t, text(want), string(out), was)
		if want == was {
			assert.Empty(t, changes, was)
			continue
		}
		assert.Equal(t, []release.RangeChange{{Name: "@x/lib", Old: was, New: want}, {Name: "lib", Old: was, New: want}}, changes)
	}
	cargo := func(r, short string) string {
		return "[package]\nname = \"app\"\nversion = \"1.2.3\"\n[dependencies]\nlib = \"" + r + "\"\nother = \"1.2.3\"\nmine = { package = \"core\", version = \"" + short + "\", path = \"../core\" }\ncore.workspace = true\n" +
			"[target.'cfg(unix)'.dev-dependencies.lib]\nversion = \"" + r + "\"\n[package.metadata.dependencies]\nlib = \"1.2.3\"\n[profile]\nversion = \"1.2.3\"\n"
	}
	out, changes := release.SetRanges("Cargo.toml", []byte(cargo("^1.2.3", "1.2")), all)
	assert.Equal(t, cargo("^2.3.0", "2.3"), string(out))
	assert.Len(t, changes, 3)
	out, changes = release.SetRanges("pyproject.toml", []byte("lib = \"1.2.3\"\n"), all)
	assert.Equal(t, "lib = \"1.2.3\"\n", string(out))
	assert.Empty(t, changes)
	assert.Equal(t, []string{"@x/lib", "app", ""}, []string{release.PackageName("package.json", []byte(`{"author": {"name": "Ada"}, "name": "@x/lib"}`)), release.PackageName("Cargo.toml", []byte(cargo("1", "1"))), release.PackageName("VERSION", []byte("1"))})
}
