package osproc_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/osproc"
)

// BenchmarkLiving is looking for the kin of a process among all there are, which is done after each program that is run.
func BenchmarkLiving(b *testing.B) {
	k := osproc.ProcessTree{Leader: osproc.SelfIdentity(), Mark: "COUNTERSIGN_RUN_ID=run_00000000"}
	b.ReportAllocs()
	for b.Loop() {
		k.Living()
	}
}
