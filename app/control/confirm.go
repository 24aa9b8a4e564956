package control

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// ConfirmInput names an approval request by its token, and the decision.
type ConfirmInput struct {
	Token    string `json:"token" jsonschema:"minLength=1,description=the confirmation's token"`
	Typed    string `json:"typed_value,omitempty" jsonschema:"description=what the person typed where a name must be typed"`
	Decision string `json:"decision,omitempty" jsonschema:"enum=approve,enum=deny,enum=always,description=default approve"`
}

// ConfirmAnswer is the result of a decision: the denied request, or else the result of the repeated call.
type ConfirmAnswer struct {
	Denied *confirm.View
	Value  json.RawMessage // of the repeated call, in the form of its own tool

	repeat *tool.Call // the pipeline makes this call, and its outcome replaces this answer
}

// Forwards returns the call that is repeated.
func (a ConfirmAnswer) Forwards() *tool.Call { return a.repeat }

// MarshalJSON writes the form that is set.
func (a ConfirmAnswer) MarshalJSON() ([]byte, error) {
	if a.Denied != nil {
		return tool.Encode(a.Denied)
	}
	return tool.Encode(a.Value)
}

// UnmarshalJSON reads either form: a request that was denied or cancelled says so, under the hash of its plan.
func (a *ConfirmAnswer) UnmarshalJSON(doc []byte) error {
	*a = ConfirmAnswer{Value: slices.Clone(doc)}
	var v confirm.View
	if json.Unmarshal(doc, &v) == nil && v.ID != "" && !v.PlanHash.IsZero() && (v.State == confirm.Denied.String() || v.State == confirm.Canceled.String()) {
		*a = ConfirmAnswer{Denied: &v}
	}
	return nil
}

// confirm repeats the approved call and returns its result. It never uses up the token itself: the repeated call does, after its plan was computed
// again and is the approved one.
func (s service) confirm(ctx context.Context, sc tool.Scope, in ConfirmInput) (ConfirmAnswer, error) {
	token, now := confirm.NewToken(in.Token), s.Clock.Now()
	var grant confirm.Request
	err := s.Ledger.Settle(ctx, token.Digest(), func(g *confirm.Request) error {
		var err error
		switch {
		case !own(g, sc):
			return confirm.ErrMismatch.WithMessage("this confirmation was given to another session; only a person may answer it now (countersign approve %s)", g.ID)
		case in.Decision == "deny" && g.Names: // a client may cancel its request; only the user denies
			err = g.Cancel(now)
		case in.Decision == "deny":
			err = g.Deny(sc.Client, now)
		case g.Names: // a client's answer is not an approval: the repeated call asks the user
			err = g.Named(g.Binding, now)
		default:
			err = g.Check(g.Binding, in.Typed, now)
		}
		grant = *g
		return err
	})
	if err != nil {
		if errors.Is(err, confirm.ErrBurnt) {
			s.ended(ctx, grant.ID, tool.ReasonMistyped, sc.Client)
		}
		return ConfirmAnswer{}, err
	}
	if in.Decision == "deny" {
		s.withdrawn(ctx, grant, sc.Client)
		v := grant.View()
		return ConfirmAnswer{Denied: &v}, nil
	}
	return ConfirmAnswer{repeat: &tool.Call{
		ID: sc.CallID, Session: sc.Session, Client: sc.Client, Principal: sc.Principal, Mode: grant.Mode,
		Tool: tool.Name(grant.Binding.Tool), Args: grant.Args, Token: token, Typed: in.Typed,
		Always: in.Decision == "always",
	}}, nil
}

// withdrawn cancels the approval request of a plan, given a token that names the plan.
func (s service) withdrawn(ctx context.Context, token confirm.Request, client string) {
	reason, by := tool.ReasonCancelled, ""
	if token.State == confirm.Denied {
		reason, by = tool.ReasonUserDenied, client
	}
	s.ended(ctx, token.ID, reason, by)
	if !token.Names {
		return
	}
	now := s.Clock.Now()
	asked, err := s.Ledger.Pending(ctx, ports.PendingFilter{Binding: &token.Binding}, now)
	for _, g := range asked {
		if err == nil && s.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error { return g.Cancel(now) }) == nil {
			s.ended(ctx, g.ID, tool.ReasonCancelled, "")
		}
	}
}

// ended records that an approved call will not run, and who decided that. The request itself has ended already, so nothing depends on the record; one
// that stays open expires.
func (s service) ended(ctx context.Context, confirmation string, reason tool.Reason, by string) {
	now := s.Clock.Now()
	_ = s.Runs.Change(ctx, confirmation, func(r *tool.Record) error {
		r.Decision = by
		return r.Deny(reason, now)
	})
	if s.Bell != nil {
		s.Bell.Ring(confirmation)
	}
}
