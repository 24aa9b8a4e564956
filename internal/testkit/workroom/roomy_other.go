//go:build !linux

package workroom

func roomy(string) bool { return false }
