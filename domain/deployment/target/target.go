// Package target is where each coding agent looks for what, applied: the tables of package agent turn modules into the files that should
// be on the machine (agentpack contract §2.6 to §2.9), and a deployed file back into the module's (§5.10). A new agent is a new table.
//
// It refuses to know file systems: module trees come in, desired files come out.
package target

import (
	"github.com/countersign-dev/countersign/domain/deployment"
)

// Module is a module as it is deployed: composed and validated.
type Module struct {
	deployment.Module
	Tree deployment.Tree
}

// Input is everything that decides what is deployed.
type Input struct {
	Place   deployment.Place
	Targets map[string]deployment.TargetConfig // of the manifest
	Chosen  []string                           // the targets to render, sorted
	Modules []Module                           // selected ones, sorted by identifier
	Read    func(deployment.Content) ([]byte, error)
	Sep     byte // the native path separator
}

// Output is what should be on the machine. Parts are not merged yet.
type Output struct {
	Roots    []deployment.Root    // sorted by target, then path; no repetitions
	Files    []deployment.Desired // sorted by target, then path
	Warnings []string       // sorted; no repetitions
}
