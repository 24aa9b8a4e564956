package app

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Caller is an App with an identity, for Go programs that embed the core.
type Caller struct {
	app  *App
	call tool.Call
}

// As returns a Caller for a principal, in a session named after it.
func (a *App) As(p policy.Principal) Caller {
	return Caller{app: a, call: tool.Call{Principal: p, Session: "embedded"}}
}

// InSession returns the caller in the named session, to which mode, grants and approvals belong.
func (c Caller) InSession(session string) Caller {
	c.call.Session = session
	return c
}

// AsUser returns the caller on a channel that only a user has; it may call the tools that only users may call.
func (c Caller) AsUser() Caller {
	c.call.FromUser = true
	return c
}

// WithToken returns the caller with an approval token for its next call, and the typed text where one is needed.
func (c Caller) WithToken(t confirm.Token, typed ...string) Caller {
	c.call.Token = t
	if len(typed) > 0 {
		c.call.Typed = typed[0]
	}
	return c
}

// ApprovalRequiredError is the error of a call that needs an approval. Repeat the call WithToken.
type ApprovalRequiredError struct {
	Request tool.ApprovalRequest
	Err     *fault.Error
}

// Error says what needs approval.
func (u *ApprovalRequiredError) Error() string { return u.Err.Error() }

// Unwrap returns the *fault.Error.
func (u *ApprovalRequiredError) Unwrap() error { return u.Err }

// Call calls any tool by name with JSON arguments.
func (c Caller) Call(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome {
	call := c.call
	call.Tool, call.Args = name, args
	return c.app.Call(ctx, call)
}

// Do calls a tool through its typed handle. Its errors are *ApprovalRequiredError or *fault.Error.
func Do[In, Out any](ctx context.Context, c Caller, ref tool.Ref[In, Out], in In) (Out, error) {
	var out Out
	args, err := tool.Encode(in)
	if err != nil {
		return out, tool.ErrArguments.WithCause(err)
	}
	o := c.Call(ctx, ref.Name, args)
	if o.Err != nil {
		f := fault.From(o.Err)
		if o.Request != nil {
			return out, &ApprovalRequiredError{Request: *o.Request, Err: f}
		}
		return out, f
	}
	if t, ok := any(&out).(*tool.Text); ok {
		*t = tool.Text(o.Text)
		return out, nil
	}
	if err := json.Unmarshal(o.Value, &out); err != nil {
		return out, fault.ErrInternal.WithMessage("the value of %s does not fit its Go type", ref.Name).WithCause(err)
	}
	return out, nil
}

// Evaluate returns the current verdict for a call that does everything its tool may do. A tool that is not enabled is denied without a rule.
func (a *App) Evaluate(ctx context.Context, c tool.Call) policy.Result {
	r := a.begin(c)
	if r.lookUp() != nil {
		return policy.Result{}
	}
	r.claims = policy.Claims{Class: r.entry.Spec.Class, Effects: r.entry.Spec.Effects}
	r.assessment = r.assess(r.entry.Spec, nil)
	_ = r.decide(ctx) // a denial is in the decision
	return r.decision
}
