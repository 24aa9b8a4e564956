//go:build race

package deployfile_test

// stride is how many steps lie between two kills: under the race detector starting a process is slow, and every step is tried without it.
const stride = 9
