package relpath_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/relpath"
)

func TestParseKeepsWhatWasTyped(t *testing.T) {
	for in, want := range map[string]struct{ text, clean string }{
		"a.rs":              {"a.rs", "a.rs"},
		"./a.rs":            {"./a.rs", "a.rs"},
		"  src/a.go\t":      {"src/a.go", "src/a.go"},
		"\u00a0a.go\u2003":  {"a.go", "a.go"},
		"a//b/./c/":         {"a//b/./c/", "a/b/c"},
		".":                 {".", "."},
		"././":              {"././", "."},
		`src\win\a.cs`:      {"src/win/a.cs", "src/win/a.cs"},
		`C:\x`:              {"C:/x", "C:/x"},
		"C:x":               {"C:x", "C:x"},
		"...":               {"...", "..."},
		"a..b/..c/d..":      {"a..b/..c/d..", "a..b/..c/d.."},
		"~/x":               {"~/x", "~/x"},
		"$HOME/x":           {"$HOME/x", "$HOME/x"},
		"-rf":               {"-rf", "-rf"},
		"naïve/日本/café.txt": {"naïve/日本/café.txt", "naïve/日本/café.txt"},
		"with space/b c.md": {"with space/b c.md", "with space/b c.md"},
		"a?b*c|d\"e":        {"a?b*c|d\"e", "a?b*c|d\"e"},
		"%2e%2e/x":          {"%2e%2e/x", "%2e%2e/x"},
	} {
		p, err := relpath.Parse(in)
		if assert.NoError(t, err, "%q", in) {
			assert.Equal(t, want.text, p.String(), "%q", in)
			assert.Equal(t, want.clean, p.Clean().String(), "%q", in)
			assert.False(t, p.IsZero())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, says := range map[string]string{
		"":               "empty",
		" \t\n ":         "empty",
		"/":              "absolute",
		"/etc/passwd":    "absolute",
		`\etc`:           "absolute",
		`\\server\share`: "absolute",
		"//server/share": "absolute",
		"..":             `".."`,
		"../x":           `".."`,
		`..\..\etc`:      `".."`,
		"a/../b":         `".."`,
		`a\..\b.rs`:      `".."`,
		`a/..\b`:         `".."`,
		"a/..":           `".."`,
		"a/../":          `".."`,
		"./..":           `".."`,
		"a\x00b":         "control",
		"a\nb":           "control",
		"a\x1bb":         "control",
		"a\x7fb":         "control",
		"a\u0085b":       "control",
		"a\xffb":         "UTF-8",
		"a\xed\xa0\x80b": "UTF-8",
		"\x00":           "control",
	} {
		p, err := relpath.Parse(in)
		require.ErrorIs(t, err, relpath.ErrInvalid, "%q", in)
		assert.Contains(t, err.Error(), says, "%q", in)
		assert.True(t, p.IsZero(), "%q", in)
	}
}

func TestLengthAtItsEdge(t *testing.T) {
	_, err := relpath.Parse(strings.Repeat("x", relpath.MaxBytes))
	require.NoError(t, err)
	_, err = relpath.Parse("  " + strings.Repeat("x", relpath.MaxBytes) + "  ")
	require.NoError(t, err, "blanks around it do not count")
	_, err = relpath.Parse(strings.Repeat("x", relpath.MaxBytes+1))
	require.ErrorIs(t, err, relpath.ErrInvalid)
	assert.Contains(t, err.Error(), "1025")
	_, err = relpath.Parse(strings.Repeat("€", relpath.MaxBytes/3+1))
	require.ErrorIs(t, err, relpath.ErrInvalid, "bytes are counted, not characters")
}

func TestTextForm(t *testing.T) {
	var v struct{ Path relpath.Path }
	require.NoError(t, json.Unmarshal([]byte(`{"Path":" .\\src\\a.go "}`), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	assert.JSONEq(t, `{"Path":"./src/a.go"}`, string(out))

	before := v
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Path":""}`), &v), relpath.ErrInvalid)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Path":"../x"}`), &v), relpath.ErrInvalid)
	assert.Equal(t, before, v, "a refused text leaves the value alone")
	assert.Equal(t, relpath.Path{}, relpath.Path{}.Clean())
}

// FuzzParse holds the promise of the package: whatever was typed, the result stays under its root, and means the same when read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a", "./a.rs", `..\x`, `a\..\b`, "/x", `C:\x`, "a/./b//c/", "a\x00", "\xff", " . ", "....//", `\\?\C:\x`} {
		f.Add(s)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, s string) {
		p, err := relpath.Parse(s)
		if err != nil {
			require.ErrorIs(t, err, relpath.ErrInvalid)
			require.True(t, p.IsZero())
			return
		}
		again, err := relpath.Parse(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again, "parsing is idempotent")

		clean := p.Clean()
		require.Equal(t, clean, clean.Clean(), "cleaning is idempotent")
		if outer := clean.String(); outer == strings.TrimSpace(outer) { // "a /" ends in a blank once it is clean
			again, err = relpath.Parse(outer)
			require.NoError(t, err)
			require.Equal(t, clean, again, "the clean form is a path itself")
		}
		require.True(t, fs.ValidPath(clean.String()), "%q", clean)

		require.NotContains(t, p.String(), `\`)
		require.False(t, strings.ContainsFunc(p.String(), unicode.IsControl))
		joined := filepath.Join(root, filepath.FromSlash(p.String()))
		require.True(t, joined == root || strings.HasPrefix(joined, root+string(os.PathSeparator)), "%q leaves the root", p)
	})
}
