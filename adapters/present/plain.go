package present

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Object encodes a value made of plain data; it cannot fail on such, and what is none is null.
func Object(v any) json.RawMessage {
	doc, err := tool.Encode(v)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return doc
}

// Details returns a fault's details as members; nil when it has none.
func Details(f *fault.Error) map[string]any {
	if f.Details == nil {
		return nil
	}
	doc, ok := f.Details.(json.RawMessage)
	if !ok {
		doc = Object(f.Details)
	}
	if !json.Valid(doc) { // which would take the whole answer along
		return map[string]any{"details": string(doc)}
	}
	var details map[string]any
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	if decoder.Decode(&details) != nil {
		return map[string]any{"details": doc}
	}
	return details
}
