// Package softkey provides a passkey in software, for tests: it makes the data that an authenticator and a browser make together, valid or forged.
package softkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
)

// Origin is that of the pages in tests, and RPID the name that their passkeys are bound to.
const (
	Origin = "http://localhost:8317"
	RPID   = "localhost"
)

// Key is one passkey. Its fields may be changed, to sign what should be refused.
type Key struct {
	t       testing.TB
	private *ecdsa.PrivateKey
	id      []byte
	Origin  string // of the page that asks
	RPID    string // of what the authenticator signs for
	Flags   byte   // 1 a touch, 4 a verified user
	Count   uint32
	Cross   bool // asked for from within another site's page
}

// New returns a passkey for Origin, whose user is verified.
func New(t testing.TB) *Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	id := make([]byte, 16)
	_, err = rand.Read(id)
	require.NoError(t, err)
	return &Key{t: t, private: private, id: id, Origin: Origin, RPID: RPID, Flags: 5}
}

// Public returns its public half as a COSE key.
func (k *Key) Public() []byte {
	raw, err := k.private.PublicKey.Bytes()
	require.NoError(k.t, err)
	out := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, raw[1:33]...)
	return append(append(out, 0x22, 0x58, 32), raw[33:]...)
}

// Handle returns its id.
func (k *Key) Handle() string { return base64.RawURLEncoding.EncodeToString(k.id) }

// Enrolled returns the key as it is enrolled under that name.
func (k *Key) Enrolled(name string) enrolled.Key {
	return enrolled.Key{Kind: enrolled.Passkey, Name: name, Credential: k.Handle(), Public: k.Public(), RPID: RPID, Facts: enrolled.Facts{Verified: true}}
}

// Input returns the arguments of enroll_key for it.
func (k *Key) Input(name string) json.RawMessage {
	doc, err := json.Marshal(map[string]any{"kind": "passkey", "name": name, "handle": k.Handle(), "public": k.Public(), "rp_id": RPID, "user_verified": true})
	require.NoError(k.t, err)
	return doc
}

// data returns what the authenticator signs, with what is attested behind it.
func (k *Key) data(flags byte, attested []byte) []byte {
	hash := sha256.Sum256([]byte(k.RPID))
	out := append(hash[:], k.Flags|flags)
	return append(binary.BigEndian.AppendUint32(out, k.Count), attested...)
}

// client returns what the browser says of the page.
func (k *Key) client(ceremony string, challenge [32]byte) []byte {
	doc, err := json.Marshal(map[string]any{"type": ceremony, "challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "origin": k.Origin, "crossOrigin": k.Cross})
	require.NoError(k.t, err)
	return doc
}

// Registration returns the answer of a browser in which it was just made.
func (k *Key) Registration(challenge [32]byte) []byte {
	attested := append(make([]byte, 16), 0, byte(len(k.id)))
	attested = append(append(attested, k.id...), k.Public()...)
	data := k.data(0x40, attested)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	object = append(object, data...)
	doc, err := json.Marshal(map[string]any{"id": k.Handle(), "rawId": k.Handle(), "type": "public-key", "response": map[string]any{
		"clientDataJSON": base64.RawURLEncoding.EncodeToString(k.client("webauthn.create", challenge)), "attestationObject": base64.RawURLEncoding.EncodeToString(object),
		"transports": []string{"internal"}}})
	require.NoError(k.t, err)
	return doc
}

// Signed returns an assertion over that challenge, as the server at served keeps it.
func (k *Key) Signed(challenge [32]byte, served string) passkey.Signed {
	data, client := k.data(0, nil), k.client("webauthn.get", challenge)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, sum[:])
	require.NoError(k.t, err)
	return passkey.Signed{Origin: served, ClientData: client, AuthenticatorData: data, Signature: signature}
}

// Proof returns the proof of an answer to the question of that id about that plan, in the console at Origin.
func (k *Key) Proof(plan canon.Hash, id string) confirm.Proof {
	doc, err := json.Marshal(k.Signed(enrolled.Challenge(plan, id), Origin))
	require.NoError(k.t, err)
	return confirm.Proof{Surface: confirm.SurfacePasskey, User: "tester", Credential: k.Handle(), Evidence: doc}
}
