package ecopages

// stages is these pages.
type stages struct{ desk Base }

// NewStages is these pages, over a desk of ecosystems.
func NewStages(desk Base) stages { return stages{desk} }
