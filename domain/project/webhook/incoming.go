package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// The rules of incoming requests (packageflow contract §1.9, packageflow-security contract §4.4, §4.7).
const (
	DefaultPort     = 9876
	MaxIncoming     = 1 << 20 // bytes of a body
	SignatureWindow = 5 * time.Minute
	RatePerWindow   = 100 // requests from one address
	RateWindow      = time.Minute
)

// The headers of incoming requests. A token in a query string would end up in logs and is ignored.
const (
	TokenHeader     = "X-Webhook-Token" // or Authorization: Bearer
	SignatureHeader = "X-Webhook-Signature"
	TimestampHeader = "X-Webhook-Timestamp"
)

// Incoming decides who may start a workflow from outside.
type Incoming struct {
	Enabled          bool
	TokenDigest      string // DigestToken of the token
	Secret           []byte // signs; empty: no signatures
	RequireSignature bool
	Untimed          bool // signatures cover only the body: a copy can be sent again
}

// DigestToken returns the stored form of a token: the lower-case hex of its SHA-256.
func DigestToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Refusal is the reason why an external request was rejected. It is for the log and the audit log: the sender only sees its Status.
type Refusal string

// The refusals. The empty Refusal is none.
const (
	Admitted          Refusal = ""
	RefusedMethod     Refusal = "method"
	RefusedPath       Refusal = "path"
	RefusedRate       Refusal = "rate"
	RefusedUnknown    Refusal = "unknown_workflow"
	RefusedToken      Refusal = "token"
	RefusedDisabled   Refusal = "disabled"
	RefusedSize       Refusal = "size"
	RefusedBody       Refusal = "body"
	RefusedUnsigned   Refusal = "signature_missing"
	RefusedSignature  Refusal = "signature"
	RefusedTimestamp  Refusal = "timestamp"
	RefusedStale      Refusal = "timestamp_outside_window"
	RefusedReplay     Refusal = "replay"
	RefusedNoSecret   Refusal = "no_secret"
	RefusedGone       Refusal = "workflow_gone"
	RefusedNotStarted Refusal = "not_started"
)

// Status returns the HTTP status of a refusal; 200 for none. A sender without a valid token cannot tell a workflow that does not exist, or is not
// enabled, from a wrong token.
func (r Refusal) Status() int {
	switch r {
	case Admitted:
		return 200
	case RefusedPath, RefusedDisabled, RefusedGone:
		return 404
	case RefusedMethod:
		return 405
	case RefusedBody:
		return 400
	case RefusedSize:
		return 413
	case RefusedRate:
		return 429
	case RefusedNotStarted:
		return 500
	}
	return 401
}

// CheckRequest makes the first decision, before the body is read: whether the workflow is known, the token belongs to it, and its incoming webhook is
// enabled.
func (c Incoming) CheckRequest(known, tokenMatches bool) Refusal {
	switch {
	case !known || c.TokenDigest == "":
		return RefusedUnknown
	case !tokenMatches:
		return RefusedToken
	case !c.Enabled:
		return RefusedDisabled
	}
	return Admitted
}

// Signature is a request's signature as its headers give it.
type Signature struct {
	given     bool
	mac       []byte // nil when the header is malformed
	timestamp string
}

// ReadSignature reads the headers: sha256=<64 hex>, and the Unix second at which it was made. Absent headers are empty.
func ReadSignature(signature, timestamp string) Signature {
	s := Signature{given: signature != "", timestamp: timestamp}
	if digits, ok := strings.CutPrefix(signature, "sha256="); ok && len(digits) == 2*sha256.Size {
		if mac, err := hex.DecodeString(digits); err == nil {
			s.mac = mac
		}
	}
	return s
}

// MAC returns the signature's bytes, or nil when there is none to compare.
func (s Signature) MAC() []byte { return s.mac }

// Prefix returns what is signed before the body: the timestamp and a dot, or nothing if signatures cover only the body.
func (c Incoming) Prefix(s Signature) string {
	if c.Untimed {
		return ""
	}
	return s.timestamp + "."
}

// CheckSignature makes the second decision: whether a required signature is present, valid and recent. matches says whether its MAC is HMAC-SHA256
// under Secret over Prefix and the raw body. An optional signature is checked if it is present.
func (c Incoming) CheckSignature(s Signature, matches bool, now time.Time) Refusal {
	switch {
	case !s.given && !c.RequireSignature:
		return Admitted
	case !s.given:
		return RefusedUnsigned
	case len(c.Secret) == 0:
		return RefusedNoSecret
	case s.mac == nil:
		return RefusedSignature
	}
	if !c.Untimed {
		at, ok := unixSecond(s.timestamp)
		if !ok {
			return RefusedTimestamp
		}
		if age := now.Sub(at); age > SignatureWindow || age < -SignatureWindow {
			return RefusedStale
		}
	}
	if !matches {
		return RefusedSignature
	}
	return Admitted
}

// ReplayExpiry returns when a signature can no longer be replayed, because its timestamp has left the window. ok is false for signatures that are not
// remembered, because they have no timestamp that would tell a copy from a second request.
func (c Incoming) ReplayExpiry(s Signature) (at time.Time, ok bool) {
	if c.Untimed || !s.given {
		return time.Time{}, false
	}
	made, ok := unixSecond(s.timestamp)
	return made.Add(SignatureWindow + time.Second), ok
}

// unixSecond parses plain decimal digits; signs, blanks and leading zeros would be second spellings of one time.
func unixSecond(s string) (time.Time, bool) {
	if len(s) == 0 || len(s) > 11 || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0).UTC(), err == nil
}

// SlidingWindow counts requests in the RateWindow that ends now. The zero SlidingWindow has seen none. It holds at most RatePerWindow times.
type SlidingWindow struct {
	admitted []time.Time // oldest first
}

// Take admits a request, or returns how long to wait until one is admitted. Rejected requests do not count.
func (s *SlidingWindow) Take(now time.Time) (wait time.Duration, ok bool) {
	s.drop(now)
	if len(s.admitted) >= RatePerWindow {
		return s.admitted[0].Add(RateWindow).Sub(now), false
	}
	s.admitted = append(s.admitted, now)
	return 0, true
}

// Idle reports whether no request counts any more.
func (s *SlidingWindow) Idle(now time.Time) bool {
	s.drop(now)
	return len(s.admitted) == 0
}

func (s *SlidingWindow) drop(now time.Time) {
	gone := 0
	for gone < len(s.admitted) && now.Sub(s.admitted[gone]) >= RateWindow {
		gone++
	}
	s.admitted = append(s.admitted[:0], s.admitted[gone:]...)
}
