package packs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports/packport"
)

// TestTheInsideOfAPrivateKeyIsMasked: an excerpt that begins below a key's first line shows none of it, and counts it once.
func TestTheInsideOfAPrivateKeyIsMasked(t *testing.T) {
	dir := t.TempDir()
	edge := func(word string) string { return "-----" + word + " RSA PRIVATE " + "KEY-----\n" }
	body := strings.Repeat("MIIEowIBAAKCAQEAt0NotARealKeyButLongEnoughToLookLikeOne0123456789\n", 30)
	text := "before\n" + edge("BEGIN") + body + edge("END") + "after\n" + strings.Repeat("c2hvdyBtZTogdGhpcyBpcyBub3QgYSBrZXkgYXQgYWxsLCBqdXN0IGRhdGE\n", 2)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.pem"), []byte(text), 0o600))
	s := packs.SourceReader{Excerpts: packfile.NewSource(map[pack.Root]string{"": dir}), Mask: redact.New(redact.Options{}).Lines}
	refs := []pack.Ref{}
	for i, l := range []pack.LineRange{{Start: 10, End: 12}, {Start: 31, End: 34}, {Start: 2, End: 4}, {Start: 34, End: 35}, {Start: 1, End: 1}} {
		refs = append(refs, pack.Ref{Key: pack.Key(fmt.Sprintf("r%d", i)), Path: "a.pem", Lines: l})
	}
	f, err := s.ReadRefs(t.Context(), refs, packs.AllRefs(refs))
	require.NoError(t, err)
	kept := s.Keep(f.Evidence[0])
	s.Redact(f.Evidence)
	masked := make([]int, len(refs))
	for i, e := range f.Evidence {
		assert.Len(t, e.Text, refs[i].Lines.Span(), "masking never changes how many lines there are")
		assert.NotContains(t, strings.Join(e.Text, "\n"), "MIIEow")
		masked[i] = e.Masked
	}
	assert.Equal(t, []int{1, 1, 1, 0, 0}, masked)
	assert.Contains(t, f.Evidence[1].Text, "after")
	assert.NotContains(t, kept.Text, "MIIEow")
	assert.Contains(t, f.Evidence[3].Text[1], "c2hvdyBt", "base64 that is no key stays")
}

// once is a source whose file can be read only once: it is gone afterwards.
type once struct {
	packport.Excerpts
	read bool
}

func (o *once) Read(ctx context.Context, at packport.Location, from int, visit func(int, []byte) int) (int, error) {
	if o.read {
		return 0, packport.ErrDenied
	}
	o.read = true
	return o.Excerpts.Read(ctx, at, from, visit)
}

// TestWhatCannotBeJudgedIsNotShown: an excerpt that may be inside a key is not shown if the lines above it cannot be read.
func TestWhatCannotBeJudgedIsNotShown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.pem"), []byte(strings.Repeat("MIIEowIBAAKCAQEAt0NotARealKeyButLongEnoughToLookLikeOne0123456789\n", 9)), 0o600))
	s := packs.SourceReader{Excerpts: &once{Excerpts: packfile.NewSource(map[pack.Root]string{"": dir})}, Mask: redact.New(redact.Options{}).Lines}
	refs := []pack.Ref{{Key: "rr", Path: "a.pem", Lines: pack.LineRange{Start: 4, End: 5}}}
	f, err := s.ReadRefs(t.Context(), refs, packs.AllRefs(refs))
	require.NoError(t, err)
	require.ErrorIs(t, f.Faults[0], packport.ErrDenied)
	assert.Equal(t, pack.RefUnreadable, f.Evidence[0].Standing)
	assert.Nil(t, f.Evidence[0].Text)
	assert.Contains(t, f.Evidence[0].Reason, "a.pem")
}
