package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/domain/tool"
)

// Resource is something a client can attach to a conversation, or, in Templates, a family of them whose URI
// has {variables} (RFC 6570).
type Resource struct {
	URI, Name, Title, Description, MIMEType string

	Tool tool.Name // that it is read with: callers who are not served that do not see it; empty for everybody's
}

// Content is a resource's text.
type Content struct {
	MIMEType string
	Text     string
}

// Resources is where resources come from, for whoever asks. Errors are faults: NotFound and Invalid are told apart.
type Resources interface {
	// List returns a page of what there is and the cursor of the next, empty at the end. An empty cursor is
	// the first page.
	List(ctx context.Context, by Caller, cursor string) (page []Resource, next string, err error)
	// Read returns a resource's content; its URI matches one of the Templates.
	Read(ctx context.Context, by Caller, uri string) (Content, error)
	// Templates returns the URIs there can be. They do not change.
	Templates() []Resource
	// Fixed returns those that are always there, which no template covers. They do not change.
	Fixed() []Resource
	// Watch has changed called, until the process ends, with the URI of each resource that changes.
	Watch(changed func(uri string))
}

// Prompt is a message the user can have sent by name.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	Tool                     tool.Name // as Resource.Tool
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
	Render(ctx context.Context, by Caller, name string, args map[string]string) (string, error)
}

// Completion is what values are wanted for.
type Completion struct {
	Ref      string // a prompt's name or a template's URI
	Argument string
	Value    string // what is there already
}

// Completer proposes values for the arguments of prompts and resource templates.
type Completer interface {
	// Complete returns values that begin with or resemble value, at most 100, the best first; more says that
	// there are others.
	Complete(ctx context.Context, by Caller, c Completion) (values []string, more bool, err error)
}
