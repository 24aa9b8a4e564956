package tool

// NilIfZero returns nil for a zero value, so that an unknown value is null in a result.
func NilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
