package process

import "slices"

// ShellCommand is shell text that will run in a directory.
type ShellCommand struct {
	Dir  string // absolute
	Text string
}

// CodeFile is a file that a command reads as code, with its current content.
type CodeFile struct {
	Path   string `json:"path"` // slash-separated, relative to the project root
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Code is what commands read as code, as far as that is known before they run: the files, bound to a plan by their hashes, and a description of what
// is not bound.
type Code struct {
	Reads    []CodeFile `json:"reads,omitempty"`
	NotBound []string   `json:"not_bound,omitempty"`
}

// Same reports whether the commands would read the same code as before.
func (c Code) Same(before Code) bool {
	return slices.Equal(c.Reads, before.Reads) && slices.Equal(c.NotBound, before.NotBound)
}
