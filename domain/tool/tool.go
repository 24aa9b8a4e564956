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
	Name        Name
	Title       string // short, for users
	Description string // for models; its first sentence is searchable
	Toolset     string // the capability's flag name ("packs")
	Contract    Contract
	Category    string          // how a list for users groups it ("Project Management"); may be empty
	Class       policy.Class    // the most any call of this tool may claim
	Effects     policy.Effects  // likewise
	Confirm     policy.Strength // how a human confirms by default; a plan can raise it
	Human       policy.Strength // the least strength where only users confirm; a plan can raise it
	When        string          // in words that follow "asks": of what its plans the user is asked there; empty is of all, or of none where Human is none
	Risk        policy.Risk     // how much is at stake in any call of it; a plan can raise it
	Mode        policy.Mode     // the toolset's default mode
	Ceiling     policy.Mode     // what no call of the toolset passes; unset is the operator's alone
	Preview     Name            // the tool that issues this one's tokens; such a tool never runs without one, whatever policy waives
	Approved    bool            // its own arguments carry the approval (agentpack's yes); under approval: human the user is asked all the same
	Timeout     time.Duration   // zero means the application's default
	MaxOutput   int             // bytes; zero means the application's default
	CarriesOut  bool            // it carries out other calls (confirm), so its hints are those of the most dangerous one
	Idempotent  bool            // calling it once more with the same arguments changes nothing further; of one that only reads that is so anyway
	AtOnce      bool            // where users approve, its first call answers with the question and a token that names the plan (amof contract); the repeated call waits
	Anew        bool            // a plan that is not what was confirmed is asked about anew; and a question takes the place of the session's older ones of this tool and scope
	Placed      bool            // what it would do depends on the directory that its process stands in; filled in from its Capability
	People      bool            // only for calls that the user makes: no agent is served it, whatever an operator selects
	Unmasked    bool            // its arguments hold no secrets, whatever they look like, and the audit has those of a plan to the letter; only of a tool for users alone
	Input       json.RawMessage // JSON Schema of the arguments, published and enforced
	Output      Schema          // of the value; nil where nothing is known of it
	Reading     *Facet          // how it is published where nothing may be changed; nil for a tool that is one thing
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

// Facet is the published form, for callers that may only read, of a tool that both reads and changes.
type Facet struct {
	Title, Description string
	Input              json.RawMessage
	Covers             func(args json.RawMessage) bool // reports a call that only reads, as far as its arguments tell; nil is none
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

// The permissions that lists for users know (packageflow contract §3.1).
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

// Insistent is a Plan that can require an approval whatever grants exist, because it widens permissions. Where it does not, it only narrows them.
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

// Worded is a plan whose scope is an id, and that says in words what an "always" for it covers: "script build of shop".
type Worded interface {
	Covers() string
}

// Confined is a plan whose own scope tells by its content what an "always" covers, where it says so. Where users approve, an "always" for any other
// plan covers that one plan.
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

// Exhibitor is a Plan that shows the user more than its JSON, such as the lines that change. What it shows derives from what its hash covers. It marshals
// to JSON and is computed only for an approval request.
type Exhibitor interface {
	Exhibit(ctx context.Context) (any, error)
}

// Subject is a Plan about a named project or ecosystem, for notifications. An empty name is none.
type Subject interface {
	About() string
}

// Announced is a Plan that the user is notified about after it was applied, because it widened permissions. The text holds no secret; empty sends nothing.
type Announced interface {
	Announcement() string
}

// Lasting is a Plan whose approval request expires later or earlier than the default, unless the server configuration sets the time.
type Lasting interface {
	TTL() time.Duration
}

// Idle is a Plan that may have nothing to do; it then needs no approval, whatever policy says.
type Idle interface {
	Idle() bool
}

// Moded is an Invocation whose arguments set the mode of this call (amof contract: the explicit parameter has the highest priority). Empty sets none.
type Moded interface {
	CallMode() string
}

// Gated is a Plan that can reject being applied as it was called. It is asked after its approval was checked and before it is used, so that the approval
// stays valid.
type Gated interface {
	Gate() error
}

// Judged is a value that reports a failure although the call itself succeeded, such as a command with a non-zero exit code.
type Judged interface {
	// Failure returns the reason (such as ReasonNonZeroExit), or empty for success.
	Failure() Reason
}

// Reviewed is a value that users and agents decide by, such as a preview. Like a plan, it is checked for hidden text.
type Reviewed interface {
	Reviewed()
}

// Text is a value that is a text document, not JSON.
type Text string

// TokenOffer is the value of a preview tool: it asks for an approval token for Tool, bound to Plan and Args.
type TokenOffer interface {
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
	MaxOutput int            // bytes the caller takes: a longer value is replaced by its head
	Narrow    bool           // the caller is served a part of the tools: it changes nothing that holds for all of them
	Held      *Held          // the call's
}

// Progress is one step of a long call. Total is zero when unknown.
type Progress struct {
	Done, Total int64
	Message     string
}

// Call is one tool call.
type Call struct {
	ID        string          // unique; made by the application when empty
	RequestID json.RawMessage // the transport's own id of the request, repeated where a contract promises it
	Session   string          // client instance: mode, grants and confirmations belong to it
	Client    string
	Entry     string // the host entry that the server was started from; empty where there is none
	Principal policy.Principal
	Mode      policy.Mode // the call's own mode argument, usually unset
	Tool      Name
	Args      json.RawMessage // a JSON object; nil means {}
	Token     confirm.Token
	Typed     string
	Always    bool            // a redemption also approves the tool for the rest of the session
	Asked     confirm.Digest  // of the confirmation that this very call asked for, which the user has answered meanwhile; set by transports
	Answer    *confirm.Answer // what the user said on a channel only the user has; set by transports, never from arguments
	Person    bool            // it comes from a channel only the user has; set by transports, never from arguments
	View      bool            // the user looks at a page that shows it: a read that is the user's own, and no audit record; set by transports
	Within    []Narrowing     // what the caller is served of what the operator serves: as much as every one of them covers
	Progress  func(Progress)  // may be nil
	MaxOutput int             // bytes the caller takes; zero is the tool's own bound
	Held      *Held           // what this call and another one of the same command pass on; nil for nothing
}

// Held passes a plan on from the call that shows it to the one that applies it, where one command makes both, one right after the other. It saves working the
// plan out again, and nothing else: the plan is hashed, approved and checked against the disk as any other. A nil Held keeps nothing.
type Held struct{ of, plan any }

// Keep keeps the plan of what was asked for, in place of what was kept before.
func (h *Held) Keep(of, plan any) {
	if h != nil {
		h.of, h.plan = of, plan
	}
}

// Take returns the plan that is kept of exactly that, and nil where there is none. It is given once.
func (h *Held) Take(of any) any {
	if h == nil || h.of != of {
		return nil
	}
	plan := h.plan
	h.of, h.plan = nil, nil
	return plan
}

// Issued is a created approval request. Where the user approves, Pending is set, and Token, if any, only names the plan.
type Issued struct {
	Pending   bool           // the user has to answer it
	Names     bool           // Token names the plan: the call that presents it asks the user
	AtOnce    bool           // the call that opened it answers at once; the repeated one waits for the user
	Formable  bool           // the host's form may answer it, where the user switched that on for the host entry
	Needs     policy.Proving // how strong a proof the answer has to come with
	ID        string
	Token     confirm.Token
	Digest    confirm.Digest // names it to Call.Asked
	Tool      Name
	Args      json.RawMessage // as they were sent; redacted, and bounded
	Strength  policy.Strength
	Risk      string // empty when nothing is at stake
	Prompt    string
	Target    string // what must be typed, when Strength is Typed
	Scope     string // what "always" covers within the tool; empty is all of it
	Covers    string // the same in words, where the scope is none
	PlanHash  canon.Hash
	Plan      json.RawMessage // redacted
	Exhibit   json.RawMessage // what users see beside it; redacted, and nil for most plans
	IssuedAt  time.Time
	ExpiresAt time.Time // of the question; of the token, where there is one
	Remotes   []string  // where it is about nothing but reaching them
	confirm.Redacted
}

// Lasting reports whether a session grant can be given with the approval.
func (i *Issued) Lasting() bool {
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
	Confirmed  bool // it was carried out with a confirmation, which is spent now
	Unasked    bool // approval is caller: whatever this call would change or run, no user is asked
	Explained  bool // Err says why it was refused, Value shows what it would have done
	Warnings   []string
	Decision   policy.Decision
	Issued     *Issued
	Elapsed    time.Duration
	Redactions int
	Truncated  bool // the result was longer than the tool's bound
}

// Ref is a typed handle for Go callers: which input a tool takes and which output it gives.
type Ref[In, Out any] struct{ Name Name }
