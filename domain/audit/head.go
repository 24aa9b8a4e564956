package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrHead is returned for text that is not a signed head.
var ErrHead = fault.New(fault.Invalid, "audit_head_invalid", "not a signed audit log head")

// Key is an ed25519 public key that verifies heads. Its text form is "ed25519:" and base64; the zero Key is empty text.
type Key [ed25519.PublicKeySize]byte

const keyPrefix = "ed25519:"

// String returns the text form.
func (k Key) String() string {
	if k == (Key{}) {
		return ""
	}
	return keyPrefix + base64.RawStdEncoding.EncodeToString(k[:])
}

// MarshalText returns the text form.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the text form. It fails with ErrHead.
func (k *Key) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*k = Key{}
		return nil
	}
	digits, ok := strings.CutPrefix(string(text), keyPrefix)
	raw, err := base64.RawStdEncoding.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(k) {
		return ErrHead.WithMessage("invalid key; use ed25519: followed by 43 base64 characters")
	}
	copy(k[:], raw)
	return nil
}

// Head is the signed end of a home's audit log at one time. Records up to it cannot be changed without contradicting it; where retention has removed reads
// up to it, the other records cannot.
type Head struct {
	Seq     int64      `json:"seq"`
	Hash    canon.Hash `json:"hash"`
	Kept    Kept       `json:"kept,omitzero"` // of the records up to it; zero in heads of earlier versions, which did not say
	At      time.Time  `json:"at"`
	Home    string     `json:"home"`    // directory of the audit log
	Machine string     `json:"machine"` // a name for the machine that does not identify it
	Key     Key        `json:"key"`
	Sig     []byte     `json:"sig,omitempty"`
}

// The labels of statements: of heads that do not say what is kept, and of those that do.
const (
	headLabel     = "audit.head.v1"
	headLabelKept = "audit.head.v2"
)

// Statement returns the signed bytes: everything except the signature.
func (h Head) Statement() []byte {
	h.Sig, h.At = nil, h.At.UTC()
	h.Home, h.Machine = strings.ToValidUTF8(h.Home, "\uFFFD"), strings.ToValidUTF8(h.Machine, "\uFFFD")
	doc, err := json.Marshal(h)
	if err != nil { // a year that no clock shows: no signature fits such a head
		return nil
	}
	label := headLabel
	if h.Kept != (Kept{}) {
		label = headLabelKept
	}
	return append(canon.AppendLabel(nil, label), doc...)
}

// Signed reports whether the signature is valid.
func (h Head) Signed() bool {
	s := h.Statement()
	return s != nil && len(h.Sig) == ed25519.SignatureSize && ed25519.Verify(h.Key[:], s, h.Sig)
}

// Line returns the head as one line of JSON, without a line ending.
func (h Head) Line() []byte {
	h.At = h.At.UTC()
	h.Home, h.Machine = strings.ToValidUTF8(h.Home, "\uFFFD"), strings.ToValidUTF8(h.Machine, "\uFFFD")
	doc, _ := json.Marshal(h) // as in Statement
	return doc
}

// ReadHead parses a line that Line returned. It fails with ErrHead and does not verify the signature.
func ReadHead(line []byte) (Head, error) {
	var h Head
	if err := json.Unmarshal(line, &h); err != nil || h.Seq < 1 || h.Key == (Key{}) {
		return Head{}, ErrHead
	}
	return h, nil
}

// Anchor is a place outside the database that receives signed heads, so that a program that can write to the database cannot rewrite the audit log
// unnoticed.
type Anchor struct {
	Kind  string `json:"kind"` // one of the Anchor kinds
	Where string `json:"where,omitempty"`
}

// The kinds of anchors. Home is a file beside the key and always exists; the others survive the loss of the home.
const (
	AnchorHome    = "home"
	AnchorFile    = "file"
	AnchorGit     = "git"
	AnchorJournal = "journal"
)

// String returns the anchor as users write it.
func (a Anchor) String() string {
	if a.Where == "" {
		return a.Kind
	}
	return a.Kind + " " + a.Where
}

// AnchorContents is what was read from an anchor.
type AnchorContents struct {
	Anchor Anchor
	Heads  []Head // in the order in which they were added
	Odd    int    // number of entries that are not heads
	Put    Head   // the newest head that this home remembers adding; Seq is zero for none
	Fades  bool   // old entries expire, as in a system journal
	Err    error  // why the anchor could not be read
}
