// Package policy decides whether a call may run: Policy.Evaluate is a pure function from a Request and the settings to a Decision.
//
// Zero values are safe: the zero Policy allows no change, the zero Class is denied, and an unset mode is Ask.
package policy

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// Effects is the set of effects that a call may have.
type Effects uint16

// The effects. Mutating is the subset that changes something.
const (
	Read Effects = 1 << iota
	Write
	Delete
	Exec
	Network

	Mutating = Write | Delete | Exec
	All      = Read | Write | Delete | Exec | Network
)

var effectNames = []string{"read", "write", "delete", "exec", "network"}

// String lists the effects, separated by commas, in a fixed order.
func (e Effects) String() string {
	var names []string
	for i, name := range effectNames {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Class is the class of a call; the policy table has one row for each class.
type Class uint8

// The classes, from harmless to dangerous. The zero Class is unknown and refused.
const (
	ClassUnknown   Class = iota
	ClassRead            // changes nothing
	ClassScratch         // writes only Countersign's own records (context packs)
	ClassWrite           // changes the user's files or systems
	ClassDangerous       // may destroy work
)

// Permits reports whether calls of this class may have these effects: reads change nothing, notes start no program, and the zero Class permits
// nothing.
func (c Class) Permits(e Effects) bool {
	switch c {
	case ClassRead:
		return e&Mutating == 0
	case ClassScratch:
		return e&Exec == 0
	case ClassWrite, ClassDangerous:
		return true
	}
	return false
}

// Mode is what calls of a session may do.
type Mode uint8

// The modes, from careful to free. ModeUnset means that no mode is set; if none is set anywhere, it behaves as Ask.
const (
	ModeUnset Mode = iota
	Ask
	Plan
	Execute
)

// Strength is how a user approves.
type Strength uint8

// The strengths, in rising order. A tool has a default; a plan can raise it, never lower it.
const (
	None    Strength = iota // asks nothing
	Simple                  // yes or no
	Preview                 // yes or no to the shown plan
	Typed                   // the user types the name of what is lost; nothing waives it
)

// Verdict is what happens with a call.
type Verdict uint8

// The verdicts, from the strictest to the most permissive. The zero Verdict denies.
const (
	Deny    Verdict = iota
	Explain         // denied, but the plan is computed and shown
	DryRun          // the plan is computed and is the result
	Confirm         // the plan is applied once a user has approved it
	Allow           // the plan is applied
)

// Level is the product-wide permission level.
type Level uint8

// The levels. The zero Level is below read_only: not even scratch records may be written.
const (
	LevelUnset Level = iota
	ReadOnly
	ExecuteWithConfirm
	FullAccess
)

// Setting is the user's setting for a single tool.
type Setting uint8

// The per-tool settings. SettingNone means that none is set.
const (
	SettingNone Setting = iota
	Blocked
	AlwaysConfirm
	Allowed
)

var (
	classNames    = []string{"unknown", "read", "scratch", "write", "dangerous"}
	modeNames     = []string{"", "ask", "plan", "execute"}
	strengthNames = []string{"none", "simple", "preview", "type"}
	verdictNames  = []string{"deny", "explain", "dry_run", "confirm", "allow"}
	levelNames    = []string{"", "read_only", "execute_with_confirm", "full_access"}
	settingNames  = []string{"", "blocked", "confirm", "allowed"}
)

// ErrWord is returned for a word that is not the name of a mode, level, setting, class, strength, verdict, risk or rule.
var ErrWord = fault.New(fault.Invalid, "policy_word_invalid", "unknown policy value")

// ErrCeiling is returned for a mode above the operator's maximum.
var ErrCeiling = fault.New(fault.Denied, "mode_not_permitted", "the mode exceeds the server's maximum mode")

func (c Class) String() string    { return word(classNames, int(c)) }
func (m Mode) String() string     { return word(modeNames, int(m)) }
func (s Strength) String() string { return word(strengthNames, int(s)) }
func (v Verdict) String() string  { return word(verdictNames, int(v)) }
func (l Level) String() string    { return word(levelNames, int(l)) }
func (s Setting) String() string  { return word(settingNames, int(s)) }

// MarshalText returns the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalText returns the mode's name, empty when unset.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// MarshalText returns the strength's name.
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalText returns the level's name, empty when unset.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// MarshalText returns the setting's name, empty if none is set.
func (s Setting) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a class's name, or fails with ErrWord.
func (c *Class) UnmarshalText(b []byte) error { return read(c, classNames, "class", b) }

// UnmarshalText reads a mode's name ("" is unset), or fails with ErrWord.
func (m *Mode) UnmarshalText(b []byte) error { return read(m, modeNames, "mode", b) }

// UnmarshalText reads a strength's name, or fails with ErrWord.
func (s *Strength) UnmarshalText(b []byte) error { return read(s, strengthNames, "strength", b) }

// UnmarshalText reads a verdict's name, or fails with ErrWord.
func (v *Verdict) UnmarshalText(b []byte) error { return read(v, verdictNames, "verdict", b) }

// UnmarshalText reads a level's name ("" is unset), or fails with ErrWord.
func (l *Level) UnmarshalText(b []byte) error { return read(l, levelNames, "permission level", b) }

// UnmarshalText reads a setting's name ("" is none), or fails with ErrWord.
func (s *Setting) UnmarshalText(b []byte) error { return read(s, settingNames, "tool setting", b) }

func word(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}

func read[T ~uint8](to *T, names []string, what string, b []byte) error {
	i := slices.Index(names, string(b))
	if i < 0 {
		known := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
		return ErrWord.WithMessage("unknown %[2]s %[1]q; use one of %[3]s", b, what, strings.Join(known, ", "))
	}
	*to = T(i)
	return nil
}
