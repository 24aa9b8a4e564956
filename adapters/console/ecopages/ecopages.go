package ecopages

import (
	"maps"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// section is the pages of ecosystems.
type section struct{ desk Base }

// New is the section, over a desk.
func New(desk *ui.CallRunner) *section { return &section{desk: NewBase(desk)} }

// Mount adds the pages to a mux, through what lets people in.
func (s *section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	const one = "GET " + RootPath + "/{name}"
	stages := NewStages(s.desk)
	handlers := ui.Handlers{"GET " + RootPath: s.list, one: s.overview, one + "/tickets": s.tickets, one + "/runs": s.runs, one + "/runs/{run}": s.run,
		one + "/releases": stages.Releases, one + "/environment": stages.Environment, one + "/trash": stages.Trash}
	maps.Copy(handlers, s.desk.Handlers())
	s.desk.Mount(mux, person, handlers)
}
