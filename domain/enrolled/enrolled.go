// Package enrolled holds the rules of enrolled keys: passkeys of browsers, and security keys that need a touch. Such a key signs one plan of one
// approval request; the signature can be verified later from the recorded bytes alone.
//
// The package is pure: ports.KeyVerifier verifies signatures, and ports.EnrolledKeys keeps the keys.
//
// Its API may change at any time.
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

// Kind is the kind of an enrolled key.
type Kind string

// The kinds. The zero Kind is none.
const (
	Passkey     Kind = "passkey"      // signs in a browser, after it has verified its user
	SecurityKey Kind = "security_key" // an sk- key of OpenSSH: signs in a terminal, after somebody touched it
)

// Words returns the name of the kind for messages and pages.
func (k Kind) Words() string {
	switch k {
	case Passkey:
		return "passkey"
	case SecurityKey:
		return "security key"
	}
	return "key of unknown kind"
}

// Bounds of what is stored of a key.
const (
	MaxName       = 64   // characters
	maxPublic     = 2048 // bytes
	maxCredential = 2048 // characters
)

// The ways a key is refused, and an answer that claims to be proved by one.
var (
	ErrKey      = fault.New(fault.Invalid, "enrolled_key_invalid", "not a key that can be enrolled")
	ErrTaken    = fault.New(fault.Conflict, "enrolled_key_exists", "this key is already enrolled")
	ErrMissing  = fault.New(fault.NotFound, "enrolled_key_unknown", "key not found")
	ErrUnproven = fault.New(fault.Denied, "proof_not_verified", "the signature does not prove this decision")
	ErrForged   = fault.New(fault.State, "audit_proof_forged", "a recorded decision is not proved by its recorded signature")
)

// Key is the public half of an enrolled key, with its name. It holds no secret.
type Key struct {
	Kind       Kind   `json:"kind"`
	Name       string `json:"name"`            // for users
	Owner      string `json:"owner,omitempty"` // the principal who enrolled it
	Credential string `json:"handle"`          // what signers find it by: the id of a passkey in unpadded base64url, the fingerprint of an ssh key
	Public     []byte `json:"public"`          // of a passkey its COSE key, of a security key the ssh wire format
	RPID       string `json:"rp_id,omitempty"` // the name that a passkey is bound to
	Facts
	EnrolledAt time.Time `json:"enrolled_at,omitzero"`
	EnrolledBy string    `json:"enrolled_by,omitempty"` // who approved its enrolment, as the record has it
}

// Facts is what the authenticator reported when the key was made. It is shown to the user and decides nothing.
type Facts struct {
	Verified   bool     `json:"user_verified,omitempty"` // the user was verified then
	Backup     bool     `json:"backup_eligible,omitempty"`
	BackedUp   bool     `json:"backed_up,omitempty"`
	Model      string   `json:"model,omitempty"` // the AAGUID
	Transports []string `json:"transports,omitempty"`
}

// Sum returns the hash that identifies the key: of everything but when and by whom it was enrolled.
func (k Key) Sum() canon.Hash {
	k.EnrolledAt, k.EnrolledBy, k.Transports = time.Time{}, "", append([]string{}, k.Transports...)
	sum, err := canon.Sum("enrolled.key.v1", k)
	if err != nil { // words and bytes always have a form; what has none is nobody's
		return canon.Hash{}
	}
	return sum
}

// Removal returns the hash that identifies the removal of the key.
func (k Key) Removal() canon.Hash {
	sum := k.Sum()
	return canon.SumBytes("enrolled.removal.v1", sum[:])
}

// ID returns the key's identifier, which derives from Sum: enrolling the same key again gives the same identifier.
func (k Key) ID() string { return "ek_" + k.Sum().Hex()[:16] }

// Copy returns a deep copy of the key with its time in UTC.
func (k Key) Copy() Key {
	k.Public, k.Transports, k.EnrolledAt = slices.Clone(k.Public), slices.Clone(k.Transports), k.EnrolledAt.UTC().Round(0)
	return k
}

// Valid checks whether the key can be stored; it fails with ErrKey. A ports.KeyVerifier checks whether signatures can be verified with it.
func (k Key) Valid() error {
	n := utf8.RuneCountInString(k.Name)
	switch {
	case k.Kind != Passkey && k.Kind != SecurityKey:
		return ErrKey.WithMessage("unknown kind of key %q; use passkey or security key", k.Kind)
	case n < 1 || n > MaxName || !utf8.ValidString(k.Name) || strings.TrimSpace(k.Name) != k.Name ||
		strings.ContainsFunc(k.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return ErrKey.WithMessage("invalid key name %q: use 1 to %d printable characters", k.Name, MaxName)
	case len(k.Public) < 1 || len(k.Public) > maxPublic:
		return ErrKey.WithMessage("a public key has 1 to %d bytes, but this one has %d", maxPublic, len(k.Public))
	case k.Credential == "" || len(k.Credential) > maxCredential || strings.ContainsFunc(k.Credential, func(r rune) bool { return r <= ' ' || r > '~' }):
		return ErrKey.WithMessage("a key handle has 1 to %d printable characters without spaces", maxCredential)
	case (k.Kind == Passkey) != (k.RPID != ""):
		return ErrKey.WithMessage("a passkey needs an rp_id, and a security key must not have one")
	case len(k.RPID) > 253 || len(k.Model) > 64 || len(k.Transports) > 8 || slices.ContainsFunc(k.Transports, func(t string) bool { return len(t) > 32 }):
		return ErrKey.WithMessage("the authenticator data of this key is too long")
	}
	return nil
}

// Same reports whether both keys belong to the same credential of an authenticator, whatever their names.
func (k Key) Same(o Key) bool { return k.Kind == o.Kind && k.Credential == o.Credential }

// Challenge returns the bytes that a key signs to approve the plan of one approval request.
func Challenge(plan canon.Hash, confirmation string) [32]byte {
	return canon.SumBytes("enrolled.approval.v1", append(slices.Clone(plan[:]), confirmation...))
}

// Evidence is the proof of a recorded decision: the key and its signature, in the form of the key's kind. Together with the plan and the request's
// identifier from the same record, it is enough to verify the decision.
type Evidence struct {
	Key    Key             `json:"key"`
	Signed json.RawMessage `json:"signed"`
}
