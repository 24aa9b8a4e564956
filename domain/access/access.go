// Package access holds the rules for credentials of network requests: access tokens of programs, one-time login links, and browser sessions. A
// Credential has a scope and an expiry. It stores the SHA-256 digest of its secret, never the secret itself.
//
// The package is pure: storage, cookies and HTTP are elsewhere, and times arrive as arguments.
//
// Its API may change at any time.
package access

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// How long credentials last.
const (
	LoginTTL    = 5 * time.Minute    // of an unused one-time login link
	BrowserIdle = 12 * time.Hour     // of an idle browser session
	BrowserTTL  = 7 * 24 * time.Hour // of any browser session
	UseNoted    = time.Minute        // a use is recorded only this long after the last recorded one
)

// MaxName is the maximum length of a credential's name, in characters.
const MaxName = 64

// The errors of rejected credentials. A client that presents one learns no more than these.
var (
	ErrUnknown = fault.New(fault.Denied, "credential_unknown", "the credential is unknown or revoked")
	ErrExpired = fault.New(fault.Denied, "credential_expired", "the credential has expired; create a new one")
	ErrUsed    = fault.New(fault.Denied, "credential_used", "the login link was already used; create a new one")
	ErrTaken   = fault.New(fault.Conflict, "credential_exists", "a credential with this name already exists")
	ErrName    = fault.New(fault.Invalid, "credential_name_invalid", "invalid credential name; use 1 to 64 printable characters")
	ErrMissing = fault.New(fault.NotFound, "credential_not_found", "credential not found; give its name or ID")
	ErrKind    = fault.New(fault.Invalid, "credential_kind_invalid", "unknown credential kind")
)

// Kind is the kind of a credential. The zero Kind is invalid.
type Kind uint8

// The kinds.
const (
	_       Kind = iota
	Token        // of a program: a bearer token
	Login        // a one-time login link, exchanged for a Browser
	Browser      // of the user's browser: a cookie
)

var kindNames = []string{"", "token", "login", "browser"}

// String returns the kind's name, or "" for an invalid kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses a kind's name. It fails with ErrKind for an unknown name.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames, string(text))
	if i < 1 {
		return ErrKind.WithMessage("unknown credential kind %q", text)
	}
	*k = Kind(i)
	return nil
}

// Digest is the stored form of a secret.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a secret: a labelled SHA-256. Secrets are long and random, so a slow hash is not needed.
func DigestOf(secret string) Digest {
	return Digest(canon.SumBytes("access.secret.v1", []byte(secret)))
}

// String returns the digest as 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Scope limits what a credential can reach. The zero Scope adds no limit to the server configuration.
type Scope struct {
	Toolsets []string    `json:"toolsets,omitempty"` // only these; empty is every one
	ReadOnly bool        `json:"read_only,omitempty"`
	Ceiling  policy.Mode `json:"max_mode,omitempty"` // the maximum mode of its calls; unset leaves only the operator's
}

// Narrowing returns the toolset limits of the scope.
func (s Scope) Narrowing() tool.Restriction {
	return tool.Restriction{Toolsets: s.Toolsets, ReadOnly: s.ReadOnly}
}

// Credential is one access token, login link or browser session. It holds no secret.
type Credential struct {
	ID        string    `json:"id"`
	Kind      Kind      `json:"kind"`
	Name      string    `json:"name"` // for users; unique among tokens
	Scope     Scope     `json:"scope"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero: does not expire
	UsedAt    time.Time `json:"used_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // when it was used up or revoked
	Digest    Digest    `json:"-"`
}

// Request asks for a new credential; it is the input of the tool create_credential. The client that made the secret keeps it: the request carries
// only its digest.
type Request struct {
	Name      string    `json:"name" jsonschema:"minLength=1,description=for people; unique among tokens"`
	Kind      string    `json:"kind" jsonschema:"enum=token,enum=login"`
	Digest    string    `json:"digest" jsonschema:"description=what is stored of the secret: 64 hex digits"`
	Toolsets  []string  `json:"toolsets,omitempty" jsonschema:"description=only these; default all that is served"`
	ReadOnly  bool      `json:"read_only,omitempty"`
	MaxMode   string    `json:"max_mode,omitempty" jsonschema:"enum=ask,enum=plan,enum=execute"`
	ExpiresAt time.Time `json:"expires_at,omitzero" jsonschema:"description=of a token; default when it is revoked"`
}

// Request returns the request that would create this credential.
func (c Credential) Request() Request {
	return Request{Name: c.Name, Kind: c.Kind.String(), Digest: c.Digest.String(), Toolsets: c.Scope.Toolsets, ReadOnly: c.Scope.ReadOnly,
		MaxMode: c.Scope.Ceiling.String(), ExpiresAt: c.ExpiresAt}
}

// Copy returns a deep copy of the credential with all times in UTC.
func (c Credential) Copy() Credential {
	c.Scope.Toolsets = slices.Clone(c.Scope.Toolsets)
	for _, t := range []*time.Time{&c.CreatedAt, &c.ExpiresAt, &c.UsedAt, &c.EndedAt} {
		*t = t.UTC().Round(0)
	}
	return c
}

// Holds reports whether the credential reserves the name: it is a token of that name that has not ended.
func (c *Credential) Holds(name string) bool {
	return c.Kind == Token && c.EndedAt.IsZero() && c.Name == name
}

// Valid checks whether the credential can be stored. It fails with ErrName or ErrKind.
func (c *Credential) Valid() error {
	if c.Kind.String() == "" {
		return ErrKind
	}
	n := utf8.RuneCountInString(c.Name)
	if n < 1 || n > MaxName || !utf8.ValidString(c.Name) || strings.TrimSpace(c.Name) != c.Name ||
		strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ErrName.WithMessage("invalid credential name %q: use 1 to %d printable characters", c.Name, MaxName)
	}
	return nil
}

// Live checks whether the credential is valid at now. It fails with ErrUsed, ErrUnknown or ErrExpired.
func (c *Credential) Live(now time.Time) error {
	switch {
	case c.Kind.String() == "":
		return ErrUnknown
	case !c.EndedAt.IsZero() && c.Kind == Login:
		return ErrUsed
	case !c.EndedAt.IsZero():
		return ErrUnknown
	case !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt), c.Kind == Browser && now.Sub(c.seen()) >= BrowserIdle:
		return ErrExpired
	}
	return nil
}

// seen returns when the credential was last known to be in use.
func (c *Credential) seen() time.Time {
	if c.UsedAt.After(c.CreatedAt) {
		return c.UsedAt
	}
	return c.CreatedAt
}

// Stale reports whether a use at now is recorded: it is the first one, or at least UseNoted after the last recorded one.
func (c *Credential) Stale(now time.Time) bool {
	return now.Sub(c.seen()) >= UseNoted || c.UsedAt.IsZero()
}

// Use records a use at now. A login link can be used once. It fails with the errors of Live.
func (c *Credential) Use(now time.Time) error {
	if err := c.Live(now); err != nil {
		return err
	}
	if c.UsedAt = now; c.Kind == Login {
		c.EndedAt = now
	}
	return nil
}

// Revoke ends the credential at now. It does nothing if the credential has ended already.
func (c *Credential) Revoke(now time.Time) {
	if c.EndedAt.IsZero() {
		c.EndedAt = now
	}
}

// Gone reports whether the credential ended before the given time.
func (c *Credential) Gone(before time.Time) bool {
	return !c.EndedAt.IsZero() && c.EndedAt.Before(before) || !c.ExpiresAt.IsZero() && c.ExpiresAt.Before(before)
}
