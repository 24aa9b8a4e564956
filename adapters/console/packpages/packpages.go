package packpages

import (
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/tool"
)

// root is the path of the section.
const root = "/packs"

// The tools of packs.
const (
	input  tool.Name = "input"
	output tool.Name = "output"
)

// section is the pages of context packs.
type section struct{ ui.SectionBase }

// New returns the section.
func New(runner *ui.CallRunner) *section {
	return &section{ui.SectionBase{Calls: runner, Path: root, Title: "Packs", Toolset: "packs", Probe: input}}
}

// Mount adds the pages to a mux, through what lets users in.
func (s *section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	handlers := ui.Handlers{
		"GET " + root:                    s.list,
		"GET " + root + "/{id}":          s.show,
		"GET " + root + "/{id}/raw":      s.raw(false),
		"GET " + root + "/{id}/download": s.raw(true),
		"GET " + root + "/new":           s.ask(creation()),
		"POST " + root + "/new":          s.do(creation()),
	}
	for _, d := range formActions() {
		handlers["GET "+root+"/{id}/"+d.path] = s.ask(d)
		handlers["POST "+root+"/{id}/"+d.path] = s.do(d)
	}
	s.SectionBase.Mount(mux, person, handlers)
}

// at returns the path of a page about a pack.
func at(id string, parts ...string) string {
	path := root + "/" + url.PathEscape(id)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}
