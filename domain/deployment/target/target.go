package target

import (
	"github.com/countersign-dev/countersign/domain/deployment"
)

// Module is a module as it is deployed: composed and validated.
type Module struct {
	deployment.Module
	Tree     deployment.Tree
	UserTree deployment.Tree // the tree for the user's files, if it differs: without the overlay of this project; else nil
	user     bool            // Tree is UserTree
}

// Input is everything that decides what is deployed.
type Input struct {
	Place   deployment.Locations
	Targets map[string]deployment.TargetConfig // of the manifest
	Chosen  []string                           // the targets to render, sorted
	Modules []Module                           // selected ones, sorted by identifier
	Read    func(deployment.Content) ([]byte, error)
	Sep     byte // the native path separator

	Frontmatter deployment.FrontmatterFunc // of modules that are agents

	// Has reports whether a document exists, and whether it has a key; an empty path of keys asks for the document alone. nil: no documents exist.
	Has func(path string, f deployment.Format, key []string) (document, found bool)
}

// Output is the desired state of the machine. Parts are not merged yet.
type Output struct {
	Roots    []deployment.Root    // sorted by target, then path; no repetitions
	Files    []deployment.Desired // sorted by target, then path
	Warnings []string             // sorted; no repetitions
	Unset    []string             // warnings about options that would make a target get more, for status commands
}
