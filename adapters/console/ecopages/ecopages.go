package ecopages

import (
	"maps"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// section is the ecosystems section of the console.
type section struct{ base Base }

// New returns the section.
func New(base *ui.CallRunner) *section { return &section{base: NewBase(base)} }

// Mount adds the pages to a mux, behind the authentication of users.
func (s *section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	const one = "GET " + RootPath + "/{name}"
	stages := NewStages(s.base)
	handlers := ui.Handlers{"GET " + RootPath: s.list, one: s.overview, one + "/tickets": s.tickets, one + "/runs": s.runs, one + "/runs/{run}": s.run,
		one + "/releases": stages.Releases, one + "/environment": stages.Environment, one + "/manifest": s.manifest, one + "/trash": stages.Trash}
	maps.Copy(handlers, s.base.Handlers())
	s.base.Mount(mux, person, handlers)
}
