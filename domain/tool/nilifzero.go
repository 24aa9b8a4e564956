package tool

// NilIfZero is nil for the zero value: what nobody knows is null in an answer.
func NilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
