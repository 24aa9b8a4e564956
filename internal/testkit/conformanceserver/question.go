//go:build conformance

//lint:file-ignore SA1019 the suite still asks for what is deprecated in the protocol

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The forms that are shown, as JSON Schema.
const (
	userForm = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},
"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
	defaultsForm = `{"type":"object","properties":{"name":{"type":"string","description":"who","default":"John Doe"},
"age":{"type":"integer","description":"years","default":30},"score":{"type":"number","description":"points","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","description":"is it so","default":true}}}`
	choicesForm = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
	nameForm    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	colorForm   = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	okForm      = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	contextForm = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
)

// form returns a question to the user.
func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: rawSchema(schema)}
}

// sample returns a question to a model.
func sample(text string, most int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}, MaxTokens: most}
}

// argument returns one of a call's, a text.
func argument(req *mcp.CallToolRequest, name string) string {
	var all map[string]any
	_ = json.Unmarshal(req.Params.Arguments, &all) // what is no object has none
	text, _ := all[name].(string)
	return text
}

// questions are tools that ask in the middle of a call, as the era with sessions lets them.
func questions() []mcpserver.Fixture {
	return []mcpserver.Fixture{
		fixture("test_sampling", "Has the client's model say something.", `{"type":"object","properties":{"prompt":{"type":"string","description":"what to say"}},"required":["prompt"]}`,
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				r, err := req.Session.CreateMessage(ctx, sample(argument(req, "prompt"), 100))
				if err != nil {
					return failed(err), nil
				}
				text, _ := r.Content.(*mcp.TextContent)
				if text == nil {
					text = &mcp.TextContent{}
				}
				return say("LLM response: " + text.Text), nil
			}),
		fixture("test_elicitation", "Asks the user.", `{"type":"object","properties":{"message":{"type":"string","description":"what to ask"}},"required":["message"]}`,
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return elicited(ctx, req, form(argument(req, "message"), userForm))
			}),
		fixture("test_elicitation_sep1034_defaults", "Asks the user, with proposals.", "",
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return elicited(ctx, req, form("Is this right?", defaultsForm))
			}),
		fixture("test_elicitation_sep1330_enums", "Has the user choose.", "",
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return elicited(ctx, req, form("Which of these?", choicesForm))
			}),
	}
}

func elicited(ctx context.Context, req *mcp.CallToolRequest, question *mcp.ElicitParams) (*mcp.CallToolResult, error) {
	r, err := req.Session.Elicit(ctx, question)
	if err != nil {
		return failed(err), nil
	}
	content, err := json.Marshal(r.Content)
	if err != nil {
		return nil, err
	}
	return say(fmt.Sprintf("User response: action=%s, content=%s", r.Action, content)), nil
}
