//go:build !unix

package admincmd

func stopProcess() {}
