package ids_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/ports"
)

var (
	_ ports.IDs    = (*ids.Sequence)(nil)
	_ ports.Tokens = (*ids.Sequence)(nil)
)

func TestSameInEveryRun(t *testing.T) {
	var s ids.Sequence
	assert.Equal(t, "pk_aaaaaaab", s.NewID("pk_", 8))
	assert.Equal(t, "sb_aaac", s.NewID("sb_", 4))
	assert.Equal(t, "aaaaaaaaaaaaaaad", s.NewID("", 16), "longer than a number needs")
	assert.Equal(t, ids.Token(1), s.NewToken().Reveal())
	assert.Equal(t, ids.Token(2), s.NewToken().Reveal())
	assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), ids.Token(7))
}

func TestNeverRepeatsUnderContention(t *testing.T) {
	var (
		s    ids.Sequence
		seen sync.Map
		wg   sync.WaitGroup
	)
	for range 8 {
		wg.Go(func() {
			for range 200 {
				_, repeated := seen.LoadOrStore(s.NewID("pk_", 8), true)
				assert.False(t, repeated)
			}
		})
	}
	wg.Wait()
}
