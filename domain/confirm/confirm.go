// Package confirm holds the rules of approval requests: the one-time approval token, the plan that it is bound to, and the state machine (pending;
// then approved and used, denied, cancelled or expired). It also has session grants and grants until a date.
//
// The package is pure: storage is behind ports.ApprovalStore, and times and random values arrive as arguments.
package confirm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// How long an approval request is open, and how many typing errors are allowed (product rules on confirmation).
const (
	DefaultTTL = 5 * time.Minute
	MinTTL     = time.Minute
	MaxTTL     = 10 * time.Minute
	MaxMisses  = 3
)

// How long a request waits for the user (consent design, section 3). A request outlives the tokens that name its plan.
const (
	QuestionTTL = 24 * time.Hour // while the client that asked is connected
	GoneTTL     = time.Hour      // after the client that asked has gone
	UnspentTTL  = time.Hour      // for an approval that no call has used
)

// MaxReason is the maximum length, in characters, of a denial's reason that is passed on (packageflow-security contract §5.1).
const MaxReason = 500

// The errors of using an approval. With each of them nothing is changed.
var (
	ErrUnknown  = fault.New(fault.Unconfirmed, "confirm_token_unknown", "unknown approval token; call again without confirm_token to get a new one")
	ErrNotFound = fault.New(fault.NotFound, "confirmation_not_found", "approval request not found") // for an ID, which users have; callers have tokens
	ErrUsed     = fault.New(fault.Unconfirmed, "confirm_token_used", "this approval was already used; call again without confirm_token to get a new one")
	ErrExpired  = fault.New(fault.Unconfirmed, "confirm_token_expired", "this approval request expired; call again without confirm_token to get a new one")
	ErrMismatch = fault.New(fault.Unconfirmed, "confirm_token_mismatch", "this approval is for a different call; call again without confirm_token to get a new one")
	ErrTyped    = fault.New(fault.Unconfirmed, "confirm_typed_value_wrong", "the typed name does not match")
	ErrBurnt    = fault.New(fault.Unconfirmed, "confirm_token_burnt", "the name was mistyped three times, so this approval request is cancelled; call again to get a new one")
	ErrDenied   = fault.New(fault.Denied, "confirm_denied", "the user denied this call")
	ErrCanceled = fault.New(fault.Unconfirmed, "confirm_canceled", "this approval request was cancelled; call again to get a new one")
	ErrPending  = fault.New(fault.Unconfirmed, "confirm_pending", "this approval request is still pending")
	ErrAnswered = fault.New(fault.Conflict, "confirm_answered", "this approval request was already decided") // the first decision counts
	ErrProof    = fault.New(fault.Denied, "confirm_proof_missing", "this approval needs a stronger proof than the one given")
)

// Token is the approval token that a client repeats. Printing, logging or encoding it never shows the secret, even inside another value: package fmt
// does not follow a pointer whose methods it cannot call. Do not compare tokens with ==.
type Token struct {
	_      [0]func()
	secret *string
}

// NewToken wraps a new secret (a random UUIDv4) or one that a client sent.
func NewToken(secret string) Token {
	if secret == "" {
		return Token{}
	}
	return Token{secret: &secret}
}

// Reveal returns the secret, to show it once.
func (t Token) Reveal() string {
	if t.secret == nil {
		return ""
	}
	return *t.secret
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.secret == nil }

// String hides the secret, so that no log shows it.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return "[token]"
}

// Format hides the secret from every verb of package fmt, %d and %#v included.
func (t Token) Format(s fmt.State, _ rune) { io.WriteString(s, t.String()) } //nolint:errcheck // fmt keeps it in memory

// Digest is the stored form of a token.
type Digest [sha256.Size]byte

// Digest returns the token's digest, a labelled SHA-256.
func (t Token) Digest() Digest { return Digest(canon.SumBytes("confirm.token.v1", []byte(t.Reveal()))) }

// String returns the digest as 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Binding identifies the call that an approval is for. All four fields must be equal when the approval is used.
type Binding struct {
	Session   string     `json:"session"` // client instance
	Principal string     `json:"principal"`
	Tool      string     `json:"tool"`
	Subject   canon.Hash `json:"subject"` // hash of the plan
}

// State is the status of an approval request.
type State uint8

// The states. Spent, Denied, Canceled and Burnt are final.
const (
	Pending State = iota
	Approved
	Spent
	Denied
	Canceled
	Burnt
)

var stateNames = []string{"pending", "approved", "spent", "denied", "canceled", "burnt"}

// String returns the status's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "invalid"
}

// Request is an approval request. Its ID is public (lists, countersign approve ID); of its token it holds only the digest.
type Request struct {
	ID        string
	Digest    Digest
	Binding   Binding
	Args      json.RawMessage // the call's arguments without token, so that confirm can repeat it
	Mode      policy.Mode     // the call's own mode argument
	Strength  policy.Strength
	Risk      policy.Risk
	Scope     string // what a session grant covers within the tool; empty is the whole tool, which never occurs if users approve
	Target    string // the text to type for Typed
	Prompt    string // one line for the user
	Plan      json.RawMessage
	Exhibit   json.RawMessage // what users see in addition to the plan; nil for most
	Place     string          // working directory of the process that asked, if its plans depend on it
	HumanOnly bool            // approval: human; a caller's token is not enough, the user must approve
	IssuedAt  time.Time
	ExpiresAt time.Time
	State     State
	Misses    int
	Answerer  string // who approved or denied; empty while pending
	Extra
}

// Extra is the further data of a Request, which stores keep as one JSON document.
type Extra struct {
	// Names reports that the token only names a plan: the request is shown to nobody and needs no decision.
	Names bool `json:"names,omitempty"`
	// Owner is the process in which the call waits, as named by ports.ProcessIdentity.
	Owner string `json:"owner,omitempty"`
	// Sight describes the file system that this process sees, if it differs from that of other processes of the same place.
	Sight string `json:"sight,omitempty"`
	// Entry is the host entry that the server was started from. A session of the same entry may pick up the request of a session that ended.
	Entry string `json:"entry,omitempty"`
	// Client is the name that the client gave itself.
	Client string `json:"client,omitempty"`
	// ByHand reports that the user made the call, and is probably there to decide.
	ByHand bool `json:"by_hand,omitempty"`
	// About is the name of the project or ecosystem of the plan, if it has one, for notifications.
	About string `json:"about,omitempty"`
	// Covers describes what a session grant covers if the scope is an ID; nothing is compared with it.
	Covers string `json:"covers,omitempty"`
	// GoneAt is when the client that asked was found to be gone; zero while it is connected.
	GoneAt time.Time `json:"gone_at,omitzero"`
	// NoForm reports that a host's form cannot approve the request: it widens permissions, or only users may call the tool.
	NoForm bool `json:"no_form,omitempty"`
	// Insists reports that every call asks, whatever grants exist; the request cannot give a session grant.
	Insists bool `json:"insists,omitempty"`
	// Needs is the weakest proof with which the request can be approved.
	Needs policy.Proving `json:"needs,omitempty"`
	// Proof is the proof that the user made the decision; nil before it.
	Proof *Proof `json:"proof,omitempty"`
	// Allowing reports that the approval also gives a session grant.
	Allowing bool `json:"allowing,omitempty"`
	// Reach is what a dated grant for the request would be bound to, as of its creation; zero if none can be given.
	Reach Reach `json:"reach,omitzero"`
	// Dated is the dated grant that the approval gave, or nil.
	Dated *Dated `json:"dated,omitempty"`
	// Remotes is the remotes that calls may reach after the approval, if the request is only about those.
	Remotes []string `json:"remotes,omitempty"`
	Redacted
}

// View is the displayed form of a Request. It never holds the token or its digest.
type View struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Strength  policy.Strength `json:"strength"`
	Risk      string          `json:"risk,omitempty"`
	Prompt    string          `json:"prompt"`
	Target    string          `json:"target,omitempty"`
	State     string          `json:"state"`
	PlanHash  canon.Hash      `json:"plan_hash"`
	Plan      json.RawMessage `json:"plan,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // as sent, if the caller that lists it may show them
	IssuedAt  time.Time       `json:"issued_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Session   string          `json:"-"`                    // the client instance that asked
	Answerer  string          `json:"-"`                    // who approved it, until its call continues
	Client    string          `json:"client,omitempty"`     // the name that the client gave itself
	Gone      bool            `json:"asker_gone,omitempty"` // the client that asked is gone; the same call picks the request up within an hour
	Needs     policy.Proving  `json:"needs,omitempty"`      // the weakest proof that an approval needs
	Exhibit   json.RawMessage `json:"-"`                    // what users see in addition to the plan
	Revealed  bool            `json:"-"`                    // nothing in it is redacted: show it only to the user
	Scope     string          `json:"-"`                    // what a session grant covers within the tool; empty is all of it
	Covers    string          `json:"-"`                    // the same as text, if the scope is an ID
	Entry     string          `json:"-"`                    // the host entry that asked; empty if there is none
	Reach     Reach           `json:"-"`                    // what a dated grant would be bound to; zero if none can be given
	Insists   bool            `json:"-"`                    // every call asks
	Remotes   []string        `json:"-"`                    // if the request is only about contacting them: an approval holds from then on
	Redacted
}

// AllowsSessionGrant reports whether a session grant can be given with the approval.
func (v View) AllowsSessionGrant() bool {
	return v.Strength < policy.Typed && v.Risk != policy.RiskHigh.String() && !v.Insists && len(v.Remotes) == 0
}

// AllowsSessionGrant reports whether a session grant can be given with the approval.
func (g *Request) AllowsSessionGrant() bool {
	return policy.Assessment{Strength: g.Strength, Risk: g.Risk}.AllowsSessionGrant() && !g.Insists && len(g.Remotes) == 0
}

// Formable reports whether the host's form can approve the request, if the user enabled that for the host entry: it needs only yes or no, its risk is
// not high, and no stronger proof is required (consent design, section 3).
func (g *Request) Formable() bool {
	return g.HumanOnly && g.Entry != "" && !g.NoForm && g.Strength < policy.Typed && g.Risk < policy.RiskHigh && g.Needs == policy.ProvingNone
}

// View returns the displayed form of the request.
func (g *Request) View() View {
	risk := g.Risk
	if risk == policy.RiskNone { // the plan says none: it is as much as what is asked for it tells
		risk = map[policy.Strength]policy.Risk{policy.Preview: policy.RiskMedium, policy.Typed: policy.RiskHigh}[g.Strength]
		risk = max(risk, policy.RiskLow)
	}
	var reach Reach
	if g.Datable() {
		reach = g.Reach
	}
	return View{Entry: g.Entry, Reach: reach, ID: g.ID, Tool: g.Binding.Tool, Strength: g.Strength, Risk: risk.String(), Prompt: g.Prompt, Target: g.Target, State: g.State.String(),
		PlanHash: g.Binding.Subject, Plan: g.Plan, IssuedAt: g.IssuedAt, ExpiresAt: g.ExpiresAt, Session: g.Binding.Session,
		Answerer: g.Answerer, Exhibit: g.Exhibit, Client: g.Client, Gone: !g.GoneAt.IsZero(), Needs: g.Needs, Scope: g.Scope, Covers: g.Covers, Insists: g.Insists, Remotes: g.Remotes, Redacted: g.Redacted}
}

// Views returns the View of each request; the slice is never nil.
func Views(grants []Request) []View {
	out := make([]View, 0, len(grants))
	for i := range grants {
		out = append(out, grants[i].View())
	}
	return out
}

// Decision is the user's decision, made where only a user can: in an elicitation form, a terminal or the console.
type Decision struct {
	ID      string // of the approval request
	Approve bool
	Always  bool   // give a session grant for this tool as well
	Until   *Until // give a dated grant until then as well; nil for this call only
	Reach   Reach  // what the dated grant is bound to, from the current plan; set by the application, never by a channel
	Typed   string // for Typed strength
	Reason  string // reason of a denial, for the client that asked; at most MaxReason characters count
	By      string // who decided, as far as the channel knows ("terminal", "form")
	// Proof is how the channel knows that the user decided.
	Proof Proof
	// Revealed reports that redacted parts were revealed to the user on the same channel.
	Revealed bool
	// Shown is the hash of the plan that the user saw; zero if the channel always shows the pending one.
	Shown canon.Hash
}

// Settle applies the decision to the request: Approve, or Deny, for which it returns ErrDenied.
func (a Decision) Settle(g *Request, now time.Time) error {
	proof := a.Proof
	if err := g.answerable(now); err != nil {
		return err
	}
	if proof.Surface == SurfaceForm && (!g.Formable() || proof.Entry != g.Entry) {
		return ErrProof.WithMessage("a form in the host cannot decide this request; decide in a terminal or in the console")
	}
	if a.Approve {
		if !proof.Meets(g.Needs) {
			return ErrProof.WithMessage("approving this needs %s, and %s is not that; %s", g.Needs.Words(), proof.Surface.Words(), g.way())
		}
		if err := g.revealed(a); err != nil {
			return err
		}
		dated, err := g.dated(a, now)
		if err != nil {
			return err
		}
		if err := g.Approve(a.By, a.Typed, now); err != nil {
			return err
		}
		g.Proof, g.Allowing, g.Dated = &proof, a.Always && g.AllowsSessionGrant() && dated == nil, dated
		return nil
	}
	if err := g.Deny(a.By, now); err != nil {
		return err
	}
	g.Proof = &proof
	return ErrDenied
}

// Expired reports whether now is at or after the expiry.
func (g *Request) Expired(now time.Time) bool { return !now.Before(g.ExpiresAt) }

// Final reports whether the request's status can no longer change.
func (g *Request) Final() bool { return g.State >= Spent }

// Check verifies that the approval can be used for b with the typed value, without using it. A wrong typed value is counted, and the third one
// invalidates the request: store the request whether or not Check fails.
func (g *Request) Check(b Binding, typed string, now time.Time) error {
	if err := g.live(now); err != nil {
		return err
	}
	if g.Binding != b {
		return ErrMismatch
	}
	if g.State == Approved {
		return nil
	}
	if g.HumanOnly {
		return ErrPending
	}
	return g.typed(typed)
}

// Redeem is Check and then uses the approval. An approval is used at most once.
func (g *Request) Redeem(b Binding, typed string, now time.Time) error {
	if err := g.Check(b, typed, now); err != nil {
		return err
	}
	g.State = Spent
	return nil
}

// answerable fails unless the request is undecided: the first decision counts.
func (g *Request) answerable(now time.Time) error {
	if g.State == Denied {
		return ErrAnswered.WithMessage("this was already denied (%s); the first decision counts", g.Answerer)
	}
	if err := g.live(now); err != nil {
		return err
	}
	if g.State == Approved {
		return ErrAnswered.WithMessage("this was already approved (%s); the first decision counts", g.Answerer)
	}
	return nil
}

// Approve records the approval of the user named answerer, who typed the target where the strength requires it. An approval that no call uses expires
// after UnspentTTL.
func (g *Request) Approve(answerer, typed string, now time.Time) error {
	if err := g.answerable(now); err != nil {
		return err
	}
	if err := g.typed(typed); err != nil {
		return err
	}
	g.State, g.Answerer = Approved, answerer
	if lapses := now.Add(UnspentTTL); g.HumanOnly && lapses.Before(g.ExpiresAt) {
		g.ExpiresAt = lapses
	}
	return nil
}

// Deny records the denial of the user named answerer.
func (g *Request) Deny(answerer string, now time.Time) error {
	if err := g.answerable(now); err != nil {
		return err
	}
	g.State, g.Answerer = Denied, answerer
	return nil
}

// Cancel withdraws the request. It fails for a final request and leaves it unchanged.
func (g *Request) Cancel(now time.Time) error {
	if err := g.live(now); err != nil {
		return err
	}
	g.State = Canceled
	return nil
}

// Leave marks a request whose session ended. It stays for GoneTTL, so that the same call can pick it up.
func (g *Request) Leave(now time.Time) error {
	if err := g.live(now); err != nil {
		return err
	}
	if !g.GoneAt.IsZero() {
		return nil
	}
	g.GoneAt = now
	if ends := now.Add(GoneTTL); ends.Before(g.ExpiresAt) {
		g.ExpiresAt = ends
	}
	return nil
}

// PickUp hands a request whose session ended to the same call of another session, in the process owner.
func (g *Request) PickUp(session, owner string, now time.Time) error {
	if err := g.live(now); err != nil {
		return err
	}
	if ends := now.Add(QuestionTTL); g.State == Pending && g.ExpiresAt.Before(ends) {
		g.ExpiresAt = ends
	}
	g.Binding.Session, g.Owner, g.GoneAt = session, owner, time.Time{}
	return nil
}

// Named checks that the token still names the plan of b; it is no approval. The zero plan of b matches any plan.
func (g *Request) Named(b Binding, now time.Time) error {
	if err := g.live(now); err != nil {
		return err
	}
	if b.Subject == (canon.Hash{}) {
		b.Subject = g.Binding.Subject
	}
	if g.Binding != b {
		return ErrMismatch
	}
	return nil
}

// Use marks a token that names a plan as used.
func (g *Request) Use(b Binding, now time.Time) error {
	if err := g.Named(b, now); err != nil {
		return err
	}
	g.State = Spent
	return nil
}

func (g *Request) live(now time.Time) error {
	switch g.State {
	case Spent:
		return ErrUsed
	case Denied:
		return ErrDenied
	case Canceled:
		return ErrCanceled
	case Burnt:
		return ErrBurnt
	case Pending, Approved:
	default:
		return ErrUsed // an unknown state lets nothing pass
	}
	if g.Expired(now) {
		return ErrExpired
	}
	return nil
}

func (g *Request) typed(value string) error {
	if g.Strength < policy.Typed || (value == g.Target && g.Target != "") {
		return nil
	}
	if value == "" {
		return ErrTyped.WithMessage("type %q as typed_value to confirm", g.Target)
	}
	g.Misses++
	if g.Misses >= MaxMisses {
		g.State = Burnt
		return ErrBurnt
	}
	return ErrTyped.WithMessage("the typed name is not %q; %d of %d tries are left", g.Target, MaxMisses-g.Misses, MaxMisses)
}
