package policy

import "github.com/countersign-dev/countersign/domain/fault"

// Proving is the proof that an approval needs.
type Proving uint8

// The proofs that policy can require. The zero Proving accepts any decision of a user.
const (
	ProvingNone     Proving = iota
	ProvingPerson           // a terminal or the console, not a form or a program
	ProvingTerminal         // a terminal: changes that start in a browser are approved there
	ProvingConsole          // the console: changes that start in a terminal are approved there
	ProvingTouch            // a touched security key, or a passkey
	ProvingPasskey          // a passkey
)

var provingNames = []string{"", "person", "terminal", "console", "touch", "passkey"}

// ErrProving is returned for a word that is not the name of a proof.
var ErrProving = fault.New(fault.Invalid, "proof_word_invalid", "unknown kind of proof")

// String returns the name of the proof, empty for none.
func (p Proving) String() string {
	if int(p) < len(provingNames) {
		return provingNames[p]
	}
	return "invalid"
}

// Words returns the proof for users.
func (p Proving) Words() string {
	switch p {
	case ProvingNone:
		return "a decision by the user"
	case ProvingPerson:
		return "a decision in a terminal or in the console"
	case ProvingTerminal:
		return "a decision in a terminal"
	case ProvingConsole:
		return "a decision in the console"
	case ProvingTouch:
		return "a security key or a passkey"
	case ProvingPasskey:
		return "a passkey"
	}
	return "an impossible proof"
}

// MarshalText returns the name of the proof.
func (p Proving) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the name of a proof, empty for none, or fails with ErrProving.
func (p *Proving) UnmarshalText(b []byte) error {
	for i, name := range provingNames {
		if name == string(b) {
			*p = Proving(i)
			return nil
		}
	}
	return ErrProving.WithMessage("unknown proof %q; use person, touch or passkey", b)
}
