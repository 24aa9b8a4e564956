package control

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TryAnswer is what try_approval answers.
type TryAnswer struct {
	Approved bool `json:"approved"`
}

// TryApproval asks for an approval of a call that changes nothing, so that a user sees how one is asked for and given. Only users may call it, and it always
// needs an approval.
var TryApproval = tool.Ref[NoInput, TryAnswer]{Name: "try_approval"}

func trySpec() tool.Spec {
	return tool.Spec{Title: "Try an approval", Description: "Ask for an approval of a call that changes nothing.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write, // a write, so that it is kept in the record of calls
		Confirm: policy.Simple, Human: policy.Simple, Risk: policy.RiskLow, Input: json.RawMessage(noSchema), UserOnly: true}
}

// tryPlan is the plan of a call that changes nothing: its own record is all that it leaves.
type tryPlan struct {
	Changes string `json:"would_change"`
	Leaves  string `json:"leaves_behind"`
}

// Hash is always the same, as is what would be done.
func (p tryPlan) Hash() canon.Hash {
	sum, _ := canon.Sum("try.approval.v1", p) // two texts: they always encode
	return sum
}

// Assessment requires an approval.
func (tryPlan) Assessment() policy.Assessment {
	return policy.Assessment{Strength: policy.Simple, Human: policy.Simple, Risk: policy.RiskLow}
}

// Insists requires an approval whatever grants exist, because asking is what it is for.
func (tryPlan) Insists() bool { return true }

// Prompt explains it.
func (tryPlan) Prompt() string { return "try an approval, which changes nothing" }

func (service) planTry(context.Context, tool.Scope, NoInput) (tryPlan, error) {
	return tryPlan{Changes: "nothing: no file is written, no program is run, nothing is sent", Leaves: "this call and your answer, in the record of calls and in the audit log"}, nil
}

func (service) try(context.Context, tool.Scope, tryPlan) (TryAnswer, error) {
	return TryAnswer{Approved: true}, nil
}
