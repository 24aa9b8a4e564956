package sshkeys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Socket is the environment variable with the socket of the ssh agent.
const Socket = "SSH_AUTH_SOCK"

// Time limits of the agent: for listing its keys, and for a touch.
const (
	listWait  = 10 * time.Second
	touchWait = 2 * time.Minute
)

// The errors of the agent.
var (
	ErrAgent   = fault.New(fault.Unavailable, "ssh_agent_unavailable", "the ssh agent is unavailable")
	ErrRefused = fault.New(fault.Unavailable, "ssh_agent_refused", "the ssh agent did not sign")
)

// Agent is the ssh agent of the user of this process. The zero Agent has no keys.
type Agent struct {
	Path string // of its socket; empty if there is none
}

// Keys returns the agent's security keys, each named by the agent's comment, and the number of its plain keys, which prove nothing. It fails with
// ErrAgent.
func (a Agent) Keys(ctx context.Context) (keys []enrolled.Key, plainOnes int, err error) {
	err = a.ask(ctx, listWait, func(c agent.ExtendedAgent) error {
		all, err := c.List()
		if err != nil {
			return ErrAgent.WithMessage("the ssh agent at %s did not list its keys", plain(a.Path)).WithCause(err)
		}
		for _, there := range all {
			key, err := parse(there.Blob)
			if err != nil {
				plainOnes++
				continue
			}
			if !slices.ContainsFunc(keys, func(have enrolled.Key) bool { return bytes.Equal(have.Public, there.Blob) }) {
				keys = append(keys, enrolled.Key{Kind: enrolled.SecurityKey, Name: plain(there.Comment), Credential: ssh.FingerprintSHA256(key), Public: there.Blob})
			}
		}
		return nil
	})
	return keys, plainOnes, err
}

// Sign has the key sign the challenge and blocks until it is touched. The result is a valid Signed. It fails with ErrAgent, with ErrRefused without a
// touch, with the errors of Judge, and with ctx's error.
func (a Agent) Sign(ctx context.Context, k enrolled.Key, challenge [32]byte) (json.RawMessage, error) {
	key, err := parse(k.Public)
	if err != nil {
		return nil, err
	}
	var s Signed
	err = a.ask(ctx, touchWait, func(c agent.ExtendedAgent) error {
		sig, err := c.Sign(key, message(challenge))
		if err != nil {
			return ErrRefused.WithMessage("the ssh agent did not sign with %s: the key was not touched in time, is not plugged in, or needs a PIN that the agent cannot ask for", ssh.FingerprintSHA256(key)).WithCause(err)
		}
		s.Signature = ssh.Marshal(blob{Magic: [6]byte([]byte(magic)), Version: 1, Public: k.Public, Namespace: Namespace, Hash: hashing, Signature: ssh.Marshal(sig)})
		return nil
	})
	if err == nil {
		_, err = Judge(k.Public, challenge, s.Signature)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// ask calls do with the agent, until ctx ends or wait has passed.
func (a Agent) ask(ctx context.Context, wait time.Duration, do func(agent.ExtendedAgent) error) error {
	if strings.TrimSpace(a.Path) == "" {
		return ErrAgent.WithMessage("the ssh agent is unavailable: %s is not set; start one (eval $(ssh-agent)) and add the key (ssh-add)", Socket)
	}
	asking, stop := context.WithTimeout(ctx, wait)
	defer stop()
	conn, err := new(net.Dialer).DialContext(asking, "unix", a.Path)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return ErrAgent.WithMessage("the ssh agent at %s cannot be reached", plain(a.Path)).WithCause(err)
	}
	defer conn.Close()                                                                  //nolint:errcheck // nothing was written that counts
	defer context.AfterFunc(asking, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends all waiting
	err = do(agent.NewClient(conn))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(asking.Err(), context.DeadlineExceeded):
		return ErrRefused.WithMessage("the ssh agent did not answer within %s", wait)
	}
	return err
}
