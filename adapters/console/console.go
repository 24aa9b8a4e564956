// Package console is the web console, assembled from the pages of its sections. Every page and every action calls tools by name through the core.
//
// Its API may change at any time.
package console

import (
	"context"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/agentpages"
	"github.com/countersign-dev/countersign/adapters/console/ecopages"
	"github.com/countersign-dev/countersign/adapters/console/homepages"
	"github.com/countersign-dev/countersign/adapters/console/packpages"
	"github.com/countersign-dev/countersign/adapters/console/projectpages"
	"github.com/countersign-dev/countersign/adapters/console/sandboxpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Options are what the console stands on. Every field is required.
type Options struct {
	App         *app.App
	Credentials adminpages.Credentials
	// Person wraps a handler for visitors with a logged-in browser.
	Person func(httpauth.Handler) http.Handler
	IDs    func() string // creates unguessable identifiers
	// Machine is what the first page's checks ask of the machine.
	Machine homepages.Machine
}

// section is a part of the console.
type section interface {
	Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler)
}

// Mount adds the console's pages to mux. What their visitors started is cancelled when life ends; wait then blocks until it has ended, or until its
// context does.
func Mount(life context.Context, mux *http.ServeMux, o Options) (wait func(context.Context)) {
	runner := ui.NewCallRunner(life, o.App, o.IDs)
	person := ui.Telling(adminpages.WithPasskeys(o.Person, o.App), func(ctx context.Context) (bool, error) {
		rules, err := o.App.PolicyInForce(ctx)
		return rules.Approval.ByCaller(), err
	})
	for _, s := range []section{
		runner, homepages.New(runner, o.App, o.Machine), adminpages.NewApprovalSection(runner, o.App), adminpages.NewActivitySection(life, runner, o.App), adminpages.NewToolSection(runner, o.App), adminpages.NewSettingPages(runner, o.App, o.Credentials), adminpages.NewKeyPages(runner, o.App),
		packpages.New(runner), agentpages.New(runner), projectpages.New(runner), sandboxpages.New(runner), ecopages.New(runner),
	} {
		s.Mount(mux, person)
	}
	mux.Handle("/assets/", ui.AssetHandler())
	mux.Handle("GET "+ui.SpecimensPath, person(ui.Specimens))
	mux.Handle("/", person(missing))
	return runner.Wait
}

// ErrPage reports a path that no page has.
var ErrPage = fault.New(fault.NotFound, "page_unknown", "page not found; use the navigation or the search to find a page")

func missing(w http.ResponseWriter, _ *http.Request, v httpauth.Identity) {
	ui.Fail(w, v, "", http.StatusNotFound, ErrPage)
}
