package webhookhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

func sendsWhatWasBuilt(t *testing.T, open openWebhooks) {
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "r-1")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("thanks"))
	})
	c := webhook.Config{URL: r.URL + "/a/{{x}}?y={{x}}", Method: "PATCH", Headers: map[string]string{"X-Note": "{{x}}"}, PayloadTemplate: `{"x":"{{x}}"}`}
	request, err := c.Build(webhook.Input{Variables: map[string]string{"x": `1/2 "3"`}})
	require.NoError(t, err)
	answer, err := open(t, local()).Send(t.Context(), request, here("127.0.0.1"+r.port(t)))
	require.NoError(t, err)
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	assert.Equal(t, "thanks", answer.Body)
	assert.Equal(t, "r-1", answer.Headers["X-Request-Id"])
	assert.NotContains(t, answer.Headers, "Set-Cookie")
	assert.Zero(t, answer.RetryAttempts)
	assert.GreaterOrEqual(t, answer.DurationMS, int64(0))

	require.Len(t, r.received(), 1)
	got := r.received()[0]
	assert.Equal(t, "PATCH", got.Method)
	assert.Equal(t, "/a/1%2F2%20%223%22?y=1%2F2+%223%22", got.RequestURI)
	assert.Equal(t, `{"x":"1/2 \"3\""}`, got.body)
	assert.Equal(t, `1/2 "3"`, got.Header.Get("X-Note"))
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	assert.EqualValues(t, len(got.body), got.ContentLength)
	assert.Empty(t, got.Header.Get("Accept-Encoding"))

	_, err = open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL, Method: "HEAD"}), here("127.0.0.1"+r.port(t)))
	require.NoError(t, err)
	assert.Empty(t, r.received()[1].body)
}

// keepsTheName: the connection goes to an address, TLS and Host go by the name.
func keepsTheName(t *testing.T, open openWebhooks) {
	r := receiveTLS(t, status(http.StatusOK))
	n := &names{hosts: map[string][]string{"example.com": {"127.0.0.1"}}}
	hooks := open(t, webhookWorld{Lookup: n.lookup, Roots: r.roots()})
	request := built(t, webhook.Config{URL: "https://EXAMPLE.com." + r.port(t) + "/x"})
	rules := here("example.com" + r.port(t))

	target, err := hooks.Resolve(t.Context(), request, rules)
	require.NoError(t, err)
	assert.Equal(t, "example.com", target.Host)
	assert.Equal(t, "https", target.Scheme)
	require.Len(t, target.Addresses, 1)
	assert.Equal(t, "127.0.0.1", target.Addresses[0].String())
	assert.Empty(t, r.received(), "resolving makes no request")

	_, err = hooks.Send(t.Context(), request, rules)
	require.NoError(t, err)
	require.Len(t, r.received(), 1)
	assert.Equal(t, "example.com", r.received()[0].sni)
	assert.Equal(t, "example.com"+r.port(t), r.received()[0].Host)
}

func distrustsCertificates(t *testing.T, open openWebhooks) {
	r := receiveTLS(t, status(http.StatusOK))
	_, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: "https://example.com" + r.port(t)}), here("example.com"+r.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Contains(t, err.Error(), "not signed by a trusted")

	trusting := local()
	trusting.Roots = r.roots()
	_, err = open(t, trusting).Send(t.Context(), built(t, webhook.Config{URL: "https://other.test" + r.port(t)}), here("other.test"+r.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Contains(t, err.Error(), "another host")
	assert.Empty(t, r.received(), "nothing was sent before the certificate was verified")

	plain := receive(t, status(http.StatusOK))
	_, err = open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: "https://example.com" + plain.port(t)}), here("example.com"+plain.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Contains(t, err.Error(), "TLS")
	assert.Empty(t, plain.received(), "and nothing goes unencrypted instead")
}

func failsUnlessAccepted(t *testing.T, open openWebhooks) {
	for _, code := range []int{304, 400, 401, 404, 429, 500} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			if code != http.StatusNotModified {
				_, _ = w.Write([]byte("because"))
			}
		})
		answer, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL, Method: "PUT", RetryCount: 3}), here("127.0.0.1"+r.port(t)))
		require.ErrorIs(t, err, project.ErrExecutionFailed)
		assert.Equal(t, code, answered(t, err).StatusCode)
		assert.Equal(t, answer, answered(t, err), "the answer itself and the details are one")
		assert.Len(t, r.received(), 1, "%d is not tried again", code)
		if code != http.StatusNotModified {
			assert.Equal(t, "because", answer.Body)
		}
	}
}

// dripping sends the beginning of a body and then nothing until the client has gone.
func dripping(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte("be"))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func endsInTime(t *testing.T, open openWebhooks) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, answer := range map[string]http.HandlerFunc{"": silent, "be": dripping} {
		r := receive(t, answer)
		for limit := int64(200); ; limit *= 2 { // as long as it takes to begin
			_, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL, TimeoutMS: limit}), here("127.0.0.1"+r.port(t)))
			require.ErrorIs(t, err, project.ErrExecutionTimeout)
			require.GreaterOrEqual(t, answered(t, err).DurationMS, limit)
			if answered(t, err).Body == name {
				break
			}
			require.Empty(t, answered(t, err).Body)
			require.Less(t, limit, int64(60_000), "what there was by then is not told")
		}
	}
}

func boundsAnswers(t *testing.T, open openWebhooks) {
	sent := make(chan int, 1)
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk, n := bytes.Repeat([]byte("€"), 64<<10), 0
		for n < 256<<20 { // as much as it likes, until nobody listens
			if _, err := w.Write(chunk); err != nil {
				break
			}
			n += len(chunk)
		}
		sent <- n
	})
	answer, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL}), here("127.0.0.1"+r.port(t)))
	require.NoError(t, err)
	assert.True(t, answer.Truncated)
	assert.EqualValues(t, webhook.MaxRead, answer.TotalBytes)
	assert.LessOrEqual(t, len(answer.Body), webhook.MaxKept)
	assert.Equal(t, strings.Repeat("€", webhook.MaxKept/3), answer.Body)
	assert.Less(t, <-sent, 48<<20, "what is not kept is not read either; the rest is the system's buffers")

	flood := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set("X-Flood-"+strings.Repeat("x", i), strings.Repeat("y", 4<<10))
		}
	})
	_, err = open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: flood.URL}), here("127.0.0.1"+flood.port(t)))
	assert.ErrorIs(t, err, project.ErrExecutionFailed, "headers without end")
}

func unpacksNothing(t *testing.T, open openWebhooks) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write(make([]byte, 8<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	answer, err := open(t, local()).Send(t.Context(), built(t, webhook.Config{URL: r.URL}), here("127.0.0.1"+r.port(t)))
	require.NoError(t, err)
	assert.EqualValues(t, bomb.Len(), answer.TotalBytes, "as many bytes as came over the wire")
}

// waits remembers how long was waited, and waits for nothing.
type waits struct{ taken []time.Duration }

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.taken = append(w.taken, d)
	return ctx.Err()
}

func triesAgain(t *testing.T, open openWebhooks) {
	for _, c := range []struct {
		codes    []int
		method   string
		key      string
		retries  int
		requests int
		waited   []time.Duration
	}{
		{[]int{503, 502, 200}, "PUT", "", 3, 3, []time.Duration{time.Second, 2 * time.Second}},
		{[]int{504, 504, 504, 504, 504}, "GET", "", 3, 4, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{[]int{503, 200}, "GET", "", 0, 1, nil},
		{[]int{503, 200}, "POST", "", 3, 1, nil}, // without a key a repeated POST may act twice
		{[]int{503, 200}, "POST", "k-1", 3, 2, []time.Duration{time.Second}},
		{[]int{503, 404, 200}, "DELETE", "", 3, 2, []time.Duration{time.Second}},
	} {
		n := 0
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.codes[n])
			n++
		})
		var w waits
		world := local()
		world.Wait = w.wait
		config := webhook.Config{URL: r.URL, Method: c.method, RetryCount: c.retries, TimeoutMS: 60_000, Headers: map[string]string{}}
		if c.key != "" {
			config.Headers["Idempotency-Key"] = c.key
		}
		answer, err := open(t, world).Send(t.Context(), built(t, config), here("127.0.0.1"+r.port(t)))
		assert.Equal(t, c.codes[c.requests-1], answer.StatusCode, "%+v", c)
		assert.Equal(t, answer.OK(), err == nil, "%+v", c)
		assert.Equal(t, c.requests-1, answer.RetryAttempts, "%+v", c)
		assert.Equal(t, c.waited, w.taken, "%+v", c)
		require.Len(t, r.received(), c.requests, "%+v", c)
		for _, got := range r.received() {
			assert.Equal(t, c.key, got.Header.Get("Idempotency-Key"), "every attempt has the same key")
		}
	}
}

// triesAgainOnlyIfUnsent: a connection that was refused is tried again, one that broke after the request was sent is not.
func triesAgainOnlyIfUnsent(t *testing.T, open openWebhooks) {
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	var w waits
	world := local()
	world.Wait = w.wait
	request := built(t, webhook.Config{URL: r.URL, Method: "PUT", RetryCount: 2})
	_, err := open(t, world).Send(t.Context(), request, here("127.0.0.1"+r.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Len(t, r.received(), 1)
	assert.Empty(t, w.taken)

	rules := here("127.0.0.1" + r.port(t))
	r.Close()
	answer, err := open(t, world).Send(t.Context(), request, rules)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Contains(t, err.Error(), "nothing listens")
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, w.taken)
	assert.Equal(t, 2, answer.RetryAttempts)
	assert.Zero(t, answered(t, err).StatusCode)
}

func stopsWhenCancelled(t *testing.T, open openWebhooks) {
	ctx, cancel := context.WithCancel(t.Context())
	r := receive(t, status(http.StatusServiceUnavailable))
	world := local()
	world.Wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	request := built(t, webhook.Config{URL: r.URL, Method: "PUT", RetryCount: 3, TimeoutMS: 60_000})
	_, err := open(t, world).Send(ctx, request, here("127.0.0.1"+r.port(t)))
	require.ErrorIs(t, err, project.ErrCancelled)
	assert.Equal(t, http.StatusServiceUnavailable, answered(t, err).StatusCode)
	assert.Len(t, r.received(), 1)

	ctx, cancel = context.WithCancel(t.Context())
	slow := receive(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		dripping(w, r)
	})
	_, err = open(t, local()).Send(ctx, built(t, webhook.Config{URL: slow.URL}), here("127.0.0.1"+slow.port(t)))
	require.ErrorIs(t, err, project.ErrCancelled)
	_, err = open(t, local()).Send(ctx, built(t, webhook.Config{URL: slow.URL}), here("127.0.0.1"+slow.port(t)))
	require.ErrorIs(t, err, project.ErrCancelled, "a context that has ended sends nothing")
	assert.Len(t, slow.received(), 1)
}

// neverOutwaitsItsTime: when the wait before a retry does not fit, the answer there is says more than a timeout would.
func neverOutwaitsItsTime(t *testing.T, open openWebhooks) {
	r := receive(t, status(http.StatusBadGateway))
	var w waits
	world := local()
	world.Wait = w.wait
	request := built(t, webhook.Config{URL: r.URL, Method: "PUT", RetryCount: 3, TimeoutMS: 900})
	_, err := open(t, world).Send(t.Context(), request, here("127.0.0.1"+r.port(t)))
	require.ErrorIs(t, err, project.ErrExecutionFailed)
	assert.Equal(t, http.StatusBadGateway, answered(t, err).StatusCode)
	assert.Empty(t, w.taken)
}
