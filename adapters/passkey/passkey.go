// Package passkey verifies passkeys with the WebAuthn library: the registration of a new one, and the assertion of an approval, which can be verified later
// from the recorded bytes. Verifier is a ports.KeyVerifier.
//
// An assertion is accepted only if the authenticator verified the user, and only for a page of exactly the expected origin, port included, outside any
// frame of another site. Package enrolment decides which passkeys are enrolled.
//
// Its API may change at any time.
package passkey

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Signed is the proof of an approval by passkey, besides the key: the browser's answer, and the origin of the page that asked. It is the enrolled.Evidence of
// such a proof.
type Signed struct {
	Origin            string `json:"origin"` // with its port, as the server knows it
	ClientData        []byte `json:"client_data"`
	AuthenticatorData []byte `json:"authenticator_data"`
	Signature         []byte `json:"signature"`
}

// longest is the maximum size of a browser's answer, in bytes.
const longest = 64 << 10

// Verifier is the ports.KeyVerifier of passkeys.
type Verifier struct{}

// Usable fails with enrolled.ErrKey unless the library can verify signatures of the key.
func (Verifier) Usable(k enrolled.Key) error {
	id, err := base64.RawURLEncoding.DecodeString(k.Credential)
	if err != nil || len(id) == 0 {
		return enrolled.ErrKey.WithMessage("invalid handle of a passkey; use its id in unpadded base64url")
	}
	if !named(k.RPID) {
		return enrolled.ErrKey.WithMessage("invalid host name %q of a passkey", k.RPID)
	}
	if _, err := webauthncose.ParsePublicKey(k.Public); err != nil {
		return enrolled.ErrKey.WithMessage("the public key of this passkey is not a supported COSE key").WithCause(err)
	}
	return nil
}

// Verify fails with enrolled.ErrUnproven unless signed is an assertion of the passkey over that challenge, made on a page of the recorded origin,
// whose host is the name that the passkey is bound to, after the authenticator has verified its user.
func (v Verifier) Verify(k enrolled.Key, challenge [32]byte, signed json.RawMessage) error {
	if err := v.Usable(k); err != nil {
		return err
	}
	var s Signed
	dec := json.NewDecoder(bytes.NewReader(signed))
	dec.DisallowUnknownFields()
	if len(signed) > longest || dec.Decode(&s) != nil || dec.More() {
		return enrolled.ErrUnproven.WithMessage("the browser's response is missing or invalid")
	}
	if name, ok := RPID(s.Origin); !ok || name != k.RPID {
		return enrolled.ErrUnproven.WithMessage("the passkey is for %s, but the page has the origin %s", k.RPID, s.Origin)
	}
	id, _ := base64.RawURLEncoding.DecodeString(k.Credential) // Usable has checked it
	answer := protocol.CredentialAssertionResponse{AssertionResponse: protocol.AuthenticatorAssertionResponse{
		AuthenticatorResponse: protocol.AuthenticatorResponse{ClientDataJSON: s.ClientData}, AuthenticatorData: s.AuthenticatorData, Signature: s.Signature}}
	answer.ID, answer.RawID, answer.Type = k.Credential, id, string(protocol.PublicKeyCredentialType)
	parsed, err := answer.Parse()
	if err != nil {
		return unproven("the browser's response cannot be read", err)
	}
	if err := plain(parsed.Response.CollectedClientData, s.Origin); err != nil {
		return err
	}
	if !parsed.Response.AuthenticatorData.Flags.HasUserVerified() { // the library checks it too; the approval depends on it
		return enrolled.ErrUnproven.WithMessage("the authenticator did not verify its user (fingerprint, face or PIN)")
	}
	err = parsed.Verify(protocol.URLEncodedBase64(challenge[:]).String(), k.RPID, "", []string{s.Origin}, nil, nil, protocol.TopOriginExplicitVerificationMode,
		false, true, true, k.Public, protocol.SignaturePolicy{})
	if err != nil {
		return unproven("the signature is not from this passkey, or not for this plan and request", err)
	}
	return nil
}

// Registered returns the passkey that a browser has just created for a page of that origin with that challenge. It has no name and no owner yet. It
// fails with enrolled.ErrKey. It does not prove who created the passkey: a program can create one as well.
func Registered(answer []byte, challenge [32]byte, origin string) (enrolled.Key, error) {
	name, ok := RPID(origin)
	if !ok {
		return enrolled.Key{}, enrolled.ErrKey.WithMessage("passkeys need a host name, which %s does not have; open the console as http://localhost with its port", origin)
	}
	if len(answer) > longest {
		return enrolled.Key{}, enrolled.ErrKey.WithMessage("the browser's response is too long")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return enrolled.Key{}, refused("the browser's response cannot be read", err)
	}
	if err := plain(parsed.Response.CollectedClientData, origin); err != nil {
		return enrolled.Key{}, enrolled.ErrKey.WithMessage("%s", fault.From(err).Message)
	}
	data := parsed.Response.AttestationObject.AuthData
	if !data.Flags.HasUserVerified() {
		return enrolled.Key{}, enrolled.ErrKey.WithMessage("the authenticator did not verify its user (fingerprint, face or PIN); use one that does")
	}
	var params []protocol.CredentialParameter
	for _, alg := range Algorithms() {
		params = append(params, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.COSEAlgorithmIdentifier(alg)})
	}
	if _, err := parsed.Verify(protocol.URLEncodedBase64(challenge[:]).String(), name, []string{origin}, nil, nil, protocol.TopOriginExplicitVerificationMode,
		false, true, true, nil, params, protocol.AttestationPolicy{}, protocol.SignaturePolicy{}); err != nil {
		return enrolled.Key{}, refused("the browser's response does not match the request", err)
	}
	k := enrolled.Key{Kind: enrolled.Passkey, Credential: base64.RawURLEncoding.EncodeToString(data.AttData.CredentialID), Public: data.AttData.CredentialPublicKey, RPID: name,
		Facts: enrolled.Facts{Verified: true, Backup: data.Flags.HasBackupEligible(), BackedUp: data.Flags.HasBackupState(), Model: hex.EncodeToString(data.AttData.AAGUID)}}
	for _, t := range parsed.Response.Transports {
		k.Transports = append(k.Transports, string(t))
	}
	return k, Verifier{}.Usable(k)
}

// Algorithms returns the signature algorithms of new passkeys, as COSE numbers in order of preference: ES256, EdDSA, RS256 (Windows Hello).
func Algorithms() []int { return []int{-7, -8, -257} }

// RPID returns the name that passkeys for pages of that origin are bound to: its host. It reports false if browsers accept none, as for an IP
// address.
func RPID(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.User != nil || origin != u.Scheme+"://"+u.Host || u.Scheme != "https" && !(u.Scheme == "http" && local(u.Hostname())) {
		return "", false
	}
	return u.Hostname(), named(u.Hostname())
}

// local reports a name whose pages browsers treat as secure without TLS.
func local(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

// named reports whether the host is a lower-case host name and not an address.
func named(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil && host != "" && host == strings.ToLower(host) && !strings.ContainsAny(host, "/:@ ")
}

// plain fails unless the browser states that a page of exactly that origin asked, not embedded in a page of another site.
func plain(c protocol.CollectedClientData, origin string) error {
	if c.Origin != origin {
		return enrolled.ErrUnproven.WithMessage("the response comes from a page of %s, not of %s", c.Origin, origin)
	}
	if c.CrossOrigin || c.TopOrigin != "" {
		return enrolled.ErrUnproven.WithMessage("the request was embedded in a page of another site")
	}
	return nil
}

func unproven(words string, err error) error {
	return enrolled.ErrUnproven.WithMessage("%s", words).WithCause(err)
}

func refused(words string, err error) error {
	return enrolled.ErrKey.WithMessage("%s", words).WithCause(err)
}
