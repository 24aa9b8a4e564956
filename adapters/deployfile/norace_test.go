//go:build !race

package deployfile_test

// stride is how many steps lie between two kills.
const stride = 1
