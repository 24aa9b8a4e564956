package policy

// Risk is how much is at stake in a call (packageflow-security contract §3.1). A tool has a static one; a plan can raise it.
type Risk uint8

// The risks, in rising order. What is of High risk is never allowed by auto-approval, by a stored action rule, or because somebody
// answered "always".
const (
	RiskNone Risk = iota
	RiskLow
	RiskMedium
	RiskHigh
)

// ActionRule is what somebody stored for the one action that a plan carries out (a webhook, a script), whichever tool it is called by.
type ActionRule uint8

// The rules. ActionNone means that nobody stored one. AutoApprove answers only a confirmation that the permission level asks for.
const (
	ActionNone ActionRule = iota
	ActionDeny
	ActionRequireConfirm
	ActionAutoApprove
)

// Assessment is what a plan knows about itself that policy has to know: it decides again with it.
type Assessment struct {
	Strength Strength   // raises how it must be confirmed; less than the tool's own has no effect
	Risk     Risk       // likewise
	Action   ActionRule // what is stored for the action
	Human    Strength   // the least strength where users approve, whatever the tool's contract takes for an approval
	Scope    string     // what an "always" covers within the tool: project, target; where users approve, the plan as well (tool.Confined); empty covers the whole tool
}

// Raised returns the assessment with at least the strength and risk of base.
func (a Assessment) Raised(base Assessment) Assessment {
	a.Strength, a.Risk, a.Human = max(a.Strength, base.Strength), max(a.Risk, base.Risk), max(a.Human, base.Human)
	return a
}

// Lasting reports whether "always" may be answered: what is of high risk, or has to be typed, is asked every time.
func (a Assessment) Lasting() bool { return max(a.Strength, a.Human) < Typed && a.Risk < RiskHigh }

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
