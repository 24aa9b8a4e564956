package confgit_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

func TestMerge(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	user(t, "[merge]\n\tconflictStyle = merge\n")
	const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"
	swap := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	for name, test := range map[string]struct {
		base, ours, theirs, want string
		conflicts                int
	}{
		"equal":          {"a\n", "a\n", "a\n", "a\n", 0},
		"empty":          {"", "", "", "", 0},
		"ours":           {"a\n", "b\n", "a\n", "b\n", 0},
		"theirs":         {"a\n", "a\n", "b\n", "b\n", 0},
		"both, apart":    {ten, swap(ten, "2\n", "two\n"), swap(ten, "8\n", "eight\n"), swap(ten, "2\n", "two\n", "8\n", "eight\n"), 0},
		"same change":    {"a\n", "b\n", "b\n", "b\n", 0},
		"no newline":     {"a\nb", "x\na\nb", "a\nb", "x\na\nb", 0},
		"CRLF":           {"a\r\nb\r\nc\r\nd\r\n", "x\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\ny\r\n", "x\r\nb\r\nc\r\ny\r\n", 0},
		"one conflict":   {"b\n", "o\n", "t\n", "<<<<<<< overlay\no\n||||||| baseline\nb\n=======\nt\n>>>>>>> upstream\n", 1},
		"conflict, bare": {"b", "o", "t", "<<<<<<< overlay\no\n||||||| baseline\nb\n=======\nt\n>>>>>>> upstream\n", 1},
		"deleted":        {"b\n", "", "t\n", "<<<<<<< overlay\n||||||| baseline\nb\n=======\nt\n>>>>>>> upstream\n", 1},
		"a dash":         {"--help\n", "--help\n", "-x\n", "-x\n", 0},
	} {
		got, err := client().Merge(t.Context(), []byte(test.base), []byte(test.ours), []byte(test.theirs))
		require.NoError(t, err, name)
		assert.Equal(t, test.want, string(got.Text), name)
		assert.Equal(t, test.conflicts, got.Conflicts, name)
	}

	got, err := client().Merge(t.Context(), []byte(ten), []byte(swap(ten, "1\n2", "o\n2", "5\n", "o\n", "9\n", "o\n")), []byte(swap(ten, "1\n2", "t\n2", "5\n", "t\n", "9\n", "t\n")))
	require.NoError(t, err)
	assert.Equal(t, 3, got.Conflicts)
	assert.Equal(t, 3, strings.Count(string(got.Text), "<<<<<<< overlay\n"))

	lines := func(word string) []byte { return []byte(strings.Repeat(word+"\nx\ny\nz\n", 200)) }
	got, err = client().Merge(t.Context(), lines("b"), lines("o"), lines("t"))
	require.NoError(t, err, "more conflicts than an exit status can say")
	assert.Equal(t, 127, got.Conflicts)
	assert.Equal(t, 200, strings.Count(string(got.Text), "<<<<<<< overlay\n"))

	for i := range 3 {
		versions := [][]byte{[]byte("a\n"), []byte("b\n"), []byte("c\n")}
		versions[i] = []byte("a\x00b")
		_, err := client().Merge(t.Context(), versions[0], versions[1], versions[2])
		require.ErrorIs(t, err, deployment.ErrBaseline)
		assert.ErrorContains(t, err, "not text")
	}
}

// TestMergeObeysNoRepository: it works the same inside one whose configuration is hostile.
func TestMergeObeysNoRepository(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, "-- .gitattributes --\n* merge=evil\n")
	mark := filepath.Join(t.TempDir(), "ran")
	r.Git("config", "merge.evil.driver", "touch "+mark)
	r.Git("config", "alias.merge-file", "!touch "+mark)
	t.Chdir(r.Dir)
	t.Setenv("TMPDIR", r.Dir)
	got, err := client().Merge(t.Context(), []byte("b\n"), []byte("o\n"), []byte("t\n"))
	require.NoError(t, err)
	assert.Equal(t, 1, got.Conflicts)
	assert.NoFileExists(t, mark)
	assert.Empty(t, r.Git("status", "--porcelain"), "temporary files are gone")
}
