package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/domain/tool"
)

// Resource is an item that a client can attach to a conversation, or, in Templates, a family of them whose URI has {variables} (RFC 6570).
type Resource struct {
	URI, Name, Title, Description, MIMEType string

	Tool tool.Name // the tool that reads it: callers without the tool do not see it; empty for a resource that every caller sees
}

// Content is a resource's text.
type Content struct {
	MIMEType string
	Text     string
}

// Resources provides resources to callers. Errors are of package fault; their kinds NotFound and Invalid are distinguished.
type Resources interface {
	// List returns a page of resources and the cursor of the next page, empty at the end. An empty cursor is the first page.
	List(ctx context.Context, by Caller, cursor string) (page []Resource, next string, err error)
	// Read returns a resource's content; its URI matches one of the Templates.
	Read(ctx context.Context, by Caller, uri string) (Content, error)
	// Templates returns the URI templates. They do not change.
	Templates() []Resource
	// Fixed returns the permanent resources, which no template covers. They do not change.
	Fixed() []Resource
	// Watch makes changed be called, until the process ends, with the URI of each resource that changes.
	Watch(changed func(uri string))
}

// Prompt is a message that the user can send by name.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	Tool                     tool.Name // as Resource.Tool
}

// Argument is an argument of a prompt.
type Argument struct {
	Name, Description string
	Required          bool
}

// Prompts provides prompts.
type Prompts interface {
	// List returns all prompts. They do not change.
	List() []Prompt
	// Render returns the text of a prompt, in the user's words.
	Render(ctx context.Context, by Caller, name string, args map[string]string) (string, error)
}

// Completion is a request to complete a value.
type Completion struct {
	Ref      string // a prompt's name or a template's URI
	Argument string
	Value    string // the value so far
}

// Completer proposes values for the arguments of prompts and resource templates.
type Completer interface {
	// Complete returns values that start with or resemble value, at most 100, best first; more says that there are others.
	Complete(ctx context.Context, by Caller, c Completion) (values []string, more bool, err error)
}
