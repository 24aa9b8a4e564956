// Package manual is the manual: one Markdown file per topic, which `countersign help TOPIC` shows and which reads as well where the repository is
// browsed.
//
// Its API may change at any time.
package manual

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.md
var files embed.FS

// A Topic is one page of the manual.
type Topic struct {
	Name  string // what is typed behind "countersign help", and the name of its file without .md
	Title string // its heading: what the page is about, in one line
	Text  string // all of it, in Markdown, the heading included
}

// Topics returns every topic, sorted by name.
func Topics() []Topic {
	names, _ := fs.Glob(files, "*.md") // the pattern is well-formed
	topics := make([]Topic, 0, len(names))
	for _, name := range names {
		text, _ := files.ReadFile(name) // the list is that of the same files
		heading, _, _ := strings.Cut(string(text), "\n")
		topics = append(topics, Topic{Name: strings.TrimSuffix(name, ".md"), Title: strings.TrimPrefix(heading, "# "), Text: string(text)})
	}
	return topics
}
