package fault

import (
	"slices"
	"strings"
)

// Nearest is the known name that name was probably meant to be, or "" when none is close: the way out of a misspelt
// argument or field. known is not changed.
func Nearest(name string, known []string) string {
	best, distance := "", max(2, len(name)/3)+1
	known = slices.Sorted(slices.Values(known))
	for _, k := range known {
		d := edits(strings.ToLower(name), k)
		if strings.HasSuffix(k, "_"+name) {
			d = 1
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes.
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
