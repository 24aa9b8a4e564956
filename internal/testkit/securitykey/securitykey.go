// Package securitykey provides security keys in software, and an ssh agent that holds them. They sign as in OpenSSH's PROTOCOL.u2f, with flags that a test
// chooses.
package securitykey

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// What an authenticator says of the user in front of it.
const (
	Absent   = 0x00
	Touched  = 0x01
	Verified = 0x05 // touched, and a PIN or a finger
	Refuses  = 0xff // nothing: it does not sign at all
)

// Key is a security key. Its methods may be used from several goroutines.
type Key struct {
	Public  ssh.PublicKey
	Comment string
	sign    func(message []byte) []byte
	app     string

	mu      sync.Mutex
	flags   byte
	counter uint32
	asked   int
	before  func()
}

// Ed25519 returns a new key of type sk-ssh-ed25519, which is touched whenever it is asked.
func Ed25519(t testing.TB, app string) *Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return of(t, private, app)
}

// Fixed returns a key of type sk-ssh-ed25519 that is the same in every process, and signs the same.
func Fixed(t testing.TB, app string) *Key {
	t.Helper()
	return of(t, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), app)
}

func of(t testing.TB, private ed25519.PrivateKey, app string) *Key {
	t.Helper()
	public := []byte(private.Public().(ed25519.PublicKey))
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Name string
		Key  []byte
		App  string
	}{ssh.KeyAlgoSKED25519, public, app}))
	require.NoError(t, err)
	return &Key{Public: key, Comment: "a key", app: app, flags: Touched, sign: func(message []byte) []byte { return ed25519.Sign(private, message) }}
}

// ECDSA returns a new key of type sk-ecdsa-sha2-nistp256, which is touched whenever it is asked.
func ECDSA(t testing.TB, app string) *Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	point, err := private.PublicKey.Bytes()
	require.NoError(t, err)
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Name, Curve string
		Key         []byte
		App         string
	}{ssh.KeyAlgoSKECDSA256, "nistp256", point, app}))
	require.NoError(t, err)
	return &Key{Public: key, Comment: "a key", app: app, flags: Touched, sign: func(message []byte) []byte {
		sum := sha256.Sum256(message)
		r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
		if err != nil {
			panic(err)
		}
		return ssh.Marshal(struct{ R, S *big.Int }{r, s})
	}}
}

// Presents has the key sign with these flags from now on.
func (k *Key) Presents(flags byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flags = flags
}

// Before has f run whenever the key is asked, before it signs: what f waits for is the touch.
func (k *Key) Before(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before = f
}

// Asked returns how often it was asked to sign.
func (k *Key) Asked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}

// Sign returns the key's signature of data.
func (k *Key) Sign(data []byte) *ssh.Signature {
	k.mu.Lock()
	before := k.before
	k.asked++
	k.mu.Unlock()
	if before != nil {
		before()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counter++
	rest := binary.BigEndian.AppendUint32([]byte{k.flags}, k.counter)
	app, message := sha256.Sum256([]byte(k.app)), sha256.Sum256(data)
	return &ssh.Signature{Format: k.Public.Type(), Blob: k.sign(slices.Concat(app[:], rest, message[:])), Rest: rest}
}

// SSHSIG returns the key's signature of a message, made for a namespace, as OpenSSH's PROTOCOL.sshsig has it.
func (k *Key) SSHSIG(namespace string, message []byte) []byte {
	type head struct {
		Magic   [6]byte
		Version uint32
		Public  []byte
	}
	type named struct{ Namespace, Reserved, Hash string }
	sum, magic, rest := sha512.Sum512(message), []byte("SSHSIG"), ssh.Marshal(named{namespace, "", "sha512"})
	sig := k.Sign(slices.Concat(magic, rest, ssh.Marshal(struct{ Sum []byte }{sum[:]})))
	return slices.Concat(ssh.Marshal(head{[6]byte(magic), 1, k.Public.Marshal()}), rest, ssh.Marshal(struct{ Signature []byte }{ssh.Marshal(sig)}))
}

// Agent serves an ssh agent with these keys, until the test ends, and is the path of its socket. Plain keys are added to ring, which may be nil.
func Agent(t testing.TB, ring agent.Agent, keys ...*Key) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // the path of a socket has to be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	if ring == nil {
		ring = agent.NewKeyring()
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				_ = agent.ServeAgent(&keeper{Agent: ring, keys: keys}, conn) // it ends when the client leaves
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return socket
}

// keeper is an agent that has security keys besides.
type keeper struct {
	agent.Agent
	keys []*Key
}

// List implements agent.Agent.
func (a *keeper) List() ([]*agent.Key, error) {
	all, err := a.Agent.List()
	for _, k := range a.keys {
		all = append(all, &agent.Key{Format: k.Public.Type(), Blob: k.Public.Marshal(), Comment: k.Comment})
	}
	return all, err
}

// Sign implements agent.Agent.
func (a *keeper) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	for _, k := range a.keys {
		if string(k.Public.Marshal()) == string(key.Marshal()) {
			if k.gone() {
				return nil, errors.New("nobody touched it")
			}
			return k.Sign(data), nil
		}
	}
	return a.Agent.Sign(key, data)
}

func (k *Key) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.flags == Refuses
}
