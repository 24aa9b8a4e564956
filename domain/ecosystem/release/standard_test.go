package release_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

// TestSetStandard: each file's own version changes, and no other byte.
func TestSetStandard(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"package.json":      []byte("{\n  \"repository\": {\"version\": \"9.9.9\"},\n  \"list\": [{\"version\": \"9.9.9\"}],\n  \"version\" : \"1.2.3\",\r\n  \"engines\": {\"version\": \"9.9.9\"}\n}\n"),
		"package-lock.json": []byte(`{"name": "a", "version": "1.2.3", "packages": {"": {"version": "1.2.3"}, "node_modules/b": {"version": "9.9.9"}}}`),
		"pyproject.toml":    []byte("[build-system]\nversion = \"9.9.9\"\n[project]\nname = \"My_App\"\ndescription = \"\"\"\n[x]\nversion = \"9.9.9\"\n\"\"\"\nversion = '1.2.3'  # here\n[tool.x]\nversion = \"9.9.9\"\n"),
		"uv.lock":           []byte("version = 1\n[[package]]\nname = \"my-app\"\nversion = \"1.2.3\"\nsource = { editable = \".\" }\n\n[[package]]\nname = \"other\"\nversion = \"1.2.3\"\nsource = { registry = \"x\" }\n"),
		"Cargo.toml":        []byte("[package]\nname = \"app\"\nversion = \"1.2.3\"\n[dependencies]\napp2 = { version = \"1.2.3\" }\n[dependencies.app3]\nversion = \"1.2.3\"\n"),
		"Cargo.lock":        []byte("version = 3\n\n[[package]]\nname = \"app\"\nversion = \"1.2.3\"\nsource = \"registry\"\n\n[[package]]\nname = \"app\"\nversion = \"1.2.3\"\ndependencies = [\n \"app2\",\n]\n"),
		"VERSION":           []byte("v1.2.3\r\n"),
	}
	out, was := release.SetStandard(files, "2.0.0-rc.1")
	for _, name := range release.StandardFiles {
		assert.Equal(t, "1.2.3", was[name], name)
	}
	expected := map[string][2]string{
		"package.json":   {`"version" : "1.2.3"`, `"version" : "2.0.0-rc.1"`},
		"pyproject.toml": {`'1.2.3'`, `'2.0.0-rc.1'`},
		"uv.lock":        {"my-app\"\nversion = \"1.2.3\"", "my-app\"\nversion = \"2.0.0-rc.1\""},
		"Cargo.toml":     {"name = \"app\"\nversion = \"1.2.3\"", "name = \"app\"\nversion = \"2.0.0-rc.1\""},
		"Cargo.lock":     {"version = \"1.2.3\"\ndependencies", "version = \"2.0.0-rc.1\"\ndependencies"},
		"VERSION":        {"v1.2.3", "v2.0.0-rc.1"},
	}
	for name, change := range expected {
		assert.Equal(t, strings.Replace(string(files[name]), change[0], change[1], 1), string(out[name]), name)
	}
	assert.Equal(t, `{"name": "a", "version": "2.0.0-rc.1", "packages": {"": {"version": "2.0.0-rc.1"}, "node_modules/b": {"version": "9.9.9"}}}`, string(out["package-lock.json"]))

	out, was = release.SetStandard(map[string][]byte{"package.json": []byte(`{"private": true}`), "package-lock.json": []byte(`{"version": "1.2.3"}`), "Cargo.toml": []byte("[package]\nversion.workspace = true\n"),
		"pyproject.toml": []byte("[project]\ndynamic = [\"version\"]\n"), "VERSION": []byte("see the tags\n")}, "2.0.0")
	assert.Empty(t, out)
	assert.Empty(t, was)
	out, _ = release.SetStandard(map[string][]byte{"package.json": []byte("{"), "VERSION": nil}, "2.0.0")
	assert.Empty(t, out)
}
