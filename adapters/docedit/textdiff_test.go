package docedit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

func unified(old, new string) string {
	return docedit.Differ{}.Unified("a/f.txt", "b/f.txt", []byte(old), []byte(new))
}

const head = "--- a/f.txt\n+++ b/f.txt\n"

func TestUnified(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct{ old, new, want string }{
		"equal":             {"a\n", "a\n", ""},
		"nothing":           {"", "", ""},
		"three lines":       {ten, strings.Replace(ten, "5", "five", 1), head + "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"from nothing":      {"", "a\nb\n", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"to nothing":        {"a\n", "", head + "@@ -1 +0,0 @@\n-a\n"},
		"newline lost":      {"a\n", "a", head + "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"newline won":       {"a", "a\n", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"never a newline":   {"a\nb", "x\nb", head + "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
		"other ends":        {"a\r\n", "a\n", head + "@@ -1 +1 @@\n-a\r\n+a\n"},
		"looks like header": {"-- a/x\n", "++ b/x\n", head + "@@ -1 +1 @@\n--- a/x\n+++ b/x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, unified(c.old, c.new))
		})
	}
}

func TestNamesAreExact(t *testing.T) {
	got := docedit.Differ{}.Unified("AGENTS.md (now)", "", nil, []byte("x\n"))
	assert.Equal(t, "--- AGENTS.md (now)\n+++ \n@@ -0,0 +1 @@\n+x\n", got)
}

func TestText(t *testing.T) {
	assert.True(t, docedit.DiffText(nil))
	assert.True(t, docedit.DiffText([]byte("ä\r\n\x01")))
	assert.False(t, docedit.DiffText([]byte("a\x00b")))
	assert.False(t, docedit.DiffText([]byte("a\xff")))
}

// text is few different lines with either end, and now and then no final line feed.
func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "\n", "c\r\n", "-- d\n", "++ e\n", "@@ -1 +1 @@\n", "\\ No newline at end of file\n", "unique\n", "other\n"}), 0, 40)
		return strings.Join(lines.Draw(t, "lines"), "") + rapid.SampledFrom([]string{"", "end", "\r"}).Draw(t, "last")
	})
}

// edited returns a text near another one.
func edited(t *rapid.T, old string) string {
	lines := strings.SplitAfter(old, "\n")
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		lines[rapid.IntRange(0, len(lines)-1).Draw(t, "line")] = text().Draw(t, "piece")
	}
	return strings.Join(lines, "")
}

func TestDiffsApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := text().Draw(t, "old")
		changed := edited(t, old)
		diff := unified(old, changed)
		if old == changed {
			assert.Empty(t, diff)
			return
		}
		p, err := overlay.ParsePatch([]byte(diff))
		require.NoError(t, err, diff)
		require.NoError(t, overlay.CheckPaths(p, "f.txt"))
		assert.Equal(t, diff, p.String(), "the diff is written as this software writes patches")
		got, err := p.Apply([]byte(old))
		require.NoError(t, err, diff)
		assert.Equal(t, changed, string(got))
	})
}

func TestGitAppliesDiffs(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "f.txt")
	rapid.Check(t, func(t *rapid.T) {
		old := text().Draw(t, "old")
		changed := edited(t, old)
		if old == changed {
			return
		}
		require.NoError(t, os.WriteFile(file, []byte(old), 0o600))
		cmd := exec.Command("git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "LC_ALL=C"}
		cmd.Stdin = strings.NewReader(unified(old, changed))
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", said, unified(old, changed))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, changed, string(got))
	})
}
