// Package ecostages is the console's pages of what leaves an ecosystem: its releases, the environment it is deployed to, and the workspace that is put
// away or brought back.
//
// It refuses to know how any of that is done.
package ecopages


// Stages is these pages.
type Stages struct{ desk Desk }

// New is these pages, over a desk of ecosystems.
func NewEnvironment(desk Desk) Stages { return Stages{desk} }
