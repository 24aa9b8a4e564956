package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Name is a tool's name on every face: [a-z][a-z0-9_]*, at most 40 characters.
type Name string

// Contract names the document that fixes how a tool's results and refusals look, with its version ("contextpack.v2").
type Contract string

// Spec is everything public about a tool. Toolset, Contract and Mode are filled in from its Capability by NewRegistry.
type Spec struct {
	Name        Name
	Title       string // short, for people
	Description string // for models; its first sentence is searchable
	Toolset     string // the capability's flag name ("packs")
	Contract    Contract
	Category    string          // how a list for people groups it ("Project Management"); may be empty
	Class       policy.Class    // the most any call of this tool may claim
	Effects     policy.Effects  // likewise
	Confirm     policy.Strength // how a human confirms by default; a plan can raise it
	Human       policy.Strength // the least strength where only people confirm; a plan can raise it
	When        string          // in words that follow "asks": of what its plans a person is asked there; empty is of all, or of none where Human is none
	Risk        policy.Risk     // how much is at stake in any call of it; a plan can raise it
	Mode        policy.Mode     // the toolset's default mode
	Ceiling     policy.Mode     // what no call of the toolset passes; unset is the operator's alone
	Preview     Name            // the tool that issues this one's tokens; such a tool never runs without one, whatever policy waives
	Approved    bool            // its own arguments carry the approval (agentpack's yes); under approval: human a person is asked all the same
	Timeout     time.Duration   // zero means the application's default
	MaxOutput   int             // bytes; zero means the application's default
	CarriesOut  bool            // it carries out other calls (confirm), so its hints are those of the most dangerous one
	AtOnce      bool            // where people approve, its first call answers with the question and a token that names the plan (seed 004); the repeated call waits
	Anew        bool            // a plan that is not what was confirmed is asked about anew; and a question takes the place of the session's older ones of this tool and scope
	Placed      bool            // what it would do depends on the directory that its process stands in; filled in from its Capability
	People      bool            // only for calls that a person makes: no agent is served it, whatever an operator selects
	Unmasked    bool            // its arguments hold no secrets, whatever they look like, and the audit has those of a plan to the letter; only of a tool for people alone
	Input       json.RawMessage // JSON Schema of the arguments, published and enforced
	Output      Schema          // of the value; nil where nothing is known of it
	Reading     *Facet          // how it is published where nothing may be changed; nil for a tool that is one thing
}

// Schema is a JSON Schema that is worked out once somebody asks for it: nobody waits for those of all answers at every start.
type Schema interface{ JSON() json.RawMessage }

// OutputSchema is the JSON Schema of the value, or nil.
func (s Spec) OutputSchema() json.RawMessage {
	if s.Output == nil {
		return nil
	}
	return s.Output.JSON()
}

// Facet is how a tool that both reads and changes is published to callers that may only read.
type Facet struct {
	Title, Description string
	Input              json.RawMessage
	Covers             func(args json.RawMessage) bool // reports a call that only reads, as far as its arguments tell; nil is none
}

// Reads reports whether a call with these arguments only reads, so that calls beside it need not wait. It promises nothing to policy,
// which asks the decoded call.
func (s Spec) Reads(args json.RawMessage) bool {
	return s.Class == policy.ClassRead || s.Reading != nil && s.Reading.Covers != nil && s.Reading.Covers(args)
}

// ReadOnly is the spec as it is published where nothing may be changed: a reading tool, when there is a facet that reads.
func (s Spec) ReadOnly() Spec {
	if f := s.Reading; f != nil {
		s.Title, s.Description, s.Input = f.Title, f.Description, f.Input
		s.Class, s.Effects, s.Reading = policy.ClassRead, policy.Read, nil
	}
	return s
}

// The permissions that lists for people know (packageflow contract §3.1).
const (
	PermissionRead    = "read"
	PermissionExecute = "execute"
	PermissionWrite   = "write"
)

// Permission is what a call of that class and with those effects needs: to read, to execute (start a program or reach another machine),
// or to write.
func Permission(c policy.Class, e policy.Effects) string {
	switch {
	case c == policy.ClassRead:
		return PermissionRead
	case c >= policy.ClassWrite && e&(policy.Exec|policy.Network) != 0:
		return PermissionExecute
	}
	return PermissionWrite
}

// Permission is what the tool needs at most.
func (s Spec) Permission() string { return Permission(s.Class, s.Effects) }

// TakesToken reports whether the tool's published arguments include confirm_token and typed_value: every tool that is confirmed by
// default or could be. Any other tool takes them too, unpublished, when a person's settings ask for a confirmation all the same.
func (s Spec) TakesToken() bool {
	return !s.Approved && s.Preview == "" && (s.Confirm > policy.None || s.Class >= policy.ClassWrite)
}

// Entry is a tool and the code behind it.
type Entry struct {
	Spec    Spec
	Handler Handler
}

// Handler turns raw arguments into an invocation. It checks them against the published schema and the contract's own rules and
// fails with a fault of the contract; it does no I/O.
type Handler interface {
	Decode(args json.RawMessage) (Invocation, error)
}

// Invocation is one decoded call.
type Invocation interface {
	// Claims says what the call is about to do; never more than its Spec.
	Claims() policy.Claims
	// Prepare works out the plan and changes nothing. A nil plan means the call is a query and Commit only reads.
	Prepare(ctx context.Context, s Scope) (Plan, error)
	// Commit receives the very plan that was confirmed, re-checks its preconditions under its own lock, and makes it so.
	// The value it returns marshals to JSON, or is a Text.
	Commit(ctx context.Context, s Scope, p Plan) (any, error)
}

// Plan is what would be done. It marshals to what a dry run shows, and its hash is over exactly that.
type Plan interface {
	Hash() canon.Hash
}

// Strengthened is a plan that raises how strongly it must be confirmed; a lower strength than the tool's has no effect.
type Strengthened interface {
	Strength() policy.Strength
}

// Assessed is a plan that knows more about itself than its tool: policy decides again with it. What it says only raises strength and
// risk; a rule stored for its action counts as one stored for the tool does.
type Assessed interface {
	Assessment() policy.Assessment
}

// Insistent is a plan that a person is asked about whatever was allowed beforehand, where it says so: what opens something never rests on what was opened
// before. Where it does not, the plan only narrows what is allowed.
type Insistent interface {
	Insists() bool
}

// Reaching is a plan that shows remotes it would fetch from: once a person has approved it, they are approved, and what only reads may reach them.
type Reaching interface {
	Remotes() []string
}

// Fetching is a plan that fetches, when it is carried out, from remotes that it does not show: those that nobody has approved are asked about first.
type Fetching interface {
	Fetches() []string
}

// Scoped is a plan whose "always" covers one thing for the session and a narrower one across sessions: session leaves out the files that are read as
// code, whose editing is the agent's job, and dated covers them as they are. The session's is that of the plan's assessment.
type Scoped interface {
	Scopes() (session, dated string)
}

// Worded is a plan whose scope is an id, and that says in words what an "always" for it covers: "script build of shop".
type Worded interface {
	Covers() string
}

// Confined is a plan whose own scope tells by its content what an "always" covers, where it says so. Where people approve, an "always" for any other
// plan covers that one plan.
type Confined interface {
	Confined() bool
}

// Looser is a plan that stays what it is when only the arguments of its command differ: Loose names all of it but those, with the files that it reads as
// code. A dated grant for any arguments is bound to it; a zero hash is of a plan whose arguments cannot be told apart.
type Looser interface {
	Loose() canon.Hash
}

// Proven is a plan whose approval has to come with at least that proof, whatever policy requires.
type Proven interface {
	Needs() policy.Proving
}

// Targeter is a plan that says what type-to-confirm must type.
type Targeter interface {
	Target() string
}

// Prompter is a plan that says in one line what is about to happen.
type Prompter interface {
	Prompt() string
}

// Exhibitor is a plan that shows people more than it is: the very lines that would change, say. What it shows follows from what its hash is over. It
// marshals to JSON, and is worked out only where a person is asked.
type Exhibitor interface {
	Exhibit(ctx context.Context) (any, error)
}

// Subject is a plan about a project or an ecosystem with a name that people know: messages that tell them that something waits name it. Empty is none.
type Subject interface {
	About() string
}

// Announced is a plan that people are told of, on whatever channel reaches them, once it has been carried out: it has opened something. The text holds no
// secret; empty tells nothing.
type Announced interface {
	Announcement() string
}

// Lasting is a plan whose confirmation may be answered for longer or shorter than others, where the operator did not say.
type Lasting interface {
	TTL() time.Duration
}

// Idle is a plan that may turn out to have nothing to do: it is not confirmed then, whatever policy asks.
type Idle interface {
	Idle() bool
}

// Moded is an invocation whose arguments say how far this very call may go (seed 004: the explicit parameter, of highest priority). An empty
// word is none.
type Moded interface {
	CallMode() string
}

// Gated is a plan that can refuse to be carried out as it was called. It is asked once its confirmation was checked and before that is
// spent, so that a refusal leaves the confirmation good.
type Gated interface {
	Gate() error
}

// Judged is a value that tells of a failure although the call itself went well: a command that ran, and ended badly.
type Judged interface {
	// Failure is why (ReasonNonZeroExit, for one), empty for a success.
	Failure() Reason
}

// Reviewed is a value that people and agents decide by, such as a preview. Like a plan, it is passed on with everything in it seen.
type Reviewed interface {
	Reviewed()
}

// Text is a value that is a document for people rather than JSON.
type Text string

// TokenOffer is the value of a preview tool: please issue a token for Tool, bound to Plan and Args.
type TokenOffer interface {
	Offer() (Name, json.RawMessage, Plan)
}

// ForwardedCall is the value of a tool in whose place another call answers: how control's confirm repeats what was confirmed.
type ForwardedCall struct{ Call Call }

// Scope is who a call runs for, handed to the code behind a tool.
type Scope struct {
	CallID    string
	Session   string // client instance
	Client    string // self-declared name and version
	Principal policy.Principal
	Progress  func(Progress) // never nil inside an invocation
	MaxOutput int            // bytes the caller takes: a longer value is replaced by its head
	Narrow    bool           // the caller is served a part of the tools: it changes nothing that holds for all of them
}

// Progress is one step of a long call. Total is zero when unknown.
type Progress struct {
	Done, Total int64
	Message     string
}

// Call is one request to the one door.
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
	Asked     confirm.Digest  // of the confirmation that this very call asked for, which a person has answered meanwhile; set by transports
	Answer    *confirm.Answer // what a person said on a channel only a person has; set by transports, never from arguments
	Person    bool            // it comes from a channel only a person has; set by transports, never from arguments
	View      bool            // a person looks at a page that shows it: a read that is a person's own, and no audit record; set by transports
	Within    []Narrowing     // what the caller is served of what the operator serves: as much as every one of them covers
	Progress  func(Progress)  // may be nil
	MaxOutput int             // bytes the caller takes; zero is the tool's own bound
}

// Issued is a confirmation asked for. Where people approve, Pending says that one of them has to, and Token, if there is any, only names the plan.
type Issued struct {
	Pending   bool           // a person has to answer it
	Names     bool           // Token names the plan: the call that presents it asks a person
	AtOnce    bool           // the call that opened it answers at once; the repeated one waits for the person
	Formable  bool           // the host's form may answer it, where a person switched that on for the host entry
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
	Exhibit   json.RawMessage // what people see beside it; redacted, and nil for most plans
	IssuedAt  time.Time
	ExpiresAt time.Time // of the question; of the token, where there is one
	Remotes   []string  // where it is about nothing but reaching them
	confirm.Redacted
}

// Lasting reports whether it may be answered with "always".
func (i *Issued) Lasting() bool {
	return i.Strength < policy.Typed && i.Risk != policy.RiskHigh.String() && len(i.Remotes) == 0
}

// Outcome is what came of a call. Exactly one of Err and a result is set; DryRun and Explained say that Value is a plan that was
// not carried out. Everything in it is redacted and bounded.
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
	Unasked    bool // approval is caller: whatever this call would change or run, no person is asked
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
