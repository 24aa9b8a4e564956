// Package projecttest holds the ports of projects to their contracts: every adapter of one runs its suite.
//
// It refuses to know any adapter.
package projecttest
