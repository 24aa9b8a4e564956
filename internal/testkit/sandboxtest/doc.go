// Package sandboxtest is the conformance suites for the ports of sandboxes. A test passes them a function that opens an adapter.
package sandboxtest
