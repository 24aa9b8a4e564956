//go:build conformance

package main

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

func rawSchema(text string) json.RawMessage { return json.RawMessage(text) }

// vocabulary is the schema whose every word has to reach the client (SEP-1613, SEP-2106).
const vocabulary = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`

// mirrored is the schema of a tool one of whose arguments stands in a header too (SEP-2243).
const mirrored = `{"type":"object","properties":{"region":{"type":"string","description":"where","x-mcp-header":"Region"},
"level":{"type":"integer","description":"how much"}}}`

// core is the tools that are like any of the product's, so that the suite's calls of them go the way that most calls go.
type core struct{}

// Specs returns those tools.
func (core) Specs() iter.Seq[tool.Spec] {
	spec := func(name tool.Name, about, schema string) tool.Spec {
		return tool.Spec{Name: name, Title: string(name), Description: about, Toolset: "conformance", Contract: "countersign.v1",
			Class: policy.ClassRead, Effects: policy.Read, Input: rawSchema(schema)}
	}
	return slices.Values([]tool.Spec{
		spec("test_simple_text", "Answers with a text.", `{"type":"object"}`),
		spec("test_error_handling", "Fails, as it is asked to.", `{"type":"object"}`),
		spec("test_tool_with_progress", "Says three times how far it is.", `{"type":"object"}`),
		spec("test_streaming_elicitation", "Answers with a text and asks nobody.", `{"type":"object"}`),
		spec("json_schema_2020_12_tool", "Has a schema of many words.", vocabulary),
		spec("test_x_mcp_header", "Has an argument that stands in a header as well.", mirrored),
	})
}

// Call answers as the suite wants it.
func (d core) Call(ctx context.Context, c tool.Call) tool.Outcome {
	out := tool.Outcome{CallID: c.ID, RequestID: c.RequestID, Args: c.Args}
	for s := range d.Specs() {
		if s.Name == c.Tool {
			out.Spec = s
		}
	}
	switch c.Tool {
	case "test_error_handling":
		out.Err = fault.ErrInternal.WithMessage("This tool intentionally returns an error for testing")
	case "test_tool_with_progress":
		out.Err = steps(ctx, c.Progress)
		out.Text = "done in three steps"
	case "test_simple_text":
		out.Text = "This is a simple text response for testing."
	default:
		out.Text = string(c.Tool) + " was called with " + string(c.Args)
	}
	return out
}

// steps says 0, 50 and 100 of 100, a moment apart.
func steps(ctx context.Context, tell func(tool.Progress)) error {
	for done := int64(0); done <= 100; done += 50 {
		if tell != nil {
			tell(tool.Progress{Done: done, Total: 100})
		}
		if err := moment(ctx); err != nil {
			return fault.From(err)
		}
	}
	return nil
}

// moment waits as long as the suite wants to see things apart.
func moment(ctx context.Context) error {
	select {
	case <-time.After(60 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
