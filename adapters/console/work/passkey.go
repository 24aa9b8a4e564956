package work

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
)

// FieldSigned is the field of a form that takes what a passkey has signed; a script fills it in.
const FieldSigned = "signed"

// KeysPath is the page of the enrolled keys.
const KeysPath = "/keys"

// signed is what the page's script puts into FieldSigned.
type signed struct {
	Handle            string `json:"handle"`
	ClientData        []byte `json:"client_data"`
	AuthenticatorData []byte `json:"authenticator_data"`
	Signature         []byte `json:"signature"`
}

// proof is how the answer in a form is known to be a person's: by what a passkey has signed where that is in it, else by the browser's log-in. The
// origin is the one that the server knows the browser by.
func proof(v httpguard.Visitor, field string) (confirm.Proof, error) {
	p := v.Proof()
	if field == "" || p.Surface == "" {
		return p, nil
	}
	var s signed
	if err := json.Unmarshal([]byte(field), &s); err != nil || s.Handle == "" {
		return p, ErrDecision.Sayf("what the passkey signed did not arrive whole; go back to the question and answer there")
	}
	doc, err := json.Marshal(passkey.Signed{Origin: v.Origin, ClientData: s.ClientData, AuthenticatorData: s.AuthenticatorData, Signature: s.Signature})
	p.Surface, p.Credential, p.Evidence = confirm.SurfacePasskey, s.Handle, doc
	return p, err
}

// handles are the passkeys with which the visitor may sign here.
func handles(v httpguard.Visitor) []string {
	if v.Passkeys == nil {
		return nil
	}
	return v.Passkeys()
}

// Signing is what a button needs whose press has a passkey sign, besides its label: the challenge, and the passkeys that may sign it.
func Signing(v httpguard.Visitor, challenge [32]byte, handles []string) markup.Node {
	return ceremony(v, "sign", challenge, handles)
}

// Making is what a button needs whose press has a passkey made, by an authenticator that has none of those handles.
func Making(v httpguard.Visitor, challenge [32]byte, handles []string) markup.Node {
	return ceremony(v, "make", challenge, handles)
}

func ceremony(v httpguard.Visitor, which string, challenge [32]byte, handles []string) markup.Node {
	rp, _ := passkey.RPID(v.Origin)
	return markup.Group{markup.Data("passkey", which), markup.Data("challenge", base64.RawURLEncoding.EncodeToString(challenge[:])), markup.Data("rp", rp),
		markup.Data("handles", strings.Join(handles, " "))}
}

// SignedField is the field for what a passkey signs, and where its script says what went wrong.
func SignedField() markup.Node {
	return markup.Group{page.Hidden(FieldSigned, ""), markup.P(markup.Data("passkey-said", ""), markup.Role("status"), markup.Class("quiet"))}
}

// withPasskey is the form that approves with a passkey.
func withPasskey(v httpguard.Visitor, action string, c confirm.View, handles []string, typed markup.Node) markup.Node {
	const label = "Approve with passkey"
	return page.Form(v, action, page.Hidden(FieldPlan, c.PlanHash.String()), markup.If(c.Revealed, page.Hidden(FieldRevealed, "yes")), typed,
		markup.Div(markup.Class("buttons"), page.Button(label, markup.Name(FieldDecision), markup.Value("approve"), markup.Class("go"), markup.Data("patience", patient), about(label, c),
			Signing(v, enrolled.Challenge(c.PlanHash, c.ID), handles))), SignedField())
}

// missing says what is missing for an approval here, and where it can be given.
func missing(v httpguard.Visitor, c confirm.View) markup.Node {
	needs := "Approving this needs " + c.Needs.Words()
	var way markup.Node
	switch _, named := passkey.RPID(v.Origin); {
	case c.Needs < policy.ProvingTouch:
		way = markup.Group{page.Text(needs + ", so that a browser alone does not do it. Run this in one: "), page.Code("countersign approve " + c.ID), page.Text(".")}
	case !named:
		way = markup.Group{page.Text(needs + ". Passkeys work under a name, and this page is open at an address"), elsewhere(v, "/approvals/"+url.PathEscape(c.ID)), page.Text(".")}
	default:
		way = markup.Group{page.Text(needs + ", and no passkey is enrolled for " + v.Origin + ". "), page.To(KeysPath, "Enrol one"), page.Text(", then come back.")}
	}
	return page.Notice(page.Warn, markup.P(markup.ID("missing-"+c.ID), way, page.Text(" This browser can deny it.")))
}

// elsewhere leads to the same page under the name that passkeys need, where there is one.
func elsewhere(v httpguard.Visitor, path string) markup.Node {
	base, ok := Named(v.Origin)
	if !ok {
		return nil
	}
	return markup.Group{page.Text(": "), page.To(base+path, "open it at "+base), page.Text(", where the browser logs in anew")}
}

// Named is the origin under which a server on the loopback interface is reached by name, for those who came by its address.
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
