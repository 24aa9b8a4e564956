package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/tool"
)

// GeminiTool is the tools as Gemini's generateContent takes them: one entry with all declarations.
type GeminiTool struct {
	Declarations []GeminiFunction `json:"functionDeclarations"`
}

// GeminiFunction is one tool. Parameters are Gemini's subset of a schema, and absent where there are none: an object without
// properties is refused.
type GeminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// GeminiContent is the content that answers a model's content; it holds the results of all its calls.
type GeminiContent struct {
	Role  string       `json:"role"` // "user"
	Parts []GeminiPart `json:"parts"`
}

// GeminiPart is the answer to one call.
type GeminiPart struct {
	Response GeminiResponse `json:"functionResponse"`
}

// GeminiResponse names the function it answers, because Gemini knows calls by that. Response holds "output" or "error".
type GeminiResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

// Gemini returns the offered tools for a request's "tools". A project's path stands in the descriptions, because there are no defaults.
func (h *Handler) Gemini(projectPath string) []GeminiTool {
	out := make([]GeminiFunction, 0, len(h.tools))
	for _, t := range h.tools {
		schema := t.schema
		if t.placed(projectPath) {
			schema = inWords(schema, projectPath)
		}
		f := GeminiFunction{Name: string(t.spec.Name), Description: t.spec.Description}
		if schema = subset(schema); hasProperties(schema) {
			f.Parameters = schema
		}
		out = append(out, f)
	}
	return []GeminiTool{{Declarations: out}}
}

func hasProperties(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &s) == nil && len(s.Properties) > 0
}

// subset returns what Gemini takes of a schema: no additionalProperties, $schema and default (packageflow contract §7.2), nor anything else
// that it does not know, which it refuses.
func subset(schema json.RawMessage) json.RawMessage {
	list, err := members(schema)
	if err != nil {
		return json.RawMessage(`{"type":"string"}`) // true and false are schemas too
	}
	var out []member
	for _, m := range list {
		switch m.name {
		case "title", "description", "enum", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "required", "nullable":
			out = append(out, m)
		case "type":
			out = append(out, typed(m.value)...)
		case "format":
			if slices.Contains([]string{`"date-time"`, `"enum"`, `"int32"`, `"int64"`, `"float"`, `"double"`}, string(m.value)) {
				out = append(out, m)
			}
		case "items":
			out = append(out, member{m.name, subset(m.value)})
		case "properties":
			if properties, err := members(m.value); err == nil && len(properties) > 0 {
				for i, p := range properties {
					properties[i].value = subset(p.value)
				}
				out = append(out, member{m.name, assemble(properties)})
			}
		case "anyOf", "oneOf":
			out = append(out, member{"anyOf", subsets(m.value)})
		}
	}
	return assemble(consistent(out))
}

func subsets(schemas json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(schemas, &list) != nil {
		return json.RawMessage(`[]`)
	}
	for i, s := range list {
		list[i] = subset(s)
	}
	doc, err := tool.Encode(list)
	if err != nil { // raw documents that were just read always encode
		return json.RawMessage(`[]`)
	}
	return doc
}

// typed returns a type that may be a list with null.
func typed(value json.RawMessage) []member {
	var list []string
	if json.Unmarshal(value, &list) != nil {
		return []member{{"type", value}}
	}
	out := []member{{"type", json.RawMessage(`"string"`)}}
	for _, name := range list {
		if name == "null" {
			out = append(out, member{"nullable", json.RawMessage("true")})
		} else {
			out[0].value = quoted(name)
		}
	}
	return out
}

// consistent takes away what contradicts the rest of an object's schema: required names without a property, and words to choose from
// that are no texts.
func consistent(list []member) []member {
	value := func(name string) json.RawMessage {
		for _, m := range list {
			if m.name == name {
				return m.value
			}
		}
		return nil
	}
	properties := map[string]json.RawMessage{}
	_ = json.Unmarshal(value("properties"), &properties) // none is none
	texts := bytes.Equal(value("type"), []byte(`"string"`))
	for i, m := range list {
		if m.name != "required" {
			continue
		}
		var names []string
		_ = json.Unmarshal(m.value, &names)
		names = slices.DeleteFunc(names, func(n string) bool { return properties[n] == nil })
		list[i].value = json.RawMessage("[" + strings.Join(eachQuoted(names), ",") + "]")
	}
	return slices.DeleteFunc(list, func(m member) bool {
		return m.name == "required" && string(m.value) == "[]" || m.name == "enum" && !texts
	})
}

func eachQuoted(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, string(quoted(n)))
	}
	return out
}

// GeminiCalls reads the calls of a model's content. Most have no id and get one; the name of the function stays with it in every Result,
// so that no name is ever guessed from an id. It fails with tool.ErrArguments when the content is none.
func GeminiCalls(content json.RawMessage) ([]Call, error) {
	var m struct {
		Parts []struct {
			FunctionCall *struct {
				ID   string          `json:"id"`
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, unreadable(err)
	}
	var out []Call
	for _, p := range m.Parts {
		if c := p.FunctionCall; c != nil {
			out = append(out, made(c.ID, c.Name, c.Args))
		}
	}
	return out, nil
}

// GeminiResults returns one content with all results of a turn, in the order of their calls. Ids that the model did not give are not told it.
func GeminiResults(results ...Result) GeminiContent {
	out := GeminiContent{Role: "user", Parts: make([]GeminiPart, 0, len(results))}
	for _, r := range results {
		answer := GeminiResponse{Name: r.Tool, Response: geminiAnswer(r)}
		if !strings.HasPrefix(r.CallID, inventedPrefix) {
			answer.ID = r.CallID
		}
		out.Parts = append(out.Parts, GeminiPart{answer})
	}
	return out
}

// geminiAnswer returns a result as the object that Gemini wants: an output keeps its form where it is JSON.
func geminiAnswer(r Result) json.RawMessage {
	if !r.Success {
		return assemble([]member{{"error", json.RawMessage(r.Content())}})
	}
	value := json.RawMessage(r.Output)
	if !json.Valid(value) {
		value = quoted(r.Output)
	}
	return assemble([]member{{"output", value}})
}
