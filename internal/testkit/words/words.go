// Package words makes every short text over an alphabet, for tests that compare a hand-written matcher with a regular expression. Choose the alphabet so that
// it contains every relevant character.
package words

import "iter"

// Over yields every text of at most so many of the alphabet's pieces, the empty one included.
func Over(most int, alphabet ...string) iter.Seq[string] {
	return func(yield func(string) bool) { grow("", most, alphabet, yield) }
}

func grow(word string, left int, alphabet []string, yield func(string) bool) bool {
	if !yield(word) {
		return false
	}
	if left == 0 {
		return true
	}
	for _, piece := range alphabet {
		if !grow(word+piece, left-1, alphabet, yield) {
			return false
		}
	}
	return true
}
