package system_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/ports"
)

var (
	_ ports.Clock  = system.Clock{}
	_ ports.IDs    = system.IDs{}
	_ ports.Tokens = system.Tokens{}
)

func TestNowIsUTC(t *testing.T) {
	before := time.Now()
	now := system.Clock{}.Now()
	assert.Equal(t, time.UTC, now.Location())
	assert.False(t, now.Before(before))
	assert.False(t, time.Now().Before(now))
}

func TestIDForm(t *testing.T) {
	for n, want := range map[int]string{-1: `^cf_$`, 0: `^cf_$`, 1: `^cf_[a-z2-7]$`, 10: `^cf_[a-z2-7]{10}$`} {
		assert.Regexp(t, regexp.MustCompile(want), system.IDs{}.NewID("cf_", n))
	}
}

// Every character must come up equally often at every place. With 64,000 draws of 32 characters each count is 2,000 ± 44 (one
// sigma); a bound of ten sigma never fails by chance and finds an alphabet with 31 or 33 characters at once.
func TestIDCharactersAreUniformAndIndependent(t *testing.T) {
	const draws, places, bound = 64_000, 4, 440
	var single [places][256]int
	pairs := map[string]int{}
	for range draws {
		id := system.IDs{}.NewID("", places)
		for i := range places {
			single[i][id[i]]++
		}
		pairs[id[:2]]++
	}
	for i := range places {
		kinds := 0
		for c, n := range single[i] {
			if n > 0 {
				kinds++
				assert.InDelta(t, draws/32, n, bound, "place %d, character %q", i, rune(c))
			}
		}
		assert.Equal(t, 32, kinds)
	}
	assert.Len(t, pairs, 32*32, "every pair of neighbours comes up")
}

func TestIDsDoNotRepeat(t *testing.T) {
	seen := map[string]bool{}
	for range 100_000 {
		id := system.IDs{}.NewID("call_", 16)
		require.False(t, seen[id], id)
		seen[id] = true
	}
}

func TestTokenIsRandomUUIDv4(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		secret := system.Tokens{}.NewToken().Reveal()
		id, err := uuid.Parse(secret)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Len(t, secret, 36)
		require.Equal(t, strings.ToLower(secret), secret)
		require.False(t, seen[secret])
		seen[secret] = true
	}
}

// A host program that hands package uuid a predictable reader must not make confirmations predictable.
func TestTokenIgnoresReplacedReader(t *testing.T) {
	uuid.SetRand(bytes.NewReader(make([]byte, 1<<10)))
	defer uuid.SetRand(nil)
	assert.NotEqual(t, system.Tokens{}.NewToken().Reveal(), system.Tokens{}.NewToken().Reveal())
	assert.NotContains(t, system.Tokens{}.NewToken().Reveal(), "00000000-0000")
}
