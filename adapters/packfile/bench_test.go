package packfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/packtest"
)

// crowd returns a store of that many packs with content. The files are written directly: creating them durably would take a minute.
func crowd(b *testing.B, packs int) (s *fixture, last pack.ID) {
	b.Helper()
	s = open(b)
	require.NoError(b, os.MkdirAll(s.path("packs"), 0o700))
	for n := range packs {
		p := packtest.Full(b, s.ids, clock.Epoch, fmt.Sprintf("pack %d", n))
		data, err := packfile.Encode(p.State())
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(s.path("packs", string(p.ID())+".md"), data, 0o600))
		last = p.ID()
	}
	return s, last
}

// BenchmarkOnePack measures get and update of one pack in a store of 5,000 as multiples of the same in a store of 10; both must stay within 2.
func BenchmarkOnePack(b *testing.B) {
	few, inFew := crowd(b, 10)
	many, inMany := crowd(b, 5000)
	for _, s := range []*fixture{few, many} { // warm
		s.listed()
	}
	b.Run("get", func(b *testing.B) {
		get := func(s *fixture, id pack.ID) func() {
			return func() {
				_, err := s.Get(b.Context(), id)
				require.NoError(b, err)
			}
		}
		ratio(b, get(few, inFew), get(many, inMany))
	})
	b.Run("update", func(b *testing.B) {
		update := func(s *fixture, id pack.ID) func() {
			return func() {
				_, err := s.Update(b.Context(), id, func(p *pack.Pack) error { return p.SetTTL(60, s.clock.Now()) })
				require.NoError(b, err)
			}
		}
		ratio(b, update(few, inFew), update(many, inMany))
	})
}

// BenchmarkList measures listing a warm store of 5,000 packs as a multiple of one stat of each file; it must stay within 3.
func BenchmarkList(b *testing.B) {
	s, _ := crowd(b, 5000)
	require.Len(b, s.listed(), 5000)
	files, err := filepath.Glob(s.path("packs", "*.md"))
	require.NoError(b, err)
	ratio(b, func() {
		for _, file := range files {
			_, err := os.Stat(file)
			require.NoError(b, err)
		}
	}, func() {
		all, err := s.List(b.Context())
		require.NoError(b, err)
		require.Len(b, all, 5000)
	})
}

// BenchmarkColdList measures the first list of a process over 5,000 packs that an earlier one has listed, as a multiple of one stat of each file.
func BenchmarkColdList(b *testing.B) {
	s, _ := crowd(b, 5000)
	listing := filepath.Join(b.TempDir(), "packs.idx")
	list := func() {
		fresh := packfile.New(s.root, s.clock).Remember(listing)
		fresh.Later()
		all, err := fresh.List(b.Context())
		require.NoError(b, err)
		require.Len(b, all, 5000)
	}
	list()
	files, err := filepath.Glob(s.path("packs", "*.md"))
	require.NoError(b, err)
	ratio(b, func() {
		for _, file := range files {
			_, err := os.Stat(file)
			require.NoError(b, err)
		}
	}, list)
}

func BenchmarkEncode(b *testing.B) {
	state := full(b).State()
	b.ReportAllocs()
	for b.Loop() {
		_, err := packfile.Encode(state)
		require.NoError(b, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(golden(b, "own.md"))
	b.ReportAllocs()
	for b.Loop() {
		_, err := packfile.Decode(data)
		require.NoError(b, err)
	}
}

// ratio runs floor and work in turn and reports work as a multiple of floor, both at their best: what disturbs a run only ever adds.
func ratio(b *testing.B, floor, work func()) {
	b.Helper()
	floor()
	work()
	least := map[bool]time.Duration{true: 1 << 62, false: 1 << 62}
	for b.Loop() {
		for isFloor, run := range map[bool]func(){true: floor, false: work} {
			start := time.Now()
			run()
			least[isFloor] = min(least[isFloor], time.Since(start))
		}
	}
	b.ReportMetric(float64(least[false])/float64(least[true]), "x-floor")
	b.ReportMetric(float64(least[false].Microseconds()), "µs/work")
}
