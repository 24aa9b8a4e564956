package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Name is a tool's name in every transport: [a-z][a-z0-9_]*, at most 40 characters.
type Name string

// Contract names the document, with its version, that fixes the form of a tool's results and errors ("contextpack.v2").
type Contract string

// Spec is the public description of a tool. NewRegistry sets Toolset, Contract and Mode from its Capability.
type Spec struct {
	Name           Name
	Title          string // short, for users
	Description    string // for models; its first sentence is searchable
	Toolset        string // the capability's flag name ("packs")
	Contract       Contract
	Category       string           // group in lists for users ("Project Management"); may be empty
	Class          policy.Class     // the maximum class that a call of this tool may claim
	Effects        policy.Effects   // likewise
	Confirm        policy.Strength  // how a user approves by default; a plan can raise it
	Human          policy.Strength  // the minimum strength if only users approve; a plan can raise it
	When           string           // completes the phrase "asks …": for which of its plans it asks the user; empty means all, or none if Human is none
	Risk           policy.Risk      // the minimum risk of its calls; a plan can raise it
	Mode           policy.Mode      // the toolset's default mode
	Ceiling        policy.Mode      // the maximum mode of the toolset's calls; unset leaves only the operator's
	Preview        Name             // the tool that issues this one's tokens; such a tool never runs without one, whatever policy waives
	Approved       bool             // its own arguments contain the approval (agentpack's yes); under approval: human the user is asked anyway
	Timeout        time.Duration    // zero means the application's default
	MaxOutput      int              // bytes; zero means the application's default
	RunsOtherCalls bool             // it applies other calls (confirm), so its hints are those of the most dangerous one
	Idempotent     bool             // repeating it with the same arguments changes nothing more; always true of a tool that only reads
	AtOnce         bool             // if users approve, its first call returns the request and a token that names the plan (amof contract); the repeated call waits
	ReaskOnChange  bool             // a changed plan is asked about again; and a request replaces the session's older ones of this tool and scope
	UsesWorkingDir bool             // it depends on the working directory of its process; filled in from its Capability
	UserOnly       bool             // only for the user's own calls: no agent gets it, whatever the server configuration enables
	Unmasked       bool             // its arguments contain no secrets, whatever they look like, and the audit log stores those of a plan unchanged; only for a tool for users only
	Input          json.RawMessage  // JSON Schema of the arguments, published and enforced
	Output         Schema           // of the value; nil if it is unknown
	Reading        *ReadOnlyVariant // how it is published to callers that may only read; nil for a tool that does not differ
}

// Schema is a JSON Schema that is computed on first use, so that it does not delay the start.
type Schema interface{ JSON() json.RawMessage }

// OutputSchema returns the JSON Schema of the result, or nil.
func (s Spec) OutputSchema() json.RawMessage {
	if s.Output == nil {
		return nil
	}
	return s.Output.JSON()
}

// ReadOnlyVariant is the published form, for callers that may only read, of a tool that both reads and changes.
type ReadOnlyVariant struct {
	Title, Description string
	Input              json.RawMessage
	Covers             func(args json.RawMessage) bool // reports whether a call only reads, as far as its arguments tell; nil means none does
}

// Reads reports whether a call with these arguments only reads and can run beside others. It is for scheduling; policy checks the decoded call.
func (s Spec) Reads(args json.RawMessage) bool {
	return s.Class == policy.ClassRead || s.Reading != nil && s.Reading.Covers != nil && s.Reading.Covers(args)
}

// ReadOnly returns the spec as published to callers that may only read: a reading tool, if there is a facet for it.
func (s Spec) ReadOnly() Spec {
	if f := s.Reading; f != nil {
		s.Title, s.Description, s.Input = f.Title, f.Description, f.Input
		s.Class, s.Effects, s.Reading = policy.ClassRead, policy.Read, nil
	}
	return s
}

// The permissions in lists for users (packageflow contract §3.1).
const (
	PermissionRead    = "read"
	PermissionExecute = "execute"
	PermissionWrite   = "write"
)

// Permission returns the permission that calls of that class with those effects need: read, execute (start a program or reach another machine) or write.
func Permission(c policy.Class, e policy.Effects) string {
	switch {
	case c == policy.ClassRead:
		return PermissionRead
	case c >= policy.ClassWrite && e&(policy.Exec|policy.Network) != 0:
		return PermissionExecute
	}
	return PermissionWrite
}

// Permission returns the highest permission that the tool needs.
func (s Spec) Permission() string { return Permission(s.Class, s.Effects) }

// TakesToken reports whether the tool publishes the arguments confirm_token and typed_value: every tool that needs approval by default or could. Every
// other tool accepts them too, unpublished, in case the user's settings require an approval.
func (s Spec) TakesToken() bool {
	return !s.Approved && s.Preview == "" && (s.Confirm > policy.None || s.Class >= policy.ClassWrite)
}

// Entry is a tool with its handler.
type Entry struct {
	Spec    Spec
	Handler Handler
}

// Handler decodes raw arguments into an Invocation. It checks them against the published schema and the rules of the contract, and fails with an error of
// the contract. It does no I/O.
type Handler interface {
	Decode(args json.RawMessage) (Invocation, error)
}

// Invocation is one decoded call.
type Invocation interface {
	// Claims returns what the call will do; never more than its Spec.
	Claims() policy.Claims
	// Prepare computes the plan and changes nothing. A nil plan means that the call is a query and Commit only reads.
	Prepare(ctx context.Context, s Scope) (Plan, error)
	// Commit applies exactly the approved plan after checking its preconditions again under its own lock. The value that it returns is a Text or marshals to
	// JSON.
	Commit(ctx context.Context, s Scope, p Plan) (any, error)
}

// Plan is what a call would change. It marshals to what a dry run shows, and its hash covers exactly that.
type Plan interface {
	Hash() canon.Hash
}

// Strengthened is a Plan that raises the strength of its approval. A strength below the tool's has no effect.
type Strengthened interface {
	Strength() policy.Strength
}

// Assessed is a Plan with its own assessment, with which policy decides again. It can only raise strength and risk. A rule for its action counts like one
// for the tool.
type Assessed interface {
	Assessment() policy.Assessment
}

// Insistent is a Plan that can require an approval whatever grants exist, because it widens permissions. A plan that does not insist only narrows
// them.
type Insistent interface {
	Insists() bool
}

// Reaching is a Plan that shows the remotes it fetches from. Approving it approves those remotes for later reads.
type Reaching interface {
	Remotes() []string
}

// Fetching is a Plan that, when applied, fetches from remotes that it does not show. Remotes without approval are asked about first.
type Fetching interface {
	Fetches() []string
}

// Scoped is a Plan with different scopes for the two kinds of grants: that for the session leaves out files that are read as code, which the agent is
// expected to edit; the dated one covers them as they are. The session scope is the one in the plan's assessment.
type Scoped interface {
	Scopes() (session, dated string)
}

// Worded is a Plan whose scope is an ID, and that describes what a session grant for it covers: "script build of shop".
type Worded interface {
	Covers() string
}

// Confined is a Plan that can report that its own scope identifies, by its content, what a session grant covers. If users approve, a session grant
// for any other plan covers only that plan.
type Confined interface {
	Confined() bool
}

// Looser is a Plan whose command can vary in its arguments: Loose returns the hash of the rest, with the files that it reads as code. A dated grant for any
// arguments is bound to that hash. A zero hash means that the arguments cannot be separated.
type Looser interface {
	Loose() canon.Hash
}

// Proven is a Plan whose approval needs at least that proof, whatever policy requires.
type Proven interface {
	Needs() policy.Proving
}

// Targeter is a Plan that names the text to type for an approval.
type Targeter interface {
	Target() string
}

// Prompter is a Plan that describes itself in one line.
type Prompter interface {
	Prompt() string
}

// Detailer is a Plan that shows the user more than its JSON, such as the lines that change. What it shows derives from what its hash covers. It marshals
// to JSON and is computed only for an approval request.
type Detailer interface {
	Details(ctx context.Context) (any, error)
}

// Subject is a Plan about a named project or ecosystem, for notifications. An empty name is none.
type Subject interface {
	About() string
}

// Announced is a Plan that the user is notified about after it was applied, because it widened permissions. The text holds no secret; empty sends nothing.
type Announced interface {
	Announcement() string
}

// ApprovalTTL is a Plan whose approval request expires later or earlier than the default, unless the server configuration sets the time.
type ApprovalTTL interface {
	TTL() time.Duration
}

// NoOp is a Plan that may have nothing to do; it then needs no approval, whatever policy says.
type NoOp interface {
	NoOp() bool
}

// ModeSelector is an Invocation whose arguments set the mode of this call (amof contract: the explicit parameter has the highest priority). Empty sets none.
type ModeSelector interface {
	CallMode() string
}

// Precondition is a Plan that can reject being applied as it was called. It is asked after its approval was checked and before it is used, so that the approval
// stays valid.
type Precondition interface {
	Check() error
}

// FailureReporter is a value that reports a failure although the call itself succeeded, such as a command with a non-zero exit code.
type FailureReporter interface {
	// Failure returns the reason (such as ReasonNonZeroExit), or empty for success.
	Failure() Reason
}

// Reviewed is a value that users and agents base decisions on, such as a preview. Like a plan, it is checked for hidden text.
type Reviewed interface {
	Reviewed()
}

// Text is a value that is a text document, not JSON.
type Text string

// TokenRequest is the value of a preview tool: it asks for an approval token for Tool, bound to Plan and Args.
type TokenRequest interface {
	Offer() (Name, json.RawMessage, Plan)
}

// Forwarder is a value that can stand for the result of another call, which the pipeline makes in its place: confirm repeats the approved call. A nil call
// forwards nothing.
type Forwarder interface {
	Forwards() *Call
}

// Scope is the caller that a tool's code runs for.
type Scope struct {
	CallID    string
	Session   string // client instance
	Client    string // self-declared name and version
	Principal policy.Principal
	Progress  func(Progress) // never nil inside an invocation
	MaxOutput int            // maximum bytes that the caller accepts: a longer value is replaced by its beginning
	Narrow    bool           // the caller has only part of the tools: it must not change what applies to all of them
	Held      *Held          // the call's

	Explaining bool // the plan is only shown, with the refusal of the call: Prepare contacts no remote
}

// Progress is one step of a long call. Total is zero if unknown.
type Progress struct {
	Done, Total int64
	Message     string
}

// Call is one tool call.
type Call struct {
	ID             string          // unique; made by the application when empty
	RequestID      json.RawMessage // the transport's own ID of the request, repeated if a contract promises it
	Session        string          // client instance: mode, grants and approval requests belong to it
	Client         string
	Entry          string // the host entry that the server was started from; empty if there is none
	Principal      policy.Principal
	Mode           policy.Mode // the call's own mode argument, usually unset
	Tool           Name
	Args           json.RawMessage // a JSON object; nil means {}
	Token          confirm.Token
	Typed          string
	Always         bool              // using the approval also gives a session grant for the tool
	ApprovalDigest confirm.Digest    // of the approval request of this call, which the user has decided since; set by transports
	Decision       *confirm.Decision // the decision from a channel that only a user has; set by transports, never from arguments
	FromUser       bool              // it comes from a channel that only a user has; set by transports, never from arguments
	View           bool              // the user views a page: a read of the user's own, without an audit record; set by transports
	Restrictions   []Restriction     // restricts the caller to the tools that all of them cover
	Progress       func(Progress)    // may be nil
	MaxOutput      int               // maximum bytes that the caller accepts; zero is the tool's own limit
	Held           *Held             // what this call and another one of the same command pass on; nil for nothing
}

// Held passes a plan from the call that shows it to the one that applies it, if one command makes both in a row. It only saves computing the plan
// again: the plan is hashed, approved and checked against the disk like any other. A nil Held keeps nothing.
type Held struct{ of, plan any }

// Keep stores the plan of that request and replaces the plan stored before.
func (h *Held) Keep(of, plan any) {
	if h != nil {
		h.of, h.plan = of, plan
	}
}

// Take returns the plan that is stored for exactly that request, or nil. It returns a plan once.
func (h *Held) Take(of any) any {
	if h == nil || h.of != of {
		return nil
	}
	plan := h.plan
	h.of, h.plan = nil, nil
	return plan
}

// ApprovalRequest is a created approval request. If the user approves, Pending is set, and Token, if any, only names the plan.
type ApprovalRequest struct {
	Pending   bool           // the user must decide it
	Names     bool           // Token names the plan: the call that presents it asks the user
	AtOnce    bool           // the call that created it returns at once; the repeated one waits for the user
	Formable  bool           // the host's form may approve it, if the user enabled that for the host entry
	Needs     policy.Proving // the proof that the approval needs
	ID        string
	Token     confirm.Token
	Digest    confirm.Digest // value for Call.ApprovalDigest
	Tool      Name
	Args      json.RawMessage // as sent; redacted and bounded
	Strength  policy.Strength
	Risk      string // empty if there is no risk
	Prompt    string
	Target    string // the text to type if Strength is Typed
	Scope     string // what a session grant covers within the tool; empty is all of it
	Covers    string // the same as text, if the scope is an ID
	PlanHash  canon.Hash
	Plan      json.RawMessage // redacted
	Exhibit   json.RawMessage // what users see in addition; redacted, and nil for most plans
	IssuedAt  time.Time
	ExpiresAt time.Time // of the request; of the token, if there is one
	Remotes   []string  // if the request is only about contacting them
	confirm.Redacted
}

// AllowsSessionGrant reports whether a session grant can be given with the approval.
func (i *ApprovalRequest) AllowsSessionGrant() bool {
	return i.Strength < policy.Typed && i.Risk != policy.RiskHigh.String() && len(i.Remotes) == 0
}

// Outcome is the result of a call. Exactly one of Err and a result is set. DryRun and Explained mean that Value is a plan that was not applied. All of it
// is redacted and bounded.
type Outcome struct {
	CallID     string
	RequestID  json.RawMessage
	Session    string
	Begun      time.Time
	Spec       Spec
	Version    string          // of the product, for contracts that state it
	Args       json.RawMessage // as sent, without token: for contracts that name the action in their errors
	Value      json.RawMessage
	Text       string // the result when it is a Text; Value is nil then
	Err        error  // always a *fault.Error
	DryRun     bool
	Confirmed  bool // it was applied with an approval, which is used now
	Unasked    bool // approval is caller: whatever this call would change or run, no user is asked
	Explained  bool // Err says why it was denied, Value shows its plan
	Warnings   []string
	Decision   policy.Result
	Request    *ApprovalRequest
	Elapsed    time.Duration
	Redactions int
	Truncated  bool // the result was longer than the tool's limit
}

// Ref is a typed handle for Go callers: which input a tool takes and which output it gives.
type Ref[In, Out any] struct{ Name Name }
