//go:build !race

package httpguard_test

const raced = false
