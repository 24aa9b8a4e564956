package mcpserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
)

// CallState is the state that a call passes through the client while the user decides. It is sealed: the client repeats it but cannot create one, and
// no other client can use it.
type CallState struct {
	Confirmation string    `json:"c"`
	Call         string    `json:"i"` // so that both rounds are one call in the audit log
	Subject      []byte    `json:"s"` // identifies the call
	Expires      time.Time `json:"e"`
	Lasting      bool      `json:"l,omitempty"` // a session grant was offered
	Entry        string    `json:"h"`           // the host entry whose form was offered
	Offered      bool      `json:"o"`           // a form was offered: without one no answer counts
}

// CallSubject identifies a call: the tool, its arguments and its caller. The repeated call has the same bytes, or at least the same canonical form,
// which the plan's hash is checked against later.
func CallSubject(c tool.Call) []byte {
	args := []byte(c.Args)
	var compact bytes.Buffer
	if json.Compact(&compact, args) == nil {
		args = compact.Bytes()
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(c.Principal.ID), []byte(c.Session), []byte(c.Tool), args} {
		of := sha256.Sum256(part) // of fixed length, so that parts cannot be confused
		sum.Write(of[:])
	}
	return sum.Sum(nil)
}

// Seal authenticates states with a key that exists as long as the process.
type Seal struct{ key []byte }

// NewSeal derives a seal from a secret.
func NewSeal(secret string) Seal {
	key := sha256.Sum256([]byte("countersign.request-state.v1\n" + secret))
	return Seal{key: key[:]}
}

// Close returns the sealed state for the client.
func (s Seal) Close(st CallState) (string, error) {
	body, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(s.sum(body), body...)), nil
}

// errSeal is returned for a state that is not ours, belongs to another call, or has expired. Clients get no details.
var errSeal = errors.New("the seal is broken")

// Open returns the state that Close sealed, if a form was offered to this call in this host entry and the state has not expired at now.
func (s Seal) Open(sealed string, c tool.Call, now time.Time) (CallState, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return CallState{}, err
	}
	if len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], s.sum(raw[sha256.Size:])) {
		return CallState{}, errSeal
	}
	var st CallState
	if err := json.Unmarshal(raw[sha256.Size:], &st); err != nil {
		return CallState{}, err
	}
	if !st.Offered || st.Entry != c.Entry || !bytes.Equal(st.Subject, CallSubject(c)) || !now.Before(st.Expires) {
		return CallState{}, errSeal
	}
	return st, nil
}

func (s Seal) sum(body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body)
	return mac.Sum(nil)
}
