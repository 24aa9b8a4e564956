package httpauth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Visitor is whoever is behind a request that was let in.
type Visitor struct {
	Principal  policy.Principal
	Session    string // client instance: mode, grants and confirmations belong to it
	Client     string // name and version as the client states them; for users
	Account    string // of the user whose browser was logged in, as the server knows it; empty for programs
	Person     bool   // it came by a browser that the user has logged in
	Within     []tool.Narrowing
	Credential string          // id of the credential that let it in
	Form       string          // what every form of this browser's pages carries as FieldForm; empty for programs
	Origin     string          // of the pages that the user sees, as the browser names it; its cookie is good there alone
	Unasked    bool            // no user is asked: its pages say so; set by whoever serves them
	Passkeys   func() []string // handles of the passkeys with which its user may sign there; nil: none; set by whoever serves its pages

	kind   access.Kind
	digest access.Digest
}

// Proof returns how an answer of this visitor is known to be the user's: by a browser that the user has logged in. What the browser says of itself is no
// part of it. A program's proves nothing.
func (v Visitor) Proof() confirm.Proof {
	if !v.Person || v.Credential == "" {
		return confirm.Proof{}
	}
	return confirm.Proof{Surface: confirm.SurfaceConsole, User: cmp.Or(v.Account, v.Principal.ID), Credential: v.Credential}
}

// FieldForm is the name of the form field, and HeaderForm that of the header, with which a browser shows that a page of this server sent the request.
const (
	FieldForm  = "form_token"
	HeaderForm = "X-Form-Token"
)

// Session is the client instance of all browsers that users have logged in: what one sets and is asked, the others see.
const Session = "console"

// Call returns a call of that tool on the visitor's behalf.
func (v Visitor) Call(name tool.Name, args json.RawMessage) tool.Call {
	return tool.Call{Session: v.Session, Client: v.Client, Principal: v.Principal, Person: v.Person, Within: v.Within, Tool: name, Args: args}
}

// ErrReach reports an approval by a browser whose log-in does not reach as far as the call.
var ErrReach = fault.New(fault.Denied, "approval_out_of_reach", "this browser's log-in does not reach as far as this call; log in with one that does, or use countersign approve in a terminal")

// Reaches reports whether the visitor could make calls of that tool, so that nobody has done by others what is closed to himself. What belongs to every
// caller (modes, settings, credentials) takes one who is served everything.
func (v Visitor) Reaches(spec tool.Spec) bool {
	free := v.Principal.Ceiling == policy.ModeUnset || v.Principal.Ceiling == policy.Execute
	return free && spec.Effects&^v.Principal.Grants&policy.Mutating == 0 && tool.Covered(v.Within, spec) && (spec.Toolset != tool.ControlToolset || len(v.Within) == 0)
}

// Handler serves a request of a visitor.
type Handler func(w http.ResponseWriter, r *http.Request, v Visitor)

// Credentials checks credentials; *app.Credentials implements it.
type Credentials interface {
	Admit(ctx context.Context, kind access.Kind, d access.Digest) (access.Credential, error)
	// Still fails as Admit does, and notes no use: an open stream does not keep a browser from becoming idle.
	Still(ctx context.Context, kind access.Kind, d access.Digest) error
	Exchange(ctx context.Context, login, browser access.Digest) (access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}

// The beginnings of secrets, by which users and scanners know what they have found.
const (
	TokenPrefix   = "cs_"
	LoginPrefix   = "cl_"
	browserPrefix = "cb_"
)

// secretLength is the characters of a secret behind its prefix: 32 bytes in base64.
const secretLength = 43

// Secret returns a new secret: prefix and 43 characters that stand for 32 bytes of the operating system's randomness.
func Secret(prefix string) string {
	raw := make([]byte, sha256.Size)
	rand.Read(raw) //nolint:errcheck // it never fails: the process would end
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

// browserDigest returns what is stored of a browser's secret. It is bound to the place that the cookie was given under: shown under another host name or
// port, the secret is none.
func browserDigest(p place, secret string) access.Digest {
	return access.DigestOf("browser " + p.origin() + " " + secret)
}

// formToken returns what the forms of a browser's pages carry. Only who has the browser's secret can make it, and nobody learns that from it.
func formToken(secret string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte("countersign form token"))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
