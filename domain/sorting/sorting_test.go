package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/sorting"
)

type pair struct{ key, was byte }

// FuzzSorting: what package slices makes of the same elements is made of them here.
func FuzzSorting(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("a stable sort leaves equal letters in their order"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		by := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		var all []pair
		for i, k := range keys {
			all = append(all, pair{k, byte(i)})
		}
		want, stable, loose := slices.Clone(all), slices.Clone(all), slices.Clone(all)
		slices.SortStableFunc(want, by)
		sorting.Stable(stable, by)
		assert.Equal(t, want, stable)
		sorting.By(loose, by)
		assert.True(t, slices.IsSortedFunc(loose, by))
		assert.ElementsMatch(t, all, loose)
	})
}
