package authoring_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/authoring"
)

func TestEnsure(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "a\nb\n",
		"x":                   "x\na\nb\n",
		"x\n":                 "x\na\nb\n",
		" a \nb":              " a \nb",
		"b\r\n":               "b\r\na\r\n",
		"x\r\ny":              "x\r\ny\r\na\r\nb\r\n",
		"#a\n!b\n":            "#a\n!b\na\nb\n",
		"a\n\n\xff\n":         "a\n\n\xff\nb\n",
		"b\na":                "b\na",
		"ab\n# a comment\n\n": "ab\n# a comment\n\na\nb\n",
	} {
		got, changed := authoring.EnsureIgnoreLines([]byte(text), "a", " b ", "a", "")
		assert.Equal(t, want, string(got), "%q", text)
		assert.Equal(t, want != text, changed, "%q", text)
	}
}

// FuzzEnsure: the original text is unchanged at the beginning, the line is present, and repeating it changes nothing.
func FuzzEnsure(f *testing.F) {
	for _, text := range []string{"", "x", "x\r\n", ".DS_Store\n", "\n\n", "a\rb"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		was := bytes.Clone(text)
		once, _ := authoring.EnsureIgnoreLines(text, authoring.ManifestIgnoreLine, authoring.DesktopIgnoreLine)
		require.Equal(t, was, text, "the text is not written to")
		require.True(t, bytes.HasPrefix(once, text))
		twice, changed := authoring.EnsureIgnoreLines(once, authoring.ManifestIgnoreLine, authoring.DesktopIgnoreLine)
		require.False(t, changed)
		require.Equal(t, once, twice)
		for _, line := range []string{authoring.ManifestIgnoreLine, authoring.DesktopIgnoreLine} {
			found := false
			for l := range bytes.Lines(once) {
				found = found || string(bytes.TrimSpace(l)) == line
			}
			require.True(t, found, line)
		}
	})
}
