package packtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
)

// BenchmarkRepository measures get, lookup, list and update of a pack in stores of 10 and 5,000 packs; the ratio between the two sizes
// is what must stay small.
func BenchmarkRepository(b *testing.B, open Open) {
	for _, size := range []int{10, 5000} {
		c, seq := &clock.Fake{}, &ids.Sequence{}
		repo := open(b, c)
		var last *pack.Pack
		for n := range size {
			last = New(b, seq, c.Now(), fmt.Sprintf("pack %d", n), 600)
			require.NoError(b, repo.Create(b.Context(), last))
		}
		for name, run := range map[string]func() error{
			"get":    func() error { _, err := repo.Get(b.Context(), last.ID()); return err },
			"lookup": func() error { _, err := repo.Lookup(b.Context(), pack.Name(last.Name())); return err },
			"list":   func() error { _, err := repo.List(b.Context()); return err },
			"update": func() error {
				_, err := repo.Update(b.Context(), last.ID(), func(p *pack.Pack) error { return p.SetTTL(600, c.Now()) })
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, run())
				}
			})
		}
	}
}
