//go:build conformance

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	textURI    = "test://static-text"
	binaryURI  = "test://static-binary"
	watchedURI = "test://watched-resource"
	template   = "test://template/{id}/data"
)

// resources is the suite's resources.
type resources struct {
	life context.Context //nolint:containedctx // until when changes are told
}

// List returns all of them.
func (s resources) List(context.Context, mcpserver.Caller, string) ([]mcpserver.Resource, string, error) {
	return append(s.Fixed(), mcpserver.Resource{URI: binaryURI, Name: "static-binary", Description: "An image.", MIMEType: "image/png"}), "", nil
}

// Fixed returns those that are text.
func (resources) Fixed() []mcpserver.Resource {
	return []mcpserver.Resource{
		{URI: textURI, Name: "static-text", Description: "A text.", MIMEType: "text/plain"},
		{URI: watchedURI, Name: "watched-resource", Description: "Changes all the time.", MIMEType: "text/plain"},
	}
}

// Templates returns the one family.
func (resources) Templates() []mcpserver.Resource {
	return []mcpserver.Resource{{URI: template, Name: "template", Description: "Repeats its id.", MIMEType: "application/json"}}
}

// Read returns a text, or what the template makes of an id.
func (resources) Read(_ context.Context, _ mcpserver.Caller, uri string) (mcpserver.Content, error) {
	switch uri {
	case textURI:
		return mcpserver.Content{MIMEType: "text/plain", Text: "This is the content of the static text resource."}, nil
	case watchedURI:
		return mcpserver.Content{MIMEType: "text/plain", Text: "What is watched."}, nil
	}
	head, tail, _ := strings.Cut(template, "{id}")
	if id, ok := strings.CutPrefix(uri, head); ok && strings.HasSuffix(id, tail) {
		id = strings.TrimSuffix(id, tail)
		return mcpserver.Content{MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}, nil
	}
	return mcpserver.Content{}, tool.ErrUnknown
}

// Watch tells of a change every few seconds.
func (s resources) Watch(changed func(string)) {
	go func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				changed(watchedURI)
			case <-s.life.Done():
				return
			}
		}
	}()
}

// nothing completes nothing.
type nothing struct{}

// Complete has no proposals.
func (nothing) Complete(context.Context, mcpserver.Caller, mcpserver.Completion) ([]string, bool, error) {
	return nil, false, nil
}

// addBinary adds the resource that is no text.
func addBinary(sdk *mcp.Server) {
	sdk.AddResource(&mcp.Resource{URI: binaryURI, Name: "static-binary", MIMEType: "image/png"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: binaryURI, MIMEType: "image/png", Blob: picture()}}}, nil
	})
}

// addPrompts adds prompts of more than text.
func addPrompts(sdk *mcp.Server) {
	user := func(c mcp.Content) *mcp.PromptMessage { return &mcp.PromptMessage{Role: "user", Content: c} }
	text := func(t string) *mcp.PromptMessage { return user(&mcp.TextContent{Text: t}) }
	add := func(name string, arguments []string, say func(args map[string]string) []*mcp.PromptMessage) {
		p := &mcp.Prompt{Name: name, Description: "A prompt of the suite."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "What is put in.", Required: true})
		}
		sdk.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: say(req.Params.Arguments)}, nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(args map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(args map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{user(embedded(args["resourceUri"], "text/plain", "Embedded resource content for testing.")), text("Please process the embedded resource above.")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{user(&mcp.ImageContent{Data: picture(), MIMEType: "image/png"}), text("Please analyze the image above.")}
	})
	sdk.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks first."}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if about, ok := filled(req.Params.InputResponses, "user_context", "context").(string); ok {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{text("Context: " + about)}}, nil
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("What context should the prompt use?", contextForm)}}, nil
	})
}
