package process

import "slices"

// ShellCommand is shell text that is about to run in a directory.
type ShellCommand struct {
	Dir  string // absolute
	Text string
}

// CodeFile is a file that a command reads as code, as it is now.
type CodeFile struct {
	Path   string `json:"path"` // with slashes, below the root of the project
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Code is what commands read as code, as far as that can be known before they run: the files, which are bound to a plan by their hashes, and in words
// what is not.
type Code struct {
	Reads    []CodeFile `json:"reads,omitempty"`
	NotBound []string   `json:"not_bound,omitempty"`
}

// Same reports whether the commands would read the same as before.
func (c Code) Same(before Code) bool {
	return slices.Equal(c.Reads, before.Reads) && slices.Equal(c.NotBound, before.NotBound)
}
