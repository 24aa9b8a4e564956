package ui

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
)

// FieldSigned is the form field for a passkey's signature; a script fills it in.
const FieldSigned = "signed"

// KeysPath is the path of the page of enrolled keys.
const KeysPath = "/keys"

// signed is the content of FieldSigned.
type signed struct {
	Handle            string `json:"handle"`
	ClientData        []byte `json:"client_data"`
	AuthenticatorData []byte `json:"authenticator_data"`
	Signature         []byte `json:"signature"`
}

// proof returns the proof of the decision in a form: the passkey's signature if it contains one, else the browser's login. The origin is the one
// known to the server.
func proof(v httpauth.Identity, field string) (confirm.Proof, error) {
	p := v.Proof()
	if field == "" || p.Surface == "" {
		return p, nil
	}
	var s signed
	if err := json.Unmarshal([]byte(field), &s); err != nil || s.Handle == "" {
		return p, ErrDecision.WithMessage("the passkey signature is incomplete; go back to the approval request and approve again")
	}
	doc, err := json.Marshal(passkey.Signed{Origin: v.Origin, ClientData: s.ClientData, AuthenticatorData: s.AuthenticatorData, Signature: s.Signature})
	p.Surface, p.Credential, p.Evidence = confirm.SurfacePasskey, s.Handle, doc
	return p, err
}

// handles returns the passkeys with which the visitor may sign here.
func handles(v httpauth.Identity) []string {
	if v.Passkeys == nil {
		return nil
	}
	return v.Passkeys()
}

// signing returns the attributes of a button that has a passkey sign: the challenge, and the passkeys that may sign it.
func signing(v httpauth.Identity, challenge [32]byte, handles []string) Node {
	return ceremony(v, "sign", challenge, handles)
}

// Making returns the attributes of a button that has a passkey created, by an authenticator without any of those handles.
func Making(v httpauth.Identity, challenge [32]byte, handles []string) Node {
	return ceremony(v, "make", challenge, handles)
}

func ceremony(v httpauth.Identity, which string, challenge [32]byte, handles []string) Node {
	rp, _ := passkey.RPID(v.Origin)
	return Group{Data("passkey", which), Data("challenge", base64.RawURLEncoding.EncodeToString(challenge[:])), Data("rp", rp),
		Data("handles", strings.Join(handles, " "))}
}

// SignedField returns the field for a passkey's signature, and the place where its script shows errors.
func SignedField() Node {
	return Group{Hidden(FieldSigned, ""), P(Data("passkey-said", ""), Role("status"), Class("quiet"))}
}

// withPasskey returns the form that approves with a passkey.
func withPasskey(v httpauth.Identity, action string, c confirm.View, handles []string, typed Node) Node {
	const label = "Approve with passkey"
	return PostForm(v, action, Hidden(fieldPlan, c.PlanHash.String()), If(c.Revealed, Hidden(fieldRevealed, "yes")), typed,
		Div(Class("buttons"), SubmitButton(label, Name(fieldDecision), Value("approve"), Class("go"), Data("patience", patient), about(label, c),
			signing(v, enrolled.Challenge(c.PlanHash, c.ID), handles))), SignedField())
}

// missing states what an approval here still needs, and where it can be given.
func missing(v httpauth.Identity, c confirm.View) Node {
	needs := "Approval needs " + c.Needs.Words()
	var way Node
	switch _, named := passkey.RPID(v.Origin); {
	case c.Needs < policy.ProvingTouch:
		way = Group{Text(needs + ". In a terminal, run: "), InlineCode("countersign approve " + c.ID), Text(".")}
	case !named:
		way = Group{Text(needs + ". Passkeys need a host name, and this page is open at an IP address"), elsewhere(v, "/approvals/"+url.PathEscape(c.ID)), Text(".")}
	default:
		way = Group{Text(needs + ", and no passkey is enrolled for " + v.Origin + ". "), LinkTo(KeysPath, "Enrol a passkey"), Text(", then return to this page.")}
	}
	return Notice(Warn, P(ID("missing-"+c.ID), way, Text(" You can still deny the request here.")))
}

// elsewhere links to the same page under the host name that passkeys need, if there is one.
func elsewhere(v httpauth.Identity, path string) Node {
	base, ok := Named(v.Origin)
	if !ok {
		return nil
	}
	return Group{Text(": "), LinkTo(base+path, "open it at "+base), Text(", and log in there")}
}

// Named returns the origin with a host name of a server on the loopback interface, for browsers that used its address.
func Named(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" {
		return "", false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.IsLoopback() || !ip.Is4() {
		return "", false
	}
	if u.Port() == "" {
		return "http://localhost", true
	}
	return "http://localhost:" + u.Port(), true
}
