// Package sorting sorts slices of any type with one sorting algorithm in the binary. Those of package slices are compiled anew for every type of
// element, 20 KB each, which was 5 % of the product.
//
// It refuses to know what it sorts.
package sorting

import "sort"

// By sorts s in the order of compare, which is negative, zero or positive as slices.SortFunc wants it. Equal elements may change places.
func By[T any](s []T, compare func(a, b T) int) { sort.Sort(order[T]{s, compare}) }

// Stable is By that leaves equal elements in their order.
func Stable[T any](s []T, compare func(a, b T) int) { sort.Stable(order[T]{s, compare}) }

// order is a sort.Interface.
type order[T any] struct {
	s       []T
	compare func(a, b T) int
}

func (o order[T]) Len() int           { return len(o.s) }
func (o order[T]) Less(i, j int) bool { return o.compare(o.s[i], o.s[j]) < 0 }
func (o order[T]) Swap(i, j int)      { o.s[i], o.s[j] = o.s[j], o.s[i] }
