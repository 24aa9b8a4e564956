package app

import (
	"cmp"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors of denied calls.
var (
	ErrPolicyDenied = fault.New(fault.Denied, "policy_denied", "policy denies this call")
	ErrModeForbids  = fault.New(fault.Denied, "mode_forbids", "the mode does not allow this call")
)

// DenialError returns the error of a denied call of that tool; scope is what its plan is about, if the plan says so.
func DenialError(d policy.Result, name tool.Name, scope string) *fault.Error {
	switch d.Rule {
	case policy.RuleMode:
		return ErrModeForbids.WithMessage("%s changes something, but the mode is %s; to preview it, call set_mode plan; to run it, call set_mode execute", name, d.Mode)
	case policy.RuleBlocked:
		return ErrPolicyDenied.WithMessage("%s is blocked in the settings; to unblock it, run countersign policy allow %s", name, name)
	case policy.RuleAction:
		return ErrPolicyDenied.WithMessage("the rule for this action (%s) denies it, whichever tool runs it; only the user can change that rule", cmp.Or(scope, string(name)))
	case policy.RuleGrants:
		return ErrPolicyDenied.WithMessage("%s needs %s permission, which this client does not have (is the server read-only?)", name, d.Missing)
	case policy.RuleLevel:
		return ErrPolicyDenied.WithMessage("the permission level allows no changes; change it with countersign policy set, or allow this tool alone with countersign policy allow %s", name)
	}
	return ErrPolicyDenied
}
