package chat

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/tool"
)

// OpenAITool is a tool as OpenAI's chat completions take it, and those of LM Studio, Ollama and others that speak the same.
type OpenAITool struct {
	Type     string         `json:"type"` // "function"
	Function OpenAIFunction `json:"function"`
}

// OpenAIFunction is what an OpenAITool calls.
type OpenAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
}

// OpenAIMessage is the answer to one call: every id of an assistant message needs one before the conversation goes on.
type OpenAIMessage struct {
	Role       string `json:"role"` // "tool"
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
}

// OpenAI returns the offered tools for a request's "tools", with a project's path as default where one is given.
func (h *Handler) OpenAI(projectPath string) []OpenAITool {
	out := make([]OpenAITool, 0, len(h.tools))
	for _, t := range h.tools {
		out = append(out, OpenAITool{Type: "function", Function: OpenAIFunction{
			Name: string(t.spec.Name), Description: t.spec.Description, Parameters: t.parameters(projectPath),
		}})
	}
	return out
}

// OpenAICalls reads the calls of an assistant message. Arguments may be a text or, as Ollama gives them, an object; a call without an id
// gets one. Arguments that are no JSON stay as they are, for Execute to answer. It fails with tool.ErrArguments when the message is none.
func OpenAICalls(message json.RawMessage) ([]Call, error) {
	var m struct {
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, unreadable(err)
	}
	var out []Call
	for _, c := range m.ToolCalls {
		args := c.Function.Arguments
		var text string
		if bytes.HasPrefix(args, []byte(`"`)) && json.Unmarshal(args, &text) == nil {
			args = json.RawMessage(text)
		}
		out = append(out, made(c.ID, c.Function.Name, args))
	}
	return out, nil
}

// OpenAIResults returns a message for each result, in their order.
func OpenAIResults(results ...Result) []OpenAIMessage {
	out := make([]OpenAIMessage, 0, len(results))
	for _, r := range results {
		out = append(out, OpenAIMessage{Role: "tool", ToolCallID: r.CallID, Content: r.Content()})
	}
	return out
}

// made returns a call with an id, whatever the provider has given.
func made(id, name string, args json.RawMessage) Call {
	if id == "" {
		id = NewID()
	}
	if bytes.Equal(args, []byte("null")) {
		args = nil
	}
	return Call{ID: id, Name: name, Arguments: args}
}

func unreadable(err error) error {
	return tool.ErrArguments.WithMessage("invalid provider message: %v", err).WithCause(err)
}
