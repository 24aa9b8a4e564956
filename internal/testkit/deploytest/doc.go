// Package deploytest is the conformance suite for the ports of deployments. A test passes it a function that opens an adapter.
package deploytest
