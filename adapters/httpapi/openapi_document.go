package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/tool"
)

// described is the OpenAPI document, and its ETag.
type described struct {
	doc json.RawMessage
	tag string
}

// defaultCookie is the name of the browser cookie if Options has none: it ends with the server's port.
const defaultCookie = "countersign_PORT"

// describe generates the document of the tools that all narrowings leave.
func (a *API) describe(within []tool.Restriction) (described, error) {
	specs := slices.DeleteFunc(slices.Collect(a.App.Specs()), func(s tool.Spec) bool { return !tool.Covered(within, s) })
	doc, err := Document(About{Version: a.Version, Prefix: Prefix, Cookie: cmp.Or(a.Cookie, defaultCookie)}, specs)
	if err != nil {
		return described{}, err
	}
	return described{doc: doc, tag: `"` + canon.SumBytes("openapi.document.v1", doc).Hex()[:32] + `"`}, nil
}

// showDocument serves the OpenAPI document; the complete one is generated only once.
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
