package policy

import (
	"cmp"
	"slices"
)

// Principal is the identity that a call runs under. Grants limits the effects of its calls; zero Grants allow nothing.
type Principal struct {
	ID     string  `json:"id"`
	Grants Effects `json:"grants"`
	// Ceiling is the maximum mode of the principal's calls, below the operator's maximum; unset is none.
	Ceiling Mode `json:"ceiling,omitempty"`
}

// Claims is what one call declares that it will do. Class and Effects never exceed those of its tool; a tool with several actions (input of the context-pack contract)
// claims per action. Resources names what the call touches, for settings and the audit log.
type Claims struct {
	Class     Class
	Effects   Effects
	Resources []string
}

// needed returns the effects that a principal must be granted. The least effect of the class is always among them, so that zero grants allow nothing,
// even if a tool forgot to claim an effect.
func (c Claims) needed() Effects {
	switch {
	case c.Class < ClassWrite:
		return c.Effects | Read
	case c.Effects&Mutating == 0:
		return c.Effects | Write
	}
	return c.Effects
}

// AutoApprove is the auto-approve list: tools whose yes/no approvals are given automatically. An empty list approves nothing.
type AutoApprove struct {
	Enabled bool     `json:"enabled"`
	Tools   []string `json:"tools"`
}

// Policy is the settings that decisions depend on: the server configuration and the user's settings. The zero Policy allows no change.
type Policy struct {
	Mode    Mode               // the operator's mode; unset leaves it to the toolset's default
	Ceiling Mode               // the maximum mode of every call; unset is Ask
	Level   Level              // product-wide permission level
	Tools   map[string]Setting // per tool, exact names
	Auto    AutoApprove
	// Approval is who may approve a plan; unset is users.
	Approval Approval
	// Require is the proof that an approval needs, by tool, RequireHigh and RequireType.
	Require map[string]Proving
}

// Request is the input of one decision.
type Request struct {
	Principal   Principal
	Tool        string
	Claims      Claims
	Strength    Strength   // the tool's default, raised by the plan
	Risk        Risk       // likewise
	Action      ActionRule // the stored rule for the action that the plan applies
	CallMode    Mode       // the call's own mode argument
	SessionMode Mode       // the last set_mode of this client instance
	ToolsetMode Mode       // the toolset's default
	// ToolsetCeiling is the maximum mode of the toolset's calls, below the operator's maximum; unset is none.
	ToolsetCeiling Mode
	Granted        bool // a session grant covers this tool or the scope of the plan
}

// Result is a verdict with its reason. Rule is the stable name of the rule that decided, for the audit log, settings and messages.
type Result struct {
	Verdict  Verdict  `json:"verdict"`
	Rule     string   `json:"rule"`
	Mode     Mode     `json:"mode"`
	Strength Strength `json:"strength"`
	Missing  Effects  `json:"-"`
	Needs    Proving  `json:"-"` // the proof that an approval needs
}

// The rules a decision can name.
const (
	RuleClass       = "class_unknown" // also effects that the claimed class cannot have
	RuleBlocked     = "tool_blocked"
	RuleGrants      = "principal_grants"
	RuleLevel       = "permission_level"
	RuleMode        = "mode"
	RuleRead        = "read"
	RuleScratch     = "scratch"
	RuleToolConfirm = "tool_confirm"
	RuleToolAllowed = "tool_allowed"
	RuleTyped       = "type_to_confirm"
	RuleSession     = "session_grant"
	RuleAction      = "action_rule" // the stored rule of a single action denies, asks or approves
	RuleAuto        = "auto_approve"
	RuleStrength    = "strength"
	RuleFullAccess  = "full_access"
	RuleIdle        = "nothing_to_do" // the plan has nothing to change
	RuleDated       = "dated_grant"   // a dated grant covers exactly this
	RuleNarrows     = "only_narrows"  // a change of policy that widens nothing needs no approval
)

// Effective returns the mode of a request: the call's, else the session's, else the server configuration's, else the toolset's default; never above
// the maximum mode. An unset or invalid mode is Ask.
func (p Policy) Effective(q Request) Mode {
	ceiling := known(p.Ceiling)
	for _, lower := range []Mode{q.ToolsetCeiling, q.Principal.Ceiling} {
		if lower != ModeUnset {
			ceiling = min(ceiling, known(lower))
		}
	}
	return min(known(cmp.Or(q.CallMode, q.SessionMode, p.Mode, q.ToolsetMode)), ceiling)
}

// known returns a valid mode unchanged, and Ask for every other value.
func known(m Mode) Mode {
	if m > Execute {
		return Ask
	}
	return max(m, Ask)
}

// Evaluate returns the decision for a request; it never fails. It checks in this order: unknown class, blocked tool, denied action, permissions,
// permission level, mode, and last which approval is required.
func (p Policy) Evaluate(q Request) Result {
	d := Result{Mode: p.Effective(q), Strength: min(q.Strength, Typed), Needs: p.Needs(q)}
	set := p.Tools[q.Tool]
	switch {
	case !q.Claims.Class.Permits(q.Claims.Effects):
		return d.end(Deny, RuleClass)
	case set == Blocked || set > Allowed:
		return d.end(Deny, RuleBlocked)
	case q.Action == ActionDeny || q.Action > ActionAutoApprove:
		return d.end(Deny, RuleAction)
	}
	if d.Missing = q.Claims.needed() &^ q.Principal.Grants; d.Missing != 0 {
		return d.end(Deny, RuleGrants)
	}
	switch {
	case !p.levelAllows(q.Claims.Class, set):
		return d.end(Deny, RuleLevel)
	case q.Claims.Class >= ClassWrite && d.Mode != Execute:
		return d.end(withheld(d.Mode, q.Claims.Class), RuleMode)
	}
	return p.confirmation(d, q, set)
}

// Needs returns the proof that an approval of the request requires.
func (p Policy) Needs(q Request) Proving {
	if len(p.Require) == 0 {
		return ProvingNone
	}
	needs := p.Require[q.Tool]
	if q.Risk >= RiskHigh {
		needs = max(needs, p.Require[RequireHigh])
	}
	if q.Strength >= Typed {
		needs = max(needs, p.Require[RequireType])
	}
	return needs
}

// withheld returns the verdict for a change that the mode does not allow.
func withheld(mode Mode, class Class) Verdict {
	switch {
	case mode == Plan:
		return DryRun
	case class == ClassDangerous:
		return Explain
	}
	return Deny
}

// levelAllows reports whether the level, or a setting that overrides it, allows the class at all. An explicit allowed or confirm enables a tool under
// read_only; nothing enables a change under the zero level.
func (p Policy) levelAllows(c Class, set Setting) bool {
	switch {
	case c == ClassRead:
		return true
	case p.Level == LevelUnset || p.Level > FullAccess:
		return false
	case c == ClassScratch:
		return true
	case p.Level == ReadOnly:
		return set == Allowed || set == AlwaysConfirm
	}
	return true
}

// confirmation decides between Confirm and Allow for a call that may run. A session grant outranks an explicit confirm, of the tool or of the action,
// which outranks an explicit allowed; then come automatic approvals, which cover only what execute_with_confirm asks (packageflow-security contract
// §3.3). Nothing outranks type-to-confirm.
func (p Policy) confirmation(d Result, q Request, set Setting) Result {
	asked := set == AlwaysConfirm || q.Action == ActionRequireConfirm
	switch {
	case q.Strength >= Typed:
		return d.end(Confirm, RuleTyped)
	case q.Granted && q.Risk < RiskHigh && (asked || q.Strength >= Simple):
		return d.end(Allow, RuleSession)
	case asked:
		d.Strength = max(q.Strength, Simple)
		if set == AlwaysConfirm {
			return d.end(Confirm, RuleToolConfirm)
		}
		return d.end(Confirm, RuleAction)
	case set == Allowed:
		return d.end(Allow, RuleToolAllowed)
	case q.Strength == None:
		return d.end(Allow, unasked(q.Claims.Class))
	case p.Level == FullAccess:
		return d.end(Allow, RuleFullAccess)
	}
	return p.inAdvance(d, q)
}

// unasked returns the rule that allows a call which needs no approval.
func unasked(c Class) string {
	switch c {
	case ClassRead:
		return RuleRead
	case ClassScratch:
		return RuleScratch
	}
	return RuleStrength
}

// inAdvance decides whether an approval that only the level requires was given in advance. High risk always asks.
func (p Policy) inAdvance(d Result, q Request) Result {
	switch {
	case p.Level != ExecuteWithConfirm || q.Risk >= RiskHigh:
		return d.end(Confirm, RuleStrength)
	case q.Action == ActionAutoApprove:
		return d.end(Allow, RuleAction)
	case p.Auto.Enabled && slices.Contains(p.Auto.Tools, q.Tool):
		return d.end(Allow, RuleAuto)
	}
	return d.end(Confirm, RuleStrength)
}

func (d Result) end(v Verdict, rule string) Result {
	d.Verdict, d.Rule = v, rule
	return d
}
