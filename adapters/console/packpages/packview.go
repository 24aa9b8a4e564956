package packpages

import (
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// Pack is a pack as the tool input gives it.
type Pack struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Brief     string        `json:"brief"`
	Status    string        `json:"status"`
	Tags      []string      `json:"tags"`
	Sections  []ViewSection `json:"sections"`
	Revision  uint64        `json:"revision"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	ExpiresAt time.Time     `json:"expires_at"`
}

// ViewSection is a chapter of a pack.
type ViewSection struct {
	Key         string        `json:"key"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Refs        []Ref         `json:"refs"`
	Diagrams    []ViewDiagram `json:"diagrams"`
}

// Ref is an anchor: lines of a source file.
type Ref struct {
	Key   string `json:"key"`
	Path  string `json:"path"`
	Lines struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"lines"`
	Title  string `json:"title"`
	Why    string `json:"why"`
	Group  string `json:"group"`
	Root   string `json:"root"`
	Commit string `json:"commit"`
}

// ViewDiagram is a drawing in Mermaid.
type ViewDiagram struct {
	Key     string `json:"key"`
	Title   string `json:"title"`
	Mermaid string `json:"mermaid"`
	Why     string `json:"why"`
}

// Draft reports that the pack's content may be changed.
func (p Pack) Draft() bool { return p.Status == "draft" }

// Label returns what users call the pack.
func (p Pack) Label() string { return label(p.Title, p.Name) }

// label returns what users call a pack of that title and name.
func label(title, name string) string {
	for _, s := range []string{title, name} {
		if s != "" {
			return line(s)
		}
	}
	return "Untitled"
}

// line returns a text of others on one line.
func line(s string) string { return strings.Join(strings.Fields(ui.Printable(s)), " ") }

// Section returns the section of that key.
func (p Pack) Section(key string) (ViewSection, bool) {
	for _, s := range p.Sections {
		if s.Key == key && key != "" {
			return s, true
		}
	}
	return ViewSection{}, false
}
