//go:build conformance

//lint:file-ignore SA1019 the suite still asks for what is deprecated in the protocol

package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// seal makes and checks what a call has its client carry from round to round (SEP-2322).
type seal struct{ key []byte }

func (s seal) close(state string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

func (s seal) open(sealed string) (string, error) {
	at := strings.LastIndexByte(sealed, '.')
	if at < 0 || !hmac.Equal([]byte(s.close(sealed[:at])), []byte(sealed)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not one of this server"}
	}
	return sealed[:at], nil
}

// filled returns a field of a form that was accepted, or nil.
func filled(all mcp.InputResponseMap, key, field string) any {
	if r, ok := all[key].(*mcp.ElicitResult); ok && r != nil && r.Action == "accept" {
		return r.Content[field]
	}
	return nil
}

// said returns what a model has answered, and whether it has.
func said(all mcp.InputResponseMap, key string) (string, bool) {
	switch r := all[key].(type) {
	case *mcp.CreateMessageResult:
		if r != nil {
			return fmt.Sprint(r.Content), true
		}
	case *mcp.CreateMessageWithToolsResult:
		if r == nil {
			break
		}
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				return text.Text, true
			}
		}
		return "", true
	}
	return "", false
}

// roots returns how many the client has, and whether it has said so.
func roots(all mcp.InputResponseMap, key string) (string, bool) {
	r, ok := all[key].(*mcp.ListRootsResult)
	if !ok || r == nil {
		return "", false
	}
	var uris []string
	for _, root := range r.Roots {
		uris = append(uris, root.URI)
	}
	return fmt.Sprintf("%d roots: %s", len(uris), strings.Join(uris, " ")), true
}

// wanted returns a result that asks.
func wanted(state string, all mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: all, RequestState: state}
}

// rounds are tools that ask by coming again (SEP-2322).
func rounds() []mcpserver.Fixture {
	s := seal{key: []byte(rand.Text())}
	tool := func(name, about string, h func(*mcp.CallToolRequest) (*mcp.CallToolResult, error)) mcpserver.Fixture {
		return fixture("test_input_required_result_"+name, about, "", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return h(r) })
	}
	return []mcpserver.Fixture{
		tool("elicitation", "Asks for a name.", asksName),
		tool("sampling", "Asks a model.", asksModel),
		tool("list_roots", "Asks for roots.", asksRoots),
		tool("request_state", "Asks, and remembers in the client.", s.remembers),
		tool("tampered_state", "Asks, and notices what was changed.", s.remembers),
		tool("multiple_inputs", "Asks for three things at once.", s.asksMuch),
		tool("multi_round", "Asks twice.", s.asksTwice),
		tool("capabilities", "Asks for what the client can do.", asksWhatIsPossible),
	}
}

func asksName(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if name, ok := filled(r.Params.InputResponses, "user_name", "name").(string); ok && name != "" {
		return say("Hello, " + name + "!"), nil
	}
	return wanted("", mcp.InputRequestMap{"user_name": form("What is your name?", nameForm)}), nil
}

func asksModel(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if text, ok := said(r.Params.InputResponses, "capital_question"); ok {
		return say(text), nil
	}
	return wanted("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?", 100)}), nil
}

func asksRoots(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if text, ok := roots(r.Params.InputResponses, "client_roots"); ok {
		return say(text), nil
	}
	return wanted("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
}

func (s seal) remembers(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState != "" {
		if _, err := s.open(r.Params.RequestState); err != nil {
			return nil, err
		}
		if filled(r.Params.InputResponses, "confirm", "ok") != nil {
			return say("state-ok"), nil
		}
	}
	return wanted(s.close("asked"), mcp.InputRequestMap{"confirm": form("Please confirm", okForm)}), nil
}

func (s seal) asksMuch(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := filled(r.Params.InputResponses, "user_name", "name").(string)
	greeting, greeted := said(r.Params.InputResponses, "greeting")
	all, listed := roots(r.Params.InputResponses, "client_roots")
	if name != "" && greeted && listed {
		if _, err := s.open(r.Params.RequestState); err != nil {
			return nil, err
		}
		return say(greeting + " " + name + ", " + all), nil
	}
	return wanted(s.close("asked"), mcp.InputRequestMap{
		"user_name": form("What is your name?", nameForm), "greeting": sample("Generate a greeting", 50), "client_roots": &mcp.ListRootsParams{},
	}), nil
}

func (s seal) asksTwice(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	state := ""
	if r.Params.RequestState != "" {
		var err error
		if state, err = s.open(r.Params.RequestState); err != nil {
			return nil, err
		}
	}
	name, named := filled(r.Params.InputResponses, "step1", "name").(string)
	color, colored := filled(r.Params.InputResponses, "step2", "color").(string)
	switch {
	case strings.HasPrefix(state, "name ") && colored:
		return say(strings.TrimPrefix(state, "name ") + " likes " + color), nil
	case state == "asked" && named:
		return wanted(s.close("name "+name), mcp.InputRequestMap{"step2": form("Step 2: What is your favorite color?", colorForm)}), nil
	}
	return wanted(s.close("asked"), mcp.InputRequestMap{"step1": form("Step 1: What is your name?", nameForm)}), nil
}

func asksWhatIsPossible(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(r.Params.InputResponses) > 0 {
		return say("that was all"), nil
	}
	caps, all := r.ClientCapabilities(), mcp.InputRequestMap{}
	if caps != nil && caps.Elicitation != nil {
		all["user_name"] = form("What is your name?", nameForm)
	}
	if caps != nil && caps.Sampling != nil {
		all["greeting"] = sample("Generate a greeting", 50)
	}
	if caps != nil && caps.RootsV2 != nil {
		all["client_roots"] = &mcp.ListRootsParams{}
	}
	if len(all) == 0 {
		return say("there is nothing that this client can be asked"), nil
	}
	return wanted("", all), nil
}

// changes are tools that change what there is.
func changes(sdk *mcp.Server) []mcpserver.Fixture {
	return []mcpserver.Fixture{
		fixture("test_trigger_tool_change", "Changes the list of tools.", "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			sdk.AddTool(&mcp.Tool{Name: "test_transient", Description: "Is there, or not.", InputSchema: rawSchema(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("here"), nil })
			sdk.RemoveTools("test_transient")
			return say("changed"), nil
		}),
		fixture("test_trigger_prompt_change", "Changes the list of prompts.", "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			sdk.AddPrompt(&mcp.Prompt{Name: "test_transient", Description: "Is there, or not."},
				func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{}, nil
				})
			sdk.RemovePrompts("test_transient")
			return say("changed"), nil
		}),
	}
}
