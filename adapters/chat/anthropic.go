package chat

import (
	"bytes"
	"encoding/json"
)

// AnthropicTool is a tool as Anthropic's messages take it.
type AnthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema
}

// AnthropicMessage is the user message that answers an assistant message; it holds the results of all its calls.
type AnthropicMessage struct {
	Role    string            `json:"role"` // "user"
	Content []AnthropicResult `json:"content"`
}

// AnthropicResult is the answer to one call.
type AnthropicResult struct {
	Type      string `json:"type"` // "tool_result"
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

// Anthropic returns the offered tools for a request's "tools", with a project's path as default where one is given.
func (h *Handler) Anthropic(projectPath string) []AnthropicTool {
	out := make([]AnthropicTool, 0, len(h.tools))
	for _, t := range h.tools {
		out = append(out, AnthropicTool{Name: string(t.spec.Name), Description: t.spec.Description, InputSchema: t.parameters(projectPath)})
	}
	return out
}

// AnthropicCalls reads the calls of an assistant message; content that is only text has none. It fails with tool.ErrArguments when the
// message is none.
func AnthropicCalls(message json.RawMessage) ([]Call, error) {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, unreadable(err)
	}
	if !bytes.HasPrefix(m.Content, []byte("[")) {
		return nil, nil
	}
	var blocks []struct {
		Type, ID, Name string
		Input          json.RawMessage
	}
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		return nil, unreadable(err)
	}
	var out []Call
	for _, b := range blocks {
		if b.Type == "tool_use" {
			out = append(out, made(b.ID, b.Name, b.Input))
		}
	}
	return out, nil
}

// AnthropicResults returns one message with all results of a turn.
func AnthropicResults(results ...Result) AnthropicMessage {
	m := AnthropicMessage{Role: "user", Content: make([]AnthropicResult, 0, len(results))}
	for _, r := range results {
		m.Content = append(m.Content, AnthropicResult{Type: "tool_result", ToolUseID: r.CallID, Content: r.Content(), IsError: !r.Success})
	}
	return m
}
