package app

import (
	"context"

	"github.com/countersign-dev/countersign/domain/owner"
)

// Owner is a process that showed that it is there, or of which a person said that it has ended.
type Owner struct {
	owner.Lease
	Verdict string `json:"verdict"`         // alive, dead or unknown, as it looks from here
	Where   string `json:"where,omitempty"` // of one that cannot be seen from here
}

// Owners is the owners on record, in the order of their names.
func (a *App) Owners(ctx context.Context) ([]Owner, error) {
	if a.core.Leases == nil {
		return nil, nil
	}
	leases, err := a.core.Leases.List(ctx)
	all := make([]Owner, 0, len(leases))
	for _, l := range leases {
		all = append(all, a.owner(l))
	}
	return all, err
}

func (a *App) owner(l owner.Lease) Owner {
	o := Owner{Lease: l, Verdict: owner.Dead.String()}
	if l.Owner != "" { // otherwise all that is known is what a person said
		o.Verdict, o.Where = a.core.Owner.Judge(l.Owner).String(), a.core.Owner.Elsewhere(l.Owner)
	}
	return o
}

// Judge is what is known of the owner of that identity.
func (a *App) Judge(identity string) owner.Verdict { return a.core.Owner.Judge(identity) }

// Elsewhere says of what the named owner has under way where that is, when it cannot be seen from here, and how a person settles it.
func (a *App) Elsewhere(name string) string { return a.core.Owner.Elsewhere(name) }
