package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// The control tools under the amof contract's names. They belong to its toolset, and do the same as those without the prefix.
var (
	AmofSetMode  = tool.Ref[SetModeInput, AmofMode]{Name: "amof_set_mode"}
	AmofConfirm  = tool.Ref[AmofConfirmInput, AmofConfirmed]{Name: "amof_confirm"}
	AmofCancel   = tool.Ref[AmofToken, AmofCancelled]{Name: "amof_cancel_confirm"}
	AmofAwaiting = tool.Ref[NoInput, AmofWaiting]{Name: "amof_list_confirmations"}
)

// ErrModeChanged is returned for an approval that was requested in a higher mode than the current one (amof contract §14, rule 2).
var ErrModeChanged = fault.New(fault.Denied, "mode_changed", "the mode is no longer execute, so what was asked for under it is not carried out")

// AmofMode is the session's mode.
type AmofMode struct {
	Status   string      `json:"status"` // success
	Mode     policy.Mode `json:"mode"`
	Previous policy.Mode `json:"previous_mode"`
	Ceiling  policy.Mode `json:"max_mode"`
	Canceled int         `json:"canceled_confirmations"`
	Text     spoken      `json:"_text"`
}

// spoken is a result for users, in the form that the contract's presenter reads.
type spoken struct {
	Summary string `json:"summary"`
}

// AmofConfirmInput is a decision on an approval request.
type AmofConfirmInput struct {
	Token    string `json:"token" jsonschema:"minLength=1,description=the confirmation's token"`
	Typed    string `json:"typed_value,omitempty" jsonschema:"description=what the person typed where a name must be typed"`
	Decision string `json:"decision,omitempty" jsonschema:"enum=yes,enum=no,description=default yes"`
}

// AmofToken names an approval request.
type AmofToken struct {
	Token string `json:"token" jsonschema:"minLength=1,description=the confirmation's token"`
}

// AmofCancelled says that an approval request was cancelled.
type AmofCancelled struct {
	Status string `json:"status"` // cancelled
	Tool   string `json:"tool"`
	Text   spoken `json:"_text"`
}

// AmofWaiting is the pending approval requests of this session.
type AmofWaiting struct {
	ConfirmationList
	Text spoken `json:"_text"`
}

// AmofConfirmed is the result of a decision: that the request was cancelled, or else the result of the repeated call.
type AmofConfirmed struct {
	Cancelled *AmofCancelled
	Value     json.RawMessage // of the repeated call, in the form of its own tool

	repeat *tool.Call // as in ConfirmAnswer
}

// Forwards returns the call that is repeated.
func (a AmofConfirmed) Forwards() *tool.Call { return a.repeat }

// MarshalJSON writes the form that is set.
func (a AmofConfirmed) MarshalJSON() ([]byte, error) {
	if a.Cancelled != nil {
		return tool.Encode(a.Cancelled)
	}
	return tool.Encode(a.Value)
}

// UnmarshalJSON reads either form: only a cancelled request has the status cancelled and a tool.
func (a *AmofConfirmed) UnmarshalJSON(doc []byte) error {
	*a = AmofConfirmed{Value: slices.Clone(doc)}
	var c AmofCancelled
	if json.Unmarshal(doc, &c) == nil && c.Status == amofCancelled && c.Tool != "" {
		*a = AmofConfirmed{Cancelled: &c}
	}
	return nil
}

// amofCancelled is the status of a cancelled request.
const amofCancelled = "cancelled"

// AMOFTools returns the control tools under the amof contract's names.
func AMOFTools(d Deps) []tool.Entry {
	s := service{d}
	note := func(input, title, description string) tool.Spec {
		return tool.Spec{Title: title, Description: description, Class: policy.ClassScratch, Effects: policy.Read, Input: json.RawMessage(input)}
	}
	answer := note(amofConfirmSchema, "Confirm", "Answer a pending confirmation with its token: what was shown is carried out if it is still what there is.")
	answer.RunsOtherCalls = true
	list := tool.Spec{Title: "List confirmations", Description: "List this session's confirmations that wait for an answer, with their plans.", Class: policy.ClassRead,
		Effects: policy.Read, Input: json.RawMessage(noSchema)}
	return []tool.Entry{
		bind.Command(AmofSetMode, raised(note(setModeSchema, "Set mode", "Set this session's mode: ask (changes are explained), plan (changes are dry runs) or execute. Lowering it cancels pending confirmations.")), s.amofPlanMode, s.amofMode),
		bind.Query(AmofConfirm, answer, s.amofConfirm),
		bind.Query(AmofCancel, note(amofTokenSchema, "Cancel confirmation", "Withdraw a pending confirmation of this session."), s.amofCancel),
		bind.Query(AmofAwaiting, list, s.amofList),
	}
}

func (s service) amofPlanMode(ctx context.Context, sc tool.Scope, in SetModeInput) (modePlan, error) {
	p, err := s.planMode(ctx, sc, in)
	if errors.Is(err, policy.ErrCeiling) {
		err = policy.ErrCeiling.WithMessage("mode %s is above max_mode %s; only the operator can raise that (--max-mode, AMOF_MAX_MODE, max_mode in amof.yaml), or a person where the settings decide, and amof_scope_info says where settings cannot be read", in.Mode, s.lowest(ctx, sc))
	}
	return p, err
}

// lowest returns the maximum mode of the call; the lowest mode if it cannot be read.
func (s service) lowest(ctx context.Context, sc tool.Scope) policy.Mode {
	ceiling, _, _ := s.ceilingOf(ctx, sc.Principal) // it is the lowest then
	return ceiling
}

func (s service) amofMode(ctx context.Context, sc tool.Scope, p modePlan) (AmofMode, error) {
	a, err := s.setMode(ctx, sc, p)
	if err != nil {
		return AmofMode{}, err
	}
	summary := "Set mode " + a.Mode.String()
	if a.Canceled > 0 {
		summary += fmt.Sprintf(", cancelled what waited for confirmation (%d)", a.Canceled)
	}
	return AmofMode{Status: "success", Mode: a.Mode, Previous: s.effective(policy.ModeUnset, a.Previous), Ceiling: a.Ceiling, Canceled: a.Canceled, Text: spoken{summary}}, nil
}

// effective returns the mode of a call with that mode of its own, in a session with that mode, to a tool of the toolset that has these tools under
// its own names.
func (d Deps) effective(call, session policy.Mode) policy.Mode {
	standard := policy.Ask
	if d.Default != nil {
		standard = d.Default()
	}
	return policy.Policy{Mode: d.Operator.Mode, Ceiling: d.ceiling()}.Effective(policy.Request{CallMode: call, SessionMode: session, ToolsetMode: standard})
}

// amofConfirm is confirm as in the contract: blanks around what the user typed are ignored, and the error for another session's request does not say
// so. It reports if the mode was lowered since, which cancelled the request.
func (s service) amofConfirm(ctx context.Context, sc tool.Scope, in AmofConfirmInput) (AmofConfirmed, error) {
	if in.Decision == "no" {
		c, err := s.amofCancel(ctx, sc, AmofToken{Token: in.Token})
		return AmofConfirmed{Cancelled: &c}, err
	}
	answer, err := s.confirm(ctx, sc, ConfirmInput{Token: in.Token, Typed: strings.TrimSpace(in.Typed)})
	if err != nil && !errors.Is(err, confirm.ErrCanceled) {
		return AmofConfirmed{}, unowned(err)
	}
	session, unread := s.Sessions.Load(ctx, ports.SessionKey(sc.Principal.ID, sc.Session))
	if unread != nil {
		return AmofConfirmed{}, cmp.Or(err, unread)
	}
	if err != nil {
		if session.Mode != policy.ModeUnset && session.Mode < policy.Execute {
			err = modeChanged(session.Mode)
		}
		return AmofConfirmed{}, err
	}
	if f := answer.repeat; f != nil && s.Default != nil && ofSeed(f.Tool) {
		if mode := s.effective(f.Mode, session.Mode); mode < policy.Execute {
			return AmofConfirmed{}, modeChanged(mode)
		}
	}
	return AmofConfirmed{repeat: answer.repeat}, nil
}

// ofSeed reports whether the tool is of the toolset that has these tools under its own names.
func ofSeed(name tool.Name) bool { return strings.HasPrefix(string(name), "amof_") }

func modeChanged(mode policy.Mode) error {
	return ErrModeChanged.WithMessage("the mode is %s now, and what was asked for under execute is not carried out; amof_set_mode execute, then call the tool again", mode)
}

// unowned turns another session's request into one that does not exist.
func unowned(err error) error {
	if errors.Is(err, confirm.ErrMismatch) {
		return confirm.ErrUnknown
	}
	return err
}

func (s service) amofCancel(ctx context.Context, sc tool.Scope, in AmofToken) (AmofCancelled, error) {
	a, err := s.cancel(ctx, sc, CancelInput{Token: in.Token})
	if err != nil {
		return AmofCancelled{}, unowned(err)
	}
	return AmofCancelled{Status: amofCancelled, Tool: a.View.Tool, Text: spoken{"Cancelled the confirmation of " + a.View.Tool}}, nil
}

func (s service) amofList(ctx context.Context, sc tool.Scope, in NoInput) (AmofWaiting, error) {
	waiting, err := s.list(ctx, sc, in)
	return AmofWaiting{ConfirmationList: waiting, Text: spoken{fmt.Sprintf("Listed confirmations that wait for an answer (%d)", waiting.Count)}}, err
}

// SessionStatus is the mode of a session, its maximum, and the number of its pending approvals.
type SessionStatus struct {
	Mode, Ceiling policy.Mode
	Pending       int
}

// SessionStatusOf returns the status of a call's session.
func SessionStatusOf(d Deps) func(ctx context.Context, sc tool.Scope) (SessionStatus, error) {
	s := service{d}
	return func(ctx context.Context, sc tool.Scope) (SessionStatus, error) {
		session, err := s.Sessions.Load(ctx, ports.SessionKey(sc.Principal.ID, sc.Session))
		if err != nil {
			return SessionStatus{}, err
		}
		waiting, err := s.list(ctx, sc, NoInput{})
		return SessionStatus{Mode: d.effective(policy.ModeUnset, session.Mode), Ceiling: d.ceiling(), Pending: waiting.Count}, err
	}
}
