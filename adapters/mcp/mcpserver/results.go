package mcpserver

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ToolResult returns an outcome in its tool's contract, as an SDK result.
func ToolResult(out tool.Outcome) *mcp.CallToolResult {
	doc := present.For(out.Spec.Contract)(out)
	r := &mcp.CallToolResult{Meta: MetaOf(doc.Meta), Content: []mcp.Content{&mcp.TextContent{Text: doc.Text}}, IsError: doc.Fail}
	if len(doc.Object) > 0 {
		r.StructuredContent = doc.Object
	}
	return r
}

// MetaOf returns the metadata that a contract adds to results and tools, in the SDK's form; nil stays nil.
func MetaOf(doc json.RawMessage) mcp.Meta {
	if len(doc) == 0 {
		return nil
	}
	var meta mcp.Meta
	_ = json.Unmarshal(doc, &meta) // a presenter writes objects
	return meta
}

// Result is a document that the SDK can send as the result of a call.
type Result struct {
	mcp.ResultBase
	doc present.Document
}

// NewResult returns the document as a Result.
func NewResult(doc present.Document) *Result {
	r := &Result{doc: doc}
	r.SetMeta(MetaOf(doc.Meta))
	return r
}

// MarshalJSON returns the encoding of the SDK's result with the same text, object and flag, without a false flag.
func (r *Result) MarshalJSON() ([]byte, error) {
	var meta json.RawMessage
	if len(r.Meta) > 0 {
		var err error
		if meta, err = tool.Encode(r.Meta); err != nil {
			return nil, err
		}
	}
	return encode(r.doc, meta, false)
}

// EncodeCompleteResult encodes the document as the SDK would in the era without sessions, where every result states that it is complete and, in its
// _meta, describes the server: the object about.
func EncodeCompleteResult(doc present.Document, about json.RawMessage) (json.RawMessage, error) {
	if len(doc.Meta) > 2 { // two objects as one
		about = append(append(append(json.RawMessage{}, about[:len(about)-1]...), ','), doc.Meta[1:]...)
	}
	return encode(doc, about, true)
}

// EncodeResult encodes the document as the SDK would send it in the era with sessions.
func EncodeResult(doc present.Document) (json.RawMessage, error) { return encode(doc, doc.Meta, false) }

func encode(doc present.Document, meta json.RawMessage, complete bool) (json.RawMessage, error) {
	text, err := tool.Encode(doc.Text)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(text)+len(doc.Object)+len(meta)+128)
	body = append(body, '{')
	if len(meta) > 0 {
		body = append(append(append(body, `"_meta":`...), meta...), ',')
	}
	body = append(append(append(body, `"content":[{"type":"text","text":`...), text...), "}]"...)
	if len(doc.Object) > 0 {
		body = append(append(body, `,"structuredContent":`...), doc.Object...)
	}
	switch {
	case doc.Fail:
		body = append(body, `,"isError":true`...)
	case doc.States:
		body = append(body, `,"isError":false`...)
	}
	if complete {
		body = append(body, `,"resultType":"complete"`...)
	}
	return append(body, '}'), nil
}
