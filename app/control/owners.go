package control

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// OwnerInput names an owner.
type OwnerInput struct {
	Name string `json:"owner" jsonschema:"pattern=^[0-9a-f]{12}$"`
}

// ForgetOwner records the user's declaration that an owner which cannot be observed has ended, so that what it owns can be recovered. Only users may call it,
// and it always needs an approval.
var ForgetOwner = tool.Ref[OwnerInput, owner.Lease]{Name: "forget_owner"}

func ownerSpec() tool.Spec {
	return tool.Spec{Title: "Forget an owner", Description: "Say that a process of another machine or container has ended for certain.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Confirm: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh, Input: json.RawMessage(ownerSchema), UserOnly: true}
}

// ownerPlan is the plan to count an owner as ended.
type ownerPlan struct {
	Owner owner.Lease `json:"owner"`
	Means string      `json:"means"`
	hash  canon.Hash
}

// Hash covers the owner; the time it was last active is only shown.
func (p ownerPlan) Hash() canon.Hash { return p.hash }

// Assessment requires an approval.
func (p ownerPlan) Assessment() policy.Assessment {
	return policy.Assessment{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh}
}

// Insists requires an approval whatever grants exist, because only the user can know it.
func (p ownerPlan) Insists() bool { return true }

// Prompt explains the consequences.
func (p ownerPlan) Prompt() string {
	return "count owner " + p.Owner.Name + " as ended for certain"
}

func (s service) planOwner(ctx context.Context, _ tool.Scope, in OwnerInput) (ownerPlan, error) {
	found, err := s.Leases.Find(ctx, in.Name)
	if err != nil {
		return ownerPlan{}, err
	}
	if found.Owner != "" && s.Owner.Judge(found.Owner) == owner.Alive {
		return ownerPlan{}, owner.ErrAlive.WithMessage("owner %s is alive: it is a process of this very place (%s); end that instead", in.Name, found.Owner)
	}
	p := ownerPlan{Owner: found, Means: "what it has under way is failed, ended, taken over or done anew by whoever comes across it, also where it still runs and cannot be seen from here"}
	p.hash, err = canon.Sum("owner.forget.v1", map[string]string{"name": found.Name, "owner": found.Owner})
	return p, err
}

func (s service) forgetOwner(ctx context.Context, sc tool.Scope, p ownerPlan) (owner.Lease, error) {
	return s.Leases.Forget(ctx, p.Owner.Name, sc.Principal.ID, s.Clock.Now())
}
