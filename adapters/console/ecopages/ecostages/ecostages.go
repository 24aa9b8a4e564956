// Package ecostages is the console's pages of what leaves an ecosystem: its releases, the environment it is deployed to, and the workspace that is put
// away or brought back.
//
// It refuses to know how any of that is done.
package ecostages

import "github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"

// Stages is these pages.
type Stages struct{ desk ecodesk.Desk }

// New is these pages, over a desk of ecosystems.
func New(desk ecodesk.Desk) Stages { return Stages{desk} }
