package present

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// control presents countersign.v1, the contract of Countersign's own tools: the bare value on success; on failure one object with
// kind, code, message, details and, where the user has to confirm, the confirmation asked for.
func control(o tool.Outcome) Document {
	f := fault.From(o.Err)
	if f == nil {
		value := o.Value
		if value == nil {
			value = Object(o.Text)
		}
		if o.DryRun {
			value = Object(map[string]any{"dry_run": true, "plan": json.RawMessage(value)})
		}
		text := o.Text
		if text == "" {
			text = string(value)
		}
		d := Document{Text: text, Body: value}
		if isObject(value) { // nothing else may be structured content
			d.Object = value
		}
		return d
	}
	body := Object(struct {
		Error        bool            `json:"error"`
		Kind         string          `json:"kind"`
		Code         string          `json:"code"`
		Message      string          `json:"message"`
		Details      any             `json:"details,omitempty"`
		Confirmation *confirmation   `json:"confirmation,omitempty"`
		Plan         json.RawMessage `json:"plan,omitempty"`
	}{true, f.Kind.String(), string(f.Code), f.Message, f.Details, confirmationOf(o.Request), explained(o)})
	return Document{Text: string(body), Body: body, Fail: true, Kind: f.Kind}
}

func explained(o tool.Outcome) json.RawMessage {
	if !o.Explained {
		return nil
	}
	return o.Value
}
