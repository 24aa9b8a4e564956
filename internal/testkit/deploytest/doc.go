// Package deploytest is the conformance suite of deployments' ports: every adapter runs the same tests over places of its own.
//
// It refuses to know any adapter; how one is opened is handed to it.
package deploytest
