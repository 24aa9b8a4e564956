package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// OffersOptions configures Offers. Resources, Prompts and Completer may be nil; nothing else.
type OffersOptions struct {
	Resources Resources
	Prompts   Prompts
	Completer Completer

	Tools  map[string]tool.Spec                 // the enabled tools
	Caller func(extra *mcp.RequestExtra) Caller // identity of a request
	Log    *slog.Logger
}

// Offers serves resources and prompts through an SDK server, to each caller those that it may use. It is safe for concurrent use after Enlist.
type Offers struct {
	OffersOptions
	behind map[string]tool.Name // the tool behind prompts, fixed resources and templates, by name and URI
}

// NewOffers returns Offers with these parts.
func NewOffers(p OffersOptions) *Offers {
	return &Offers{OffersOptions: p, behind: map[string]tool.Name{}}
}

// Announce adds the offers to the capabilities of a server, and the handlers for them to its options.
func (d *Offers) Announce(caps *mcp.ServerCapabilities, o *mcp.ServerOptions) {
	if d.Resources != nil {
		caps.Resources = &mcp.ResourceCapabilities{Subscribe: true}
		o.SubscribeHandler = d.subscribable
		o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	}
	if d.Prompts != nil {
		caps.Prompts = &mcp.PromptCapabilities{}
	}
	if d.Completer != nil {
		caps.Completions = &mcp.CompletionCapabilities{}
		o.CompletionHandler = d.complete
	}
}

// Enlist registers the offers with the server and announces changes until life ends. Listings lists the resources, anew each time.
func (d *Offers) Enlist(life context.Context, sdk *mcp.Server) {
	if d.Resources != nil {
		d.enlistResources(life, sdk)
	}
	if d.Prompts == nil {
		return
	}
	for _, p := range d.Prompts.List() {
		d.behind[p.Name] = p.Tool
		shown := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			shown.Arguments = append(shown.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		sdk.AddPrompt(shown, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := d.Prompts.Render(ctx, d.Caller(req.Extra), req.Params.Name, req.Params.Arguments)
			if err != nil {
				return nil, failure(err)
			}
			return &mcp.GetPromptResult{
				Description: p.Description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
			}, nil
		})
	}
}

func (d *Offers) enlistResources(life context.Context, sdk *mcp.Server) {
	for _, t := range d.Resources.Templates() {
		d.behind[t.URI] = t.Tool
		sdk.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: t.URI, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType,
		}, d.read)
	}
	for _, f := range d.Resources.Fixed() {
		d.behind[f.URI] = f.Tool
		sdk.AddResource(&mcp.Resource{URI: f.URI, Name: f.Name, Title: f.Title, Description: f.Description, MIMEType: f.MIMEType}, d.read)
	}
	d.Resources.Watch(func(uri string) {
		if err := sdk.ResourceUpdated(life, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			d.Log.Warn("a resource change was not reported to the client", "error", err)
		}
	})
}

func (d *Offers) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	content, err := d.Resources.Read(ctx, d.Caller(req.Extra), req.Params.URI)
	if fault.From(err) != nil && fault.From(err).Kind == fault.NotFound {
		return nil, unknown(req.Params.URI, req.ProtocolVersion())
	}
	if err != nil {
		return nil, failure(err)
	}
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: content.MIMEType, Text: content.Text}},
	}, nil
}

// unknown returns the error for an unknown resource, with the code of the request's revision: the older ones have their own.
func unknown(uri, version string) error {
	err := mcp.ResourceNotFoundError(uri)
	var known *jsonrpc.Error
	if version < stdio.FirstModern && errors.As(err, &known) {
		old := *known
		old.Code = -32002
		return &old
	}
	return err
}

func (d *Offers) subscribable(_ context.Context, r *mcp.SubscribeRequest) error {
	if r.Params == nil || r.Params.URI == "" {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params.uri must name a resource"}
	}
	return nil
}

// Subscribable rejects subscriptions to resources that the caller may not read; other requests pass.
func (d *Offers) Subscribable(req mcp.Request) error {
	var uris []string
	version := ""
	switch r := req.(type) {
	case *mcp.SubscribeRequest:
		if r.Params != nil {
			uris, version = []string{r.Params.URI}, r.ProtocolVersion()
		}
	case *mcp.SubscriptionsListenRequest:
		if r.Params != nil && r.Params.Notifications != nil {
			uris, version = r.Params.Notifications.ResourceSubscriptions, r.ProtocolVersion()
		}
	}
	for _, uri := range uris {
		if !d.serves(d.Caller(req.GetExtra()), d.madeOf(uri)) {
			return unknown(uri, version)
		}
	}
	return nil
}

// madeOf returns the tool that reads a resource, as far as it is known without reading it.
func (d *Offers) madeOf(uri string) tool.Name {
	if name, fixed := d.behind[uri]; fixed {
		return name
	}
	for pattern, name := range d.behind {
		if head, _, family := strings.Cut(pattern, "{"); family && strings.HasPrefix(uri, head) {
			return name
		}
	}
	return ""
}

// serves reports whether a caller may use what that tool provides; without a tool every caller may.
func (d *Offers) serves(by Caller, name tool.Name) bool {
	spec, ok := d.Tools[string(name)]
	return name == "" || ok && by.Serves(spec)
}

// Listings returns a middleware that answers resources/list, which the SDK answers only for resources registered in advance, and reduces other lists
// to what the caller may use. The core also rejects reading what is left out.
func (d *Offers) Listings(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if r, ok := req.(*mcp.ListResourcesRequest); ok && d.Resources != nil {
			return d.list(ctx, r)
		}
		result, err := next(ctx, method, req)
		by := d.Caller(req.GetExtra())
		if err != nil || len(by.Within) == 0 {
			return result, err
		}
		switch list := result.(type) {
		case *mcp.ListPromptsResult:
			list.Prompts = kept(list.Prompts, func(p *mcp.Prompt) bool { return d.serves(by, d.behind[p.Name]) })
		case *mcp.ListResourceTemplatesResult:
			list.ResourceTemplates = kept(list.ResourceTemplates, func(t *mcp.ResourceTemplate) bool { return d.serves(by, d.behind[t.URITemplate]) })
		}
		return result, nil
	}
}

func kept[T any](all []T, keep func(T) bool) []T {
	left := make([]T, 0, len(all))
	for _, one := range all {
		if keep(one) {
			left = append(left, one)
		}
	}
	return left
}

func (d *Offers) list(ctx context.Context, r *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	cursor, by := "", d.Caller(r.Extra)
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	page, rest, err := d.Resources.List(ctx, by, cursor)
	if err != nil {
		return nil, failure(err)
	}
	result := &mcp.ListResourcesResult{Resources: make([]*mcp.Resource, 0, len(page)), NextCursor: rest}
	result.CacheScope = "private"
	for _, p := range page {
		if d.serves(by, p.Tool) {
			result.Resources = append(result.Resources, &mcp.Resource{
				URI: p.URI, Name: p.Name, Title: p.Title, Description: p.Description, MIMEType: p.MIMEType,
			})
		}
	}
	return result, nil
}

func (d *Offers) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ref := req.Params.Ref.Name
	if req.Params.Ref.URI != "" {
		ref = req.Params.Ref.URI
	}
	values, more, err := d.Completer.Complete(ctx, d.Caller(req.Extra), Completion{Ref: ref, Argument: req.Params.Argument.Name, Value: req.Params.Argument.Value})
	if err != nil {
		return nil, failure(err)
	}
	if values == nil {
		values = []string{}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, HasMore: more}}, nil
}

// failure returns a *fault.Error as a protocol error, for methods whose results have no place for one.
func failure(err error) error {
	f := fault.From(err)
	code := int64(jsonrpc.CodeInternalError)
	if f.Kind == fault.Invalid || f.Kind == fault.NotFound {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: f.Message}
}
