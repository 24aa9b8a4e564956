package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/tool"
)

// described is the OpenAPI document, and the name that its bytes have for caches.
type described struct {
	doc json.RawMessage
	tag string
}

// defaultCookie is the name of the cookie of browsers where Options have none: it ends with the server's port.
const defaultCookie = "countersign_PORT"

// describe makes the document of the tools that every one of these leaves over.
func (a *API) describe(within []tool.Narrowing) (described, error) {
	specs := slices.DeleteFunc(slices.Collect(a.App.Specs()), func(s tool.Spec) bool { return !tool.Covered(within, s) })
	doc, err := Document(About{Version: a.Version, Prefix: Prefix, Cookie: cmp.Or(a.Cookie, defaultCookie)}, specs)
	if err != nil {
		return described{}, err
	}
	return described{doc: doc, tag: `"` + canon.SumBytes("openapi.document.v1", doc).Hex()[:32] + `"`}, nil
}

// showDocument shows the OpenAPI document, made once for whoever is served everything.
func (a *API) showDocument(x *Exchange) error {
	d, err := a.document()
	if len(x.Visitor.Within) > 0 {
		d, err = a.describe(x.Visitor.Within)
	}
	if err != nil {
		return err
	}
	x.W.Header().Set("ETag", d.tag)
	if x.R.Header.Get("If-None-Match") == d.tag {
		x.W.WriteHeader(http.StatusNotModified)
		return nil
	}
	x.Write(http.StatusOK, "application/json", d.doc)
	return nil
}
