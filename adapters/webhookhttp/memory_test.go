package webhookhttp

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

var now = time.Unix(1_700_000_000, 0).UTC()

func TestSendersAreForgottenWhenTheyAreQuiet(t *testing.T) {
	var r rates
	for i := range maxSenders {
		_, ok := r.take("sender "+strconv.Itoa(i), now)
		require.True(t, ok)
	}
	for i := range webhook.RatePerWindow {
		_, ok := r.take("late "+strconv.Itoa(i), now)
		require.True(t, ok)
	}
	_, ok := r.take("one too many", now)
	assert.False(t, ok, "those who do not fit share one count")
	_, ok = r.take("sender 1", now)
	assert.True(t, ok, "those who are known keep theirs")
	assert.Len(t, r.senders, maxSenders+1)
	_, ok = r.take("the next minute", now.Add(webhook.RateWindow))
	assert.True(t, ok)
	assert.Len(t, r.senders, 1)
}

func TestSignaturesAreForgottenWhenTheyAreStale(t *testing.T) {
	var r replays
	later := now.Add(time.Minute)
	for i := range maxSignatures {
		require.True(t, r.claim(strconv.Itoa(i), later, now))
	}
	assert.False(t, r.claim("1", later, now))
	assert.False(t, r.claim("new", later, now), "what cannot be remembered is not let in")
	r.release("7")
	assert.True(t, r.claim("new", later, now))
	assert.True(t, r.claim("newer", later.Add(time.Minute), later))
	assert.Len(t, r.until, 1)
}
