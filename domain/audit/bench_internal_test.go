package audit

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
)

// BenchmarkChecker measures the cost of one record beside that of the hash alone.
func BenchmarkChecker(b *testing.B) {
	raw, err := json.Marshal(typical)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Next", func(b *testing.B) {
		c := NewChecker(Record{})
		r := Raw{Seq: 1, Event: raw, Prev: make([]byte, 32)}
		sum, _ := sumRaw(c.buf, r)
		r.Hash = sum[:]
		b.ReportAllocs()
		for b.Loop() {
			c.last = Record{}
			if err := c.Next(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Glance", func(b *testing.B) {
		for b.Loop() {
			plain(raw)
		}
	})
	b.Run("FloorHash", func(b *testing.B) {
		for b.Loop() {
			sha256.Sum256(raw)
		}
	})
}
