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

// Socket is the environment variable that says where the ssh agent listens.
const Socket = "SSH_AUTH_SOCK"

// How long the agent is waited for: until it says which keys it has, and until somebody has touched one.
const (
	listWait  = 10 * time.Second
	touchWait = 2 * time.Minute
)

// What is wrong with the agent.
var (
	ErrAgent   = fault.New(fault.Unavailable, "ssh_agent_unavailable", "there is no ssh agent here to ask")
	ErrRefused = fault.New(fault.Unavailable, "ssh_agent_refused", "the ssh agent did not sign")
)

// Agent is the ssh agent of the user who runs this process. The zero Agent has no keys.
type Agent struct {
	Path string // of its socket; empty where there is none
}

// Keys returns the security keys that the agent has, each under the comment that the agent has for it, and how many others it has: those are plain, and prove
// nothing. It fails with ErrAgent.
func (a Agent) Keys(ctx context.Context) (keys []enrolled.Key, plainOnes int, err error) {
	err = a.ask(ctx, listWait, func(c agent.ExtendedAgent) error {
		all, err := c.List()
		if err != nil {
			return ErrAgent.Sayf("the ssh agent at %s does not say which keys it has", plain(a.Path)).Because(err)
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

// Sign has the key sign the challenge, which takes until somebody touches it. What comes back is a Signed that holds. It fails with ErrAgent, with
// ErrRefused where nobody touched the key, as Judge does, and with ctx's error.
func (a Agent) Sign(ctx context.Context, k enrolled.Key, challenge [32]byte) (json.RawMessage, error) {
	key, err := parse(k.Public)
	if err != nil {
		return nil, err
	}
	var s Signed
	err = a.ask(ctx, touchWait, func(c agent.ExtendedAgent) error {
		sig, err := c.Sign(key, message(challenge))
		if err != nil {
			return ErrRefused.Sayf("the ssh agent did not sign with %s: the key was not touched in time, is not plugged in, or wants a PIN that the agent cannot ask for", ssh.FingerprintSHA256(key)).Because(err)
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

// ask has do talk to the agent, until ctx ends or it takes longer than wait.
func (a Agent) ask(ctx context.Context, wait time.Duration, do func(agent.ExtendedAgent) error) error {
	if strings.TrimSpace(a.Path) == "" {
		return ErrAgent.Sayf("there is no ssh agent here to ask: %s is not set. Start one (eval $(ssh-agent)) and add the key (ssh-add)", Socket)
	}
	asking, stop := context.WithTimeout(ctx, wait)
	defer stop()
	conn, err := new(net.Dialer).DialContext(asking, "unix", a.Path)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return ErrAgent.Sayf("the ssh agent at %s cannot be reached", plain(a.Path)).Because(err)
	}
	defer conn.Close()                                                                  //nolint:errcheck // nothing was written that counts
	defer context.AfterFunc(asking, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // whatever is waited for ends
	err = do(agent.NewClient(conn))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(asking.Err(), context.DeadlineExceeded):
		return ErrRefused.Sayf("the ssh agent did not answer within %s", wait)
	}
	return err
}
