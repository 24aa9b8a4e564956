package confirm

import (
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// The durations of dated grants: the one that user interfaces suggest, the longest that they offer, and the longest that the user may set.
const (
	DatedFirst = 8 * time.Hour
	DatedUsual = 24 * time.Hour
	DatedMost  = 30 * 24 * time.Hour
)

// DatedSlack is how far the clock may be set back without invalidating a dated grant.
const DatedSlack = time.Minute

// ErrUngrantable is returned when an approval asks for a dated grant for a call that must ask every time. Nothing is approved.
var ErrUngrantable = fault.New(fault.Denied, "grant_refused", "calls of this kind always ask for approval")

// Until asks for a dated grant with the approval: how long it lasts, across sessions.
type Until struct {
	For      time.Duration
	AnyArgs  bool // for any arguments
	AnyEntry bool // for any host entry
}

// Check fails for a duration that is not positive or exceeds DatedMost.
func (u Until) Check() error {
	if u.For < time.Minute || u.For > DatedMost {
		return ErrUngrantable.WithMessage("invalid duration of a grant; use 1 minute to %d days, such as 8h", int(DatedMost/(24*time.Hour)))
	}
	return nil
}

// Reach is what a dated grant for a plan is bound to within its tool. The zero Reach belongs to a plan for which none can be given.
type Reach struct {
	Scope   string     `json:"scope,omitempty"`  // the target, with the files that are read as code
	Content canon.Hash `json:"content,omitzero"` // the plan
	Target  string     `json:"target,omitempty"` // the target alone
	Loose   canon.Hash `json:"loose,omitzero"`   // the plan without its arguments; zero if they cannot be separated
}

// IsZero reports that no dated grant can be given.
func (r Reach) IsZero() bool { return r.Content.IsZero() }

// Claim is a call that needs an approval, as dated grants are matched against it.
type Claim struct {
	Tool, Principal string
	Entry           string     // the host entry that asks
	Args            canon.Hash // ArgsSum
	Reach
}

// ArgsSum returns the hash of a call's arguments without the token.
func ArgsSum(args []byte) canon.Hash {
	if doc, err := canon.Canonical(args); err == nil {
		args = doc
	}
	return canon.SumBytes("confirm.arguments.v1", args)
}

// Dated is a grant until a date, across sessions.
type Dated struct {
	ID        string     `json:"id"` // of the approval request; public
	Tool      string     `json:"tool"`
	Scope     string     `json:"scope,omitempty"`
	Content   canon.Hash `json:"content"`
	Args      canon.Hash `json:"args,omitzero"` // zero if AnyArgs
	AnyArgs   bool       `json:"any_args,omitempty"`
	Principal string     `json:"principal"`
	Entry     string     `json:"entry,omitempty"`
	AnyEntry  bool       `json:"any_entry,omitempty"`
	What      string     `json:"what"` // in one line, from the approval request
	By        string     `json:"by"`   // channel of the decision
	User      string     `json:"user,omitempty"`
	At        time.Time  `json:"at"`
	Until     time.Time  `json:"until"`
	Uses      int64      `json:"uses,omitempty"`
	UsedAt    time.Time  `json:"used_at,omitzero"`
}

// Holds reports whether the grant is active at now. It is inactive while the clock is earlier than the grant's beginning or last use, so that setting the
// clock back cannot extend it.
func (d Dated) Holds(now time.Time) bool {
	seen := d.At
	if d.UsedAt.After(seen) {
		seen = d.UsedAt
	}
	return !now.Before(seen.Add(-DatedSlack)) && now.Before(d.Until)
}

// Covers reports whether the grant covers that call.
func (d Dated) Covers(c Claim) bool {
	if c.IsZero() || d.Content.IsZero() || d.Tool != c.Tool || d.Principal != c.Principal || !d.AnyEntry && d.Entry != c.Entry {
		return false
	}
	if d.AnyArgs {
		return d.Scope == c.Target && d.Content == c.Loose
	}
	return d.Scope == c.Scope && d.Content == c.Content && d.Args == c.Args
}

// Rule returns the text that the audit log holds for the decision that gave the grant: everything but its uses, so that a modified row is detected.
func (d Dated) Rule() string {
	d.Uses, d.UsedAt = 0, time.Time{}
	sum, err := canon.Sum("confirm.dated.v1", d)
	if err != nil { // strings, hashes and times always encode; a failure matches no record
		return ""
	}
	words := "until " + d.Until.UTC().Format(time.RFC3339)
	if d.AnyArgs {
		words += ", any arguments"
	}
	if d.AnyEntry {
		words += ", any host"
	}
	return words + ", " + sum.Hex()
}

// Always returns the displayed form of the grant.
func (d Dated) Always() ListedGrant {
	return ListedGrant{SessionGrant: SessionGrant{ID: d.ID, Tool: d.Tool, Scope: d.Scope, By: d.By, At: d.At}, Principal: d.Principal, ExpiresAt: d.Until,
		Dated: &Terms{What: d.What, User: d.User, AnyArgs: d.AnyArgs, Entry: d.Entry, AnyEntry: d.AnyEntry, Uses: d.Uses, UsedAt: d.UsedAt}}
}

// Terms is what a dated grant has in addition to a session grant.
type Terms struct {
	What     string    `json:"what"` // in one line, from the approval request
	User     string    `json:"user,omitempty"`
	AnyArgs  bool      `json:"any_arguments"`
	Entry    string    `json:"host_entry,omitempty"` // empty: for calls without a host entry
	AnyEntry bool      `json:"any_host"`
	Uses     int64     `json:"uses"`
	UsedAt   time.Time `json:"last_used_at,omitzero"`
}

// Datable reports whether a dated grant can be given with the approval.
func (g *Request) Datable() bool {
	return g.HumanOnly && g.AllowsSessionGrant() && !g.NoForm && !g.MustReveal && g.Needs == policy.ProvingNone && !g.Reach.IsZero()
}

// dated returns the grant that an approval gives; nil if it gives none.
func (g *Request) dated(a Decision, now time.Time) (*Dated, error) {
	u := a.Until
	if u == nil {
		return nil, nil
	}
	fresh := *g
	fresh.Reach = a.Reach // from the current plan, whatever the row says
	switch {
	case !fresh.Datable():
		return nil, ErrUngrantable.WithMessage("calls of this kind always ask for approval; approve this call once")
	case !a.Proof.Meets(policy.ProvingPerson):
		return nil, ErrUngrantable.WithMessage("only a terminal or the console can grant calls until a date; %s approves once", a.Proof.Surface.Words())
	case u.AnyArgs && a.Reach.Loose.IsZero():
		return nil, ErrUngrantable.WithMessage("a grant for %s must include its arguments, because they decide what it does", g.Binding.Tool)
	}
	if err := u.Check(); err != nil {
		return nil, err
	}
	now = now.UTC().Round(0)
	d := &Dated{ID: g.ID, Tool: g.Binding.Tool, Scope: a.Reach.Scope, Content: a.Reach.Content, Args: ArgsSum(g.Args), AnyArgs: u.AnyArgs, Principal: g.Binding.Principal,
		Entry: g.Entry, AnyEntry: u.AnyEntry, What: g.Prompt, By: a.By, User: a.Proof.User, At: now, Until: now.Add(u.For)}
	if u.AnyArgs {
		d.Scope, d.Content, d.Args = a.Reach.Target, a.Reach.Loose, canon.Hash{}
	}
	return d, nil
}

// Bound describes what a dated grant for the request would be bound to, and what it would not, one line each.
func (v View) Bound(u Until) (bound, unbound string) {
	content := "with these arguments and this exact plan"
	loose := []string{"how often it runs"}
	if u.AnyArgs {
		content = "with the command and the files it reads unchanged"
		loose = append(loose, "its arguments", "the content of what the arguments name")
	}
	asker := "in any session without an agent host"
	switch {
	case u.AnyEntry:
		asker = "in any session of the user's agent hosts"
	case v.Entry != "":
		asker = fmt.Sprintf("in any session of the agent host %s", v.Entry)
	}
	loose = append(loose, "what the plan lists as not bound")
	return fmt.Sprintf("%s: %s, %s; %s", v.Tool, v.Prompt, content, asker), strings.Join(loose, "; ")
}

// Suggestion returns a hint for a user who approved the same call several times before; empty if never.
func (v View) Suggestion(before int) string {
	switch {
	case before < 1 || !v.Datable():
		return ""
	case before == 1:
		return "You approved this call once before."
	}
	return fmt.Sprintf("You approved this call %d times before.", before)
}

// Datable reports whether a dated grant can be given with the approval.
func (v View) Datable() bool { return !v.Reach.IsZero() }
