package webhook_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

func TestPeopleSeeNoSecrets(t *testing.T) {
	c := webhook.Config{
		URL: "https://hooks.example.com/b?token={{t}}&branch=main&sig=abc&empty_key=", RetryCount: 1, Method: "PUT",
		Headers: map[string]string{
			"Authorization": "Bearer tok-123456", "X-Api-Key": "sk-1", "Cookie": "a=b", "X-Hub-Signature": "s", "X-Env": "production", "Accept": "*/*",
			"X-Forward": "Basic dTpw", "X-Opaque": "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6", "Idempotency-Key": "e-1", "X-Note": "a rather long text of forty characters, 1",
		},
		PayloadTemplate: `{"a":"` + strings.Repeat("ü", 3000) + `"}`,
	}
	r, err := c.Build(webhook.Input{Variables: map[string]string{"t": "p w/1"}})
	require.NoError(t, err)
	view := r.View()
	masked := map[string]bool{"Authorization": true, "X-Api-Key": true, "Cookie": true, "X-Hub-Signature": true, "X-Forward": true, "X-Opaque": true}
	for _, h := range view.Headers {
		assert.Equal(t, masked[h.Name], h.Value == webhook.RedactedValue, "%s: %s", h.Name, h.Value)
	}
	assert.Equal(t, "https://hooks.example.com/b?token="+webhook.RedactedValue+"&branch=main&sig="+webhook.RedactedValue+"&empty_key=", view.URL)
	assert.Equal(t, "hooks.example.com", view.Host)
	assert.Equal(t, "PUT", view.Method)
	assert.Equal(t, len(r.Body), view.PayloadBytes)
	assert.True(t, view.Cut)
	assert.LessOrEqual(t, len(view.Payload), webhook.MaxPreview)
	assert.Greater(t, len(view.Payload), webhook.MaxPreview-4)
	assert.True(t, utf8.ValidString(view.Payload))
	assert.Len(t, view.Digest, 64)
	other := r
	other.Body = append(append([]byte(nil), r.Body[:len(r.Body)-3]...), `x"}`...)
	require.Equal(t, view.Payload, other.View().Payload)
	assert.NotEqual(t, view, other.View(), "what is not shown is told apart all the same")
	assert.Equal(t, 1, view.Retries)
	assert.EqualValues(t, 30_000, view.TimeoutMS)
	assert.Subset(t, r.Secrets(), []string{"Bearer tok-123456", "tok-123456", "sk-1", "dTpw", "p+w%2F1", "p w/1", "abc"})
	assert.NotContains(t, r.Secrets(), "production")

	small, err := webhook.Config{URL: address, PayloadTemplate: `{"a":1}`}.Build(webhook.Input{})
	require.NoError(t, err)
	assert.Equal(t, `{"a":1}`, small.View().Payload)
	assert.False(t, small.View().Cut)
	assert.Empty(t, small.View().Digest, "nothing is hidden")

	listed := c.Masked()
	assert.Equal(t, webhook.RedactedValue, listed.Headers["Authorization"])
	assert.Equal(t, "production", listed.Headers["X-Env"])
	assert.NotContains(t, listed.URL, "{{t}}")
	assert.Equal(t, "Bearer tok-123456", c.Headers["Authorization"], "the webhook itself is unchanged")
	assert.Nil(t, webhook.Config{URL: address}.Masked().Headers)
}

func TestWhatIsKeptOfAnAnswer(t *testing.T) {
	headers := map[string][]string{
		"content-type": {"text/plain"}, "Set-Cookie": {"a=b"}, "Authorization": {"x"}, "X-Request-Id": {"r-1", "r-2"}, "Location": {"http://10.0.0.1/\x1b[0m"},
		"ETag": {strings.Repeat("e", 2000)}, "X-Custom": {"y"}, "Retry-After": {},
	}
	r := webhook.NewResponse(201, headers, []byte("done"), false)
	assert.Equal(t, "text/plain", r.Headers["Content-Type"])
	assert.Equal(t, "r-1, r-2", r.Headers["X-Request-Id"])
	assert.Equal(t, "http://10.0.0.1/[0m", r.Headers["Location"])
	assert.Len(t, r.Headers["Etag"], 1024)
	assert.Len(t, r.Headers, 4, "what is not on the list is not kept")
	assert.Equal(t, "done", r.Body)
	assert.False(t, r.Truncated)
	assert.EqualValues(t, 4, r.TotalBytes)

	for name, c := range map[string]struct {
		body      string
		more, cut bool
		kept      int
	}{
		"exact":    {strings.Repeat("x", webhook.MaxKept), false, false, webhook.MaxKept},
		"one more": {strings.Repeat("x", webhook.MaxKept+1), false, true, webhook.MaxKept},
		"goes on":  {"x", true, true, 1},
		"runes":    {strings.Repeat("€", webhook.MaxKept), false, true, webhook.MaxKept / 3 * 3},
		"binary":   {"\xff\xfe\x00", false, false, len("\ufffd\x00")},
		"large":    {strings.Repeat("x", 50*webhook.MaxKept), false, true, webhook.MaxKept},
	} {
		r := webhook.NewResponse(200, nil, []byte(c.body), c.more)
		assert.Equal(t, c.cut, r.Truncated, name)
		assert.Len(t, r.Body, c.kept, name)
		assert.True(t, utf8.ValidString(r.Body), name)
	}
	for status, ok := range map[int]bool{0: false, 100: false, 199: false, 200: true, 204: true, 299: true, 300: false, 302: false, 404: false, 500: false} {
		assert.Equal(t, ok, webhook.Response{StatusCode: status}.OK(), status)
	}
	for status, passing := range map[int]bool{429: false, 500: false, 501: false, 502: true, 503: true, 504: true, 505: false} {
		assert.Equal(t, passing, webhook.IsRetryable(status), status)
	}
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, []time.Duration{webhook.Backoff(0), webhook.Backoff(1), webhook.Backoff(2)})
}

func TestTellingOfAnExecution(t *testing.T) {
	ended := webhook.ExecutionEnd{
		WorkflowID: "wf-1", WorkflowName: `Build "all"`, ExecutionID: "e-1", Status: "failed", Elapsed: 1500 * time.Millisecond,
		At: time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600)), Error: "step 2\nfailed",
	}
	o := webhook.Outgoing{Enabled: true, URL: address, Trigger: webhook.OnAlways}
	require.NoError(t, o.Validate())
	r, err := o.Build(ended)
	require.NoError(t, err)
	assert.Equal(t, `{"workflow":{"id":"wf-1","name":"Build \"all\""},"execution":{"id":"e-1","status":"failed","duration_ms":1500,"timestamp":"2026-01-02T03:04:05Z"},"error":"step 2\nfailed"}`, string(r.Body))
	assert.Equal(t, "POST", r.Method)
	assert.Equal(t, webhook.DeliveryTimeout, r.Timeout)
	assert.Zero(t, r.Retries)

	ended.Error = ""
	r, err = o.Build(ended)
	require.NoError(t, err)
	assert.Contains(t, string(r.Body), `"error":null`)

	o.PayloadTemplate = `{"text":"{{workflow_name}} ({{workflow_id}}) {{status}} in {{duration}} at {{timestamp}}: {{error_message}}{{other}}","ms":{{duration}},"id":"{{execution_id}}"}`
	r, err = o.Build(ended)
	require.NoError(t, err)
	assert.Equal(t, `{"text":"Build \"all\" (wf-1) failed in 1500 at 2026-01-02T03:04:05Z: {{other}}","ms":1500,"id":"e-1"}`, string(r.Body))

	for _, c := range []struct {
		trigger            string
		succeeded, enabled bool
		want               bool
	}{
		{webhook.OnAlways, true, true, true}, {webhook.OnAlways, false, true, true}, {webhook.OnSuccess, true, true, true}, {webhook.OnSuccess, false, true, false},
		{webhook.OnFailure, true, true, false}, {webhook.OnFailure, false, true, true}, {webhook.OnAlways, true, false, false}, {"", true, true, false},
	} {
		assert.Equal(t, c.want, webhook.Outgoing{Enabled: c.enabled, Trigger: c.trigger}.Fires(c.succeeded), "%+v", c)
	}
	assert.ErrorIs(t, webhook.Outgoing{URL: address, Trigger: "sometimes"}.Validate(), project.ErrArgument)
	assert.ErrorIs(t, webhook.Outgoing{URL: "x", Trigger: webhook.OnAlways}.Validate(), project.ErrURLBlocked)
}
