package ecopages

// stages is these pages.
type stages struct{ base Base }

// NewStages is these pages, over a Base.
func NewStages(base Base) stages { return stages{base} }
