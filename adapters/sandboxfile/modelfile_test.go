package sandboxfile_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/golden"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// home is a home directory without anything in it.
type home struct {
	t   testing.TB
	dir string
	env map[string]string
}

func newHome(t testing.TB) home { return home{t, t.TempDir(), map[string]string{}} }

func (h home) open() *sandboxfile.Models {
	return sandboxfile.NewModels(h.dir, func(name string) string { return h.env[name] })
}

// path returns a place in the directory of opencode's configuration.
func (h home) path(name string) string { return filepath.Join(h.dir, ".config", "opencode", name) }

func (h home) put(path, doc string) string {
	h.t.Helper()
	if !filepath.IsAbs(path) {
		path = h.path(path)
	}
	require.NoError(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(h.t, os.WriteFile(path, []byte(doc), 0o644))
	return path
}

func (h home) text(path string) string {
	h.t.Helper()
	if !filepath.IsAbs(path) {
		path = h.path(path)
	}
	text, err := os.ReadFile(path)
	require.NoError(h.t, err)
	return string(text)
}

func (h home) mode(path string) fs.FileMode {
	info, err := os.Stat(path)
	require.NoError(h.t, err)
	return info.Mode().Perm()
}

// tidy checks that nothing but the named files is left.
func (h home) tidy(dir string, names ...string) {
	h.t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(h.t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	assert.ElementsMatch(h.t, names, left)
}

func TestConformance(t *testing.T) {
	var _ sandboxport.Models = (*sandboxfile.Models)(nil)
	for _, name := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
		t.Run(name, func(t *testing.T) {
			models(t, func(t testing.TB) modelFixture {
				h := newHome(t)
				return modelFixture{Models: h.open(), Put: func(doc string) { h.put(name, doc) }, Text: func() (string, bool) {
					text, err := os.ReadFile(h.path(name))
					return string(text), err == nil
				}}
			})
		})
	}
}

// TestWhichFile: the first that has a model, else the first there is (opencode contract §11).
func TestWhichFile(t *testing.T) {
	const none, one = "{}", `{"model":"a/b"}`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		model string
	}{
		"nothing":               {nil, "opencode.json", ""},
		"as opencode makes it":  {map[string]string{"opencode.jsonc": none}, "opencode.jsonc", ""},
		"the original's":        {map[string]string{"opencode.json": one}, "opencode.json", "a/b"},
		"an old name":           {map[string]string{"config.json": one}, "config.json", "a/b"},
		"model below":           {map[string]string{"opencode.jsonc": none, "config.json": one}, "config.json", "a/b"},
		"model twice":           {map[string]string{"opencode.jsonc": `{"model":"c/d"}`, "opencode.json": one}, "opencode.jsonc", "c/d"},
		"no model anywhere":     {map[string]string{"opencode.json": none, "config.json": none}, "opencode.json", ""},
		"an empty file":         {map[string]string{"opencode.jsonc": ""}, "opencode.jsonc", ""},
		"a model that is none":  {map[string]string{"opencode.jsonc": `{"model":null}`, "opencode.json": one}, "opencode.jsonc", ""},
		"a model further down":  {map[string]string{"opencode.jsonc": `{"agent":{"model":"x/y"}}`, "opencode.json": one}, "opencode.json", "a/b"},
		"a model in a comment":  {map[string]string{"opencode.jsonc": "{\n// \"model\":\"x/y\"\n}", "opencode.json": one}, "opencode.json", "a/b"},
		"a model not so called": {map[string]string{"opencode.jsonc": `{"Model":"x/y","small_model":"x/z"}`}, "opencode.jsonc", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			for file, doc := range c.files {
				h.put(file, doc)
			}
			model, path, exists, err := h.open().Read(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.model, model)
			assert.Equal(t, h.path(c.want), path)
			assert.Equal(t, len(c.files) > 0, exists)

			previous, path, err := h.open().Write(t.Context(), "new/one")
			require.NoError(t, err)
			assert.Equal(t, c.model, previous)
			assert.Equal(t, h.path(c.want), path)
			for file, doc := range c.files {
				if file != c.want {
					assert.Equal(t, doc, h.text(file), "the others are left alone")
				}
			}
			model, path, _, err = h.open().Read(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "new/one", model)
			assert.Equal(t, h.path(c.want), path)
		})
	}
}

// TestWhereTheFilesAre follows the variables that opencode follows.
func TestWhereTheFilesAre(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		home string
		env  map[string]string
		want string
	}{
		"home":             {"/h", nil, "/h/.config/opencode/opencode.json"},
		"xdg":              {"/h", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"},
		"relative xdg":     {"/h", map[string]string{"XDG_CONFIG_HOME": "x"}, "/h/.config/opencode/opencode.json"},
		"file":             {"/h", map[string]string{"OPENCODE_CONFIG": "/f/my.jsonc", "XDG_CONFIG_HOME": "/x"}, "/f/my.jsonc"},
		"file at home":     {"/h", map[string]string{"OPENCODE_CONFIG": "~/my.jsonc"}, "/h/my.jsonc"},
		"file from here":   {"/h", map[string]string{"OPENCODE_CONFIG": "my.jsonc"}, filepath.Join(here, "my.jsonc")},
		"xdg without home": {"", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"},
	} {
		_, path, exists, err := sandboxfile.NewModels(c.home, func(name string) string { return c.env[name] }).Read(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, c.want, path, name)
		assert.False(t, exists, name)
	}
	nowhere := sandboxfile.NewModels("", func(string) string { return "" })
	_, _, _, err = nowhere.Read(t.Context())
	require.ErrorIs(t, err, sandbox.ErrConfig)
	_, _, err = nowhere.Write(t.Context(), "a/b")
	require.ErrorIs(t, err, sandbox.ErrConfig)
}

// TestOwnFile: OPENCODE_CONFIG stands alone.
func TestOwnFile(t *testing.T) {
	h := newHome(t)
	h.put("opencode.jsonc", `{"model":"a/b"}`)
	own := filepath.Join(h.dir, "elsewhere", "my.jsonc")
	h.env["OPENCODE_CONFIG"] = own
	model, path, exists, err := h.open().Read(t.Context())
	require.NoError(t, err)
	assert.Empty(t, model)
	assert.Equal(t, own, path)
	assert.False(t, exists)
	_, path, err = h.open().Write(t.Context(), "c/d")
	require.NoError(t, err)
	assert.Equal(t, own, path)
	assert.Contains(t, h.text(own), `"model": "c/d"`)
	assert.Equal(t, `{"model":"a/b"}`, h.text("opencode.jsonc"))
}

// TestNewFile: nothing is there yet, so a file is made that its owner alone may read, in directories likewise.
func TestNewFile(t *testing.T) {
	h := newHome(t)
	previous, path, err := h.open().Write(t.Context(), "anthropic/claude")
	require.NoError(t, err)
	assert.Empty(t, previous)
	assert.Equal(t, h.path("opencode.json"), path)
	golden.Text(t, "new", h.text(path))
	assert.EqualValues(t, 0o600, h.mode(path))
	assert.EqualValues(t, 0o700, h.mode(filepath.Dir(path)))
	assert.EqualValues(t, 0o700, h.mode(filepath.Dir(filepath.Dir(path))))
	h.tidy(filepath.Dir(path), "opencode.json")
}

func documents() map[string]string {
	return map[string]string{
		"as_opencode_makes_it": "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
		"comments":             "// mine\n{\n  // the model\n  \"model\": \"old/one\", // fast\n  /* and */ \"theme\": \"dark\" // dark\n}\n// end\n",
		"commented_out":        "{\n  // \"model\": \"x/y\",\n  \"theme\": \"dark\" // \"model\"\n}\n",
		"trailing_commas":      "{\n  \"plugin\": [\n    \"a\",\n  ],\n}\n",
		"tabs":                 "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t\"provider\": {\n\t\t\"model\": \"inner/one\"\n\t}\n}\n",
		"four_spaces":          "{\n    \"theme\" : \"dark\"\n}\n",
		"crlf":                 "{\r\n  \"theme\": \"dark\",\r\n  \"model\": \"old/one\"\r\n}\r\n",
		"crlf_insert":          "{\r\n  \"theme\": \"dark\" // dark\r\n}\r\n",
		"mark":                 "\ufeff{\n  \"model\": \"old/one\"\n}\n",
		"mark_insert":          "\ufeff{}",
		"one_line":             `{"theme":"dark","model":"old/one","x":[1,2]}`,
		"one_line_insert":      `{ "theme": "dark" }`,
		"empty":                "",
		"blank":                "\n\n",
		"braces":               "{}\n",
		"only_comments":        "{\n  // nothing yet\n}\n",
		"no_text":              `{"model": {"id": "x"}, "theme": "dark"}`,
		"null":                 "{\n  \"model\": null\n}\n",
		"escaped":              `{"mod\u0065l":"old\/one"}`,
		"same":                 "{ \"model\" : \"new/one\" }",
	}
}

// TestWriteKeepsEverythingElse keeps what becomes of documents as users and programs write them, byte for byte.
func TestWriteKeepsEverythingElse(t *testing.T) {
	for name, doc := range documents() {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			path := h.put("opencode.jsonc", doc)
			require.NoError(t, os.Chmod(path, 0o640))
			_, _, err := h.open().Write(t.Context(), "new/one")
			require.NoError(t, err)
			after := h.text(path)
			golden.Text(t, "write/"+name, doc+"\n-----\n"+after)
			assert.EqualValues(t, 0o640, h.mode(path))
			h.tidy(filepath.Dir(path), "opencode.jsonc")
			model, _, _, err := h.open().Read(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "new/one", model)
		})
	}
}

// TestModesStay, whatever the umask.
func TestModesStay(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o640, 0o666, 0o755, 0o200} {
		if mode&0o400 == 0 && os.Geteuid() != 0 {
			continue
		}
		h := newHome(t)
		path := h.put("opencode.json", "{}")
		require.NoError(t, os.Chmod(path, mode))
		_, _, err := h.open().Write(t.Context(), "a/b")
		require.NoError(t, err)
		assert.Equal(t, mode, h.mode(path))
	}
}

// TestNothingIsRewrittenInVain: a model that is set already leaves the very file.
func TestNothingIsRewrittenInVain(t *testing.T) {
	h := newHome(t)
	path := h.put("opencode.json", `{"model":"a/b"}`)
	before, err := os.Stat(path)
	require.NoError(t, err)
	_, _, err = h.open().Write(t.Context(), "a/b")
	require.NoError(t, err)
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
}

// TestLinksAreFollowed, as managers of dotfiles need it: the link stays, and what it leads to is written.
func TestLinksAreFollowed(t *testing.T) {
	for name, link := range map[string]func(h home, target string){
		"a link": func(h home, target string) { require.NoError(t, os.Symlink(target, h.path("opencode.jsonc"))) },
		"a relative link": func(h home, target string) {
			to, err := filepath.Rel(filepath.Dir(h.path("x")), target)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(to, h.path("opencode.jsonc")))
		},
		"a link to a link": func(h home, target string) {
			require.NoError(t, os.Symlink(target, h.path("second")))
			require.NoError(t, os.Symlink("second", h.path("opencode.jsonc")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			target := h.put(filepath.Join(h.dir, "dotfiles", "oc.jsonc"), "{} // mine\n")
			require.NoError(t, os.MkdirAll(filepath.Dir(h.path("x")), 0o755))
			link(h, target)
			_, path, err := h.open().Write(t.Context(), "a/b")
			require.NoError(t, err)
			assert.Equal(t, h.path("opencode.jsonc"), path, "named as the person knows it")
			assert.Contains(t, h.text(target), `"a/b"`)
			assert.Contains(t, h.text(target), "// mine")
			info, err := os.Lstat(path)
			require.NoError(t, err)
			assert.NotZero(t, info.Mode()&fs.ModeSymlink)
			h.tidy(filepath.Dir(target), "oc.jsonc")
		})
	}
}

// TestALinkedDirectory is followed too, also when nothing is in it yet.
func TestALinkedDirectory(t *testing.T) {
	h := newHome(t)
	real := filepath.Join(h.dir, "dotfiles", "opencode")
	require.NoError(t, os.MkdirAll(real, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(h.dir, ".config"), 0o755))
	require.NoError(t, os.Symlink(real, filepath.Join(h.dir, ".config", "opencode")))
	for _, model := range []string{"a/b", "c/d"} {
		_, path, err := h.open().Write(t.Context(), model)
		require.NoError(t, err)
		assert.Equal(t, h.path("opencode.json"), path)
		assert.Contains(t, h.text(filepath.Join(real, "opencode.json")), model)
	}
	h.tidy(real, "opencode.json")
}

// TestOddFiles are refused by name, and stay what they are.
func TestOddFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		read bool // refuses to be read, too
		says string
	}{
		"a directory": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) }, true, "regular file"},
		"a dangling link": {func(t *testing.T, path string) { require.NoError(t, os.Symlink("nowhere", path)) },
			false, "is a dangling link"},
		"a link to itself": {func(t *testing.T, path string) { require.NoError(t, os.Symlink(filepath.Base(path), path)) }, true, "too many links"},
		"too large": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(" ", 4<<20+1)), 0o600))
		}, true, "at most"},
		"read-only": {func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("{}"), 0o444)) }, false, "chmod u+w"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			path := h.path("opencode.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			c.make(t, path)
			before, err := os.Lstat(path)
			require.NoError(t, err)
			_, _, _, err = h.open().Read(t.Context())
			assert.Equal(t, c.read, err != nil)
			if c.read {
				require.ErrorIs(t, err, sandbox.ErrConfig)
			}
			_, _, err = h.open().Write(t.Context(), "a/b")
			require.ErrorIs(t, err, sandbox.ErrConfig)
			assert.Contains(t, err.Error(), path)
			assert.Contains(t, err.Error(), c.says)
			after, err := os.Lstat(path)
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after))
			h.tidy(filepath.Dir(path), "opencode.json")
		})
	}
}

// TestWhereADocumentIsWrong is said as editors understand it, without a word of the document.
func TestWhereADocumentIsWrong(t *testing.T) {
	for doc, want := range map[string]string{
		"{\n  \"a\": 1,\n  \"key\": sk-secret\n}": ":3:10: ",
		"{\n  \"a\": 1\n  \"b\": 2\n}":            ":3:3: ",
		"\ufeff{ x":                               ":1:3: ",
		"{\"model\":\"a/b\",\"model\":\"c/d\"}":   " is invalid: ",
		"[1]":                                     " is invalid: ",
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000): " is invalid: ",
	} {
		h := newHome(t)
		path := h.put("opencode.jsonc", doc)
		_, _, _, err := h.open().Read(t.Context())
		require.ErrorIs(t, err, sandbox.ErrConfig)
		assert.True(t, strings.HasPrefix(err.Error(), path+want) || strings.HasPrefix(err.Error(), path+strings.TrimSuffix(want, ": ")), "%s", err)
		assert.NotContains(t, err.Error(), "secret")
		assert.NotContains(t, err.Error(), "c/d")
		assert.Equal(t, doc, h.text(path))
	}
}

// TestAnUnreadableFile is a failure of the file system, not an absent file.
func TestAnUnreadableFile(t *testing.T) {
	h := newHome(t)
	path := h.put("opencode.json", `{"model":"a/b"}`)
	require.NoError(t, os.Chmod(path, 0))
	top := filepath.Dir(t.TempDir()) // of all directories of this test
	for dir := filepath.Dir(path); strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755)) // only the file is closed
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), readerVariable+"="+h.dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, fault.Unavailable.String()+" "+path, strings.TrimSpace(string(out)))
}

const readerVariable = "MODELFILE_READER"

// readAsNobody is a process of a user who may not read everything.
func readAsNobody(dir string) {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, _, _, err := sandboxfile.NewModels(dir, func(string) string { return "" }).Read(context.Background())
	f := fault.From(err)
	if f == nil {
		fmt.Println("it was read")
		return
	}
	path, _, _ := strings.Cut(f.Message, ".json")
	fmt.Println(f.Kind, path[strings.Index(path, "/"):]+".json")
}

// TestAFileForADirectory: nothing is made, nothing breaks.
func TestAFileForADirectory(t *testing.T) {
	h := newHome(t)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".config"), []byte("x"), 0o600))
	_, _, _, err := h.open().Read(t.Context())
	require.ErrorIs(t, err, sandbox.ErrConfig)
	assert.Contains(t, err.Error(), "not a directory")
	_, _, err = h.open().Write(t.Context(), "a/b")
	require.ErrorIs(t, err, sandbox.ErrConfig)
	h.tidy(h.dir, ".config")
}
