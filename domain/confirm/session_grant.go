package confirm

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// SessionGrantTTL is the maximum lifetime of a session grant, however long its session lasts (packageflow contract §5.5).
const SessionGrantTTL = 12 * time.Hour

// ErrNoSessionGrant is returned when no grant with that ID is active.
var ErrNoSessionGrant = fault.New(fault.NotFound, "grant_not_found", "no session grant with this ID is active")

// SessionGrant lets a tool, or one scope of it, run without asking in one session.
type SessionGrant struct {
	ID    string    `json:"id"` // of the approval request; public
	Tool  string    `json:"tool"`
	Scope string    `json:"scope"`      // what it covers of the tool; empty is all of it, which counts only if the caller approves
	By    string    `json:"created_by"` // channel of the decision
	At    time.Time `json:"created_at"`
	// What describes the scope; empty if the scope describes itself. Nothing is compared with it.
	What string `json:"what,omitempty"`
}

// planWord is the start of the part of a scope that binds it to one plan.
const planWord = "plan "

// PlanScope returns the scope of a grant that covers only that plan. own is the scope that the plan gives itself, or empty.
func PlanScope(own string, plan canon.Hash) string {
	if own != "" {
		own += ", "
	}
	return own + planWord + plan.String()
}

// OwnScope splits the result of PlanScope: it returns the plan's own scope, and whether the scope was bound to that plan.
func OwnScope(scope string, plan canon.Hash) (own string, bound bool) {
	own, bound = strings.CutSuffix(scope, planWord+plan.String())
	return strings.TrimSuffix(own, ", "), bound
}

// AlwaysTerms returns, in one line, what a session grant for the request would allow, for how long at most, and what it is not bound to. Every user
// interface shows this text.
func (v View) AlwaysTerms() string {
	bound, unbound := v.lasts()
	return fmt.Sprintf("%s, for at most %d hours; not bound: %s", bound, int(SessionGrantTTL.Hours()), unbound)
}

// lasts returns what a session grant for the request is bound to, and what it is not, each in one line.
func (v View) lasts() (bound, unbound string) {
	about, _, exact := strings.Cut(v.Scope, "@") // the hash of a command with its arguments follows it
	_, one := OwnScope(v.Scope, v.PlanHash)
	what := v.Tool + " of " + about
	if v.Covers != "" {
		what = v.Covers + " (" + v.Tool + ")"
	}
	switch {
	case one:
		return v.Tool + " with these arguments and this plan", "how often it runs"
	case exact:
		return what + ", as it reads now, with these arguments", "how often it runs; the contents of other files"
	case v.Scope == "":
		return v.Tool, "its arguments; what it does with them; how often it runs"
	}
	return what, "other arguments and contents; how often it runs"
}

// SessionGrant returns the session grant for the request, given on that channel at that time.
func (g *Request) SessionGrant(by string, at time.Time) SessionGrant {
	a := SessionGrant{ID: g.ID, Tool: g.Binding.Tool, Scope: g.Scope, By: by, At: at, What: g.Covers}
	if _, one := OwnScope(g.Scope, g.Binding.Subject); one {
		a.What = g.Prompt + " (this plan only)"
	}
	return a
}

// ExpiresAt returns when the grant expires.
func (a SessionGrant) ExpiresAt() time.Time { return a.At.Add(SessionGrantTTL) }

// Holds reports whether the grant has not expired.
func (a SessionGrant) Holds(now time.Time) bool { return now.Before(a.ExpiresAt()) }

// About returns the scope for users: its description if there is one.
func (a SessionGrant) About() string { return cmp.Or(a.What, a.Scope) }

// String returns what is allowed, for users: "tool", or "tool: scope".
func (a SessionGrant) String() string {
	if a.Scope == "" {
		return a.Tool
	}
	return a.Tool + ": " + a.About()
}

// ListedGrant is the displayed form of an active SessionGrant or dated grant.
type ListedGrant struct {
	SessionGrant
	Session   string    `json:"session"` // empty for a dated grant, which holds in any session
	Principal string    `json:"principal"`
	ExpiresAt time.Time `json:"expires_at"` // at the latest; a session grant ends with its session
	Dated     *Terms    `json:"dated,omitempty"`
}

// GrantList is all active session grants and dated grants, oldest first.
type GrantList struct {
	Count  int           `json:"count"`
	Grants []ListedGrant `json:"grants"`
}

// ListGrants returns the list with a non-nil slice.
func ListGrants(all []ListedGrant) GrantList {
	return GrantList{Count: len(all), Grants: append([]ListedGrant{}, all...)}
}
