package ecopages

import (
	"maps"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// Section is the pages of ecosystems.
type Section struct{ desk Desk }

// New is the section, over a desk.
func New(desk *ui.Desk) *Section { return &Section{desk: NewWorkspace(desk)} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	const one = "GET " + Root + "/{name}"
	stages := NewEnvironment(s.desk)
	handlers := ui.Handlers{"GET " + Root: s.list, one: s.overview, one + "/tickets": s.tickets, one + "/runs": s.runs, one + "/runs/{run}": s.run,
		one + "/releases": stages.Releases, one + "/environment": stages.Environment, one + "/trash": stages.Trash}
	maps.Copy(handlers, s.desk.Handlers())
	s.desk.Mount(mux, person, handlers)
}
