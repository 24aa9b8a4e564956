// Package filetest holds the ports for what sandboxes keep, records, places and keys, to their contracts.
//
// It refuses to know any adapter; how one is opened is handed to it.
package filetest
