package project_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

func read(out []byte, limit int) (project.Diff, error) {
	r := project.NewDiffReader(limit)
	if _, err := r.Write(out); err != nil {
		return project.Diff{}, err
	}
	return r.Diff()
}

func TestDiffReader(t *testing.T) {
	const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-caf\xe9\n+café\n"
	out := append(records("12\t3\tplain", "-\t-\tlogo.png", "1\t1\t", "old\tname", "new\nname", "-\t-\t", "a.bin", "b.bin", "0\t0\ttabs\tin\tit", ""), patch...)
	want := project.Diff{
		Files: []project.FileStat{{Path: "plain", Insertions: 12, Deletions: 3}, {Path: "logo.png", Binary: true}, {Path: "new\nname", From: "old\tname", Insertions: 1, Deletions: 1},
			{Path: "b.bin", From: "a.bin", Binary: true}, {Path: "tabs\tin\tit"}},
		FilesChanged: 5, Insertions: 13, Deletions: 4, Total: int64(len(patch)), Text: strings.ToValidUTF8(patch, "\ufffd"),
	}
	got, err := read(out, 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	r := project.NewDiffReader(0)
	_, err = io.Copy(onlyWriter{r}, iotest.OneByteReader(strings.NewReader(string(out))))
	require.NoError(t, err)
	got, err = r.Diff()
	require.NoError(t, err)
	assert.Equal(t, want, got, "pieces may end anywhere")

	got, err = read(nil, 0)
	require.NoError(t, err)
	assert.Equal(t, project.Diff{Files: []project.FileStat{}}, got)
}

type onlyWriter struct{ io.Writer }

func TestDiffReaderRefuses(t *testing.T) {
	for _, out := range [][]byte{
		[]byte("1\t2\tno end"), records("1\tx"), records("x\t1\tname"), records("-\t1\tname"), records("1\t-\tname"), records("-1\t1\tname"), records("1\t1\t"),
		records("1\t1\t", "from"), records("1\t1\t", "", "to"), records("diff --git a/x b/x"), []byte(strings.Repeat("9", 1<<17)), records("99999999999\t1\tx"),
	} {
		_, err := read(out, 0)
		require.ErrorIs(t, err, project.ErrExecutionFailed, "%.80q", out)
	}
	r := project.NewDiffReader(0)
	_, err := r.Write(records("bad"))
	require.Error(t, err)
	_, again := r.Write(records("1\t1\tgood", ""))
	require.Equal(t, err, again)
	_, again = r.Diff()
	require.Equal(t, err, again)
}

func TestALargeDiffIsCutAndCounted(t *testing.T) {
	r := project.NewDiffReader(4096)
	const files, lines = project.MaxListedNames + 500, 200_000
	for i := range files {
		_, err := fmt.Fprintf(r, "1\t2\tfile %d\x00", i)
		require.NoError(t, err)
	}
	total := 0
	_, _ = r.Write([]byte{0})
	for i := range lines {
		n, err := fmt.Fprintf(r, "+line %d\n", i)
		require.NoError(t, err)
		total += n
	}
	d, err := r.Diff()
	require.NoError(t, err)
	assert.Equal(t, []int{files, files, 2 * files, total, project.MaxListedNames}, []int{d.FilesChanged, d.Insertions, d.Deletions, int(d.Total), len(d.Files)})
	assert.True(t, d.Truncated)
	assert.LessOrEqual(t, len(d.Text), 4096)
	assert.Greater(t, len(d.Text), 4000)
	assert.True(t, strings.HasPrefix(d.Text, "+line 0\n+line 1\n"))
	assert.True(t, strings.HasSuffix(d.Text, fmt.Sprintf("\n+line %d\n", lines-1)))
	for line := range strings.Lines(d.Text) {
		assert.Regexp(t, `^(\+line \d+|\[\.\.\. the middle of these \d+ bytes is left out \.\.\.\])\n$`, line)
	}
}

func TestCut(t *testing.T) {
	text, cut := project.TruncateMiddle("short\n", 1000)
	assert.Equal(t, []any{"short\n", false}, []any{text, cut})
	text, cut = project.TruncateMiddle(strings.Repeat("x", project.MinText), 1)
	assert.Equal(t, []any{strings.Repeat("x", project.MinText), false}, []any{text, cut}, "small limits count as the smallest there is")

	text, cut = project.TruncateMiddle(strings.Repeat("日", 1000), 300)
	assert.True(t, cut)
	assert.Regexp(t, `^日{10,}\n\[\.\.\. the middle of these 3000 bytes is left out \.\.\.\]\n日{10,}$`, text)
	assert.LessOrEqual(t, len(text), 300)
	text, cut = project.TruncateMiddle(strings.Repeat("\xff", 200), 300)
	assert.True(t, cut, "what stands for bytes that are not text is longer than they were")
	assert.Regexp(t, `^\x{fffd}+\n\[.*\]\n\x{fffd}+$`, text)
}

func FuzzCut(f *testing.F) {
	f.Add("some\nlines\n", 3, 400)
	f.Add("é\xff", 500, 257)
	f.Add("", 0, -1)
	f.Fuzz(func(t *testing.T, piece string, times, limit int) {
		if times < 0 || times > 4000 || len(piece)*times > 1<<20 {
			t.Skip("too long")
		}
		whole := strings.Repeat(piece, times)
		text, cut := project.TruncateMiddle(whole, limit)
		require.True(t, utf8.ValidString(text))
		require.LessOrEqual(t, len(text), max(limit, project.MinText))
		valid := string([]rune(whole))
		require.Equal(t, len(valid) > max(limit, project.MinText), cut)
		if !cut {
			require.Equal(t, valid, text)
			return
		}
		mark := fmt.Sprintf("[... the middle of these %d bytes is left out ...]\n", len(whole))
		head, tail, ok := strings.Cut(text, mark)
		require.True(t, ok)
		require.True(t, strings.HasPrefix(valid, strings.TrimSuffix(head, "\n")))
		require.True(t, strings.HasSuffix(valid, tail))
		require.LessOrEqual(t, len(head)+len(tail), len(valid)+1)
	})
}

// FuzzDiffReader: any bytes, split anywhere, give the same result, or the error.
func FuzzDiffReader(f *testing.F) {
	f.Add(append(records("1\t2\ta", "-\t-\t", "b", "c", ""), "diff --git a/a b/a\n"...), 7)
	f.Add([]byte("\x00"), 0)
	f.Fuzz(func(t *testing.T, out []byte, at int) {
		want, err := read(out, 1)
		at = max(0, min(at, len(out)))
		r := project.NewDiffReader(1)
		_, _ = r.Write(out[:at])
		_, _ = r.Write(out[at:])
		got, again := r.Diff()
		require.Equal(t, err, again)
		require.Equal(t, want, got)
		if err != nil {
			require.ErrorIs(t, err, project.ErrExecutionFailed)
			return
		}
		require.True(t, utf8.ValidString(got.Text))
		require.Len(t, got.Files, min(got.FilesChanged, project.MaxListedNames))
	})
}
