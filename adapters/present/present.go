package present

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Document is an outcome in a contract's form.
type Document struct {
	Text   string          // for a model or a terminal: MCP content, CLI text
	Object json.RawMessage // MCP structuredContent, or nil when the contract has none
	Body   json.RawMessage // the JSON face: HTTP body, CLI --json; never nil
	Fail   bool            // MCP isError
	States bool            // it is stated even where it is false
	Kind   fault.Kind      // of the failure; says HTTP status and exit code
	Meta   json.RawMessage // an object for MCP's _meta of the result, or nil when the contract has none
}

// Func is a contract's presenter. It is pure and never fails.
type Func func(tool.Outcome) Document

// The contracts with a presenter.
const (
	Control     tool.Contract = "countersign.v1"
	ContextPack tool.Contract = "contextpack.v2"
	Agentpack   tool.Contract = "agentpack.v1"
	Packageflow tool.Contract = "packageflow.v1"
	Opencode    tool.Contract = "opencode.v1"
	Amof        tool.Contract = "amof.v1"
)

// MetaApproval is the key in MCP's _meta of a result that names the approver if it is not a user: "caller".
const MetaApproval = "countersign/approval"

// For returns the presenter of a contract; outcomes of no known contract (an unknown tool) are presented as Control's. Whatever the contract, an answer says
// beside itself when no user is asked.
func For(c tool.Contract) Func {
	in := of(c)
	return func(o tool.Outcome) Document {
		d := in(o)
		switch c {
		case Agentpack, Packageflow, Opencode, Amof: // contracts with an object always (agentpack contract §7.3)
			d.States = len(d.Object) > 0
		}
		if !o.Unasked {
			return d
		}
		said := `{"` + MetaApproval + `":"caller"`
		if len(d.Meta) > len("{}") { // two objects as one
			said += "," + string(d.Meta[1:len(d.Meta)-1])
		}
		d.Meta = json.RawMessage(said + "}")
		return d
	}
}

func of(c tool.Contract) Func {
	switch c {
	case ContextPack:
		return contextPack
	case Agentpack:
		return agentpack
	case Packageflow:
		return packageflow
	case Opencode:
		return opencode
	case Amof:
		return func(o tool.Outcome) Document {
			a := RenderAmof(o)
			return Document{Text: a.Text, Object: a.Object, Body: a.Object, Fail: a.Fail, Kind: a.Kind}
		}
	default:
		return control
	}
}

// Listing returns what a tool's contract says about it beside its description, as an object for MCP's _meta of the tool; nil is nothing.
func Listing(s tool.Spec) json.RawMessage {
	if s.Contract == Packageflow {
		return packageflowListing(s)
	}
	return nil
}

// ExitCode returns the process exit code for a failure of kind k (architecture: errors and codes).
func ExitCode(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return 2
	case fault.NotFound:
		return 3
	case fault.Conflict, fault.State:
		return 4
	case fault.Denied:
		return 5
	case fault.Unconfirmed:
		return 6
	case fault.Unavailable, fault.Timeout:
		return 7
	case fault.Canceled:
		return 130
	}
	return 1
}

// confirmation is the object every JSON contract shows for a confirmation asked for (product rules on policy and confirmation).
type confirmation struct {
	Token     string          `json:"confirm_token,omitempty"`
	ID        string          `json:"confirmation_id"`
	Tool      tool.Name       `json:"tool,omitempty"`        // packageflow.v1 only
	About     string          `json:"description,omitempty"` // packageflow.v1 only
	Arguments json.RawMessage `json:"arguments,omitempty"`   // packageflow.v1 only
	Strength  string          `json:"strength"`
	Prompt    string          `json:"prompt"`
	Target    string          `json:"type_to_confirm,omitempty"`
	Risk      string          `json:"risk,omitempty"`    // packageflow.v1 only
	Context   json.RawMessage `json:"context,omitempty"` // packageflow.v1 only
	ExpiresAt string          `json:"expires_at"`
	PlanHash  string          `json:"plan_hash"`
	Plan      json.RawMessage `json:"plan,omitempty"`
}

func confirmationOf(i *tool.ApprovalRequest) *confirmation {
	if i == nil {
		return nil
	}
	return &confirmation{Token: i.Token.Reveal(), ID: i.ID, Strength: i.Strength.String(), Prompt: i.Prompt, Target: i.Target,
		ExpiresAt: i.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z"), PlanHash: i.PlanHash.String(), Plan: i.Plan}
}
