// Package sorting sorts slices of any type. It compiles one sorting algorithm for all element types; the generic functions of package slices are
// compiled for each type (20 KB each, together 5 % of the binary).
//
// Its API may change at any time.
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
