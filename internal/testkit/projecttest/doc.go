// Package projecttest is the conformance suites for the ports of projects.
package projecttest
