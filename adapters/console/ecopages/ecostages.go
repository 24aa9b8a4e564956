package ecopages

// Stages is these pages.
type Stages struct{ desk Desk }

// NewEnvironment is these pages, over a desk of ecosystems.
func NewEnvironment(desk Desk) Stages { return Stages{desk} }
