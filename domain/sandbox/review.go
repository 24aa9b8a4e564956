package sandbox

import (
	"slices"
	"strconv"
	"time"
)

// Comment is a user's comment on a sandbox's work.
type Comment struct {
	Number int       `json:"number"` // from 1, never reused in a sandbox
	Path   string    `json:"path,omitempty"`
	Line   int       `json:"line,omitempty"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
	Commit string    `json:"commit,omitempty"` // the sandbox's commit at that time
	Done   bool      `json:"done,omitempty"`
}

// Look records that a user has seen a sandbox's work.
type Look struct {
	Files  string    `json:"files_id"`         // a git tree with all files at that time
	Commit string    `json:"commit,omitempty"` // the sandbox's commit at that time
	At     time.Time `json:"at"`
}

// Place returns the file and line, empty for all of the work.
func (c Comment) Place() string {
	if c.Line > 0 {
		return c.Path + ":" + strconv.Itoa(c.Line)
	}
	return c.Path
}

// AddComment returns the comments with one more, numbered.
func AddComment(all []Comment, c Comment) []Comment {
	for _, old := range all {
		c.Number = max(c.Number, old.Number)
	}
	c.Number++
	return append(slices.Clone(all), c)
}

// Settle returns the comments with that one resolved, or ErrArguments.
func Settle(all []Comment, number int) ([]Comment, error) {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Number == number {
			all[i].Done = true
			return all, nil
		}
	}
	return nil, ErrArguments.WithMessage("comment %d not found in the sandbox", number)
}
