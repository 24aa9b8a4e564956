package webhookhttp_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/webhookhttp"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"

	"github.com/countersign-dev/countersign/ports/projectport"
)

func TestContract(t *testing.T) {
	webhooks(t, func(_ testing.TB, w webhookWorld) projectport.Webhooks {
		return webhookhttp.NewClient(webhookhttp.ClientOptions{RootCAs: w.Roots, Lookup: w.Lookup, Wait: w.Wait})
	})
}

// TestNoProxyOfTheEnvironment runs that part of the contract in a process that has had one from the beginning.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestContract$/^HasNoAmbience$", "-test.v")
	child.Env = append(os.Environ(), "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=")
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "--- PASS: TestContract/HasNoAmbience")
}

// TestTheMachineItself: without options, names are asked of the system, and it says what every system says of this one.
func TestTheMachineItself(t *testing.T) {
	hooks := webhookhttp.NewClient(webhookhttp.ClientOptions{})
	r, err := webhook.Config{URL: "http://localhost:9/"}.Build(webhook.Input{})
	require.NoError(t, err)
	target, err := hooks.Resolve(t.Context(), r, webhook.Rules{AllowLoopback: true, AllowHosts: []string{"localhost:9"}})
	require.NoError(t, err)
	require.NotEmpty(t, target.Addresses)
	for _, addr := range target.Addresses {
		assert.True(t, addr.IsLoopback())
	}
	assert.Contains(t, target.Dangers(), "it goes to this machine")
}

// TestOurOwnPortsAreNobodysWebhook: whatever the user listed.
func TestOurOwnPortsAreNobodysWebhook(t *testing.T) {
	hooks := webhookhttp.NewClient(webhookhttp.ClientOptions{Own: func() []uint16 { return []uint16{9876} }})
	r, err := webhook.Config{URL: "http://127.0.0.1:9876/webhook/wf-1"}.Build(webhook.Input{})
	require.NoError(t, err)
	rules := webhook.Rules{AllowLoopback: true, AllowHosts: []string{"127.0.0.1:9876"}}
	_, err = hooks.Resolve(t.Context(), r, rules)
	assert.ErrorIs(t, err, project.ErrURLBlocked)
	_, err = hooks.Send(t.Context(), r, rules)
	assert.ErrorIs(t, err, project.ErrURLBlocked)
}

// TestTroubleInPlainWords: what the user reads names the host and what is wrong, in words of ours.
func TestTroubleInPlainWords(t *testing.T) {
	r := webhook.Request{Method: "GET", URL: "https://hooks.example.com/", Timeout: 30 * time.Second, Retries: 1}
	for want, c := range map[string]struct {
		cause error
		tries int
	}{
		"unknown host":          {&net.DNSError{Err: "no such host", Name: "hooks.example.com", Server: "10.0.0.53:53", IsNotFound: true}, 1},
		"name servers do not":   {&net.DNSError{Err: "server misbehaving", Server: "10.0.0.53:53", IsTemporary: true}, 2},
		"the connection failed": {errors.New("10.0.0.53 says no"), 2},
	} {
		tries := 0
		hooks := webhookhttp.NewClient(webhookhttp.ClientOptions{
			Lookup: func(context.Context, string) ([]netip.Addr, error) { tries++; return nil, c.cause },
			Wait:   func(context.Context, time.Duration) error { return nil },
		})
		_, err := hooks.Resolve(t.Context(), r, webhook.Rules{})
		require.ErrorIs(t, err, project.ErrExecutionFailed)
		assert.Contains(t, err.Error(), want)
		tries = 0
		_, err = hooks.Send(t.Context(), r, webhook.Rules{})
		require.ErrorIs(t, err, project.ErrExecutionFailed)
		assert.Contains(t, err.Error(), "hooks.example.com:443: ")
		assert.Contains(t, err.Error(), want)
		assert.NotContains(t, err.Error(), "10.0.0.53")
		assert.Equal(t, c.tries, tries, want)
	}
	slow := webhookhttp.NewClient(webhookhttp.ClientOptions{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	r.Timeout = 50 * time.Millisecond
	_, err := slow.Send(t.Context(), r, webhook.Rules{})
	assert.ErrorIs(t, err, project.ErrExecutionTimeout, "name servers count into the request's time")
}

// TestRealWaits: the wait before a retry is a real one when nobody replaces it, and ends with the request.
func TestRealWaits(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := closed.Addr().String()
	require.NoError(t, closed.Close())
	r, err := webhook.Config{URL: "http://" + at, Method: "PUT", RetryCount: 1, TimeoutMS: 60_000}.Build(webhook.Input{})
	require.NoError(t, err)
	begun := time.Now()
	answer, err := webhookhttp.NewClient(webhookhttp.ClientOptions{}).Send(t.Context(), r, webhook.Rules{AllowLoopback: true, AllowHosts: []string{at}})
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Equal(t, 1, answer.RetryAttempts)
	assert.GreaterOrEqual(t, time.Since(begun), time.Second)
	assert.GreaterOrEqual(t, answer.DurationMS, int64(1000))
}
