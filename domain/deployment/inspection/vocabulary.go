package inspection

import (
	"slices"
	"strings"
)

// wordSet is a set of words of a vocabulary, a bit each.
type wordSet uint64

// vocabulary finds words in a text in one pass. Zero has none; it takes 64, each of three bytes or more.
type vocabulary struct {
	words []string
	heads [headSlots]wordSet // those that begin like this
}

// headSlots is how many beginnings are told apart: a few hundred bytes of text out of a thousand have to be looked at twice.
const headSlots = 1 << 12

// slot is where the words stand that begin with these bytes.
func slot(a, b, c byte) uint { return (uint(a)*961 + uint(b)*31 + uint(c)) % headSlots }

// add makes a word known, and returns the set of it alone.
func (v *vocabulary) add(word string) wordSet {
	i := slices.Index(v.words, word)
	if i < 0 {
		i = len(v.words)
		v.words = append(v.words, word)
		v.heads[slot(word[0], word[1], word[2])] |= 1 << i
	}
	return 1 << i
}

// in is which of the words are in a text.
func (v *vocabulary) in(text string) (found wordSet) {
	for i := 0; i+2 < len(text); i++ {
		here := v.heads[slot(text[i], text[i+1], text[i+2])] &^ found
		for n := 0; here != 0; n++ {
			if here&1 != 0 && strings.HasPrefix(text[i:], v.words[n]) {
				found |= 1 << n
			}
			here >>= 1
		}
	}
	return found
}
