package confirm

import (
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// AllowanceLasts is how long an "always allow" holds at most, however long its session goes on (packageflow contract §5.5).
const AllowanceLasts = 12 * time.Hour

// ErrNoAllowance reports an "always allow" that there is not, or no more.
var ErrNoAllowance = fault.New(fault.NotFound, "grant_not_found", "nothing is always allowed under that id")

// Allowance is an "always allow" that a person said, for one session: for a tool, or for a scope of one.
type Allowance struct {
	ID    string    `json:"id"` // of the confirmation that was answered so; public
	Tool  string    `json:"tool"`
	Scope string    `json:"scope"`      // what of the tool; empty is all of it
	By    string    `json:"created_by"` // on which channel it was said
	At    time.Time `json:"created_at"`
}

// ExpiresAt is when it has run out.
func (a Allowance) ExpiresAt() time.Time { return a.At.Add(AllowanceLasts) }

// Holds reports whether it has not run out.
func (a Allowance) Holds(now time.Time) bool { return now.Before(a.ExpiresAt()) }

// String is what is allowed, for people: "tool", or "tool: scope".
func (a Allowance) String() string {
	if a.Scope == "" {
		return a.Tool
	}
	return a.Tool + ": " + a.Scope
}

// Always is an Allowance that is in force, or a dated grant, as people see it.
type Always struct {
	Allowance
	Session   string    `json:"session"` // empty for a dated one, which is for any
	Principal string    `json:"principal"`
	ExpiresAt time.Time `json:"expires_at"` // at the latest; one for a session ends with it
	Dated     *Terms    `json:"dated,omitempty"`
}

// AlwaysList is what is always allowed, in some session or until a date, oldest first.
type AlwaysList struct {
	Count  int      `json:"count"`
	Grants []Always `json:"grants"`
}

// ListAlways is that list, never nil within.
func ListAlways(all []Always) AlwaysList {
	return AlwaysList{Count: len(all), Grants: append([]Always{}, all...)}
}
