package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// route is one method of one path. A segment {name} matches any segment.
type route struct {
	method string
	path   string // below Prefix
	serve  func(*Exchange) error
}

// unrouted is the route name of unknown paths, for metrics.
const unrouted = "unknown"

func (a *API) table() []route {
	return []route{
		{http.MethodGet, "/tools", a.listTools},
		{http.MethodGet, "/tools/{name}", a.showTool},
		{http.MethodPost, "/tools/{name}", a.callTool},
		{http.MethodGet, "/toolsets", a.listToolsets},
		{http.MethodGet, "/confirmations", a.listConfirmations},
		{http.MethodGet, "/confirmations/{name}", a.showConfirmation},
		{http.MethodPost, "/confirmations/{name}/approve", a.approve},
		{http.MethodPost, "/confirmations/{name}/deny", a.deny},
		{http.MethodPost, "/confirmations/{name}/cancel", a.cancel},
		{http.MethodGet, "/grants", a.listGrants},
		{http.MethodDelete, "/grants/{name}", a.revokeGrant},
		{http.MethodGet, "/tool-calls", a.listCalls},
		{http.MethodGet, "/tool-calls/{name}", a.showCall},
		{http.MethodGet, "/audit", a.listAudit},
		{http.MethodGet, "/audit/verify", a.verifyAudit},
		{http.MethodGet, "/audit/export", a.exportAudit},
		{http.MethodGet, "/settings", a.showSettings},
		{http.MethodPut, "/settings", a.putSettings},
		{http.MethodGet, "/events", func(x *Exchange) error { return Serve(x, a.Hub, a.Caller.Call) }},
		{http.MethodGet, "/openapi.json", a.showDocument},
	}
}

// dispatch serves the request and returns the name of its route.
func (a *API) dispatch(x *Exchange) string {
	path, below := strings.CutPrefix(x.R.URL.Path, Prefix)
	method := x.R.Method
	if method == http.MethodHead {
		method = http.MethodGet // the server omits the body
	}
	var allowed []string
	for _, rt := range a.routes {
		name, ok := Match(rt.path, path)
		if !ok || !below {
			continue
		}
		if rt.method != method {
			allowed = append(allowed, rt.method)
			continue
		}
		x.Name = name
		if err := rt.serve(x); err != nil {
			x.Refuse(a.Log, err)
		}
		return rt.method + " " + Prefix + rt.path
	}
	if len(allowed) == 0 {
		x.Refuse(a.Log, ErrRoute.WithMessage("route %s not found; GET %s/openapi.json lists all routes", Shorten(x.R.URL.Path), Prefix))
		return unrouted
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	x.W.Header().Set("Allow", strings.Join(allowed, ", "))
	x.Refuse(a.Log, ErrMethod.WithMessage("method %s is not allowed here; use %s", Shorten(x.R.Method), strings.Join(allowed, ", ")))
	return unrouted
}
