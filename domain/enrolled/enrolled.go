// Package enrolled holds the rules of the keys that prove a person: passkeys of browsers, and security keys that want a touch. What such a key has
// signed about one plan and one question can be judged by anybody, at any time, from bytes alone.
//
// It refuses to know how signatures are made and checked, where keys are stored, and which screen asks; it has no clock and makes no randomness.
package enrolled

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Kind is what a key is.
type Kind string

// The kinds. The zero Kind is none.
const (
	Passkey     Kind = "passkey"      // signs in a browser, after it has verified its person
	SecurityKey Kind = "security_key" // an sk- key of OpenSSH: signs in a terminal, after somebody touched it
)

// Words is the kind for people.
func (k Kind) Words() string {
	switch k {
	case Passkey:
		return "passkey"
	case SecurityKey:
		return "security key"
	}
	return "key of no known kind"
}

// Bounds of what is stored of a key.
const (
	MaxName       = 64   // characters
	maxPublic     = 2048 // bytes
	maxCredential = 2048 // characters
)

// The ways a key is refused, and an answer that claims to be proved by one.
var (
	ErrKey      = fault.New(fault.Invalid, "enrolled_key_invalid", "this is no key that can be enrolled")
	ErrTaken    = fault.New(fault.Conflict, "enrolled_key_exists", "this key is enrolled already")
	ErrMissing  = fault.New(fault.NotFound, "enrolled_key_unknown", "there is no such key")
	ErrUnproven = fault.New(fault.Denied, "proof_not_verified", "what was signed does not prove this answer")
	ErrForged   = fault.New(fault.State, "audit_proof_forged", "an answer on record is not proved by what stands there as its proof")
)

// Key is one enrolled key: its public half, and how it is called. It holds no secret.
type Key struct {
	Kind       Kind   `json:"kind"`
	Name       string `json:"name"`            // for people
	Owner      string `json:"owner,omitempty"` // the principal who enrolled it
	Credential string `json:"handle"`          // what signers find it by: the id of a passkey in unpadded base64url, the fingerprint of an ssh key
	Public     []byte `json:"public"`          // of a passkey its COSE key, of a security key the ssh wire format
	RPID       string `json:"rp_id,omitempty"` // the name that a passkey is bound to
	Facts
	EnrolledAt time.Time `json:"enrolled_at,omitzero"`
	EnrolledBy string    `json:"enrolled_by,omitempty"` // who approved its enrolment, as the record has it
}

// Facts are what the authenticator said of a key when it was made. Nothing depends on them but what people are shown.
type Facts struct {
	Verified   bool     `json:"user_verified,omitempty"` // the person was verified then
	Backup     bool     `json:"backup_eligible,omitempty"`
	BackedUp   bool     `json:"backed_up,omitempty"`
	Model      string   `json:"model,omitempty"` // the AAGUID
	Transports []string `json:"transports,omitempty"`
}

// Sum is what the key is known by: everything but when and by whom it was enrolled, which the record says.
func (k Key) Sum() canon.Hash {
	k.EnrolledAt, k.EnrolledBy, k.Transports = time.Time{}, "", append([]string{}, k.Transports...)
	sum, err := canon.Sum("enrolled.key.v1", k)
	if err != nil { // words and bytes always have a form; what has none is nobody's
		return canon.Hash{}
	}
	return sum
}

// Removal is what taking the key away is known by.
func (k Key) Removal() canon.Hash {
	sum := k.Sum()
	return canon.SumBytes("enrolled.removal.v1", sum[:])
}

// ID is the key's id, made of its sum: another key has another one, and the same key enrolled again has the same.
func (k Key) ID() string { return "ek_" + k.Sum().Hex()[:16] }

// Copy shares nothing with the key, and has its time in UTC.
func (k Key) Copy() Key {
	k.Public, k.Transports, k.EnrolledAt = slices.Clone(k.Public), slices.Clone(k.Transports), k.EnrolledAt.UTC().Round(0)
	return k
}

// Valid fails with ErrKey where the key cannot be stored. Whether anything could ever be verified with it, a verifier says.
func (k Key) Valid() error {
	n := utf8.RuneCountInString(k.Name)
	switch {
	case k.Kind != Passkey && k.Kind != SecurityKey:
		return ErrKey.Sayf("a key is a passkey or a security key, and %q is neither", k.Kind)
	case n < 1 || n > MaxName || !utf8.ValidString(k.Name) || strings.TrimSpace(k.Name) != k.Name ||
		strings.ContainsFunc(k.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return ErrKey.Sayf("%q is no name of a key: 1 to %d printable characters", k.Name, MaxName)
	case len(k.Public) < 1 || len(k.Public) > maxPublic:
		return ErrKey.Sayf("the public half of a key has 1 to %d bytes, and this one %d", maxPublic, len(k.Public))
	case k.Credential == "" || len(k.Credential) > maxCredential || strings.ContainsFunc(k.Credential, func(r rune) bool { return r <= ' ' || r > '~' }):
		return ErrKey.Sayf("the handle of a key is 1 to %d printable characters without blanks", maxCredential)
	case (k.Kind == Passkey) != (k.RPID != ""):
		return ErrKey.Sayf("a passkey is bound to a name (rp_id), and a security key to none")
	case len(k.RPID) > 253 || len(k.Model) > 64 || len(k.Transports) > 8 || slices.ContainsFunc(k.Transports, func(t string) bool { return len(t) > 32 }):
		return ErrKey.Sayf("what the authenticator said of this key is longer than that ever is")
	}
	return nil
}

// Same reports keys that the same authenticator signs with, whatever they are called.
func (k Key) Same(o Key) bool { return k.Kind == o.Kind && k.Credential == o.Credential }

// Challenge is what a key signs to approve: that plan, of that question, and nothing else.
func Challenge(plan canon.Hash, confirmation string) [32]byte {
	return canon.SumBytes("enrolled.approval.v1", append(slices.Clone(plan[:]), confirmation...))
}

// Evidence is what an answer on record is proved by: the key, and what it signed, in the form of its kind. With the plan and the id of the question,
// which stand in the same record, it is all that is needed to judge it.
type Evidence struct {
	Key    Key             `json:"key"`
	Signed json.RawMessage `json:"signed"`
}
