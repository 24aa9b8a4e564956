package app

import (
	"cmp"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors of denied calls.
var (
	ErrPolicyDenied = fault.New(fault.Denied, "policy_denied", "policy refuses this call")
	ErrModeForbids  = fault.New(fault.Denied, "mode_forbids", "the mode does not allow this call")
)

// DenialError returns the error of a denied call of that tool; scope is what its plan is about, if the plan says so.
func DenialError(d policy.Decision, name tool.Name, scope string) *fault.Error {
	switch d.Rule {
	case policy.RuleMode:
		return ErrModeForbids.Sayf("%s changes things, and the mode is %s; set_mode plan shows what it would do, set_mode execute lets it run", name, d.Mode)
	case policy.RuleBlocked:
		return ErrPolicyDenied.Sayf("%s is blocked in the settings; countersign policy allow %s lifts that", name, name)
	case policy.RuleAction:
		return ErrPolicyDenied.Sayf("the rule stored for this action (%s) denies it, whichever tool carries it out; only a person can change that rule", cmp.Or(scope, string(name)))
	case policy.RuleGrants:
		return ErrPolicyDenied.Sayf("%s needs %s, which this caller was not granted (is the server read-only?)", name, d.Missing)
	case policy.RuleLevel:
		return ErrPolicyDenied.Sayf("the permission level allows no changes; countersign policy set changes it, countersign policy allow %s opens this tool alone", name)
	}
	return ErrPolicyDenied
}
