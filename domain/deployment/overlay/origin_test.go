package overlay_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOriginIsAUnion(t *testing.T) {
	dirty := false
	for text, want := range map[string]overlay.Origin{
		`{"kind":"git","url":"https://h/x?a&b","commit":"` + strings.Repeat("a", 40) + `","subdir":"s"}`: {Git: &deployment.ResolvedGit{URL: "https://h/x?a&b", Commit: strings.Repeat("a", 40), Subdir: "s"}},
		`{"kind":"local_path","repo_rel_path":"m/x","repo_git_rev":"abc","repo_dirty":false}`:            {Local: &overlay.LocalOrigin{Path: "m/x", Commit: "abc", Dirty: &dirty}},
		`{"kind":"local_path","repo_rel_path":"m/x","repo_git_rev":null,"repo_dirty":null}`:              {Local: &overlay.LocalOrigin{Path: "m/x"}},
	} {
		var got overlay.Origin
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.Equal(t, want, got)
		again, err := got.MarshalJSON()
		require.NoError(t, err)
		assert.Equal(t, text, strings.TrimSpace(string(again)))
	}
	assert.ErrorIs(t, json.Unmarshal([]byte(`{"kind":"svn"}`), &overlay.Origin{}), deployment.ErrBaseline)
	assert.Error(t, json.Unmarshal([]byte(`{"kind":1}`), &overlay.Origin{}))
	var none overlay.Baseline
	require.NoError(t, json.Unmarshal([]byte(`{"version":1,"created_at":"2026-03-01T10:00:00Z","upstream_sha256":"","file_manifest":[]}`), &none))
	assert.Nil(t, none.Upstream, "version 1 has no upstream")
	empty, err := json.Marshal(overlay.Origin{})
	require.NoError(t, err)
	assert.Equal(t, "null", string(empty))
}

func TestBaselineFile(t *testing.T) {
	dirty := true
	tree := deployment.Tree{{Path: "AGENTS.md", Content: deployment.ContentOf([]byte("# Base instructions\n"))}}
	b := overlay.Baseline{
		Version: overlay.BaselineVersion, CreatedAt: time.Date(2026, 3, 1, 11, 0, 0, 500_000_000, time.FixedZone("", 3600)),
		Sum: tree.Sum(), Manifest: tree.Entries(),
		Upstream: &overlay.Origin{Local: &overlay.LocalOrigin{Path: "modules/<a>&b", Commit: strings.Repeat("0a", 20), Dirty: &dirty}},
	}
	got, err := b.Encode()
	require.NoError(t, err)
	golden.Text(t, "baseline", string(got))
	var back overlay.Baseline
	require.NoError(t, json.Unmarshal(got, &back))
	b.CreatedAt = b.CreatedAt.UTC()
	assert.Equal(t, b, back)

	got, err = overlay.Baseline{Version: 2}.Encode()
	require.NoError(t, err)
	assert.Contains(t, string(got), `"file_manifest": []`)
	assert.Contains(t, string(got), `"upstream": null`)
}
