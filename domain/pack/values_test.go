package pack_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/pack"
)

// TestValueEdges is the table of context-pack contract §1.1 at its edges.
func TestValueEdges(t *testing.T) {
	id := func(s string) error { _, err := pack.ParseID(s); return err }
	name := func(s string) error { _, err := pack.ParseName(s); return err }
	key := func(s string) error { _, err := pack.ParseKey("key", s); return err }
	path := func(s string) error { _, err := pack.ParsePath(s); return err }
	root := func(s string) error { _, err := pack.ParseRoot(s); return err }
	commit := func(s string) error { _, err := pack.ParseCommit(s); return err }
	status := func(s string) error { _, err := pack.ParseStatus(s); return err }
	for what, c := range map[string]struct {
		parse     func(string) error
		good, bad []string
	}{
		"id": {id, []string{"pk_abcdef22", " pk_zzzzzz77\n"},
			[]string{"", "pk_abcdef21", "pk_abcdef28", "pk_abcdef2", "pk_abcdef222", "PK_abcdef22", "pk_ABCDEF22", "pk-abcdef22"}},
		"name":   {name, []string{"abc", " €\u00a0", strings.Repeat("n", 120), "pk_abcdef21", "a/b C"}, []string{"", "ab", " ab ", strings.Repeat("n", 121), "pk_abcdef22"}},
		"key":    {key, []string{"ab", "0_", " a-b_c ", strings.Repeat("k", 64)}, []string{"", "a", "Ab", "_a", "-a", "a b", "aé", strings.Repeat("k", 65)}},
		"path":   {path, []string{"a", "./a.rs", `C:\x`, "..a/b..", "a//b", strings.Repeat("p", 1024)}, []string{"", " ", "/a", `\a`, "..", "a/../b", `a\..\b`, "a/..", "a\x00b", strings.Repeat("p", 1025)}},
		"root":   {root, []string{"", "api", "A.b_c-1", strings.Repeat("r", 64)}, []string{".a", "-a", "a/b", "a b", "ä", strings.Repeat("r", 65), "@x", "[x"}},
		"commit": {commit, []string{"", "0123abc", strings.Repeat("a", 64)}, []string{"0123ab", "HEAD", "0123ABC", strings.Repeat("a", 65)}},
		"status": {status, []string{"draft", " Finalized ", "DRAFT"}, []string{"", "final", "drafts"}},
	} {
		for _, s := range c.good {
			assert.NoError(t, c.parse(s), "%s %q", what, s)
		}
		for _, s := range c.bad {
			require.ErrorIs(t, c.parse(s), pack.ErrValue, "%s %q", what, s)
		}
	}
	for l, ok := range map[[2]int]bool{{1, 1}: true, {1, 2000}: true, {1, 2001}: false, {0, 1}: false, {2, 1}: false, {-5, 5}: false, {1, int(^uint(0) >> 1)}: false} {
		_, err := pack.NewLineRange(l[0], l[1])
		assert.Equal(t, ok, err == nil, l)
	}
	p, err := pack.ParsePath(` a\b/.\c `)
	require.NoError(t, err)
	assert.Equal(t, pack.Path("a/b/./c"), p)
}

// FuzzParse: a parser accepts its own result unchanged, and an accepted path cannot leave its root.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"pk_abcdef22", "abc", "ab", `a\..\b`, "/x", "./a", "0123abc", " x ", "a\u2028b", "api.v1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := pack.ParseID(s); err == nil {
			again, err := pack.ParseID(string(id))
			require.NoError(t, err)
			require.Equal(t, id, again)
			_, err = pack.ParseName(s)
			require.Error(t, err, "no text is both an id and a name")
		}
		if n, err := pack.ParseName(s); err == nil {
			require.Equal(t, strings.TrimSpace(string(n)), string(n))
		}
		if k, err := pack.ParseKey("key", s); err == nil {
			require.Regexp(t, `^[a-z0-9][a-z0-9_-]{1,63}$`, string(k))
		}
		if p, err := pack.ParsePath(s); err == nil {
			again, err := pack.ParsePath(string(p))
			require.NoError(t, err)
			require.Equal(t, p, again)
			require.NotContains(t, "/"+string(p)+"/", "/../")
			require.False(t, strings.HasPrefix(string(p), "/"))
			require.NotContains(t, string(p), `\`)
		}
		if r, err := pack.ParseRoot(s); err == nil && r != "" {
			require.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`, string(r))
		}
		if c, err := pack.ParseCommit(s); err == nil && c != "" {
			require.Regexp(t, `^[0-9a-f]{7,64}$`, string(c))
		}
	})
}

// FuzzLineRange: an accepted range has 1 to 2,000 lines.
func FuzzLineRange(f *testing.F) {
	f.Add(1, 1)
	f.Add(-1<<63, 1<<62)
	f.Fuzz(func(t *testing.T, start, end int) {
		if l, err := pack.NewLineRange(start, end); err == nil {
			require.GreaterOrEqual(t, l.Start, 1)
			require.GreaterOrEqual(t, l.Span(), 1)
			require.LessOrEqual(t, l.Span(), pack.MaxSpan)
		}
	})
}
