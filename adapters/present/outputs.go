package present

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/tool"
)

// What a contract answers besides a tool's own value: plans of dry runs, questions that wait for the user, failures, and the head of a value that was too
// long. Every one of them is structured content too, so that a schema of results has to have it.
const (
	cutForm        = `{"required":["truncated","bytes","head"],"properties":{"truncated":{"const":true},"bytes":{"type":"integer"},"head":{"type":"string"}}}`
	dryRunForm     = `{"required":["dry_run","plan"],"properties":{"dry_run":{"const":true}}}`
	pendingForm    = `{"required":["status","callId","confirmation"],"properties":{"status":{"const":"pending_confirmation"}}}`
	problemForm    = `{"required":["error"],"properties":{"error":{"type":"object","required":["code","message"]}}}`
	opencodeForm   = `{"required":["status","message"],"properties":{"status":{"enum":["error","dry_run"]}}}`
	amofForm       = `{"required":["status"],"properties":{"status":{"enum":["dry_run","blocked","confirmation_required","error","cancelled"]}}}`
	amofMembers    = `"required":["_context","suggested_actions"],"properties":{"_context":{"type":"object"},"suggested_actions":{"type":"array","items":{"type":"object"}}}`
	textMember     = "_text" // of values of amof.v1: it becomes the text of the answer
	contextMember  = "_context"
	actionsMember  = "suggested_actions"
	statusRequired = `"required":["status"],"properties":{"status":{"type":"string"}}`
)

// Results returns the JSON Schema of a tool's structured content in its contract, for MCP's outputSchema; nil where the contract has none. Packs answer with
// text (context-pack contract §2, §3), and agentpack.v1 publishes no schema of its envelope (agentpack contract §7.2).
func Results(s tool.Spec) json.RawMessage {
	value := s.OutputSchema()
	if len(value) == 0 {
		return nil
	}
	switch s.Contract {
	case ContextPack, Agentpack:
		return nil
	case Packageflow:
		return forms(``, value, cutForm, dryRunForm, pendingForm, problemForm)
	case Opencode:
		return forms(statusRequired, optional(value, "status"), cutForm, opencodeForm)
	case Amof:
		return forms(amofMembers, optional(value, textMember, contextMember, actionsMember), cutForm, amofForm)
	}
	return forms(``, value, cutForm, dryRunForm)
}

// forms returns an object with those members that is one of the forms at least.
func forms(members string, all ...any) json.RawMessage {
	out := bytes.NewBufferString(`{"type":"object",`)
	if members != "" {
		out.WriteString(members + ",")
	}
	out.WriteString(`"anyOf":[`)
	for i, form := range all {
		if i > 0 {
			out.WriteByte(',')
		}
		switch form := form.(type) {
		case json.RawMessage:
			out.Write(form)
		case string:
			out.WriteString(form)
		}
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

// optional returns an object's schema without members that the presenter takes out of the value, or puts into it.
func optional(schema json.RawMessage, names ...string) json.RawMessage {
	var doc map[string]json.RawMessage
	var properties map[string]json.RawMessage
	var required, left []string
	if json.Unmarshal(schema, &doc) != nil {
		return schema
	}
	_ = json.Unmarshal(doc["properties"], &properties) // a schema without properties has none
	_ = json.Unmarshal(doc["required"], &required)
	own := map[string]bool{}
	for _, name := range names {
		own[name] = true
		delete(properties, name)
	}
	for _, name := range required {
		if !own[name] {
			left = append(left, name)
		}
	}
	doc["properties"] = Object(properties)
	delete(doc, "required")
	if len(left) > 0 {
		doc["required"] = Object(left)
	}
	return Object(doc)
}
