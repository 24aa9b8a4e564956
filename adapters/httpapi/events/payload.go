package events

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// MaxField is the maximum size of each event member without a limit of its own, in bytes (packageflow-security contract §5.4). Longer data is read by
// its ID.
const MaxField = 8 << 10

// question is the payload of Confirmation: the five members of the packageflow contract, then ours.
type question struct {
	Conversation string          `json:"conversationId"`
	Call         string          `json:"callId"`
	Tool         string          `json:"toolName"`
	Arguments    json.RawMessage `json:"arguments"`
	Description  string          `json:"description"`

	Prompt       string          `json:"prompt"`
	Risk         string          `json:"risk,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"`
	Truncated    bool            `json:"truncated"` // arguments, context or prompt are longer; GET /api/v1/confirmations/{id} returns all of them
	IssuedAt     time.Time       `json:"issuedAt"`
	ExpiresAt    time.Time       `json:"expiresAt"`
	Client       string          `json:"client,omitempty"` // name that the client gave itself
	Confirmation string          `json:"confirmationId"`
	Strength     policy.Strength `json:"strength"`
	Target       string          `json:"typeToConfirm,omitempty"`
	Lasting      bool            `json:"lasting"` // a session grant can be given
	PlanHash     canon.Hash      `json:"planHash"`
}

// asked returns the event of a pending request. rec is the record of its call; for a call without a record the ID of the request is used.
func asked(v confirm.View, rec tool.Record, spec tool.Spec) Event {
	q := question{Conversation: v.Session, Call: rec.CallID, Tool: v.Tool, Description: spec.Description, Prompt: v.Prompt, Risk: v.Risk,
		IssuedAt: v.IssuedAt.UTC(), ExpiresAt: v.ExpiresAt.UTC(), Client: rec.Client, Confirmation: v.ID, Strength: v.Strength, Target: v.Target,
		Lasting: v.AllowsSessionGrant(), PlanHash: v.PlanHash}
	if q.Call == "" {
		q.Call = v.ID
	}
	var longArgs, longContext, longPrompt bool
	q.Prompt, longPrompt = cut(q.Prompt, MaxField)
	q.Arguments, longArgs = bounded(v.Arguments)
	q.Context, longContext = bounded(present.ContextOf(v.Plan))
	if q.Description == "" {
		q.Description = q.Prompt
	}
	if len(q.Arguments) == 0 {
		q.Arguments = json.RawMessage("{}")
	}
	q.Truncated = longArgs || longContext || longPrompt
	return event(KindConfirmation, q).about(q.Conversation, q.Tool, q.Call)
}

// bounded returns a document within MaxField: a longer one is replaced by the beginning of its text, in the form that the audit log uses for long
// arguments.
func bounded(doc json.RawMessage) (json.RawMessage, bool) {
	if len(doc) <= MaxField {
		return doc, false
	}
	head, _ := cut(string(doc), MaxField)
	short, _ := tool.Encode(map[string]any{"truncated": true, "bytes": len(doc), "head": head}) // text and numbers always encode
	return short, true
}

// cut returns at most n bytes of a text, ending at the end of a rune, and whether it was cut.
func cut(s string, n int) (string, bool) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// How an approval request was closed.
const (
	wasApproved = "approved" // its call continues or can be repeated
	hasEnded    = "ended"    // denied, withdrawn, applied, or expired: ai-tool-state has the reason
)

// closed returns the event of a request that is no longer pending.
func closed(of Event, confirmation, how string) Event {
	return event(KindClosed, struct {
		Conversation string `json:"conversationId"`
		Call         string `json:"callId"`
		Tool         string `json:"toolName"`
		Confirmation string `json:"confirmationId"`
		State        string `json:"state"`
	}{of.Conversation, of.Call, of.Tool, confirmation, how}).about(of.Conversation, of.Tool, of.Call)
}

// moved returns the event of a call with a new status.
func moved(r tool.Record) Event {
	at := r.At
	switch {
	case !r.EndedAt.IsZero():
		at = r.EndedAt
	case !r.StartedAt.IsZero():
		at = r.StartedAt
	}
	return event(KindState, struct {
		Conversation string      `json:"conversationId"`
		Call         string      `json:"callId"`
		Tool         string      `json:"toolName"`
		Status       tool.Status `json:"status"`
		Reason       tool.Reason `json:"reason,omitempty"`
		Timestamp    time.Time   `json:"timestamp"`
		Confirmation string      `json:"confirmationId,omitempty"`
	}{r.Session, r.CallID, r.Tool, r.Status, r.Reason, at.UTC(), r.ConfirmationID}).about(r.Session, r.Tool, r.CallID)
}

// result is the payload of Result: the members of the packageflow contract, then ours.
type result struct {
	Conversation string  `json:"conversationId"`
	Call         string  `json:"callId"`
	Success      bool    `json:"success"`
	Output       string  `json:"output"`
	Error        *string `json:"error,omitempty"`

	Tool      string      `json:"toolName"`
	Truncated bool        `json:"truncated"` // the output is longer
	Duration  int64       `json:"durationMs"`
	Status    tool.Status `json:"status"`
	Reason    tool.Reason `json:"reason,omitempty"`
	Decision  string      `json:"decisionSource,omitempty"`
	Code      string      `json:"code,omitempty"`
	EndedAt   time.Time   `json:"timestamp"`
}

// ended returns the event of a call that has ended.
func ended(r tool.Record) Event {
	p := result{Conversation: r.Session, Call: r.CallID, Tool: r.Tool, Status: r.Status, Reason: r.Reason, Decision: r.Decision, EndedAt: r.EndedAt.UTC()}
	said := why(r)
	if r.Result != nil {
		p.Success, p.Duration, p.Code = r.Result.Success, r.Result.DurationMS, r.Result.Code
		p.Output, p.Truncated = cut(r.Result.Output, MaxField)
		p.Truncated = p.Truncated || r.Result.Truncated()
		if r.Result.Error != "" {
			said = r.Result.Error
		}
	}
	if !p.Success {
		p.Error = &said
	}
	return event(KindResult, p).about(r.Session, r.Tool, r.CallID)
}

// why describes the end of a call that has no text of its own.
func why(r tool.Record) string {
	switch {
	case r.Reason == tool.ReasonUserDenied && r.Said != "":
		return "the user denied this call: " + r.Said
	case r.Reason == tool.ReasonUserDenied:
		return "the user denied this call"
	case r.Reason == tool.ReasonExpired:
		return "expired without a decision"
	case r.Reason == tool.ReasonPolicy:
		return "policy denies this call"
	case r.Reason != "":
		return string(r.Reason)
	}
	return r.Status.String()
}

// recorded returns the event of an audit record.
func recorded(r audit.Record) Event {
	e := event(KindAudit, struct {
		Seq          int64       `json:"seq"`
		Time         time.Time   `json:"time"`
		Phase        audit.Phase `json:"phase"`
		Tool         string      `json:"tool"`
		Verdict      string      `json:"verdict"`
		Rule         string      `json:"rule"`
		Code         string      `json:"code"`
		Principal    string      `json:"principal"`
		Client       string      `json:"client"`
		Conversation string      `json:"conversationId"`
		Call         string      `json:"callId"`
		Class        string      `json:"class,omitempty"`
		ApprovedBy   string      `json:"approvedBy,omitempty"`
		DurationUS   int64       `json:"durationUs,omitempty"`
	}{r.Seq, r.Event.Time.UTC(), r.Event.Phase, r.Event.Tool, r.Event.Verdict, r.Event.Rule, r.Event.Code, r.Event.Principal, r.Event.Client,
		r.Event.Session, r.Event.CallID, r.Event.Class, r.Event.ApprovedBy, r.Event.DurationUS}).about(r.Event.Session, r.Event.Tool, r.Event.CallID)
	e.ID = r.Seq
	return e
}

// event returns an event of that kind. Payloads are plain data, which always encodes.
func event(kind string, payload any) Event {
	doc, err := tool.Encode(payload)
	if err != nil {
		doc = json.RawMessage("{}")
	}
	return Event{Kind: kind, Data: doc}
}

// about sets what an event belongs to.
func (e Event) about(conversation, name, call string) Event {
	e.Conversation, e.Tool, e.Call = conversation, name, call
	return e
}
