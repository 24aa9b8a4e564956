package overlay_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

func TestParseReadsEveryPart(t *testing.T) {
	p, err := overlay.ParsePatch([]byte("prose\n--- a/my file.md\t\n+++ \"b/\\303\\244 \\\"x\\\"\\t.md\"\n@@ -1,2 +1 @@ heading\n one\r\n-two\n\\ No newline at end of file\n@@ -9,0 +9 @@\n+three\n"))
	require.NoError(t, err)
	assert.Equal(t, overlay.FilePatch{
		Old: "a/my file.md",
		New: "b/ä \"x\"\t.md",
		Hunks: []overlay.Hunk{
			{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 1, Lines: []overlay.HunkLine{{Op: ' ', Text: "one\r"}, {Op: '-', Text: "two", NoEOL: true}}},
			{OldStart: 9, OldLines: 0, NewStart: 9, NewLines: 1, Lines: []overlay.HunkLine{{Op: '+', Text: "three"}}},
		},
	}, p)
	assert.Equal(t, "--- a/my file.md\n+++ \"b/\\303\\244 \\\"x\\\"\\t.md\"\n@@ -1,2 +1 @@\n one\r\n-two\n\\ No newline at end of file\n@@ -9,0 +9 @@\n+three\n", p.String())
}

func TestParseSaysWhatIsWrongWhere(t *testing.T) {
	const hunk = "@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
	for name, c := range map[string]struct{ text, message string }{
		"nothing":               {"", "ends at line 0: the file header is missing"},
		"prose":                 {"hello\nworld\n", "ends at line 2: the file header is missing"},
		"not UTF-8":             {head + "@@ -1 +1 @@\n-a\n+\xff\n", "not valid UTF-8"},
		"binary":                {"diff --git a/f.txt b/f.txt\nindex 1..2\nGIT binary patch\nliteral 3\n", "line 3 of the patch: this is a binary patch"},
		"binary, unsaid":        {"diff --git a/f b/f\nBinary files a/f and b/f differ\n", "line 2 of the patch: this is a binary patch"},
		"renamed":               {"diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n" + hunk, "line 3 of the patch: the file is renamed"},
		"copied":                {"diff --git a/f b/g\ncopy from f\n--- a/f\n+++ b/g\n" + hunk, "line 2 of the patch: the file is renamed or copied"},
		"created":               {"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n" + hunk, "line 2 of the patch: the file is created"},
		"deleted":               {"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n" + hunk, "line 2 of the patch: the file is created or deleted"},
		"two files":             {head + hunk + "--- a/g\n+++ b/g\n" + hunk, "line 7 of the patch: a second file"},
		"two files, git":        {head + hunk + "diff --git a/g b/g\n", "line 7 of the patch: a second file"},
		"two files, signed":     {head + hunk + "-- \ndiff --git a/g b/g\n", "line 8 of the patch: a second file"},
		"two files, one empty":  {"diff --git a/g b/g\nold mode 100644\nnew mode 100755\ndiff --git a/f b/f\n" + head + hunk, "line 4 of the patch: a second file"},
		"only +++":              {"+++ b/f\n" + hunk, "line 1 of the patch: the header line that starts with --- is missing"},
		"only ---":              {"--- a/f\n" + hunk, "line 2 of the patch: the header line that starts with +++ must follow"},
		"only ---, end":         {"--- a/f\n", "ends at line 1: the header line that starts with +++ must follow"},
		"no header":             {hunk, "line 1 of the patch: a hunk comes before the file header"},
		"no hunk":               {head, "ends at line 2: a hunk (@@ -1,3 +1,4 @@) must follow the file header"},
		"text for a hunk":       {head + "a\n", "line 3 of the patch: a hunk (@@ -1,3 +1,4 @@) must follow the file header"},
		"hunk header":           {head + "@@ -1,2 1,2 @@\n", "line 3 of the patch: not a hunk header"},
		"hunk header, number":   {head + "@@ -1,12345678901 +1,2 @@\n", "line 3 of the patch: not a hunk header"},
		"too few lines":         {head + "@@ -1,3 +1,3 @@\n-a\n+b\n c\n", "ends at line 6: the hunk @@ -1,3 +1,3 @@ lacks lines (1 old, 1 new)"},
		"too few, then another": {head + "@@ -1,3 +1,3 @@\n-a\n+b\n c\n@@ -9 +9 @@\n-x\n+y\n", "line 7 of the patch: a line of a hunk must begin with"},
		"too many old":          {head + "@@ -1,1 +1,2 @@\n-a\n-b\n+b\n", "line 5 of the patch: the hunk @@ -1 +1,2 @@ has more lines"},
		"too many new":          {head + "@@ -1,2 +1 @@\n-a\n+b\n+c\n", "line 6 of the patch: the hunk @@ -1,2 +1 @@ has more lines"},
		"lines behind":          {head + hunk + " d\n", "line 7 of the patch: there is text after the last hunk"},
		"removed behind":        {head + hunk + "-d\n", "line 7 of the patch: there is text after the last hunk"},
		"text behind signature": {head + hunk + "-- \n2.39\nmore\n", "line 9 of the patch: there is text after the last hunk"},
		"hunk behind a gap":     {head + hunk + "\n" + hunk, "line 8 of the patch: there is text after the last hunk"},
		"cut off":               {head + "@@ -1,2 +1,2 @@\n-a\n+b\n c", "line 6 of the patch: the line is incomplete"},
		"nothing changes":       {head + "@@ -1 +1 @@\n a\n", "line 3 of the patch: the hunk changes nothing"},
		"empty hunk":            {head + "@@ -1,0 +1,0 @@\n", "line 3 of the patch: the hunk changes nothing"},
		"nothing to be cut":     {head + "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", "line 4 of the patch: no line comes before"},
		"cut twice":             {head + "@@ -1 +1 @@\n-a\n" + noEOL + noEOL + "+b\n", "line 6 of the patch: no line comes before"},
		"other backslash":       {head + "@@ -1 +1 @@\n-a\n\\ No\n+b\n", `line 5 of the patch: this should be "\ No newline`},
		"cut in the middle":     {head + "@@ -1,2 +1,2 @@\n-a\n" + noEOL + "-b\n+c\n+d\n", "line 3 of the patch: the hunk has a line without a line feed that is not the last line of its side"},
		"new side goes on":      {head + "@@ -1 +1,2 @@\n+a\n" + noEOL + " b\n", "line 3 of the patch: the hunk has a line without"},
		"quote left open":       {"--- \"a/f\n+++ b/f\n" + hunk, "line 1 of the patch: the quoted path is not closed"},
		"quote, bad escape":     {"--- a/f\n+++ \"b/\\x41\"\n" + hunk, "line 2 of the patch: the quoted path is not closed, or has an unknown escape"},
		"quote, short octal":    {"--- \"a/\\47\"\n+++ b/f\n" + hunk, "line 1 of the patch: the quoted path"},
		"quote, big octal":      {"--- \"a/\\477\"\n+++ b/f\n" + hunk, "line 1 of the patch: the quoted path"},
		"quote, backslash last": {"--- \"a/\\\n+++ b/f\n" + hunk, "line 1 of the patch: the quoted path"},
		"quote, more behind":    {"--- \"a/f\"x\n+++ b/f\n" + hunk, "line 1 of the patch: the quoted path"},
		"no path":               {"--- \n+++ b/f\n" + hunk, "line 1 of the patch: the header line has no path"},
		"no quoted path":        {"--- a/f\n+++ \"\"\n" + hunk, "line 2 of the patch: the header line has no path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := overlay.ParsePatch([]byte(c.text))
			require.ErrorIs(t, err, overlay.ErrFormat)
			assert.ErrorContains(t, err, c.message)
			assert.Equal(t, fault.Invalid, fault.From(err).Kind)
		})
	}
}

func TestWordsOfABinaryPatchInsideAHunkAreText(t *testing.T) {
	got, err := ours("GIT binary patch\n", head+"@@ -1 +1,2 @@\n GIT binary patch\n+rename from x\n")
	require.NoError(t, err)
	assert.Equal(t, "GIT binary patch\nrename from x\n", got)
}

func TestCheckPaths(t *testing.T) {
	for _, c := range []struct{ old, new, rel, message string }{
		{"a/x/y.md", "b/x/y.md", "x/y.md", ""},
		{"x/y.md", "x/y.md", "x/y.md", ""},
		{"b/x", "a/x", "x", ""},
		{"a/a/x", "b/a/x", "a/x", ""},
		{"a/b/x", "b/b/x", "x", `the --- line of the patch names "a/b/x", but the patch is for "x"`},
		{"a/x", "b/y", "x", `the +++ line of the patch names "b/y"`},
		{"a/X", "b/x", "x", `"a/X"`},
		{"a/./x", "b/./x", "x", `"a/./x"`},
		{"/dev/null", "b/x", "x", "the --- line of the patch is /dev/null"},
		{"a/x", "/dev/null", "x", "the +++ line of the patch is /dev/null"},
	} {
		err := overlay.CheckPaths(overlay.FilePatch{Old: c.old, New: c.new}, c.rel)
		if c.message == "" {
			assert.NoError(t, err, c)
			continue
		}
		assert.ErrorIs(t, err, overlay.ErrPath, c)
		assert.ErrorContains(t, err, c.message)
	}
}

func TestApplySaysWhichHunkAndNeverWhatIsInTheFile(t *testing.T) {
	for name, c := range map[string]struct{ base, patch, message string }{
		"differs":    {strings.Replace(numbered(1, 20), "line 8\n", "hunter2\n", 1), middle, "hunk 1 of the patch (@@ -7,7 +7,7 @@) does not apply: line 8 of the file, after the previous hunks, differs from old line 2 of the hunk"},
		"second":     {numbered(1, 20), middle + "@@ -18,2 +18,2 @@\n-line 18\n+x\n hunter2\n", "hunk 2 of the patch"},
		"overlap":    {numbered(1, 20), middle + "@@ -12,3 +12,4 @@\n line 12\n+hunter2\n line 13\n line 14\n", "line 12 of the file, after the previous hunks, is part of a previous hunk"},
		"line feed":  {"hunter2\nb", head + "@@ -1,2 +1,2 @@\n-hunter2\n+x\n b\n", "line 2 of the file, after the previous hunks, differs in its line feed"},
		"short":      {"hunter2\n", middle, "the file has too few lines"},
		"whole file": {"hunter2\nb\n", head + "@@ -1 +1 @@\n-hunter2\n+x\n", "it replaces the whole file"},
		"nowhere":    {"hunter2\nb\nc\n", head + "@@ -2,0 +3 @@\n+x\n", "it has no context line"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := ours(c.base, c.patch)
			require.ErrorIs(t, err, overlay.ErrApply)
			assert.ErrorContains(t, err, c.message)
			assert.NotContains(t, err.Error(), "hunter2")
			assert.Equal(t, fault.Conflict, fault.From(err).Kind)
			assert.Empty(t, result)
		})
	}
}

func TestApplyLeavesItsInputAlone(t *testing.T) {
	p, err := overlay.ParsePatch([]byte(middle))
	require.NoError(t, err)
	base := []byte(numbered(1, 20))
	_, err = p.Apply(base)
	require.NoError(t, err)
	assert.Equal(t, numbered(1, 20), string(base))
	assert.Equal(t, strings.Replace(middle, " heading", "", 1), p.String())
}

// A patch that was not parsed may be nonsense, but must not cause a panic.
func TestApplyBearsAPatchMadeByHand(t *testing.T) {
	for _, h := range []overlay.Hunk{{}, {OldStart: -5, NewStart: -5}, {OldStart: 9, NewStart: 9}, {OldStart: 9, NewStart: 9, Lines: []overlay.HunkLine{{Op: '+', Text: "x"}}}} {
		for _, base := range []string{"", "a\n", numbered(1, 9)} {
			_, err := overlay.FilePatch{Hunks: []overlay.Hunk{h}}.Apply([]byte(base))
			if err != nil {
				assert.ErrorIs(t, err, overlay.ErrApply)
			}
		}
	}
}

func TestStringComesBackForAnyPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.StringMatching(`[ab]/[ "\\a-z\t]{1,9}( 2024-01-02 03:04:05)?`)).Draw(t, "path")
		p := overlay.FilePatch{Old: path, New: path + "é\xff", Hunks: []overlay.Hunk{{OldStart: 1, OldLines: 0, NewStart: 1, NewLines: 1, Lines: []overlay.HunkLine{{Op: '+', Text: "x"}}}}}
		again, err := overlay.ParsePatch([]byte(p.String()))
		require.NoError(t, err, p.String())
		assert.Equal(t, p, again)
	})
}

// FuzzParse: any text is rejected or parsed, and a parsed patch is parsed again from its own text.
func FuzzParse(f *testing.F) {
	for _, c := range corpus() {
		f.Add([]byte(c.patch))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := overlay.ParsePatch(text)
		if err != nil {
			require.ErrorIs(t, err, overlay.ErrFormat)
			return
		}
		again, err := overlay.ParsePatch([]byte(p.String()))
		require.NoError(t, err, p.String())
		require.Equal(t, p, again)
	})
}

// FuzzApply: a diff of two texts turns the first into the second; applied to anything else, it fails or makes its changes.
func FuzzApply(f *testing.F) {
	for _, c := range corpus() {
		if after, err := ours(c.base, c.patch); err == nil {
			f.Add(c.base, after, numbered(1, 9))
		}
	}
	f.Fuzz(func(t *testing.T, before, after, other string) {
		if before == after || !utf8.ValidString(before) || !utf8.ValidString(after) {
			return
		}
		text := docedit.Differ{}.Unified("a/f.txt", "b/f.txt", []byte(before), []byte(after))
		p, err := overlay.ParsePatch([]byte(text))
		require.NoError(t, err, text)
		got, err := p.Apply([]byte(before))
		require.NoError(t, err, text)
		require.Equal(t, after, string(got), text)

		grown := 0
		for _, h := range p.Hunks {
			grown += h.NewLines - h.OldLines
		}
		if got, err := p.Apply([]byte(other)); err == nil {
			require.Equal(t, lines(other)+grown, lines(string(got)), "%q\n%s", other, text)
		}
	})
}

func lines(text string) (n int) {
	for range strings.Lines(text) {
		n++
	}
	return n
}

func BenchmarkApply(b *testing.B) {
	base, want := numbered(1, 10_000), numbered(1, 10_000)
	for i := 100; i < 10_000; i += 100 {
		want = strings.Replace(want, fmt.Sprintf("line %d\n", i), "changed\n", 1)
	}
	text := []byte(docedit.Differ{}.Unified("a/f", "b/f", []byte(base), []byte(want)))
	for b.Loop() {
		p, err := overlay.ParsePatch(text)
		require.NoError(b, err)
		_, err = p.Apply([]byte(base))
		require.NoError(b, err)
	}
}
