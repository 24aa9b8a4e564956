package policy

// Risk is how much damage a call can do (packageflow-security contract §3.1). A tool has a static one; a plan can raise it.
type Risk uint8

// The risks, in rising order. High risk is never allowed by auto-approval, by a stored action rule, or by a session grant.
const (
	RiskNone Risk = iota
	RiskLow
	RiskMedium
	RiskHigh
)

// ActionRule is the stored rule for the one action that a plan applies (a webhook, a script), whichever tool calls it.
type ActionRule uint8

// The rules. ActionNone means that none is stored. AutoApprove gives only an approval that the permission level requires.
const (
	ActionNone ActionRule = iota
	ActionDeny
	ActionRequireConfirm
	ActionAutoApprove
)

// Assessment is what a plan tells policy about itself; policy decides again with it.
type Assessment struct {
	Strength Strength   // raises the tool's strength; a lower value has no effect
	Risk     Risk       // likewise
	Action   ActionRule // the stored rule of the action
	Human    Strength   // the minimum strength if users approve, whatever the tool's contract accepts as approval
	Scope    string     // what a session grant covers within the tool: project, target; if users approve, also the plan (tool.Confined); empty covers the whole tool
}

// Raised returns the assessment with at least the strength and risk of base.
func (a Assessment) Raised(base Assessment) Assessment {
	a.Strength, a.Risk, a.Human = max(a.Strength, base.Strength), max(a.Risk, base.Risk), max(a.Human, base.Human)
	return a
}

// AllowsSessionGrant reports whether a session grant can be given: a plan of high risk, or with a name to type, asks every time.
func (a Assessment) AllowsSessionGrant() bool {
	return max(a.Strength, a.Human) < Typed && a.Risk < RiskHigh
}

var (
	riskNames   = []string{"none", "low", "medium", "high"}
	actionNames = []string{"none", "deny", "require_confirm", "auto_approve"}
)

func (r Risk) String() string       { return word(riskNames, int(r)) }
func (r ActionRule) String() string { return word(actionNames, int(r)) }

// MarshalText returns the risk's name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText returns the rule's name.
func (r ActionRule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a risk's name, or fails with ErrWord.
func (r *Risk) UnmarshalText(b []byte) error { return read(r, riskNames, "risk", b) }

// UnmarshalText reads a rule's name, or fails with ErrWord.
func (r *ActionRule) UnmarshalText(b []byte) error { return read(r, actionNames, "action rule", b) }
