package inspection

import "slices"

// wordSet is a set of words of a vocabulary, one bit each.
type wordSet uint64

// vocabulary finds words in a text in one pass. The zero value has none; it takes up to 64, each of three bytes or more.
type vocabulary struct {
	words  []string
	begins [headSlots]bool    // some word begins like this; the table below is eight times as large, and seldom needed
	heads  [headSlots]wordSet // the words that do
}

// headSlots is the number of distinguished beginnings: a few hundred of a thousand bytes of text need a second look.
const headSlots = 1 << 12

// slot returns the index of the words that begin with these bytes.
func slot(a, b, c byte) uint { return (uint(a)*961 + uint(b)*31 + uint(c)) % headSlots }

// add adds a word, and returns the set of it alone.
func (v *vocabulary) add(word string) wordSet {
	i := slices.Index(v.words, word)
	if i < 0 {
		i = len(v.words)
		v.words = append(v.words, word)
		at := slot(word[0], word[1], word[2])
		v.begins[at] = true
		v.heads[at] |= 1 << i
	}
	return 1 << i
}

// in returns which of the words are in a text.
func (v *vocabulary) in(text []byte) (found wordSet) {
	if len(text) < 3 {
		return 0
	}
	a, b := text[0], text[1]
	for i, c := range text[2:] {
		at := slot(a, b, c)
		if a, b = b, c; !v.begins[at] {
			continue
		}
		here := v.heads[at] &^ found
		for n := 0; here != 0; n++ {
			if word := v.words[n]; here&1 != 0 && len(word) <= len(text)-i && string(text[i:i+len(word)]) == word {
				found |= 1 << n
			}
			here >>= 1
		}
	}
	return found
}
