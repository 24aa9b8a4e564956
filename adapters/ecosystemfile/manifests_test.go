package ecosystemfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// manifests holds a Manifests to its contract.
func manifests(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, opener){
		"NamesThem":             namesThem,
		"LoadsOne":              loadsOne,
		"SaysWhatThereIs":       saysWhatThereIs,
		"RefusesWhatIsNone":     refusesNone,
		"RefusesBombs":          refusesBombs,
		"ReadsWhatEditorsDo":    readsEditors,
		"Counts":                counts,
		"Creates":               creates,
		"CreatesOnce":           createsOnce,
		"CreatesNothingInvalid": createsNothingInvalid,
		"WritesBesides":         writesBesides,
		"StaysInTheRoot":        staysInRoot,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func namesThem(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	eco := filepath.Join(u.Dir, "ecosystems")
	file(t, filepath.Join(eco, "a.1", "ecosystem.yaml"), "not even a manifest")
	file(t, filepath.Join(eco, "empty", "readme"), "")
	file(t, filepath.Join(eco, ".hidden", "ecosystem.yaml"), "name: x\n")
	file(t, filepath.Join(eco, "two words", "ecosystem.yaml"), "name: x\n")
	file(t, filepath.Join(eco, "file"), "")
	require.NoError(t, os.MkdirAll(filepath.Join(eco, "odd", "ecosystem.yaml"), 0o755))
	names, err := h.Manifests.Names(t.Context(), u.Dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.1", "demo"}, names)
	names, err = h.Manifests.Names(t.Context(), u.Home)
	require.NoError(t, err)
	assert.Empty(t, names, "a root without ecosystems has none")
}

func loadsOne(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	text, err := os.ReadFile(l.Manifest)
	require.NoError(t, err)
	m, err := h.Manifests.Load(t.Context(), l)
	require.NoError(t, err)
	assert.True(t, m.Manifest.Valid())
	assert.Equal(t, "repos/api", m.Manifest.Manifest.Repos[0].Path)
	assert.Equal(t, text, m.Bytes)
	sum := sha256.Sum256(text)
	assert.Equal(t, hex.EncodeToString(sum[:]), m.SHA256)

	file(t, l.Manifest, "name: demo\ncontext: {max_files: 0o17, summary_tokens: 1e3}\nretired: TRUE\ndescription: on\nrepos:\n  - {name: api}\n")
	m, err = h.Manifests.Load(t.Context(), l)
	require.NoError(t, err, "a manifest with problems is no error")
	assert.Equal(t, "repos[0].url", m.Manifest.Errors[0].Path)
	assert.Equal(t, 15, m.Manifest.Manifest.MaxFiles)
	assert.Equal(t, 1000, m.Manifest.Manifest.SummaryTokens)
	assert.True(t, m.Manifest.Manifest.Retired)
	assert.Equal(t, "on", m.Manifest.Manifest.Description)
}

func saysWhatThereIs(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	_, err := h.Manifests.Load(t.Context(), layoutOf(t, h, u.Dir, "dmeo"))
	require.ErrorIs(t, err, ecosystem.ErrUnknown)
	assert.Contains(t, err.Error(), "dmeo")
	assert.Contains(t, err.Error(), "demo")
	_, err = h.Manifests.Load(t.Context(), layoutOf(t, h, u.Home, "demo"))
	require.ErrorIs(t, err, ecosystem.ErrUnknown)
}

// loadError is what loading a manifest of that text fails with.
func loadError(t *testing.T, open opener, text string) error {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	file(t, l.Manifest, text)
	_, err := h.Manifests.Load(t.Context(), l)
	return err
}

func refusesNone(t *testing.T, open opener) {
	for name, text := range map[string]string{
		"empty": "", "list": "- a\n", "text": "hello\n", "null": "null\n", "broken": "name: [\n", "tab": "a:\n\tb: c\n", "NUL": "name: a\x00b\n", "binary": "\x7fELF\x01\x02",
		"UTF-8": "name: \xff\xfe\n", "two": "name: a\n---\nname: b\n", "twice": "name: a\nname: b\n", "tag": "name: !!binary aGk=\n", "key": "? [a]\n: b\n",
		"large": "#" + strings.Repeat("x", ecosystem.MaxManifestBytes) + "\nname: demo\n",
	} {
		err := loadError(t, open, text)
		require.ErrorIs(t, err, ecosystem.ErrManifest, name)
		assert.Contains(t, err.Error(), "ecosystem.yaml", name)
		details, ok := fault.From(err).Details.(map[string]any)
		require.True(t, ok, name)
		problems, ok := details["errors"].([]ecosystem.Problem)
		require.True(t, ok, name)
		assert.NotEmpty(t, problems[0].Message, name)
	}
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	require.NoError(t, os.Remove(l.Manifest))
	require.NoError(t, os.Mkdir(l.Manifest, 0o755))
	_, err := h.Manifests.Load(t.Context(), l)
	require.ErrorIs(t, err, ecosystem.ErrManifest)
}

func refusesBombs(t *testing.T, open opener) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		p := string(rune('0' + i))
		laughs.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.TrimSuffix(strings.Repeat("*a"+p+",", 9), ",") + "]\n")
	}
	for name, text := range map[string]string{
		"aliases": laughs.String(), "depth": "repos: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "itself": "name: demo\nrepos: &r [*r]\n",
		"wide": "repos: [" + strings.Repeat("x,", ecosystem.MaxManifestBytes/2-100) + "]\n",
	} {
		require.ErrorIs(t, loadError(t, open, text), ecosystem.ErrManifest, name)
	}
}

func readsEditors(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	for _, text := range []string{
		"\ufeffname: demo\nrepos: []\n", "name: demo\r\nrepos: []\r\n", "name: demo\nrepos: []", "---\nname: demo\nrepos: []\n...\n", "\"name\": \"demo\"\n'repos': [ ]\n# end",
		`{"name": "demo", "repos": []}`, "x: &n demo\nname: *n\nrepos: []\n",
	} {
		file(t, l.Manifest, text)
		m, err := h.Manifests.Load(t.Context(), l)
		require.NoError(t, err, "%q", text)
		assert.Empty(t, m.Manifest.Errors, "%q", text)
		assert.Equal(t, text, string(m.Bytes))
	}
	file(t, l.Manifest, "name: demo\ndescription: \"gr\\u00fcn 日本 🚀\"\nrepos: []\n")
	m, err := h.Manifests.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, "grün 日本 🚀", m.Manifest.Manifest.Description)
	file(t, l.Manifest, "name: demo\ndescription: \"a\\0b\"\nrepos: []\n")
	m, err = h.Manifests.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, "description", m.Manifest.Errors[0].Path)
}

func counts(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	c, err := h.Manifests.Counts(t.Context(), l)
	require.NoError(t, err)
	assert.Zero(t, c)
	for _, name := range []string{"kb/a.md", "kb/deep/b.md", "kb/.hidden", "kb/.git/x", "journal/1.md", "journal/2.md", "journal/3.md", "tasks/t.yaml"} {
		file(t, filepath.Join(l.Dir, name), "x")
	}
	require.NoError(t, os.Symlink(u.Home, filepath.Join(l.Dir, "kb", "link")))
	c, err = h.Manifests.Counts(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, ecosystemport.Counts{KB: 2, Journal: 3, Tasks: 1}, c)
}

// fresh returns an ecosystem to be made.
func fresh() ecosystem.Draft {
	return ecosystem.Draft{Name: "fresh", Description: "it's: \"tricky\" #1\n- second", Provisioner: "local", Repos: []ecosystem.Repo{
		{Name: "api", URL: "file:///srv/a b/api.git"}, {Name: "1e3", URL: "git@host:o/x.git", Branch: "yes", ReadOnly: true}}}
}

func creates(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "fresh")
	doc := fresh()
	doc.Repos[0].URL = "file:///srv/api.git"
	text, err := h.Manifests.Create(t.Context(), l, doc)
	require.NoError(t, err)
	m, err := h.Manifests.Load(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, text, string(m.Bytes))
	assert.Empty(t, m.Manifest.Errors)
	assert.Empty(t, m.Manifest.Warnings)
	assert.Equal(t, doc.Description, m.Manifest.Manifest.Description)
	assert.Equal(t, doc.Read().Manifest, m.Manifest.Manifest, "what is written is what is read")
	assert.DirExists(t, filepath.Join(l.Dir, "kb"))
	assert.DirExists(t, filepath.Join(l.Dir, "journal"))
	_, err = h.Manifests.Create(t.Context(), l, doc)
	require.ErrorIs(t, err, ecosystem.ErrExists)

	elsewhere := layoutOf(t, h, u.Home, "fresh")
	_, err = h.Manifests.Create(t.Context(), elsewhere, doc)
	require.NoError(t, err, "the first ecosystem of a root makes ecosystems/")
	file(t, filepath.Join(u.Dir, "ecosystems", "plain"), "a file")
	_, err = h.Manifests.Create(t.Context(), layoutOf(t, h, u.Dir, "plain"), ecosystem.Draft{})
	require.ErrorIs(t, err, ecosystem.ErrExists)
	gone := l
	gone.Root = filepath.Join(u.Home, "gone")
	_, err = h.Manifests.Create(t.Context(), gone, doc)
	require.ErrorIs(t, err, ecosystem.ErrRoot)
}

func createsOnce(t *testing.T, open opener) {
	u := newUser(t)
	doc := ecosystem.Draft{Name: "fresh", Repos: []ecosystem.Repo{{Name: "api", URL: "/srv/api"}}}
	var made atomic.Int32
	together(t, 16, func(int) error {
		h := open(t, u)
		l, err := h.Places.Layout(t.Context(), u.Dir, "fresh")
		if err != nil {
			return err
		}
		switch _, err := h.Manifests.Create(t.Context(), l, doc); {
		case err == nil:
			made.Add(1)
		case !errors.Is(err, ecosystem.ErrExists):
			return err
		}
		return nil
	})
	assert.EqualValues(t, 1, made.Load())
	entries, err := os.ReadDir(filepath.Join(u.Dir, "ecosystems"))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "nothing half-made stays")
}

func createsNothingInvalid(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "fresh")
	for _, doc := range []ecosystem.Draft{
		{Repos: []ecosystem.Repo{{Name: "api"}}}, {Repos: []ecosystem.Repo{{Name: "a", URL: "/a"}, {Name: "a", URL: "/b"}}}, {Description: "a\x00b"}, {Description: "\xff"},
		{Provisioner: "../../x"}, fresh(),
	} {
		_, err := h.Manifests.Create(t.Context(), l, doc)
		require.ErrorIs(t, err, ecosystem.ErrManifest)
		assert.NoDirExists(t, l.Dir)
	}
}

func writesBesides(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	l := layoutOf(t, h, u.Dir, "demo")
	path, err := h.Manifests.Write(t.Context(), l, "journal/20260301_120000_first.md", []byte("# First\n"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(l.Dir, "journal", "20260301_120000_first.md"), path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "# First\n", string(text))
	_, err = h.Manifests.Write(t.Context(), l, "journal/20260301_120000_first.md", []byte("other"))
	require.ErrorIs(t, err, ecosystem.ErrExists)
	_, err = h.Manifests.Write(t.Context(), l, "ecosystem.yaml", []byte("other"))
	require.ErrorIs(t, err, ecosystem.ErrExists)
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", "a\x00"} {
		_, err = h.Manifests.Write(t.Context(), l, name, nil)
		require.ErrorIs(t, err, ecosystem.ErrArguments, "%q", name)
	}
	_, err = h.Manifests.Write(t.Context(), layoutOf(t, h, u.Dir, "none"), "x", nil)
	require.ErrorIs(t, err, ecosystem.ErrUnknown)
	var made atomic.Int32
	together(t, 16, func(i int) error {
		_, err := open(t, u).Manifests.Write(t.Context(), l, "journal/same.md", []byte(strings.Repeat(string(rune('a'+i)), 10_000)))
		if err == nil {
			made.Add(1)
		} else if !errors.Is(err, ecosystem.ErrExists) {
			return err
		}
		return nil
	})
	assert.EqualValues(t, 1, made.Load())
	text, err = os.ReadFile(filepath.Join(l.Dir, "journal", "same.md"))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat(string(text[:1]), 10_000), string(text), "one writer's, whole")
	c, err := h.Manifests.Counts(t.Context(), l)
	require.NoError(t, err)
	assert.Equal(t, 2, c.Journal)
}

func staysInRoot(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	foreign := workspace(t, filepath.Join(u.Home, "foreign"), "secret")
	link := filepath.Join(u.Dir, "ecosystems", "link")
	require.NoError(t, os.Symlink(filepath.Join(foreign, "ecosystems", "secret"), link))
	names, err := h.Manifests.Names(t.Context(), u.Dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"demo"}, names)
	l := layoutOf(t, h, u.Dir, "link")
	_, err = h.Manifests.Load(t.Context(), l)
	require.Error(t, err)
	_, err = h.Manifests.Write(t.Context(), l, "x.md", []byte("x"))
	require.Error(t, err)
	assert.NoFileExists(t, filepath.Join(foreign, "ecosystems", "secret", "x.md"))
	require.NoError(t, os.Symlink(foreign, filepath.Join(u.Dir, "ecosystems", "demo", "journal")))
	_, err = h.Manifests.Write(t.Context(), layoutOf(t, h, u.Dir, "demo"), "journal/x.md", []byte("x"))
	require.Error(t, err)
	assert.NoFileExists(t, filepath.Join(foreign, "x.md"))

	bare := filepath.Join(u.Home, "bare")
	require.NoError(t, os.MkdirAll(bare, 0o755))
	require.NoError(t, os.Symlink(foreign, filepath.Join(bare, "ecosystems")))
	_, err = h.Manifests.Create(t.Context(), layoutOf(t, h, bare, "fresh"), ecosystem.Draft{})
	require.Error(t, err)
	assert.NoDirExists(t, filepath.Join(foreign, "fresh"))
}
