package mcpserver

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource is something a client can attach to a conversation, or, in Templates, a family of them whose URI
// has {variables} (RFC 6570).
type Resource struct {
	URI, Name, Title, Description, MIMEType string
}

// Content is a resource's text.
type Content struct {
	MIMEType string
	Text     string
}

// Resources is where resources come from. Errors are faults: NotFound and Invalid are told apart.
type Resources interface {
	// List returns a page of what there is and the cursor of the next, empty at the end. An empty cursor is
	// the first page.
	List(ctx context.Context, cursor string) (page []Resource, next string, err error)
	// Read returns a resource's content; its URI matches one of the Templates.
	Read(ctx context.Context, uri string) (Content, error)
	// Templates returns the URIs there can be. They do not change.
	Templates() []Resource
	// Fixed returns those that are always there, which no template covers. They do not change.
	Fixed() []Resource
	// Watch has changed called, until the process ends, with the URI of each resource that changes.
	Watch(changed func(uri string))
}

// Prompt is a message a person can have sent by name.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
}

// Argument is one of a prompt.
type Argument struct {
	Name, Description string
	Required          bool
}

// Prompts is where prompts come from.
type Prompts interface {
	// List returns all there are. They do not change.
	List() []Prompt
	// Render returns the text of a prompt, as the user would say it.
	Render(ctx context.Context, name string, args map[string]string) (string, error)
}

// Completer proposes values for the arguments of prompts and resource templates.
type Completer interface {
	// Complete returns values that begin with or resemble value, at most 100, the best first; more says that
	// there are others. Ref is a prompt's name or a template's URI.
	Complete(ctx context.Context, ref, argument, value string) (values []string, more bool, err error)
}

// addTemplates registers what can be read. Which resources there are is listed by listings, fresh each time.
func (s *Server) addTemplates() {
	if s.opts.Resources == nil {
		return
	}
	for _, t := range s.opts.Resources.Templates() {
		s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: t.URI, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType,
		}, s.readResource)
	}
	for _, f := range s.opts.Resources.Fixed() {
		s.sdk.AddResource(&mcp.Resource{URI: f.URI, Name: f.Name, Title: f.Title, Description: f.Description, MIMEType: f.MIMEType}, s.readResource)
	}
	s.opts.Resources.Watch(func(uri string) {
		if err := s.sdk.ResourceUpdated(s.life, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			s.opts.Log.Warn("a change of a resource was not told", "error", err)
		}
	})
}

func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	content, err := s.opts.Resources.Read(ctx, req.Params.URI)
	if fault.From(err) != nil && fault.From(err).Kind == fault.NotFound {
		return nil, resourceUnknown(req)
	}
	if err != nil {
		return nil, failure(err)
	}
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: content.MIMEType, Text: content.Text}},
	}, nil
}

// resourceUnknown has the code of the request's revision: the older ones have one of their own.
func resourceUnknown(req *mcp.ReadResourceRequest) error {
	err := mcp.ResourceNotFoundError(req.Params.URI)
	var known *jsonrpc.Error
	if v := req.ProtocolVersion(); v < firstModern && errors.As(err, &known) {
		old := *known
		old.Code = -32002
		return &old
	}
	return err
}

// listings answers resources/list, which the SDK answers only for resources it was told of beforehand.
func (s *Server) listings(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, ok := req.(*mcp.ListResourcesRequest)
		if !ok || s.opts.Resources == nil {
			return next(ctx, method, req)
		}
		cursor := ""
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		page, rest, err := s.opts.Resources.List(ctx, cursor)
		if err != nil {
			return nil, failure(err)
		}
		result := &mcp.ListResourcesResult{Resources: make([]*mcp.Resource, 0, len(page)), NextCursor: rest}
		result.CacheScope = "private"
		for _, p := range page {
			result.Resources = append(result.Resources, &mcp.Resource{
				URI: p.URI, Name: p.Name, Title: p.Title, Description: p.Description, MIMEType: p.MIMEType,
			})
		}
		return result, nil
	}
}

func (s *Server) addPrompts() {
	if s.opts.Prompts == nil {
		return
	}
	for _, p := range s.opts.Prompts.List() {
		shown := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			shown.Arguments = append(shown.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		s.sdk.AddPrompt(shown, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := s.opts.Prompts.Render(ctx, req.Params.Name, req.Params.Arguments)
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

func (s *Server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ref := req.Params.Ref.Name
	if req.Params.Ref.URI != "" {
		ref = req.Params.Ref.URI
	}
	values, more, err := s.opts.Completer.Complete(ctx, ref, req.Params.Argument.Name, req.Params.Argument.Value)
	if err != nil {
		return nil, failure(err)
	}
	if values == nil {
		values = []string{}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, HasMore: more}}, nil
}

// failure is a fault as a protocol error, for methods whose results have no place for one.
func failure(err error) error {
	f := fault.From(err)
	code := int64(jsonrpc.CodeInternalError)
	if f.Kind == fault.Invalid || f.Kind == fault.NotFound {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: f.Message}
}
