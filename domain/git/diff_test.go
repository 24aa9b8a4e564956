package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
)

func zeroed(text ...string) []byte { return []byte(strings.Join(text, "\x00") + "\x00") }

func TestParseDiff(t *testing.T) {
	t.Parallel()
	files, err := git.ParseDiff(zeroed(":100644 100755 1111111 2222222 M", "a\tb\n", ":000000 100644 0000000 3333333 A", "new.bin", ":100644 100644 4444444 5555555 R090", "old", "moved",
		":000000 000000 0000000 0000000 U", "torn", ":100644 100644 1111111 0000000 M", "torn", "3\t1\ta\tb\n", "-\t-\tnew.bin", "1\t1\t", "old", "moved", "5\t0\ttorn"))
	require.NoError(t, err)
	assert.Equal(t, []git.FileDiff{
		{Status: 'M', Path: "a\tb\n", OldMode: "100644", NewMode: "100755", Added: 3, Deleted: 1},
		{Status: 'A', Path: "new.bin", OldMode: "000000", NewMode: "100644", Binary: true},
		{Status: 'R', Path: "moved", From: "old", OldMode: "100644", NewMode: "100644", Added: 1, Deleted: 1},
		{Status: 'U', Path: "torn", OldMode: "000000", NewMode: "100644", Added: 5},
	}, files)
	none, err := git.ParseDiff(nil)
	require.NoError(t, err)
	assert.Empty(t, none)
	for _, odd := range [][]byte{zeroed(":100644 M", "a"), zeroed(":100644 100644 1 2 M"), zeroed("x"), zeroed("1\t2\tunknown"), zeroed("1\t2\t", "from"),
		zeroed(":100644 100644 1 2 M", "a", "x\t2\ta")} {
		_, err := git.ParseDiff(odd)
		require.ErrorIs(t, err, git.ErrOutput, "%q", odd)
	}
}

func TestParseMergeTree(t *testing.T) {
	t.Parallel()
	tree := strings.Repeat("ab", 20)
	m, err := git.ParseMergeTree(zeroed(tree, "a", "b", "", "1", "a", "Auto-merging", "Auto-merging a\n", "1", "a", "CONFLICT (contents)", "CONFLICT (content): in a\n",
		"2", "b", "c", "CONFLICT (rename/delete)", "b was renamed\n"))
	require.NoError(t, err)
	assert.Equal(t, git.MergedTree{Tree: tree, Files: []string{"a", "b"}, Conflicts: []git.Conflict{{Kind: "contents", Paths: []string{"a"}}, {Kind: "rename/delete", Paths: []string{"b", "c"}}}}, m)
	m, err = git.ParseMergeTree([]byte(tree + "\x00"))
	require.NoError(t, err)
	assert.Equal(t, git.MergedTree{Tree: tree}, m)
	for _, odd := range [][]byte{nil, zeroed("tree"), zeroed(tree, "a", "", "x", "a"), zeroed(tree, "", "9", "a", "k", "m")} {
		_, err := git.ParseMergeTree(odd)
		require.ErrorIs(t, err, git.ErrOutput, "%q", odd)
	}
}
