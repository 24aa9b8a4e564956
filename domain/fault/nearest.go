package fault

import (
	"slices"
	"strings"
)

// Nearest returns the known name that name was probably meant to be, or "" if none is close, for hints on a misspelt argument or field. known is not
// changed.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, distance := "", max(2, len(name)/3)+1
	if len(name) < 4 {
		distance = 2
	}
	for _, k := range slices.Sorted(slices.Values(known)) {
		d := edits(name, k)
		if d > 1 && len(name) > 1 && (strings.HasPrefix(k, name+"_") || strings.HasSuffix(k, "_"+name) || strings.HasPrefix(name, k+"_") || strings.HasSuffix(name, "_"+k)) {
			d = 1 // a part of the name, or the name with an addition
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits returns the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
