// Package system implements the ports for time, randomness and process identity with the operating system. It has no options: nothing can be seeded or
// frozen.
//
// Its API may change at any time.
package system

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// Clock is a ports.Clock. The zero Clock is ready.
type Clock struct{}

// Now returns the system's time in UTC, with the monotonic reading that makes differences exact.
func (Clock) Now() time.Time { return time.Now().UTC() }

// alphabet has 32 characters (RFC 4648 base32 in lower case), so five random bits choose one without bias.
const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

// IDs is a ports.IDs and a ports.UUIDs over crypto/rand. The zero IDs is ready; all methods may be called from many goroutines.
type IDs struct{}

// NewID is prefix followed by n characters of a-z and 2-7, each drawn independently and uniformly; n ≤ 0 gives prefix alone.
func (IDs) NewID(prefix string, n int) string {
	drawn := make([]byte, max(n, 0))
	rand.Read(drawn) //nolint:errcheck // crypto/rand.Read never fails: it ends the program instead
	for i, b := range drawn {
		drawn[i] = alphabet[b%byte(len(alphabet))]
	}
	return prefix + string(drawn)
}

// NewUUID returns a fresh UUIDv4.
func (IDs) NewUUID() string { return uuid.Must(uuid.NewRandomFromReader(rand.Reader)).String() }

// Tokens is a ports.Tokens over crypto/rand. The zero Tokens is ready; all methods may be called from many goroutines.
type Tokens struct{}

// NewToken returns a fresh UUIDv4. It reads crypto/rand directly, past the reader and the pool that package uuid lets a program replace.
func (Tokens) NewToken() confirm.Token {
	return confirm.NewToken(IDs{}.NewUUID())
}
