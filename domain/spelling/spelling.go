// Package spelling finds the known word that is nearest to a misspelled one.
//
// Its API may change at any time.
package spelling

import "strings"

// The lengths, in bytes, that are compared: a shorter word is near to everything, and a longer one was not typed.
const (
	shortest = 3
	longest  = 100
	long     = 8 // from here on two mistakes are few
)

// Nearest returns the known word that was probably meant by a mistyped one, the nearest and first of them; "" when none is near. Capital letters, and - for _,
// are no mistakes.
func Nearest(word string, known []string) string {
	if len(word) < shortest || len(word) > longest {
		return ""
	}
	word = fold(word)
	few := 1
	if len(word) >= long {
		few = 2
	}
	found, least := "", few+1
	for _, k := range known {
		if len(k) > longest || len(k) > len(word)+few || len(k)+few < len(word) {
			continue
		}
		if d := mistakes(word, fold(k)); d < least {
			found, least = k, d
		}
	}
	return found
}

func fold(word string) string { return strings.ReplaceAll(strings.ToLower(word), "-", "_") }

// mistakes returns how many letters are too many, too few, another one, or in the wrong order.
func mistakes(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := last[j-1]
			if a[i-1] != b[j-1] {
				other++
			}
			row[j] = min(other, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
