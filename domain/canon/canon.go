// Package canon encodes values as canonical JSON and hashes them: equal values have equal bytes and equal labelled SHA-256 sums.
//
// Floats have no canonical form here and fail with ErrForm; express durations and sizes as integers.
//
// Its API may change at any time.
package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// Hash is a SHA-256 sum. Its text form is "sha256:" and 64 lower-case hex digits; the zero Hash is not the sum of any input.
type Hash [sha256.Size]byte

const prefix = "sha256:"

// ErrHash is returned for text that is not a hash.
var ErrHash = fault.New(fault.Invalid, "hash_invalid", "invalid hash; use sha256: followed by 64 lowercase hex digits")

// ErrForm is returned for a value without a canonical form (a float, a key that occurs twice in one object, or a value that JSON cannot represent).
var ErrForm = fault.New(fault.Internal, "canon_form", "the value has no canonical form")

// String returns the text form.
func (h Hash) String() string { return prefix + h.Hex() }

// Hex returns the sum alone: 64 lower-case hex digits.
func (h Hash) Hex() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h was never computed.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns the text form; the zero Hash is empty text.
func (h Hash) MarshalText() ([]byte, error) {
	if h.IsZero() {
		return []byte{}, nil
	}
	return []byte(h.String()), nil
}

// UnmarshalText reads what MarshalText writes, or fails with ErrHash.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// Parse reads the text form, or fails with ErrHash.
func Parse(s string) (Hash, error) {
	var h Hash
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || len(digits) != 2*len(h) || strings.ToLower(digits) != digits {
		return Hash{}, ErrHash
	}
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return Hash{}, ErrHash
	}
	return h, nil
}

// Marshal returns the canonical JSON of v: object keys sorted by bytes, no insignificant space, no HTML escapes, integers only. Two values with equal
// JSON meaning have equal bytes. It fails with ErrForm, but not for a Go float that happens to be whole: hashed values have no float fields.
func Marshal(v any) ([]byte, error) {
	raw, err := plain(v)
	if err != nil {
		return nil, ErrForm.WithCause(err)
	}
	return rewrite(raw)
}

// Canonical rewrites one JSON document into canonical form. It fails with ErrForm, also for an object in which a key occurs twice, because its
// meaning is undefined, and beyond MaxDepth. It is idempotent.
func Canonical(raw []byte) ([]byte, error) {
	var doc json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, ErrForm.WithCause(err)
	}
	return rewrite(doc)
}

// Sum hashes the canonical JSON of v under a label that keeps domains apart ("deployment.plan.v1"). It fails with ErrForm.
func Sum(label string, v any) (Hash, error) {
	doc, err := Marshal(v)
	if err != nil {
		return Hash{}, err
	}
	return SumBytes(label, doc), nil
}

// SumBytes hashes raw bytes under a label. The label's length is part of the input, so no label is a prefix of another's domain.
func SumBytes(label string, b []byte) Hash {
	h := sha256.New()
	h.Write(AppendLabel(nil, label))
	h.Write(b)
	return Hash(h.Sum(nil))
}

// AppendLabel appends what SumBytes hashes before the bytes, for callers that hash many values with one buffer: the SHA-256 of AppendLabel(nil, l)
// followed by b is SumBytes(l, b).
func AppendLabel(to []byte, label string) []byte {
	return fmt.Appendf(to, "%d:%s\n", len(label), label)
}

func plain(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
