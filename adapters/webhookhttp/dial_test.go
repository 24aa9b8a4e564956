package webhookhttp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// TestTheSocketItselfIsJudged: should a bad address ever get past the vetting, the connection does not come about.
func TestTheSocketItselfIsJudged(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := listener.Addr().(*net.TCPAddr).AddrPort()
	accepted := make(chan error, 1)
	go func() {
		_, err := listener.Accept()
		accepted <- err
	}()

	a := attempt{client: NewClient(ClientOptions{}), endpoint: webhook.Endpoint{Scheme: "https", Host: "hooks.example.com", Port: 443}}
	for _, addr := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
		target := webhook.Target{Host: "hooks.example.com", Port: at.Port(), Addresses: []netip.Addr{netip.MustParseAddr(addr)}}
		_, err = a.dial(t.Context(), "tcp", target)
		require.ErrorIs(t, err, project.ErrURLBlocked, addr)
		assert.False(t, passing(webhook.Response{}, err), "and it is not tried again")
	}
	for _, peer := range []string{"10.0.0.1:443", "[::1]:443", "[fe80::1%lo]:443", "169.254.169.254:443", "[::ffff:10.0.0.1]:443"} {
		assert.ErrorIs(t, a.control("tcp", peer, nil), project.ErrURLBlocked, peer)
	}
	assert.NoError(t, a.control("tcp", "8.8.8.8:443", nil))
	assert.Error(t, a.control("tcp", "hooks.example.com:443", nil), "a socket's peer is an address")

	require.NoError(t, listener.Close())
	assert.ErrorIs(t, <-accepted, net.ErrClosed, "nobody ever connected")
}
