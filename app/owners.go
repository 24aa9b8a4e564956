package app

import (
	"context"

	"github.com/countersign-dev/countersign/domain/owner"
)

// Owner is a process with a lease, or one that the user declared ended.
type Owner struct {
	owner.Lease
	Verdict string `json:"verdict"`         // alive, dead or unknown, as it looks from here
	Where   string `json:"where,omitempty"` // only for one that cannot be observed from here
}

// Owners returns the recorded owners, sorted by name.
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
	if l.Owner != "" { // otherwise only the user's declaration is known
		o.Verdict, o.Where = a.core.Owner.Judge(l.Owner).String(), a.core.Owner.Elsewhere(l.Owner)
	}
	return o
}

// Judge returns what is known of the owner with that identity.
func (a *App) Judge(identity string) owner.Verdict { return a.core.Owner.Judge(identity) }

// Elsewhere describes where an owner that cannot be observed from here is, and how the user can release what it owns.
func (a *App) Elsewhere(name string) string { return a.core.Owner.Elsewhere(name) }
