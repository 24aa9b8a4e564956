// Package sshkeys uses the security keys of the user's ssh agent (sk-ssh-ed25519, sk-ecdsa): it lists them, requests a signature that needs a touch, and
// verifies such a signature from its bytes. Verifier is a ports.KeyVerifier.
//
// Plain ssh keys are rejected, because every program that reaches the agent can sign with them.
//
// Its API may change at any time.
package sshkeys

import (
	"bytes"
	"crypto/sha512"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"io"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/visible"
)

// Namespace is the namespace of approval signatures: a signature for another purpose (a commit, a login) is not valid.
const Namespace = "countersign-approval@v1"

// maxSignature is the maximum size of a signature, in bytes. Signatures of both kinds of keys take less than half of it.
const maxSignature = 1024

// The flags of an authenticator, as signed by a security key.
const (
	flagTouched  = 0x01
	flagVerified = 0x04
)

// parse parses the public part of a security key, and its application. It fails with enrolled.ErrKey for every other key.
func parse(public []byte) (key ssh.PublicKey, err error) {
	key, err = ssh.ParsePublicKey(public)
	if err != nil {
		return nil, enrolled.ErrKey.WithMessage("not an ssh key").WithCause(err)
	}
	switch kind := key.Type(); kind {
	case ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.CertAlgoSKED25519v01, ssh.CertAlgoSKECDSA256v01:
		return nil, enrolled.ErrKey.WithMessage("this is the certificate of a security key; use the key itself")
	default:
		return nil, enrolled.ErrKey.WithMessage("%s is a plain ssh key, with which every program that reaches the ssh agent can sign; create one that requires a touch: ssh-keygen -t ed25519-sk", plain(kind))
	}
	if !bytes.Equal(key.Marshal(), public) {
		return nil, enrolled.ErrKey.WithMessage("invalid encoding of the ssh key")
	}
	if app := application(public); !strings.HasPrefix(app, "ssh:") {
		return nil, enrolled.ErrKey.WithMessage("this key was created for %q, not for ssh", plain(app))
	}
	return key, nil
}

// application returns the application of a key: the last of its strings, which are well-formed.
func application(public []byte) (last string) {
	for len(public) >= 4 {
		n := binary.BigEndian.Uint32(public)
		if public = public[4:]; uint64(n) > uint64(len(public)) {
			return ""
		}
		last, public = string(public[:n]), public[n:]
	}
	return last
}

// plain returns untrusted text in one line, shortened.
func plain(s string) string {
	if runes := []rune(visible.OneLine(s)); len(runes) > enrolled.MaxName {
		return string(runes[:enrolled.MaxName])
	}
	return visible.OneLine(s)
}

// magic is the prefix of what is signed, and of the signature (OpenSSH's PROTOCOL.sshsig).
const magic = "SSHSIG"

// hashing is the hash of the message; ssh-keygen's default, and the only one accepted.
const hashing = "sha512"

// blob is a signature in OpenSSH's form.
type blob struct {
	Magic     [6]byte
	Version   uint32
	Public    []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// message returns the data to sign for a challenge.
func message(challenge [32]byte) []byte {
	sum := sha512.Sum512(challenge[:])
	return ssh.Marshal(struct {
		Magic     [6]byte
		Namespace string
		Reserved  string
		Hash      string
		Sum       []byte
	}{Magic: [6]byte([]byte(magic)), Namespace: Namespace, Hash: hashing, Sum: sum[:]})
}

// Signed is the signature of a security key, as recorded.
type Signed struct {
	Signature []byte `json:"sshsig"` // as in OpenSSH's PROTOCOL.sshsig; ssh-keygen -Y sign writes it in base64 between its header and footer
}

// Armored returns the signature as ssh-keygen reads it (ssh-keygen -Y verify -n countersign-approval@v1), so that it can be verified without this
// software. ssh-keygen verifies the signature but not the touch: it accepts one made without a touch.
func (s Signed) Armored() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: s.Signature}))
}

// presence is what a signature states about the user's presence.
type presence struct {
	Verified bool   // the security key required a PIN or a fingerprint besides the touch
	Counter  uint32 // number of signatures according to the security key; some never count
}

// Verifier is the ports.KeyVerifier of security keys. It needs no agent and nothing else of this machine.
type Verifier struct{}

// Usable fails with enrolled.ErrKey unless the key requires a touch and matches its fingerprint.
func (Verifier) Usable(k enrolled.Key) error {
	key, err := parse(k.Public)
	if err != nil {
		return err
	}
	if name := ssh.FingerprintSHA256(key); k.Credential != name {
		return enrolled.ErrKey.WithMessage("the handle of this key is %s, not %q", name, plain(k.Credential))
	}
	return nil
}

// Verify fails with enrolled.ErrUnproven unless the key has signed that challenge with a touch.
func (Verifier) Verify(k enrolled.Key, challenge [32]byte, signed json.RawMessage) error {
	var s Signed
	dec := json.NewDecoder(bytes.NewReader(signed))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return enrolled.ErrUnproven.WithCause(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return enrolled.ErrUnproven
	}
	_, err := Judge(k.Public, challenge, s.Signature)
	return err
}

// Judge returns what a signature of a key for a challenge proves about the user, from the bytes alone. It fails with enrolled.ErrKey for a key that
// requires no touch, and with enrolled.ErrUnproven for an invalid signature, or one made without a touch.
func Judge(public []byte, challenge [32]byte, signature []byte) (presence, error) {
	key, err := parse(public)
	if err != nil {
		return presence{}, err
	}
	b, sig, err := read(signature)
	switch {
	case err != nil:
		return presence{}, err
	case b.Namespace != Namespace:
		return presence{}, enrolled.ErrUnproven.WithMessage("this signature was created for %q, not for %s", plain(b.Namespace), Namespace)
	case !bytes.Equal(b.Public, public):
		return presence{}, enrolled.ErrUnproven.WithMessage("this signature was created by another key")
	case sig.Format != key.Type() || len(sig.Rest) != 5:
		return presence{}, enrolled.ErrUnproven
	case sig.Rest[0]&flagTouched == 0:
		return presence{}, enrolled.ErrUnproven.WithMessage("the security key signed without a touch; create a key that requires one: ssh-keygen -t ed25519-sk, without no-touch-required")
	}
	if err := key.Verify(message(challenge), sig); err != nil {
		return presence{}, enrolled.ErrUnproven.WithCause(err)
	}
	return presence{Verified: sig.Rest[0]&flagVerified != 0, Counter: binary.BigEndian.Uint32(sig.Rest[1:])}, nil
}

// read parses a signature. It rejects any encoding other than the canonical one, so that nothing can be hidden in it.
func read(signature []byte) (b blob, sig *ssh.Signature, err error) {
	if len(signature) > maxSignature {
		return b, nil, enrolled.ErrUnproven
	}
	if err := ssh.Unmarshal(signature, &b); err != nil {
		return b, nil, enrolled.ErrUnproven.WithCause(err)
	}
	if string(b.Magic[:]) != magic || b.Version != 1 || b.Reserved != "" || b.Hash != hashing || !bytes.Equal(ssh.Marshal(b), signature) {
		return b, nil, enrolled.ErrUnproven
	}
	sig = new(ssh.Signature)
	if err := ssh.Unmarshal(b.Signature, sig); err != nil {
		return b, nil, enrolled.ErrUnproven.WithCause(err)
	}
	if !bytes.Equal(ssh.Marshal(sig), b.Signature) {
		return b, nil, enrolled.ErrUnproven
	}
	return b, sig, nil
}
