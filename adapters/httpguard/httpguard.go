// Package httpguard decides who may come in over HTTP: it checks the Host and Origin of every request, bearer tokens, one-time log-ins and the
// cookies of browsers, and gives what it lets in to handlers as a Visitor.
//
// It refuses to know what is served behind it.
package httpguard

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Visitor is whoever is behind a request that was let in.
type Visitor struct {
	Principal  policy.Principal
	Session    string // client instance: mode, grants and confirmations belong to it
	Client     string // name and version as the client states them; for people
	Person     bool   // it came by a browser that a person has logged in
	Within     []tool.Narrowing
	Credential string // id of the credential that let it in
	Form       string // what every form of this browser's pages carries as FieldForm; empty for programs
}

// FieldForm is the name of the form field, and HeaderForm that of the header, with which a browser shows that a page of this server sent the request.
const (
	FieldForm  = "form_token"
	HeaderForm = "X-Form-Token"
)

// Call is a call of that tool on the visitor's behalf.
func (v Visitor) Call(name tool.Name, args json.RawMessage) tool.Call {
	return tool.Call{Session: v.Session, Client: v.Client, Principal: v.Principal, Person: v.Person, Within: v.Within, Tool: name, Args: args}
}

// Handler serves a request of a visitor.
type Handler func(w http.ResponseWriter, r *http.Request, v Visitor)

// Credentials is what knows credentials: an *admission.Keeper.
type Credentials interface {
	Admit(ctx context.Context, kind access.Kind, d access.Digest) (access.Credential, error)
	Exchange(ctx context.Context, login, browser access.Digest) (access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}
