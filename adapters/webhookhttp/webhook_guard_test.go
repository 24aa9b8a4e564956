package webhookhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// vetsEveryAddress: one address that is not allowed refuses the host, whatever the others are, and is not named.
func vetsEveryAddress(t *testing.T, open openWebhooks) {
	r := receive(t, status(http.StatusOK))
	request := built(t, webhook.Config{URL: "http://hooks.test" + r.port(t)})
	for _, c := range []struct {
		addrs   []string
		rules   webhook.Rules
		rule    webhook.EgressViolation
		refused bool
	}{
		{[]string{"127.0.0.1"}, here("hooks.test" + r.port(t)), "", false},
		{[]string{"::ffff:127.0.0.1"}, here("hooks.test" + r.port(t)), "", false},
		{[]string{"127.0.0.1", "169.254.169.254"}, here("hooks.test" + r.port(t)), webhook.RuleMetadata, true},
		{[]string{"127.0.0.1", "::ffff:169.254.169.254"}, here("hooks.test" + r.port(t)), webhook.RuleMetadata, true},
		{[]string{"127.0.0.1", "224.0.0.1"}, here("hooks.test" + r.port(t)), webhook.RuleReserved, true},
		{[]string{"127.0.0.1", "64:ff9b::7f00:1"}, here("hooks.test" + r.port(t)), webhook.RuleReserved, true},
		{[]string{"93.184.216.34", "127.0.0.1"}, webhook.Rules{AllowHosts: []string{"hooks.test" + r.port(t)}}, webhook.RuleLoopback, true},
		{[]string{"127.0.0.1"}, webhook.Rules{AllowLoopback: true, AllowHosts: []string{"other.test" + r.port(t)}}, webhook.RuleScheme, true},
	} {
		n := &names{hosts: map[string][]string{"hooks.test": c.addrs}}
		hooks := open(t, webhookWorld{Lookup: n.lookup})
		before := len(r.received())
		_, errResolve := hooks.Resolve(t.Context(), request, c.rules)
		_, errSend := hooks.Send(t.Context(), request, c.rules)
		if !c.refused {
			assert.NoError(t, errors.Join(errResolve, errSend), "%+v", c)
			continue
		}
		for _, err := range []error{errResolve, errSend} {
			require.ErrorIs(t, err, project.ErrURLBlocked, "%+v", c)
			assert.Equal(t, webhook.Blocked{Rule: c.rule, Host: "hooks.test"}, fault.From(err).Details, "%+v", c)
			for _, addr := range c.addrs {
				assert.NotContains(t, err.Error(), strings.TrimPrefix(addr, "::ffff:"))
			}
		}
		assert.Len(t, r.received(), before, "nobody was connected to")
	}
	nobody := open(t, webhookWorld{Lookup: (&names{}).lookup})
	_, err := nobody.Resolve(t.Context(), request, here("hooks.test"+r.port(t)))
	assert.ErrorIs(t, err, project.ErrExecutionFailed, "a host without an address")
}

// asksOnceAndBelieves: a name that means another host a moment later (rebinding) is connected to as it was vetted, and vetted anew when it is
// resolved anew.
func asksOnceAndBelieves(t *testing.T, open openWebhooks) {
	r := receive(t, status(http.StatusOK))
	n := &names{answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}}}
	hooks := open(t, webhookWorld{Lookup: n.lookup})
	request, rules := built(t, webhook.Config{URL: "http://hooks.test" + r.port(t)}), here("hooks.test"+r.port(t))
	_, err := hooks.Send(t.Context(), request, rules)
	require.NoError(t, err)
	assert.Equal(t, 1, n.questions(), "the name server is asked once an attempt")

	_, err = hooks.Send(t.Context(), request, rules)
	require.ErrorIs(t, err, project.ErrURLBlocked)
	assert.Len(t, r.received(), 1)

	again := receive(t, status(http.StatusServiceUnavailable))
	n = &names{answers: [][]string{{"127.0.0.1"}, {"0.0.0.0"}}}
	var w waits
	hooks = open(t, webhookWorld{Lookup: n.lookup, Wait: w.wait})
	request = built(t, webhook.Config{URL: "http://hooks.test" + again.port(t), Method: "PUT", RetryCount: 3, TimeoutMS: 60_000})
	_, err = hooks.Send(t.Context(), request, here("hooks.test"+again.port(t)))
	require.ErrorIs(t, err, project.ErrURLBlocked, "a retry is vetted like the first attempt")
	assert.Len(t, again.received(), 1)
}

// asksNobodyInVain: what the URL itself rules out is refused before any question.
func asksNobodyInVain(t *testing.T, open openWebhooks) {
	n := &names{}
	hooks := open(t, webhookWorld{Lookup: n.lookup})
	for _, raw := range []string{"http://hooks.test/", "https://hooks.test:22/", "https://localhost/", "https://127.0.0.1/", "https://metadata.google.internal/"} {
		_, err := hooks.Resolve(t.Context(), webhook.Request{Method: "GET", URL: raw}, webhook.Rules{})
		require.ErrorIs(t, err, project.ErrURLBlocked, raw)
		_, err = hooks.Send(t.Context(), webhook.Request{Method: "GET", URL: raw}, webhook.Rules{})
		require.ErrorIs(t, err, project.ErrURLBlocked, raw)
	}
	assert.Zero(t, n.questions())
}

func followsNoRedirect(t *testing.T, open openWebhooks) {
	elsewhere := receive(t, status(http.StatusOK))
	for _, to := range []string{"http://169.254.169.254/latest/meta-data/", elsewhere.URL, "/again"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(code)
			})
			_, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL}), here("127.0.0.1"+r.port(t), "127.0.0.1"+elsewhere.port(t)))
			require.ErrorIs(t, err, project.ErrExecutionFailed)
			assert.Equal(t, code, answered(t, err).StatusCode)
			assert.Equal(t, to, answered(t, err).Headers["Location"])
			assert.Len(t, r.received(), 1)
		}
	}
	assert.Empty(t, elsewhere.received())
}

// repeatsNoSecret: a receiver that echoes the request's credentials does not bring them into answers and errors.
func repeatsNoSecret(t *testing.T, open openWebhooks) {
	const secret, parameter = "correct-horse-battery", "staple-in-the-query"
	for _, code := range []int{200, 500} {
		r := receive(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", r.Header.Get("X-Api-Key"))
			w.WriteHeader(code)
			_, _ = w.Write([]byte(r.Header.Get("Authorization") + " " + r.URL.RawQuery + " " + strings.Repeat("x", webhook.MaxKept-60) + r.Header.Get("X-Api-Key")))
		})
		c := webhook.Config{URL: r.URL + "?token=" + parameter, Headers: map[string]string{"Authorization": "Bearer " + secret, "X-Api-Key": secret}}
		answer, err := open(t, local()).Send(t.Context(), built(t, c), here("127.0.0.1"+r.port(t)))
		assert.Equal(t, code != 200, err != nil)
		text, encodeErr := json.Marshal(answer)
		require.NoError(t, encodeErr)
		for _, hidden := range []string{secret, parameter, secret[:12]} {
			assert.NotContains(t, string(text), hidden)
			if err != nil {
				assert.NotContains(t, err.Error(), hidden)
			}
		}
		assert.Contains(t, answer.Body, "[REDACTED:")
	}
	refused := receive(t, status(http.StatusOK))
	refused.Close()
	c := webhook.Config{URL: refused.URL + "/" + secret + "?token=" + parameter}
	_, err := open(t, local()).Send(t.Context(), built(t, c), here("127.0.0.1"+refused.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.NotContains(t, err.Error(), secret)
	assert.NotContains(t, err.Error(), parameter)
}

// namesNoAddress: where a name led is not said, whatever went wrong.
func namesNoAddress(t *testing.T, open openWebhooks) {
	refused := receive(t, status(http.StatusOK))
	refused.Close()
	_, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: "http://hooks.test" + refused.port(t)}), here("hooks.test"+refused.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Contains(t, err.Error(), "hooks.test")
	assert.NotContains(t, err.Error(), "127.0.0.1")

	world := webhookWorld{Lookup: nil}
	world.Lookup = (&names{answers: [][]string{{"10.9.8.7"}}}).lookup
	_, err = open(t, world).Resolve(t.Context(), built(t, webhook.Config{URL: "https://hooks.test"}), webhook.Rules{})
	require.ErrorIs(t, err, project.ErrURLBlocked)
	text, encodeErr := json.Marshal(fault.From(err).Details)
	require.NoError(t, encodeErr)
	assert.NotContains(t, err.Error()+string(text), "10.9.8.7")
}

// hasNoAmbience: no proxy of the environment, and no cookie of the last time. Package net/http reads the environment once a process, so an
// adapter's tests run this one by itself too.
func hasNoAmbience(t *testing.T, open openWebhooks) {
	proxy := receive(t, status(http.StatusOK))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) { http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"}) })
	hooks := open(t, local())
	request, rules := built(t, webhook.Config{URL: "http://hooks.test" + r.port(t)}), here("hooks.test"+r.port(t))
	for range 2 {
		_, err := hooks.Send(context.WithoutCancel(t.Context()), request, rules)
		require.NoError(t, err)
	}
	assert.Empty(t, proxy.received())
	require.Len(t, r.received(), 2)
	assert.Equal(t, "/", r.received()[0].RequestURI, "a proxy would be sent the whole URL")
	assert.Empty(t, r.received()[1].Header.Get("Cookie"))
	assert.Empty(t, r.received()[1].Header.Get("Authorization"))
}
