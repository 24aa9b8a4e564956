// Package sandboxtest holds the ports of sandboxes to their contracts: every adapter of one runs its suite.
//
// It refuses to know any adapter; how one is opened is handed to it.
package sandboxtest
