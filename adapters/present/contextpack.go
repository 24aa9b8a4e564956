package present

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// contextPack presents contextpack.v2 (context-pack contract §2 to §4): input answers compact JSON {"action":…,"payload":…} and output
// raw Markdown, both as text; a failure is one error object with a kind and code out of the contract's table and the request's own id.
func contextPack(o tool.Outcome) Document {
	f := fault.From(o.Err)
	if f != nil {
		return contextPackFailure(o, f)
	}
	switch {
	case o.DryRun:
		body := Object(map[string]any{"dry_run": true, "plan": o.Value})
		return Document{Text: string(body), Body: body}
	case o.Value != nil:
		return Document{Text: string(o.Value), Body: o.Value}
	}
	return Document{Text: o.Text, Body: Object(map[string]string{"markdown": o.Text})}
}

// packFailure is the envelope of context-pack contract §4.1.
type packFailure struct {
	Error     bool            `json:"error"`
	Kind      string          `json:"kind"`
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	RequestID json.RawMessage `json:"request_id"`
	Details   any             `json:"details,omitempty"`

	Confirmation *confirmation `json:"confirmation,omitempty"` // asked for (product rules on policy and confirmation)
}

func contextPackFailure(o tool.Outcome, f *fault.Error) Document {
	e := packFailure{Error: true, Message: f.Message, RequestID: o.RequestID, Confirmation: confirmationOf(o.Request)}
	e.Kind, e.Code = packCode(f)
	if len(e.RequestID) == 0 {
		e.RequestID = json.RawMessage("null")
	}
	e.Details = packDetails(o, f)
	body := Object(e)
	return Document{Text: string(body), Body: body, Fail: true, Kind: f.Kind}
}

// packDetails returns the fault's own details, or the plan of a call that was refused and explained.
func packDetails(o tool.Outcome, f *fault.Error) any {
	if plan := explained(o); plan != nil && f.Details == nil {
		return map[string]any{"plan": plan}
	}
	return f.Details
}

// packCode returns a fault's kind and code in the contract's words (context-pack contract §4.2). Codes with a pair of their own come first;
// every other fault, of the core or of another package, has one by its kind.
func packCode(f *fault.Error) (kind, code string) {
	switch f.Code {
	case "pack_ttl_required":
		return "validation", "ttl_required"
	case "pack_revision_conflict":
		return "conflict", "revision_conflict"
	case "pack_schema_unsupported":
		return "migration_required", "migration_required"
	case "source_missing":
		return "stale_ref", "stale_ref"
	}
	switch f.Kind {
	case fault.Invalid:
		return "validation", "invalid_data"
	case fault.NotFound:
		return "not_found", "not_found"
	case fault.Conflict:
		return "conflict", "conflict"
	case fault.State:
		return "invalid_state", "invalid_state"
	case fault.Denied, fault.Unconfirmed:
		// The contract has no words for policy: the state of things does not allow the call, and the code says which rule.
		return "invalid_state", string(f.Code)
	case fault.Timeout, fault.Canceled:
		return "io_error", string(f.Code)
	}
	return "io_error", "io_error"
}
