package present

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// CommandJSON returns a success in the form that all commands print under --json, whatever the tool's contract: the answer's own members at the top,
// without the envelope that the contract puts around them for agents. A dry run is {"dry_run":true,"plan":…}.
func CommandJSON(o tool.Outcome) json.RawMessage {
	value := o.Value
	switch {
	case len(value) == 0 && o.Spec.Contract == ContextPack:
		return Object(map[string]string{"markdown": o.Text})
	case len(value) == 0 && o.Text == "":
		value = json.RawMessage(`{}`)
	case len(value) == 0:
		value = Object(map[string]string{"text": o.Text})
	}
	switch o.Spec.Contract {
	case Agentpack:
		value = reportJSON(o)
	case ContextPack:
		var own map[string]json.RawMessage
		if json.Unmarshal(value, &own) == nil && isObject(own["payload"]) {
			value = own["payload"]
		}
	case Amof:
		value = withoutMembers(value, "_context", "_text", "suggested_actions") // for agents: where they are, and tools to call next
	case Opencode:
		if !o.DryRun {
			value = opencodeSuccess(o)
		}
	}
	switch {
	case o.DryRun:
		return Object(map[string]any{"dry_run": true, "plan": value})
	case isObject(value) || isList(value):
		return value
	}
	return Object(map[string]any{"result": value})
}

// CommandFailure returns a failure in the form that all commands print under --json. o is the outcome of the call that failed, or the zero one; f is its failure in
// words for the command line.
func CommandFailure(o tool.Outcome, f *fault.Error, hint string, details any) json.RawMessage {
	return Object(struct {
		Error        bool            `json:"error"`
		Kind         string          `json:"kind"`
		Code         string          `json:"code"`
		Message      string          `json:"message"`
		Hint         string          `json:"hint,omitempty"`
		Details      any             `json:"details,omitempty"`
		Confirmation *confirmation   `json:"confirmation,omitempty"`
		Plan         json.RawMessage `json:"plan,omitempty"`
	}{true, f.Kind.String(), string(f.Code), f.Message, hint, details, confirmationOf(o.Request), explained(o)})
}

// reportJSON returns the data of an answer of agentpack.v1, with its warnings among them.
func reportJSON(o tool.Outcome) json.RawMessage {
	data, warnings := reportOf(o)
	var own map[string]json.RawMessage
	if len(warnings) == 0 || json.Unmarshal(data, &own) != nil || own["warnings"] != nil {
		return data
	}
	own["warnings"] = Object(warnings)
	return Object(own)
}

// withoutMembers returns an object without some members.
func withoutMembers(doc json.RawMessage, names ...string) json.RawMessage {
	var own map[string]json.RawMessage
	if json.Unmarshal(doc, &own) != nil {
		return doc
	}
	for _, name := range names {
		delete(own, name)
	}
	return Object(own)
}
