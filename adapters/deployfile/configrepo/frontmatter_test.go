package configrepo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPlainMatter holds what is read without the library against the library.
func FuzzPlainMatter(f *testing.F) {
	for _, text := range []string{"name: some-skill\ndescription: What it is for, in a sentence.\n", "name: x\nname: y\n", "a: b: c\n", "a: b #c\n", "a: b#c\n", "a: true\n", "True: a\n", "a: Null\n",
		"a: no\n", "a: b\n  c\n", "a:  b\n", "a: b \n", "a: b:\n", "a: [b]\n", "a: b]}, '\"`@%&*!|>\n", "a: b\n\nc: d\n", "a: b\n---\n", "a: e1\n", "a: inf\n", "a: b", "y: n\n", "a-b_: c\n", "a: x: \n", "\n", "a: b\t#c\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fast, plain := plainMatter(text)
		if !plain {
			return
		}
		fields, found, err := matterFields([]byte(text))
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, fields, fast)
	})
}

// BenchmarkFrontmatter reads the front matter of a skill.
func BenchmarkFrontmatter(b *testing.B) {
	text := "name: some-skill\ndescription: What the skill is for, in a sentence of usual length.\n"
	doc := []byte("---\n" + text + "---\n\n# Some skill\n")
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			_, _, err := Frontmatter(doc)
			require.NoError(b, err)
		}
	})
	b.Run("yaml", func(b *testing.B) {
		for b.Loop() {
			_, _, err := matterFields([]byte(text))
			require.NoError(b, err)
		}
	})
}
