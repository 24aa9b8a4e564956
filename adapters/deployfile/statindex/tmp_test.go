//go:build linux

package statindex

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func BenchmarkTmp(b *testing.B) {
	var es []entry
	for n := range 20_000 {
		es = append(es, entry{path: fmt.Sprintf("/home/user/.codex/skills/some-skill-%04d/references/topic-%d.md", n/100, n%100), stamp: stamp{size: int64(n)}})
	}
	// interleave two workers
	var mixed []entry
	i, j := 0, 10000
	for i < 10000 || j < 20000 {
		if j >= 20000 || i < 10000 && rand.Intn(2) == 0 {
			mixed = append(mixed, es[i]); i++
		} else { mixed = append(mixed, es[j]); j++ }
	}
	b.Run("sort", func(b *testing.B) { for b.Loop() { c := slices.Clone(mixed); slices.SortFunc(c, func(a, b entry) int { return strings.Compare(a.path, b.path) }) } })
	b.Run("stable", func(b *testing.B) { for b.Loop() { c := slices.Clone(mixed); slices.SortStableFunc(c, func(a, b entry) int { return strings.Compare(a.path, b.path) }) } })
	b.Run("sortptr", func(b *testing.B) { for b.Loop() { c := make([]*entry, len(mixed)); for i := range c { c[i] = &mixed[i] }; slices.SortFunc(c, func(a, b *entry) int { return strings.Compare(a.path, b.path) }) } })
	slices.SortFunc(es, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	b.Run("encode", func(b *testing.B) { for b.Loop() { encode(es) } })
	data := encode(es)
	b.Run("decode", func(b *testing.B) { for b.Loop() { decode(data) } })
	f := filepath.Join(b.TempDir(), "x")
	b.Run("write", func(b *testing.B) { for b.Loop() { write(f, data) } })
	b.Run("keep", func(b *testing.B) { for b.Loop() { x := OpenAt("", time.Now); for i := range mixed { x.keep(mixed[i].path, Stat{stamp: mixed[i].stamp}, mixed[i].sum, time.Now()) } } })
}
