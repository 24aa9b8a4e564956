package policy

import (
	"maps"
	"slices"
)

// Approval is who may approve a plan (consent design, section 2). The zero Approval is ApprovalHuman.
type Approval uint8

// The values. Under ApprovalCaller a token alone approves: it is for scripts, CI and programs that need exactly the protocol of a contract.
const (
	ApprovalUnset Approval = iota // not set: users approve
	ApprovalHuman
	ApprovalCaller
)

var approvalNames = []string{"", "human", "caller"}

func (a Approval) String() string { return word(approvalNames, int(a)) }

// MarshalText returns the approval's name, empty when unset.
func (a Approval) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an approval's name ("" is unset), or fails with ErrWord.
func (a *Approval) UnmarshalText(b []byte) error { return read(a, approvalNames, "approval", b) }

// ByCaller reports whether the caller approves its own plans. For every value except ApprovalCaller users approve.
func (a Approval) ByCaller() bool { return a == ApprovalCaller }

// The keys of Layer.Require and Policy.Require besides the names of tools.
const (
	RequireHigh = "high" // plans of high risk
	RequireType = "type" // plans with a name to type
)

// Layer is the policy of one source, such as the system file. Zero fields set nothing. Layers are ordered from the system file downwards, and each can
// only narrow the ones above it (consent design, section 5).
type Layer struct {
	Name     string // for users: "your settings", "COUNTERSIGN_MODE"
	Answered bool   // the system's file, or settings that the user approved: only these may widen what is built in
	Whole    bool   // lower layers allow in advance only what it allows
	Approval Approval
	Level    Level
	Mode     Mode
	Ceiling  Mode
	ReadOnly bool
	Tools    map[string]Setting
	Auto     AutoApprove
	Require  map[string]Proving
}

// Resolved is the effective policy with the name of the layer that decided each part; BuiltIn if no layer did.
type Resolved struct {
	Policy
	ReadOnly bool
	// OffRecord says that the user's stored settings differ from their last recorded change: they only narrow and widen nothing.
	OffRecord bool
	// Missing describes that to users, one line each: which stored settings were removed or edited. What they narrowed still holds as far as it is
	// recorded; see Recovered.
	Missing   []string
	Recovered *Layer            // what the last recorded change of this home's settings narrowed; nil if the settings are as it left them, or if it is unknown
	By        map[string]string // "approval", "permission_level", "mode", "max_mode", "read_only", "auto_approve", "tool NAME", "require KEY"
	Wider     []Wider           // what layers asked for but did not get
}

// Wider is a rejected attempt of a layer to widen a layer above it.
type Wider struct {
	Layer string // the layer that tried
	Key   string // as in Resolved.By
	Value string // the value it set
	Than  string // the effective value
	By    string // the layer that decides; BuiltIn if none does
}

// BuiltIn is the name for parts that no layer decided.
const BuiltIn = "built in"

// Resolve combines base and the layers, the uppermost layer first.
func Resolve(base Policy, layers ...Layer) Resolved {
	r := Resolved{Policy: base, By: map[string]string{}}
	r.Tools, r.Require = maps.Clone(base.Tools), maps.Clone(base.Require)
	if r.Tools == nil {
		r.Tools = map[string]Setting{}
	}
	if r.Require == nil {
		r.Require = map[string]Proving{}
	}
	for _, l := range layers {
		r.approval(l)
	}
	auto, whole := false, []Layer{}
	for _, l := range layers {
		r.level(l, base)
		r.modes(l)
		if l.ReadOnly {
			r.decide("read_only", l, !r.ReadOnly)
			r.ReadOnly = true
		}
		for tool, set := range l.Tools {
			r.tool(tool, set, l, whole)
		}
		for key, needs := range l.Require {
			if needs > r.Require[key] {
				r.Require[key] = needs
				r.decide("require "+key, l, true)
			}
		}
		if l.Answered && l.Auto.Enabled {
			tools := slices.DeleteFunc(slices.Clone(l.Auto.Tools), func(tool string) bool {
				return slices.ContainsFunc(whole, func(above Layer) bool { return !above.Auto.Enabled || !slices.Contains(above.Auto.Tools, tool) })
			})
			r.Auto, auto = AutoApprove{Enabled: true, Tools: tools}, true
			r.decide("auto_approve", l, true)
		} else if l.Answered && !auto && len(l.Auto.Tools) > 0 {
			r.Auto = AutoApprove{Tools: slices.Clone(l.Auto.Tools)}
		}
		if l.Whole {
			whole = append(whole, l)
		}
	}
	return r
}

func (r *Resolved) decide(key string, l Layer, when bool) {
	if when {
		r.By[key] = l.Name
	}
}

// by returns the layer that decided a key.
func (r *Resolved) by(key string) string {
	if name, ok := r.By[key]; ok {
		return name
	}
	return BuiltIn
}

func (r *Resolved) widens(key string, l Layer, value, than string) {
	r.Wider = append(r.Wider, Wider{Layer: l.Name, Key: key, Value: value, Than: than, By: r.by(key)})
}

func (r *Resolved) approval(l Layer) {
	const key = "approval"
	_, decided := r.By[key]
	switch {
	case l.Approval == ApprovalUnset:
	case l.Approval != ApprovalCaller:
		r.decide(key, l, !decided || r.Approval.ByCaller())
		r.Approval = ApprovalHuman
	case r.Approval.ByCaller():
	case l.Answered && !decided:
		r.Approval = ApprovalCaller
		r.decide(key, l, true)
	default:
		r.widens(key, l, l.Approval.String(), ApprovalHuman.String())
	}
}

// level narrows the built-in level, or widens it: if users approve, a level that asks less than the built-in one needs the user's approval.
func (r *Resolved) level(l Layer, base Policy) {
	const key = "permission_level"
	_, decided := r.By[key]
	switch {
	case l.Level == LevelUnset:
	case !decided && (l.Answered || l.Level <= base.Level || r.Approval.ByCaller()), l.Level < r.Level:
		r.Level = l.Level
		r.decide(key, l, true)
	case l.Level > r.Level:
		r.widens(key, l, l.Level.String(), r.Level.String())
	}
}

func (r *Resolved) modes(l Layer) {
	for _, m := range []struct {
		key  string
		said Mode
		held *Mode
	}{{"mode", l.Mode, &r.Mode}, {"max_mode", l.Ceiling, &r.Ceiling}} {
		_, decided := r.By[m.key]
		switch {
		case m.said == ModeUnset:
		case *m.held == ModeUnset, m.said < *m.held, !decided && m.said == *m.held, !decided && m.key == "mode":
			*m.held = m.said
			r.decide(m.key, l, true)
		case m.said > *m.held && decided:
			r.widens(m.key, l, m.said.String(), m.held.String())
		}
	}
}

// strictness orders the settings of a tool from permissive to strict.
func strictness(s Setting) int {
	switch s {
	case Allowed:
		return 0
	case SettingNone:
		return 1
	case AlwaysConfirm:
		return 2
	}
	return 3
}

func (r *Resolved) tool(tool string, set Setting, l Layer, whole []Layer) {
	key := "tool " + tool
	have, decided := r.Tools[tool]
	held := slices.ContainsFunc(whole, func(above Layer) bool { return above.Tools[tool] == SettingNone })
	switch {
	case set == SettingNone:
	case set == Allowed && (!l.Answered || held):
		r.widens(key, l, set.String(), "asks")
	case !decided || strictness(set) > strictness(have):
		r.Tools[tool] = set
		r.decide(key, l, true)
	case strictness(set) < strictness(have):
		r.widens(key, l, set.String(), have.String())
	}
}
