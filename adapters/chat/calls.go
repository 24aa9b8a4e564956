package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// By is who the audit names for answers given through a Handler: the program the user sits at.
const By = "embedding host"

// MaxReason is how much of a reason for a denial the model is told, in characters (packageflow-security contract §5.1).
const MaxReason = 500

// Call is what a model asks for. ID is the provider's, or empty where it has none.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object as the model wrote it, right or wrong; nil is {}
}

// Result is what came of a call: the seed's envelope, and which call it answers. Exactly one of Success, Problem without Pending, and
// Problem with Pending holds.
type Result struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	present.Envelope
	Problem *present.Problem `json:"problem,omitempty"` // why it failed, in the contract's codes
	Pending *Pending         `json:"pending,omitempty"` // the user has to decide first; show it, then ExecuteConfirmed or Deny
}

// Pending is what a dialog shows of a call that waits (packageflow contract, confirmation event; packageflow-security contract §5.1, §5.4).
type Pending struct {
	CallID         string          `json:"callId"`
	ConfirmationID string          `json:"confirmationId"`
	ToolName       string          `json:"toolName"`
	Description    string          `json:"description"`
	Arguments      json.RawMessage `json:"arguments"`
	Prompt         string          `json:"prompt"` // one line: what is about to happen
	Risk           string          `json:"risk,omitempty"`
	Strength       string          `json:"strength"` // how it has to be confirmed
	Target         string          `json:"typeToConfirm,omitempty"`
	Context        json.RawMessage `json:"context,omitempty"` // what it would do, worked out, never in the model's words
	PlanHash       string          `json:"planHash"`
	ExpiresAt      time.Time       `json:"expiresAt"`
}

// Content returns the text a model is given for the result: the output, or an object that says what failed.
func (r Result) Content() string {
	if r.Success {
		return r.Output
	}
	doc, err := tool.Encode(r.failure())
	if err != nil { // plain data always encodes
		return `{"success":false}`
	}
	return string(doc)
}

// failed is a failure as a model reads it (packageflow contract §5.2, assistant).
type failed struct {
	Success bool           `json:"success"` // false
	Error   string         `json:"error"`
	Code    string         `json:"code,omitempty"`
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

func (r Result) failure() failed {
	var f failed
	if r.Error != nil {
		f.Error = *r.Error
	}
	if r.Problem != nil {
		f.Code, f.Hint, f.Details = r.Problem.Code, r.Problem.Hint, r.Problem.Details
	}
	return f
}

// Execute runs a model's call if it needs no approval. Otherwise the call waits, and Pending in the result says what to show. Nothing in the arguments
// counts as an approval.
func (h *Handler) Execute(ctx context.Context, c Call) Result {
	if c.ID == "" {
		c.ID = NewID()
	}
	t, ok := h.find(c.Name)
	if !ok {
		return refused(c, tool.ErrUnknown.WithMessage("unknown tool %q in this chat", c.Name))
	}
	if err := unconfirming(c); err != nil {
		return refused(c, err)
	}
	if err := h.book.free(c.ID); err != nil {
		return refused(c, err)
	}
	o := h.core.Call(ctx, h.callOf(c))
	if o.Err == nil || o.Request == nil {
		return resultOf(c, o)
	}
	i := o.Request
	p := Pending{
		CallID: c.ID, ConfirmationID: i.ID, ToolName: c.Name, Description: t.spec.Description, Arguments: o.Args, Prompt: i.Prompt, Risk: i.Risk,
		Strength: i.Strength.String(), Target: i.Target, Context: present.ContextOf(i.Plan), PlanHash: i.PlanHash.String(), ExpiresAt: i.ExpiresAt,
	}
	h.book.add(waiting{call: c, pending: p, doorID: o.CallID})
	o.Request = nil // the token is for nobody; the answer goes by the confirmation's id
	o.Err = fault.From(o.Err).WithMessage("%s: the user is being asked to approve it", i.Prompt)
	r := resultOf(c, o)
	r.Problem.Hint, r.Pending = "wait for the user's decision; the result follows automatically", &p
	return r
}

// Consent is the user's input beyond the approval itself.
type Consent struct {
	Always bool   // and to the same for the rest of the conversation, where the plan lets that be said
	Typed  string // what they typed, where Pending.Target has to be
}

// ExecuteConfirmed runs the waiting call with that ID after the user approved what Pending showed. It fails if the plan has changed. The call runs at most
// once. A wrong Typed leaves it waiting.
func (h *Handler) ExecuteConfirmed(ctx context.Context, callID string, said ...Consent) Result {
	w, err := h.book.take(callID)
	if err != nil {
		return refused(Call{ID: callID, Name: w.call.Name}, err)
	}
	a := &confirm.Decision{ID: w.pending.ConfirmationID, Approve: true, By: By, Proof: confirm.Proof{Surface: confirm.SurfaceProgram, User: By}}
	for _, s := range said {
		a.Always, a.Typed = a.Always || s.Always, s.Typed
	}
	call := h.callOf(w.call)
	call.ID, call.Decision = w.doorID, a // both rounds are one call in the audit
	o := h.core.Call(ctx, call)
	o.Request = nil
	r := resultOf(w.call, o)
	h.book.settle(callID, errors.Is(o.Err, confirm.ErrTyped))
	return r
}

// Deny records that the user denied the waiting call. Pass the result to the model.
func (h *Handler) Deny(ctx context.Context, callID, reason string) Result {
	w, err := h.book.take(callID)
	if err != nil {
		return refused(Call{ID: callID, Name: w.call.Name}, err)
	}
	reason = cut(strings.TrimSpace(reason), MaxReason)
	_, err = h.core.Answer(ctx, confirm.Decision{ID: w.pending.ConfirmationID, By: By, Proof: confirm.Proof{Surface: confirm.SurfaceProgram, User: By}, Reason: reason})
	f := fault.From(err)
	again := f != nil && f.Kind != fault.Unconfirmed // what has ended otherwise meanwhile is denied as well
	h.book.settle(callID, again)
	if again {
		return refused(w.call, f)
	}
	said := "Denied by user"
	if reason != "" {
		said += ": " + reason
	}
	return refused(w.call, confirm.ErrDenied.WithMessage("%s", said))
}

// cut is at most n characters of a text.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// callOf converts a model's call for the core.
func (h *Handler) callOf(c Call) tool.Call {
	call := tool.Call{RequestID: quoted(c.ID), Session: h.opts.Session, Client: h.opts.Client, Principal: h.opts.Principal, Tool: tool.Name(c.Name), Args: c.Arguments}
	if report := h.opts.Progress; report != nil {
		call.Progress = func(p tool.Progress) { report(c.ID, p) }
	}
	return call
}

// unconfirming rejects arguments that try to confirm: no model has been given a token, and what is not in its schema is an error.
func unconfirming(c Call) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &fields) != nil {
		return nil // the core says what is wrong
	}
	for name := range fields {
		if confirming(name) {
			return tool.ErrArguments.WithMessage("%s takes no argument %q here; the user confirms, not the client", c.Name, name)
		}
	}
	return nil
}

// refused returns the result of a call that did not reach the core.
func refused(c Call, err error) Result {
	return resultOf(c, tool.Outcome{Err: fault.From(err)})
}

func resultOf(c Call, o tool.Outcome) Result {
	r := Result{CallID: c.ID, Tool: c.Name}
	doc := present.For(present.Packageflow)(o)
	_ = json.Unmarshal(doc.Body, &r.Envelope) // a presenter writes the envelope
	if doc.Fail {
		p := present.ProblemOf(o)
		r.Problem = &p
	}
	return r
}

// NewID returns an ID for a call whose provider gives none (packageflow contract §5.2).
func NewID() string { return inventedPrefix + token() }

const inventedPrefix = "tc_"
