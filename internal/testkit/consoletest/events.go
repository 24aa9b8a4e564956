package consoletest

import (
	"net/http"
	"testing"

	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// Events adds the product's API to a mux, and with it the events of that core's database, which pages follow.
func Events(t testing.TB, mux *http.ServeMux, h *TestCore, person func(httpauth.Handler) http.Handler) {
	t.Helper()
	hub := events.NewHub(h.App, nil)
	t.Cleanup(hub.Close)
	mux.Handle(httpapi.Prefix+"/", person(httpapi.New(httpapi.Options{App: h.App, Hub: hub}).Serve))
}
