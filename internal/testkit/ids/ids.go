// Package ids makes identifiers and approval tokens that are the same in every run of a test: unique within one Sequence, and predictable.
package ids

import (
	"fmt"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/domain/confirm"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

// Sequence is a ports.IDs, a ports.UUIDs and a ports.Tokens that counts. The zero Sequence is ready; all methods may be called from many goroutines.
type Sequence struct {
	mu     sync.Mutex
	ids    uint64
	tokens uint64
	uuids  uint64
}

// NewID is prefix and the next number, written in n characters of lower-case base32: pk_aaaaaaab, pk_aaaaaaac, …
func (s *Sequence) NewID(prefix string, n int) string {
	s.mu.Lock()
	s.ids++
	number := s.ids
	s.mu.Unlock()
	return prefix + base32(number, n)
}

// NewToken returns the next token: a well-formed UUIDv4 that ends in a count.
func (s *Sequence) NewToken() confirm.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	return confirm.NewToken(Token(s.tokens))
}

// NewUUID returns the next UUID: a well-formed UUIDv4 that ends in a count.
func (s *Sequence) NewUUID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uuids++
	return fmt.Sprintf("00000000-0000-4000-9000-%012d", s.uuids)
}

// Token returns the secret of the nth token that a Sequence makes, counted from 1.
func Token(n uint64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func base32(number uint64, n int) string {
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		digit := uint64(0)
		if shift := 5 * i; shift < 64 {
			digit = number >> shift & 31
		}
		b.WriteByte(alphabet[digit])
	}
	return b.String()
}
