// Package console is the web console: pages for the people who decide, put together from its sections.
//
// It refuses to know use cases: every page calls tools by name through the one door, as an agent does, and every action passes it.
package console

import (
	"context"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/assets"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// Person makes a handler of one for visitors who came by a browser that somebody has logged in.
type Person func(httpguard.Handler) http.Handler

// Mount adds the console's pages to mux. life is the lifetime of the server; ids makes identifiers that nobody can guess.
func Mount(life context.Context, mux *http.ServeMux, door work.Door, person Person, ids func() string) {
	desk := work.New(life, door, ids)
	desk.Mount(mux, person)
	mux.Handle("/assets/", assets.Handler())
	mux.Handle("GET /{$}", http.RedirectHandler("/approvals", http.StatusSeeOther))
}
