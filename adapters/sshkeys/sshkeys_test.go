package sshkeys_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/countersign-dev/countersign/adapters/sshkeys"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/internal/testkit/securitykey"
)

var challenge = [32]byte([]byte("0123456789abcdef0123456789abcdef"))

// kinds returns the keys that count.
func kinds(t testing.TB) map[string]*securitykey.Key {
	return map[string]*securitykey.Key{"ed25519": securitykey.Ed25519(t, "ssh:"), "ecdsa": securitykey.ECDSA(t, "ssh:work")}
}

// letter is a signature as it is written, each part of it a test's to choose.
type letter struct {
	Magic                     [6]byte
	Version                   uint32
	Public                    []byte
	Namespace, Reserved, Hash string
	Signature                 []byte
}

// signed returns the letter of a key for a challenge, and whatever change makes of what is signed.
func signed(sign func([]byte) *ssh.Signature, public []byte, change func(*letter)) letter {
	l := letter{Magic: [6]byte([]byte("SSHSIG")), Version: 1, Public: public, Namespace: sshkeys.Namespace, Hash: "sha512"}
	if change != nil {
		change(&l)
	}
	sum := sha512.Sum512(challenge[:])
	l.Signature = ssh.Marshal(sign(ssh.Marshal(struct {
		Magic                     [6]byte
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{l.Magic, l.Namespace, l.Reserved, l.Hash, sum[:]})))
	return l
}

func TestVerify(t *testing.T) {
	for kind, k := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			public := k.Public.Marshal()
			made := func(flags byte, change func(*letter)) []byte {
				k.Presents(flags)
				return ssh.Marshal(signed(k.Sign, public, change))
			}
			p, err := sshkeys.Judge(public, challenge, made(securitykey.Touched, nil))
			require.NoError(t, err)
			assert.False(t, p.Verified)
			assert.NotZero(t, p.Counter)
			p, err = sshkeys.Judge(public, challenge, made(securitykey.Verified, nil))
			require.NoError(t, err)
			assert.True(t, p.Verified, "a PIN was asked for")

			good := made(securitykey.Touched, nil)
			_, err = sshkeys.Judge(public, challenge, k.SSHSIG(sshkeys.Namespace, challenge[:]))
			require.NoError(t, err)
			other := kinds(t)[kind].Public.Marshal()
			for what, c := range map[string]struct {
				public    []byte
				challenge [32]byte
				signature []byte
				want      error
				says      string
			}{
				"nobody touched it":    {public, challenge, made(securitykey.Absent, nil), enrolled.ErrUnproven, "signed without a touch"},
				"a PIN and no touch":   {public, challenge, made(0x04, nil), enrolled.ErrUnproven, "signed without a touch"},
				"another challenge":    {public, [32]byte{1}, good, enrolled.ErrUnproven, ""},
				"another key":          {other, challenge, good, enrolled.ErrUnproven, ""},
				"a commit":             {public, challenge, made(securitykey.Touched, func(l *letter) { l.Namespace = "git" }), enrolled.ErrUnproven, `created for "git"`},
				"another version":      {public, challenge, made(securitykey.Touched, func(l *letter) { l.Version = 2 }), enrolled.ErrUnproven, ""},
				"something reserved":   {public, challenge, made(securitykey.Touched, func(l *letter) { l.Reserved = "x" }), enrolled.ErrUnproven, ""},
				"another hash":         {public, challenge, made(securitykey.Touched, func(l *letter) { l.Hash = "sha256" }), enrolled.ErrUnproven, ""},
				"another beginning":    {public, challenge, made(securitykey.Touched, func(l *letter) { l.Magic[0] = 'X' }), enrolled.ErrUnproven, ""},
				"another key inside":   {public, challenge, made(securitykey.Touched, func(l *letter) { l.Public = other }), enrolled.ErrUnproven, ""},
				"a byte too many":      {public, challenge, append(good[:len(good):len(good)], 0), enrolled.ErrUnproven, ""},
				"a byte too few":       {public, challenge, good[:len(good)-1], enrolled.ErrUnproven, ""},
				"nothing":              {public, challenge, nil, enrolled.ErrUnproven, ""},
				"very long":            {public, challenge, append(good[:len(good):len(good)], make([]byte, 1<<20)...), enrolled.ErrUnproven, ""},
				"no key":               {[]byte("key"), challenge, good, enrolled.ErrKey, ""},
				"a byte after the key": {append(public[:len(public):len(public)], 0), challenge, good, enrolled.ErrKey, ""},
			} {
				_, err := sshkeys.Judge(c.public, c.challenge, c.signature)
				assert.ErrorIs(t, err, c.want, what)
				assert.ErrorContains(t, err, c.says, what)
			}

			k.Presents(securitykey.Absent)
			l := signed(k.Sign, public, nil)
			var sig ssh.Signature
			require.NoError(t, ssh.Unmarshal(l.Signature, &sig))
			for what, rest := range map[string][]byte{"the flag set afterwards": {1, sig.Rest[1], sig.Rest[2], sig.Rest[3], sig.Rest[4]}, "no counter": {1}, "more than a counter": append([]byte{1}, make([]byte, 8)...), "no flags": nil} {
				sig.Rest = rest
				l.Signature = ssh.Marshal(sig)
				_, err := sshkeys.Judge(public, challenge, ssh.Marshal(l))
				assert.ErrorIs(t, err, enrolled.ErrUnproven, what)
			}
			for i := range good { // no byte of it may be another one
				bad := append([]byte(nil), good...)
				bad[i] ^= 1
				_, err := sshkeys.Judge(public, challenge, bad)
				assert.Error(t, err, "byte %d", i)
			}
		})
	}
}

// TestPlainKeysProveNothing: they sign without anybody being there.
func TestPlainKeysProveNothing(t *testing.T) {
	_, short, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ring := agent.NewKeyring()
	for _, private := range []any{short, long} {
		require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: private}))
		signer, err := ssh.NewSignerFromKey(private)
		require.NoError(t, err)
		public := signer.PublicKey().Marshal()
		sign := func(data []byte) *ssh.Signature {
			sig, err := signer.Sign(rand.Reader, data)
			require.NoError(t, err)
			return sig
		}
		_, err = sshkeys.Judge(public, challenge, ssh.Marshal(signed(sign, public, nil)))
		require.ErrorIs(t, err, enrolled.ErrKey)
		assert.Contains(t, err.Error(), "ssh-keygen -t ed25519-sk")
		_, err = sshkeys.Agent{Path: securitykey.Agent(t, ring)}.Sign(t.Context(), enrolled.Key{Public: public}, challenge)
		require.ErrorIs(t, err, enrolled.ErrKey)
		require.ErrorIs(t, sshkeys.Verifier{}.Usable(enrolled.Key{Public: public, Credential: ssh.FingerprintSHA256(signer.PublicKey())}), enrolled.ErrKey)
	}
	k := securitykey.Ed25519(t, "ssh:")
	keys, others, err := sshkeys.Agent{Path: securitykey.Agent(t, ring, k)}.Keys(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, others)
	require.Len(t, keys, 1)
	assert.Equal(t, k.Public.Marshal(), keys[0].Public)

	usable := func(key ssh.PublicKey) error {
		return sshkeys.Verifier{}.Usable(enrolled.Key{Public: key.Marshal(), Credential: ssh.FingerprintSHA256(key)})
	}
	require.NoError(t, usable(k.Public))
	require.ErrorIs(t, usable(securitykey.Ed25519(t, "https://example.com").Public), enrolled.ErrKey, "it was made for a web site")
	require.ErrorIs(t, sshkeys.Verifier{}.Usable(enrolled.Key{Public: k.Public.Marshal(), Credential: "SHA256:another"}), enrolled.ErrKey)
	cert := &ssh.Certificate{Key: k.Public, CertType: ssh.UserCert}
	signer, err := ssh.NewSignerFromKey(short)
	require.NoError(t, err)
	require.NoError(t, cert.SignCert(rand.Reader, signer))
	require.ErrorIs(t, usable(cert), enrolled.ErrKey)
}

func TestTheAgentSigns(t *testing.T) {
	for kind, k := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			k.Comment = "mine\x1b[2J\nand more"
			a := sshkeys.Agent{Path: securitykey.Agent(t, nil, k)}
			keys, others, err := a.Keys(t.Context())
			require.NoError(t, err)
			require.Len(t, keys, 1)
			assert.Zero(t, others)
			assert.Equal(t, ssh.FingerprintSHA256(k.Public), keys[0].Credential)
			assert.NotContains(t, keys[0].Name, "\x1b")
			assert.NotContains(t, keys[0].Name, "\n")
			v := sshkeys.Verifier{}
			require.NoError(t, v.Usable(keys[0]))

			signed, err := a.Sign(t.Context(), keys[0], challenge)
			require.NoError(t, err)
			assert.Less(t, len(signed), 1024/2)
			require.NoError(t, v.Verify(keys[0], challenge, signed))
			require.ErrorIs(t, v.Verify(keys[0], [32]byte{1}, signed), enrolled.ErrUnproven)
			for _, bad := range []string{"", "null", "{}", `"x"`, `{"sshsig":""}`, `{"sshsig":1}`, string(signed) + "{}", strings.Replace(string(signed), "{", `{"more":1,`, 1)} {
				require.ErrorIs(t, v.Verify(keys[0], challenge, json.RawMessage(bad)), enrolled.ErrUnproven, bad)
			}

			k.Presents(securitykey.Absent)
			_, err = a.Sign(t.Context(), keys[0], challenge)
			require.ErrorIs(t, err, enrolled.ErrUnproven)
			k.Presents(securitykey.Refuses)
			_, err = a.Sign(t.Context(), keys[0], challenge)
			require.ErrorIs(t, err, sshkeys.ErrRefused)
			_, err = a.Sign(t.Context(), enrolled.Key{Public: kinds(t)[kind].Public.Marshal()}, challenge)
			require.ErrorIs(t, err, sshkeys.ErrRefused, "the agent has no such key")
		})
	}
}

// TestATouchThatNobodyWaitsFor: whoever cancels is answered at once.
func TestATouchThatNobodyWaitsFor(t *testing.T) {
	k := securitykey.Ed25519(t, "ssh:")
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan struct{})
	k.Before(func() {
		cancel()
		<-canceled
	})
	a := sshkeys.Agent{Path: securitykey.Agent(t, nil, k)}
	_, err := a.Sign(ctx, enrolled.Key{Public: k.Public.Marshal()}, challenge)
	close(canceled)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoAgent(t *testing.T) {
	for _, path := range []string{"", " ", filepath.Join(t.TempDir(), "none")} {
		_, _, err := sshkeys.Agent{Path: path}.Keys(t.Context())
		require.ErrorIs(t, err, sshkeys.ErrAgent, path)
	}
	_, _, err := sshkeys.Agent{}.Keys(t.Context())
	assert.Contains(t, err.Error(), "SSH_AUTH_SOCK is not set")
}

// TestOpenSSHAgrees: a signature that counts here is one that ssh-keygen takes, too.
func TestOpenSSHAgrees(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return // what counts is judged here; this is a second opinion
	}
	for kind, k := range kinds(t) {
		signed, err := sshkeys.Agent{Path: securitykey.Agent(t, nil, k)}.Sign(t.Context(), enrolled.Key{Public: k.Public.Marshal()}, challenge)
		require.NoError(t, err)
		var signature sshkeys.Signed
		require.NoError(t, json.Unmarshal(signed, &signature))
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "signers"), append([]byte("me "), ssh.MarshalAuthorizedKey(k.Public)...), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "signature"), []byte(signature.Armored()), 0o600))
		cmd := exec.CommandContext(t.Context(), keygen, "-Y", "verify", "-f", filepath.Join(dir, "signers"), "-I", "me", "-n", sshkeys.Namespace, "-s", filepath.Join(dir, "signature"))
		cmd.Stdin = bytes.NewReader(challenge[:])
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", kind, out)
	}
}

// FuzzVerify: nothing but the signature that was made is taken, and nothing brings the parser down.
func FuzzVerify(f *testing.F) {
	k := securitykey.Fixed(f, "ssh:")
	public := k.Public.Marshal()
	good := ssh.Marshal(signed(k.Sign, public, nil))
	f.Add(public, good)
	f.Add(public, good[:40])
	f.Add(public[:20], good)
	f.Add([]byte{}, []byte("SSHSIG\x00\x00\x00\x01\xff\xff\xff\xff"))
	e := securitykey.ECDSA(f, "ssh:").Public.Marshal()
	f.Add(e, good)
	f.Fuzz(func(t *testing.T, public, signature []byte) {
		if _, err := sshkeys.Judge(public, challenge, signature); err == nil && string(signature) != string(good) {
			t.Errorf("taken: %x", signature)
		}
	})
}
