package inspection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryWordIsFound compares the vocabulary with a search for every word by itself, at each end of a text and beside others.
func TestEveryWordIsFound(t *testing.T) {
	i := New(nil)
	require.LessOrEqual(t, len(i.vocabulary.words), 64, "a set has no more bits")
	texts := []string{"", "a", "ab", "nothing of it", "curlcurl http://t.co", "bypas", "ignor e", "ncatnc n c"}
	for _, word := range i.vocabulary.words {
		require.GreaterOrEqual(t, len(word), 3, word)
		texts = append(texts, word, "x"+word, word+"x", word[1:], word[:len(word)-1], strings.Repeat(word[:1], 3)+word)
	}
	for _, text := range texts {
		found := i.vocabulary.in([]byte(text))
		for n, word := range i.vocabulary.words {
			require.Equal(t, strings.Contains(text, word), found&(1<<n) != 0, "%s in %q", word, text)
		}
	}
}

// BenchmarkInspect scans ordinary text, in which nothing is found; the floor is one pass over its bytes.
func BenchmarkInspect(b *testing.B) {
	var text strings.Builder
	for line := range 28 {
		fmt.Fprintf(&text, "Line %d of the reference: read what stands here before you go on, and say what you found.\n", line)
	}
	doc := text.String()
	b.Run("file", func(b *testing.B) {
		i := New(nil)
		f := File{ModuleID: "skill:one", Path: "references/part.md", Size: int64(len(doc)), Data: []byte(doc)}
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if found := i.Inspect(f); len(found) > 0 {
				b.Fatal(found)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		seen := 0
		for b.Loop() {
			for i := range len(doc) {
				if doc[i] == '\n' {
					seen++
				}
			}
		}
		_ = seen
	})
}
