package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/ledger"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
)

// large is a manifest of 10,000 files.
func large() ledger.Manifest {
	m := ledger.Manifest{GeneratedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC), Target: "codex", Root: "/home/user/.codex", SnapshotID: "1772359200500000000"}
	for i := range 10_000 {
		path := fmt.Sprintf("/home/user/.codex/skills/some-skill-%04d/references/topic-%d.md", i/10, i%10)
		m.Files = append(m.Files, plan.Owned{Target: m.Target, Root: m.Root, Path: path, Sum: deployment.SumOf([]byte(path)), Mode: deployment.Plain, Modules: []string{"skill:some-skill"}})
	}
	return m
}

func BenchmarkDecode(b *testing.B) {
	data, err := ledger.Encode(large())
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m, _, err := ledger.Decode(data, plan.Root{Target: "codex", Path: "/home/user/.codex"})
		require.NoError(b, err)
		require.Len(b, m.Files, 10_000)
	}
}

func BenchmarkEncode(b *testing.B) {
	m := large()
	b.ReportAllocs()
	for b.Loop() {
		data, err := ledger.Encode(m)
		require.NoError(b, err)
		b.SetBytes(int64(len(data)))
	}
}
