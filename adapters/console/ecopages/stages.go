package ecopages

// stages is the pages of releases, environments and the trash.
type stages struct{ base Base }

// NewStages returns the pages backed by base.
func NewStages(base Base) stages { return stages{base} }
