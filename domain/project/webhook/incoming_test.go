package webhook_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

var (
	digits = strings.Repeat("0a", 32)
	at     = time.Unix(1_700_000_000, 0).UTC()
)

func TestIncomingRequest(t *testing.T) {
	digest := webhook.DigestToken("t")
	assert.Equal(t, "e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8", digest)
	for _, c := range []struct {
		known, matches, enabled bool
		digest                  string
		want                    webhook.Refusal
		status                  int
	}{
		{true, true, true, digest, webhook.Admitted, 200},
		{true, false, true, digest, webhook.RefusedToken, 401},
		{false, false, false, "", webhook.RefusedUnknown, 401},
		{false, true, true, digest, webhook.RefusedUnknown, 401},
		{true, false, false, digest, webhook.RefusedToken, 401}, // whoever has no token does not learn that it is closed
		{true, true, false, digest, webhook.RefusedDisabled, 404},
		{true, true, true, "", webhook.RefusedUnknown, 401}, // no token was ever made
	} {
		have := webhook.Incoming{Enabled: c.enabled, TokenDigest: c.digest}.CheckRequest(c.known, c.matches)
		assert.Equal(t, c.want, have, "%+v", c)
		assert.Equal(t, c.status, have.Status(), "%+v", c)
	}
}

func TestSignatures(t *testing.T) {
	now := strconv.FormatInt(at.Unix(), 10)
	secret := []byte("s")
	timed, required := webhook.Incoming{Secret: secret}, webhook.Incoming{Secret: secret, RequireSignature: true}
	untimed := webhook.Incoming{Secret: secret, RequireSignature: true, Untimed: true}
	stamp := func(d time.Duration) string { return strconv.FormatInt(at.Add(d).Unix(), 10) }
	for _, c := range []struct {
		name                 string
		in                   webhook.Incoming
		signature, timestamp string
		matches              bool
		want                 webhook.Refusal
	}{
		{"none, none needed", timed, "", "", false, webhook.Admitted},
		{"none, needed", required, "", now, false, webhook.RefusedUnsigned},
		{"right", required, "sha256=" + digits, now, true, webhook.Admitted},
		{"right, not needed", timed, "sha256=" + digits, now, true, webhook.Admitted},
		{"wrong, not needed", timed, "sha256=" + digits, now, false, webhook.RefusedSignature},
		{"wrong", required, "sha256=" + digits, now, false, webhook.RefusedSignature},
		{"capital digits", required, "sha256=" + strings.ToUpper(digits), now, true, webhook.Admitted},
		{"no secret", webhook.Incoming{}, "sha256=" + digits, now, true, webhook.RefusedNoSecret},
		{"no secret, needed", webhook.Incoming{RequireSignature: true}, "sha256=" + digits, now, true, webhook.RefusedNoSecret},
		{"short", required, "sha256=" + digits[2:], now, true, webhook.RefusedSignature},
		{"long", required, "sha256=" + digits + "00", now, true, webhook.RefusedSignature},
		{"no digits", required, "sha256=" + strings.Repeat("zz", 32), now, true, webhook.RefusedSignature},
		{"other sum", required, "sha1=" + digits, now, true, webhook.RefusedSignature},
		{"bare digits", required, digits, now, true, webhook.RefusedSignature},
		{"no timestamp", required, "sha256=" + digits, "", true, webhook.RefusedTimestamp},
		{"timestamp of words", required, "sha256=" + digits, "now", true, webhook.RefusedTimestamp},
		{"negative timestamp", required, "sha256=" + digits, "-1", true, webhook.RefusedTimestamp},
		{"timestamp with plus", required, "sha256=" + digits, "+" + now, true, webhook.RefusedTimestamp},
		{"timestamp with zero", required, "sha256=" + digits, "0" + now, true, webhook.RefusedTimestamp},
		{"milliseconds", required, "sha256=" + digits, now + "000", true, webhook.RefusedTimestamp},
		{"far too long", required, "sha256=" + digits, strings.Repeat("9", 30), true, webhook.RefusedTimestamp},
		{"oldest", required, "sha256=" + digits, stamp(-5 * time.Minute), true, webhook.Admitted},
		{"too old", required, "sha256=" + digits, stamp(-5*time.Minute - time.Second), true, webhook.RefusedStale},
		{"latest", required, "sha256=" + digits, stamp(5 * time.Minute), true, webhook.Admitted},
		{"too early", required, "sha256=" + digits, stamp(5*time.Minute + time.Second), true, webhook.RefusedStale},
		{"untimed", untimed, "sha256=" + digits, "", true, webhook.Admitted},
		{"untimed, wrong", untimed, "sha256=" + digits, "", false, webhook.RefusedSignature},
		{"untimed, none", untimed, "", "", false, webhook.RefusedUnsigned},
	} {
		have := c.in.CheckSignature(webhook.ReadSignature(c.signature, c.timestamp), c.matches, at)
		assert.Equal(t, c.want, have, c.name)
		if have != webhook.Admitted {
			assert.Equal(t, 401, have.Status(), c.name)
		}
	}
	s := webhook.ReadSignature("sha256="+digits, now)
	assert.Equal(t, now+".", timed.Prefix(s))
	assert.Empty(t, untimed.Prefix(s), "a copy of a timed request would otherwise pass as an untimed one")
	until, ok := timed.ReplayExpiry(s)
	require.True(t, ok)
	assert.True(t, until.After(at.Add(webhook.SignatureWindow)), "as long as it could be replayed")
	_, ok = untimed.ReplayExpiry(s)
	assert.False(t, ok)
	_, ok = timed.ReplayExpiry(webhook.ReadSignature("", ""))
	assert.False(t, ok)
}

func TestStatuses(t *testing.T) {
	for refusal, want := range map[webhook.Refusal]int{
		webhook.RefusedMethod: 405, webhook.RefusedPath: 404, webhook.RefusedRate: 429, webhook.RefusedSize: 413, webhook.RefusedBody: 400,
		webhook.RefusedReplay: 401, webhook.RefusedGone: 404, webhook.RefusedNotStarted: 500, webhook.RefusedStale: 401, webhook.RefusedUnsigned: 401,
		"anything else": 401,
	} {
		assert.Equal(t, want, refusal.Status(), string(refusal))
	}
}

func TestTheWindowSlides(t *testing.T) {
	var s webhook.SlidingWindow
	for i := range webhook.RatePerWindow {
		_, ok := s.Take(at.Add(time.Duration(i) * 100 * time.Millisecond)) // spread over 9.9 s
		require.True(t, ok, i)
	}
	wait, ok := s.Take(at.Add(10 * time.Second))
	assert.False(t, ok, "the hundred and first")
	assert.Equal(t, 50*time.Second, wait)
	_, ok = s.Take(at.Add(time.Minute - time.Nanosecond))
	assert.False(t, ok, "a fixed window would have begun anew at the full minute")
	_, ok = s.Take(at.Add(time.Minute))
	assert.True(t, ok, "the first has left the window, and refused ones never counted")
	wait, ok = s.Take(at.Add(time.Minute))
	assert.False(t, ok)
	assert.Equal(t, 100*time.Millisecond, wait)
	assert.False(t, s.Idle(at.Add(time.Minute)))
	assert.True(t, s.Idle(at.Add(time.Hour)))
}
