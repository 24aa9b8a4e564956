// Package filetest is the conformance suite for the ports that keep sandboxes: records, places and keys.
package filetest
