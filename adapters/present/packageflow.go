package present

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Envelope is the answer of packageflow.v1 on every face but MCP, fields in this order (packageflow contract, tool response format). Error and
// DurationMS are null where they say nothing: a success has no error, and a failure no duration.
type Envelope struct {
	Success    bool    `json:"success"`
	Output     string  `json:"output"` // the value as JSON text; empty on failure
	Error      *string `json:"error"`
	DurationMS *int64  `json:"duration_ms"`
}

// Problem is a failure of packageflow.v1 over MCP (packageflow contract §2.3).
type Problem struct {
	Code    string         `json:"code"` // one of the contract's
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"` // the way on, where the code has one
	Details map[string]any `json:"details,omitempty"`
}

// packageflow presents packageflow.v1. Over MCP a success is the bare value, as text and as object, and a failure {"error":…}; the JSON
// face is the seed's envelope.
func packageflow(o tool.Outcome) Document {
	f := fault.From(o.Err)
	if f != nil && o.Request != nil && o.Request.Pending {
		return packageflowPending(o, f)
	}
	if f != nil {
		doc := Object(map[string]Problem{"error": ProblemOf(o)})
		body := Object(Envelope{Error: &f.Message})
		return Document{Text: string(doc), Object: doc, Body: body, Fail: true, Kind: f.Kind, Meta: packageflowMeta(o)}
	}
	value := o.Value
	if o.DryRun {
		value = Object(map[string]any{"dry_run": true, "plan": value})
	}
	d := Document{Text: string(value), Meta: packageflowMeta(o)}
	switch {
	case len(value) == 0 && o.Text == "":
		d.Object = json.RawMessage(`{}`)
		d.Text = "{}"
	case len(value) == 0:
		d.Text = o.Text
	case isObject(value): // nothing else may be structured content
		d.Object = value
	}
	ms := o.Elapsed.Milliseconds()
	d.Body = Object(Envelope{Success: true, Output: d.Text, DurationMS: &ms})
	return d
}

// packageflowPending returns a call that waits for the user (packageflow contract §5.2): over MCP no error, so that the model repeats the call instead of
// working around it.
func packageflowPending(o tool.Outcome, f *fault.Error) Document {
	p := ProblemOf(o)
	doc := Object(struct {
		Status       string `json:"status"`
		Code         string `json:"code"`
		CallID       string `json:"callId"`
		ExpiresAt    string `json:"expiresAt"`
		Message      string `json:"message"`
		Hint         string `json:"hint"`
		Confirmation any    `json:"confirmation"`
	}{"pending_confirmation", p.Code, o.CallID, o.Request.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z"), p.Message, p.Hint, packageflowConfirmation(o)})
	return Document{Text: string(doc), Object: doc, Body: Object(Envelope{Error: &f.Message}), Kind: f.Kind, Meta: packageflowMeta(o)}
}

// WithConfirmation returns an envelope of packageflow.v1 with the confirmation that its call asks for, if it does: over HTTP its error speaks of a token, and nothing else in
// the body has that.
func WithConfirmation(envelope json.RawMessage, o tool.Outcome) json.RawMessage {
	var e Envelope
	if o.Request == nil || json.Unmarshal(envelope, &e) != nil {
		return envelope
	}
	return Object(struct {
		Envelope
		Confirmation *confirmation `json:"confirmation"`
	}{e, packageflowConfirmation(o)})
}

// packageflowMeta returns what the contract says about a result beside the result.
func packageflowMeta(o tool.Outcome) json.RawMessage {
	return Object(struct {
		CallID     string   `json:"callId"`
		DurationMS int64    `json:"durationMs"`
		Truncated  bool     `json:"truncated"`
		Redactions int      `json:"redactions"`
		Warnings   []string `json:"warnings,omitempty"`
	}{o.CallID, o.Elapsed.Milliseconds(), o.Truncated || cutShort(o.Value), o.Redactions, o.Warnings})
}

// cutShort reports a value that says itself that something is missing in it.
func cutShort(value json.RawMessage) bool {
	if !bytes.Contains(value, []byte(`"truncated":true`)) {
		return false
	}
	var own struct {
		Truncated any `json:"truncated"`
	}
	return json.Unmarshal(value, &own) == nil && own.Truncated == true
}

// ProblemOf returns an outcome's failure in the words of packageflow.v1; the outcome has one.
func ProblemOf(o tool.Outcome) Problem {
	f := fault.From(o.Err)
	p := Problem{Code: packageflowCode(f), Message: f.Message, Details: Details(f)}
	if hint, ok := p.Details["hint"].(string); ok { // the raising site knows a better one
		p.Hint = hint
		delete(p.Details, "hint")
	} else {
		p.Hint = packageflowHint(f.Code, p.Code)
	}
	if ms, ok := p.Details["retry_after_ms"]; ok {
		delete(p.Details, "retry_after_ms")
		p.set("retryAfterMs", ms)
	}
	if o.Explained {
		p.set("plan", o.Value)
	}
	if o.Request != nil {
		p.set("confirmation", packageflowConfirmation(o))
		switch {
		case o.Request.Pending:
			p.Hint = "the user approves or denies this in a terminal (countersign approve " + o.Request.ID + ") or in the console; repeat the call unchanged to wait for the decision or to continue"
		case o.Request.Strength >= policy.Typed:
			p.Hint += " and typed_value, the value that they typed"
		}
	}
	return p
}

func (p *Problem) set(name string, value any) {
	if p.Details == nil {
		p.Details = map[string]any{}
	}
	p.Details[name] = value
}

// packageflowConfirmation also has what the packageflow contract has the user see: the tool, what it is for, and every argument.
func packageflowConfirmation(o tool.Outcome) *confirmation {
	c := confirmationOf(o.Request)
	c.Tool, c.About, c.Arguments = o.Request.Tool, o.Spec.Description, o.Request.Args
	c.Context, c.Risk = ContextOf(o.Request.Plan), o.Request.Risk
	c.Plan = withoutContext(c.Plan)
	return c
}

// withoutContext returns a plan without the context that stands beside it.
func withoutContext(plan json.RawMessage) json.RawMessage {
	var own map[string]json.RawMessage
	if json.Unmarshal(plan, &own) != nil || !isObject(own["context"]) {
		return plan
	}
	delete(own, "context")
	return Object(own)
}

// ContextOf returns what a dialog shows of a plan: its own context where it has one that is an object, else all of it (packageflow-security
// contract §5.1).
func ContextOf(plan json.RawMessage) json.RawMessage {
	var own struct {
		Context json.RawMessage `json:"context"`
	}
	if json.Unmarshal(plan, &own) == nil && isObject(own.Context) {
		return own.Context
	}
	return plan
}

func isObject(doc json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{"))
}

func isList(doc json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(doc), []byte("["))
}

// packageflowCode returns a fault's code in the contract's words: its own where the contract has it in capitals, one that stands for it, else
// one by its kind.
func packageflowCode(f *fault.Error) string {
	if code, ok := packageflowCodes()[f.Code]; ok {
		return code
	}
	switch f.Kind {
	case fault.Invalid, fault.NotFound: // an argument names what there is not
		return "INVALID_ARGUMENT"
	case fault.Conflict:
		return "CONFLICT"
	case fault.State:
		return "EXECUTION_FAILED"
	case fault.Denied:
		return "PERMISSION_DENIED"
	case fault.Unconfirmed:
		return "CONFIRMATION_PENDING"
	case fault.Timeout:
		return "EXECUTION_TIMEOUT"
	case fault.Canceled:
		return "USER_CANCELLED"
	}
	return "INTERNAL"
}

// packageflowListing returns what packageflow.v1 says about a tool beside its description, for MCP's _meta of the tool (packageflow contract
// §2.7, §3.1; packageflow-security contract §3.1).
func packageflowListing(s tool.Spec) json.RawMessage {
	listing := struct {
		Category    string   `json:"category,omitempty"`
		Permission  string   `json:"permissionCategory"`
		Permissions []string `json:"applicablePermissions"`
		Risk        string   `json:"risk,omitempty"`
	}{Category: s.Category, Permission: s.Permission(), Permissions: []string{tool.PermissionRead}}
	if listing.Permission != tool.PermissionRead {
		listing.Permissions = append(listing.Permissions, listing.Permission)
	}
	if s.Risk > policy.RiskNone {
		listing.Risk = s.Risk.String()
	}
	return Object(listing)
}
