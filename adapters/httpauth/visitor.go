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

// Identity is the authenticated identity of a request.
type Identity struct {
	Principal  policy.Principal
	Session    string // client instance: mode, grants and approval requests belong to it
	Client     string // name and version as the client states them; for users
	Account    string // of the logged-in user, as the server knows it; empty for programs
	Person     bool   // it came from a logged-in browser
	Within     []tool.Restriction
	Credential string          // ID of the credential
	Form       string          // value of FieldForm in every form of this browser's pages; empty for programs
	Origin     string          // of the pages that the user sees, as the browser names it; its cookie is valid only there
	Unasked    bool            // approvals are disabled: its pages say so; set by the package that serves them
	Passkeys   func() []string // handles of the passkeys with which its user may sign there; nil: none; set by the package that serves its pages

	kind   access.Kind
	digest access.Digest
}

// Proof returns the proof that a decision of this visitor is the user's: a logged-in browser. It contains no data that the browser claims. A
// program's proves nothing.
func (v Identity) Proof() confirm.Proof {
	if !v.Person || v.Credential == "" {
		return confirm.Proof{}
	}
	return confirm.Proof{Surface: confirm.SurfaceConsole, User: cmp.Or(v.Account, v.Principal.ID), Credential: v.Credential}
}

// FieldForm is the form field, and HeaderForm the header, with which a browser proves that a page of this server sent the request.
const (
	FieldForm  = "form_token"
	HeaderForm = "X-Form-Token"
)

// Session is the client instance of all logged-in browsers: they share settings and approval requests.
const Session = "console"

// Call returns a call of that tool by the visitor.
func (v Identity) Call(name tool.Name, args json.RawMessage) tool.Call {
	return tool.Call{Session: v.Session, Client: v.Client, Principal: v.Principal, FromUser: v.Person, Restrictions: v.Within, Tool: name, Args: args}
}

// ErrReach is returned for an approval by a browser whose login does not cover the call.
var ErrReach = fault.New(fault.Denied, "approval_out_of_reach", "this browser session's scope excludes this tool; log in with a wider scope, or use countersign approve in a terminal")

// Reaches reports whether the visitor could call that tool, so that approving cannot exceed the visitor's own scope. Tools that affect every caller
// (modes, settings, credentials) require a visitor with all tools.
func (v Identity) Reaches(spec tool.Spec) bool {
	free := v.Principal.Ceiling == policy.ModeUnset || v.Principal.Ceiling == policy.Execute
	return free && spec.Effects&^v.Principal.Grants&policy.Mutating == 0 && tool.Covered(v.Within, spec) && (spec.Toolset != tool.ControlToolset || len(v.Within) == 0)
}

// Handler serves an authenticated request.
type Handler func(w http.ResponseWriter, r *http.Request, v Identity)

// Credentials checks credentials; *app.Credentials implements it.
type Credentials interface {
	Admit(ctx context.Context, kind access.Kind, d access.Digest) (access.Credential, error)
	// Still fails as Admit does, without recording a use: an open stream does not keep a browser from becoming idle.
	Still(ctx context.Context, kind access.Kind, d access.Digest) error
	Exchange(ctx context.Context, login, browser access.Digest) (access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}

// The prefixes of secrets, by which users and scanners recognise them.
const (
	TokenPrefix   = "cs_"
	LoginPrefix   = "cl_"
	browserPrefix = "cb_"
)

// secretLength is the number of characters after the prefix: 32 bytes in base64.
const secretLength = 43

// Secret returns a new secret: the prefix and 43 characters that encode 32 random bytes from the operating system.
func Secret(prefix string) string {
	raw := make([]byte, sha256.Size)
	rand.Read(raw) //nolint:errcheck // it never fails: the process would end
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

// browserDigest returns the stored digest of a browser's secret. It is bound to the host that the cookie was issued for: under another host name or
// port, the secret is invalid.
func browserDigest(p place, secret string) access.Digest {
	return access.DigestOf("browser " + p.origin() + " " + secret)
}

// formToken returns the token for the forms of a browser's pages. Computing it requires the browser's secret, and it does not reveal that secret.
func formToken(secret string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte("countersign form token"))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
