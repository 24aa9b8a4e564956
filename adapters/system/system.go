// Package system implements, with the operating system, what every process of a home needs: clock, IDs and tokens, the identities of processes and their
// leases, files that are watched, the bell that wakes calls in other processes, and rate limits. Clock, IDs and tokens have no options: nothing can be seeded
// or frozen.
//
// The parts:
//   - system.go, machine.go: Clock, IDs, Tokens, and the name of the machine
//   - owner.go, ownerfile.go: Owner and Owners (ports.ProcessIdentity), and the leases of owners as small files that the processes of all containers and machines sharing a
//     home can read: NAME.json, written by its owner, and NAME.forgotten.json, the user's declaration that it has ended. They are not in the database, because
//     watchers of the database would wake at every renewal
//   - filewatch.go, filetree.go: WatchDirectory reports everything that happens in one directory where the system can tell; WatchTree reports changes below a
//     directory, and looks through it at intervals where the system tells nothing. Neither says which file changed
//   - bell.go: Bell wakes calls that wait for a decision, in every process of a home: Ring writes a file in a shared directory, which listeners watch. It carries
//     no data: a woken caller checks the approval store. It may ring without a decision, and where the directory cannot be watched it works within the process
//     only, so callers also check at intervals
//   - ratelimit.go: Limiter bounds how often something may happen, with a token bucket for each key in the memory of this process
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
