package observe_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// large is a manifest of 10,000 files.
func large() observe.Manifest {
	m := observe.Manifest{GeneratedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC), Target: "codex", Root: "/home/user/.codex", SnapshotID: "1772359200500000000"}
	for i := range 10_000 {
		path := fmt.Sprintf("/home/user/.codex/skills/some-skill-%04d/references/topic-%d.md", i/10, i%10)
		m.Files = append(m.Files, deployment.Owned{Target: m.Target, Root: m.Root, Path: path, Sum: deployment.SumOf([]byte(path)), Mode: deployment.PlainMode, Modules: []string{"skill:some-skill"}})
	}
	return m
}

func BenchmarkDecode(b *testing.B) {
	data, err := observe.EncodeManifest(large())
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m, _, err := observe.DecodeManifest(data, deployment.Root{Target: "codex", Path: "/home/user/.codex"})
		require.NoError(b, err)
		require.Len(b, m.Files, 10_000)
	}
}

func BenchmarkEncode(b *testing.B) {
	m := large()
	b.ReportAllocs()
	for b.Loop() {
		data, err := observe.EncodeManifest(m)
		require.NoError(b, err)
		b.SetBytes(int64(len(data)))
	}
}
