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

// Namespace is what signatures of approvals are made for: one that was made for anything else (a commit, a log-in) is none.
const Namespace = "countersign-approval@v1"

// maxSignature is the longest signature that is looked at, in bytes. Those of either kind of key take less than half of it.
const maxSignature = 1024

// The flags of an authenticator, as a security key signs them.
const (
	flagTouched  = 0x01
	flagVerified = 0x04
)

// parse reads the public half of a key that lives in a security key, and what it was made for. It fails with enrolled.ErrKey for every other key.
func parse(public []byte) (key ssh.PublicKey, err error) {
	key, err = ssh.ParsePublicKey(public)
	if err != nil {
		return nil, enrolled.ErrKey.Sayf("this is no ssh key").Because(err)
	}
	switch kind := key.Type(); kind {
	case ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.CertAlgoSKED25519v01, ssh.CertAlgoSKECDSA256v01:
		return nil, enrolled.ErrKey.Sayf("this is a certificate of a security key; use the key itself")
	default:
		return nil, enrolled.ErrKey.Sayf("%s is a plain ssh key: every program that reaches the ssh agent can sign with it, and nobody has to be there. Make one that wants a touch: ssh-keygen -t ed25519-sk", plain(kind))
	}
	if !bytes.Equal(key.Marshal(), public) {
		return nil, enrolled.ErrKey.Sayf("this key is not written as keys are")
	}
	if app := application(public); !strings.HasPrefix(app, "ssh:") {
		return nil, enrolled.ErrKey.Sayf("this key was made for %q, and not for ssh", plain(app))
	}
	return key, nil
}

// application returns what a key was made for: the last of the strings that it consists of, which are well-formed.
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

// plain returns what others wrote, in one line and not too long.
func plain(s string) string {
	if runes := []rune(visible.OneLine(s)); len(runes) > enrolled.MaxName {
		return string(runes[:enrolled.MaxName])
	}
	return visible.OneLine(s)
}

// magic begins what is signed, and the signature (OpenSSH's PROTOCOL.sshsig).
const magic = "SSHSIG"

// hashing is how the message is hashed; ssh-keygen's own choice, and the only one taken.
const hashing = "sha512"

// blob is a signature as OpenSSH writes it.
type blob struct {
	Magic     [6]byte
	Version   uint32
	Public    []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// message returns what is signed for a challenge.
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

// Signed is what a security key has signed, as it stands on record.
type Signed struct {
	Signature []byte `json:"sshsig"` // as OpenSSH's PROTOCOL.sshsig has it; base64 of it is what stands between the lines of a file of ssh-keygen -Y sign
}

// Armored returns the signature as ssh-keygen reads it (ssh-keygen -Y verify -n countersign-approval@v1), so that it can be looked at without this software.
// What ssh-keygen says holds for the signature, and not for the touch: it takes one that nobody touched the key for.
func (s Signed) Armored() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: s.Signature}))
}

// presence is what a signature says of the user who was there.
type presence struct {
	Verified bool   // the security key asked for a PIN or a finger, beyond the touch
	Counter  uint32 // how often the security key has signed, as it says; some never count
}

// Verifier is the ports.KeyVerifier of security keys. It needs no agent, and nothing else of this machine.
type Verifier struct{}

// Usable fails with enrolled.ErrKey for every key but one that wants a touch, under its own fingerprint.
func (Verifier) Usable(k enrolled.Key) error {
	key, err := parse(k.Public)
	if err != nil {
		return err
	}
	if name := ssh.FingerprintSHA256(key); k.Credential != name {
		return enrolled.ErrKey.Sayf("the handle of this key is %s, and not %q", name, plain(k.Credential))
	}
	return nil
}

// Verify fails with enrolled.ErrUnproven unless the key has signed that challenge, and was touched for it.
func (Verifier) Verify(k enrolled.Key, challenge [32]byte, signed json.RawMessage) error {
	var s Signed
	dec := json.NewDecoder(bytes.NewReader(signed))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return enrolled.ErrUnproven.Because(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return enrolled.ErrUnproven
	}
	_, err := Judge(k.Public, challenge, s.Signature)
	return err
}

// Judge says what a signature of a key for a challenge proves of the user, from the bytes alone. It fails with enrolled.ErrKey for every key but one that
// wants a touch, and with enrolled.ErrUnproven for what is not exactly such a signature, or was made without a touch.
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
		return presence{}, enrolled.ErrUnproven.Sayf("this signature was made for %q, and not for %s", plain(b.Namespace), Namespace)
	case !bytes.Equal(b.Public, public):
		return presence{}, enrolled.ErrUnproven.Sayf("this signature is another key's")
	case sig.Format != key.Type() || len(sig.Rest) != 5:
		return presence{}, enrolled.ErrUnproven
	case sig.Rest[0]&flagTouched == 0:
		return presence{}, enrolled.ErrUnproven.Sayf("the security key signed without having been touched; make a key that wants a touch: ssh-keygen -t ed25519-sk, without no-touch-required")
	}
	if err := key.Verify(message(challenge), sig); err != nil {
		return presence{}, enrolled.ErrUnproven.Because(err)
	}
	return presence{Verified: sig.Rest[0]&flagVerified != 0, Counter: binary.BigEndian.Uint32(sig.Rest[1:])}, nil
}

// read takes a signature apart. What is not written exactly as it would be again is none: nothing can be hidden in it.
func read(signature []byte) (b blob, sig *ssh.Signature, err error) {
	if len(signature) > maxSignature {
		return b, nil, enrolled.ErrUnproven
	}
	if err := ssh.Unmarshal(signature, &b); err != nil {
		return b, nil, enrolled.ErrUnproven.Because(err)
	}
	if string(b.Magic[:]) != magic || b.Version != 1 || b.Reserved != "" || b.Hash != hashing || !bytes.Equal(ssh.Marshal(b), signature) {
		return b, nil, enrolled.ErrUnproven
	}
	sig = new(ssh.Signature)
	if err := ssh.Unmarshal(b.Signature, sig); err != nil {
		return b, nil, enrolled.ErrUnproven.Because(err)
	}
	if !bytes.Equal(ssh.Marshal(sig), b.Signature) {
		return b, nil, enrolled.ErrUnproven
	}
	return b, sig, nil
}
