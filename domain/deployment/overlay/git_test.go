package overlay_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

// git applies patches to one file in a directory that is in no repository.
type git struct {
	t   testing.TB
	dir string
}

func newGit(t testing.TB) git {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	return git{t: t, dir: t.TempDir()}
}

func (g git) run(args ...string) (stdout string, err error) {
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir), "LC_ALL=C"}
	out, err := cmd.Output()
	return string(out), err
}

func (g git) write(name, content string) {
	require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, name), []byte(content), 0o600))
}

// apply returns the result of git apply on base, in the file f.txt.
func (g git) apply(base, text string) (result string, applies bool) {
	g.write("f.txt", base)
	g.write("p.patch", text)
	if _, err := g.run("apply", "--whitespace=nowarn", "p.patch"); err != nil {
		return "", false
	}
	b, err := os.ReadFile(filepath.Join(g.dir, "f.txt"))
	require.NoError(g.t, err)
	return string(b), true
}

// ours returns this package's result on base.
func ours(base, text string) (string, error) {
	p, err := overlay.ParsePatch([]byte(text))
	if err != nil {
		return "", err
	}
	if err := overlay.CheckPaths(p, "f.txt"); err != nil {
		return "", err
	}
	result, err := p.Apply([]byte(base))
	return string(result), err
}

const head = "--- a/f.txt\n+++ b/f.txt\n"

// numbered returns the lines from to to, each "line <n>".
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// middle changes line 10 of numbered(1, 20).
const middle = head + "@@ -7,7 +7,7 @@ heading\n line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n"

const noEOL = "\\ No newline at end of file\n"

// corpus returns applied here and by git, with equal results.
func corpus() map[string]struct{ base, patch string } {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	return map[string]struct{ base, patch string }{
		"exact":                         {numbered(1, 20), middle},
		"below":                         {numbered(-4, 20), middle},
		"above":                         {numbered(4, 20), middle},
		"nearest below":                 {numbered(1, 9) + numbered(7, 20) + numbered(7, 20), middle},
		"as near below as above":        {"x\n" + numbered(7, 13) + "y\n" + numbered(7, 13), head + "@@ -6,7 +6,7 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n line 11\n line 12\n line 13\n"},
		"start far behind the end":      {numbered(1, 20), strings.ReplaceAll(middle, "-7,7 +7,7", "-900000000,7 +900000000,7")},
		"context differs":               {strings.Replace(numbered(1, 20), "line 8", "line eight", 1), middle},
		"removed line differs":          {strings.Replace(numbered(1, 20), "line 10", "line X", 1), middle},
		"blank at the end of a line":    {strings.Replace(numbered(1, 20), "line 10", "line 10 ", 1), middle},
		"line ends in the patch only":   {numbered(1, 20), strings.ReplaceAll(crlf(middle), "f.txt\r", "f.txt")},
		"line ends in the file only":    {crlf(numbered(1, 20)), middle},
		"line ends in both":             {crlf(numbered(1, 20)), crlf(middle)},
		"line ends become others":       {"a\r\nb\r\n", head + "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"},
		"lone carriage returns":         {"a\rb\nc\n", head + "@@ -1,2 +1,2 @@\n a\rb\n-c\n+d\r\n"},
		"file too short":                {numbered(7, 12), middle},
		"empty file, change":            {"", middle},
		"empty file, lines":             {"", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"empty file, no final newline":  {"", head + "@@ -0,0 +1 @@\n+a\n" + noEOL},
		"becomes empty":                 {"a\nb\n", head + "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		"becomes empty, no newline":     {"a\nb", head + "@@ -1,2 +0,0 @@\n-a\n-b\n" + noEOL},
		"not empty, lines for empty":    {"a\n", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"no newline on both sides":      {"a\nb", head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n" + noEOL},
		"no newline, both changed":      {"a\nb", head + "@@ -1,2 +1,2 @@\n a\n-b\n" + noEOL + "+B\n" + noEOL},
		"newline added":                 {"a\nb", head + "@@ -1,2 +1,2 @@\n a\n-b\n" + noEOL + "+b\n"},
		"newline taken":                 {"a\nb\n", head + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n" + noEOL},
		"newline expected":              {"a\nb", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		"newline not expected":          {"a\nb\n", head + "@@ -1,2 +1,2 @@\n a\n-b\n" + noEOL + "+c\n"},
		"newline expected in context":   {"a\nb", head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"},
		"translated, last, cut off":     {"a\nb", head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ Kein Zeilenumbruch am Dateiende."},
		"last line removed, no newline": {"a\nb", head + "@@ -1,2 +1 @@\n a\n-b\n" + noEOL},
		"two hunks":                     {numbered(1, 40), middle + "@@ -30,3 +30,4 @@\n line 30\n line 31\n+new\n line 32\n"},
		"two hunks, second drifted":     {numbered(1, 20) + "more\nmore\n" + numbered(21, 40), middle + "@@ -30,3 +30,4 @@\n line 30\n line 31\n+new\n line 32\n"},
		"two hunks, second fails":       {numbered(1, 30), middle + "@@ -30,3 +30,4 @@\n line 30\n line 31\n+new\n line 32\n"},
		"two hunks in wrong order":      {numbered(1, 40), head + "@@ -30,3 +30,4 @@\n line 30\n line 31\n+new\n line 32\n" + strings.TrimPrefix(middle, head)},
		"hunks that overlap":            {numbered(1, 40), middle + "@@ -12,3 +12,4 @@\n line 12\n line 13\n+new\n line 14\n"},
		"same hunk twice":               {"a\nb\na\nb\n", head + "@@ -2,2 +2,2 @@\n-b\n+c\n a\n@@ -2,2 +2,2 @@\n-b\n+c\n a\n"},
		"beginning, moved":              {"new\na\nb\nc\n", head + "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n"},
		"beginning, from line two":      {"a\nb\nc\n", head + "@@ -2,3 +2,3 @@\n-a\n+A\n b\n c\n"},
		"beginning, one line context":   {"a\nb\nc\n", head + "@@ -1,2 +1,3 @@\n a\n+x\n b\n"},
		"end, more follows":             {"a\nb\nc\n", head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n"},
		"end, moved":                    {numbered(1, 10), head + "@@ -3,3 +3,4 @@\n line 8\n line 9\n line 10\n+line 11\n"},
		"end, line moved away":          {numbered(1, 11), head + "@@ -8,3 +8,4 @@\n line 8\n line 9\n line 10\n+line 11\n"},
		"no context, in the middle":     {numbered(1, 9), head + "@@ -5 +5 @@\n-line 5\n+five\n"},
		"no context, at the end":        {numbered(1, 9), head + "@@ -9 +9 @@\n-line 9\n+nine\n"},
		"no context, whole file":        {"a\n", head + "@@ -1 +1 @@\n-a\n+b\n"},
		"no context, insertion at end":  {"a\nb\n", head + "@@ -2,0 +3 @@\n+c\n"},
		"insertion after line one":      {"a\n", head + "@@ -1,0 +2 @@\n+c\n"},
		"empty context without blank":   {"a\n\nb\n", head + "@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n"},
		"looks like headers":            {"-- a\n++ b\n@@ -1 +1 @@\nx\n", head + "@@ -1,4 +1,4 @@\n--- a\n+-- c\n ++ b\n @@ -1 +1 @@\n-x\n+++ y\n"},
		"git's header":                  {"a\n", "diff --git a/f.txt b/f.txt\nindex 7898192..6178079 100644\n" + head + "@@ -1 +1 @@\n-a\n+b\n"},
		"git's header, mode":            {"a\n", "diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\nindex 7898192..6178079\n" + head + "@@ -1 +1 @@\n-a\n+b\n"},
		"from a mail":                   {"a\n", "From 7898192\nSubject: [PATCH] b\n\n---\n f.txt | 2 +-\n 1 file changed\n\n" + head + "@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n\n"},
		"time behind a tab":             {"a\n", "--- a/f.txt\t2024-01-02 03:04:05.000000000 +0100\n+++ b/f.txt\t2024-01-02 03:04:06 +0100\n@@ -1 +1 @@\n-a\n+b\n"},
		"time behind blanks":            {"a\n", "--- a/f.txt  2024-01-02 03:04:05.000000000 +0100\n+++ b/f.txt 2024-01-02 03:04:06\n@@ -1 +1 @@\n-a\n+b\n"},
		"quoted paths":                  {"a\n", "--- \"a/\\146.txt\"\n+++ \"b/f.txt\"\n@@ -1 +1 @@\n-a\n+b\n"},
		"carriage returns behind paths": {"a\n", "--- a/f.txt\r\n+++ b/f.txt\r\n@@ -1 +1 @@\r\n-a\n+b\n"},
		"without a and b":               {"a\n", "--- f.txt\n+++ f.txt\n@@ -1 +1 @@\n-a\n+b\n"},
		"nothing changes":               {"a\n", head + "@@ -1 +1 @@\n a\n"},
		"too few lines":                 {"a\nb\n", head + "@@ -1,2 +1,2 @@\n-a\n+b\n"},
		"header without a hunk":         {"a\n", head},
		"no patch":                      {"a\n", "hello\n"},
		"nothing":                       {"a\n", ""},
		"other file":                    {"a\n", "--- a/g.txt\n+++ b/g.txt\n@@ -1 +1 @@\n-a\n+b\n"},
		"start of zero":                 {"a\nb\n", head + "@@ -0,1 +0,1 @@\n-a\n+c\n b\n"},
	}
}

func TestAnswersAsGitDoes(t *testing.T) {
	g := newGit(t)
	for name, c := range corpus() {
		t.Run(name, func(t *testing.T) {
			want, applies := g.apply(c.base, c.patch)
			got, err := ours(c.base, c.patch)
			require.Equal(t, applies, err == nil, "git applies: %t; we say: %v", applies, err)
			assert.Equal(t, want, got)
		})
	}
}

// Where git's result is not what the patch says, this package rejects the patch. The test checks git's results too, so that a change of git is
// noticed.
func TestRefusesWhereGitIsLax(t *testing.T) {
	g := newGit(t)
	for name, c := range map[string]struct{ base, patch, git string }{
		"lines behind a short hunk":     {"a\nb\n", head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n+lost\n", "A\nb\n"},
		"insertion without context":     {"a\nb\nc\n", head + "@@ -2,0 +3 @@\n+x\n", "a\nb\nc\nx\n"},
		"insertion behind a cut line":   {"a\nb", head + "@@ -2,0 +3 @@\n+x\n", "a\nbx\n"},
		"no newline, but not the end":   {"a\nb\nc\n", head + "@@ -1,3 +1,3 @@\n-a\n+A\n" + noEOL + " b\n c\n", "Ab\nc\n"},
		"context that was the end":      {numbered(1, 9), head + "@@ -3,3 +3,3 @@\n line 3\n-line 4\n+four\n line 5\n" + noEOL, numbered(1, 3) + "four\nline 5" + numbered(6, 9)},
		"file in a directory of no one": {"a\n", "--- x/f.txt\n+++ y/f.txt\n@@ -1 +1 @@\n-a\n+b\n", "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want, applies := g.apply(c.base, c.patch)
			require.True(t, applies)
			assert.Equal(t, c.git, want)
			_, err := ours(c.base, c.patch)
			assert.Error(t, err)
		})
	}
}

// TestRandomPatchesAnswerAsGitDoes makes patches with git and applies them to their original and to changed versions of it.
func TestRandomPatchesAnswerAsGitDoes(t *testing.T) {
	g := newGit(t)
	fit := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		old := randomText(r)
		changed := mutate(r, old)
		g.write("old", old)
		g.write("new", changed)
		text, err := g.run("diff", "--no-index", "--no-color", fmt.Sprintf("-U%d", r.IntN(5)), "old", "new")
		if err == nil {
			continue // equal
		}
		text = strings.NewReplacer("a/old", "a/f.txt", "b/new", "b/f.txt").Replace(text)
		for _, base := range []string{old, mutate(r, old), mutate(r, mutate(r, old))} {
			want, applies := g.apply(base, text)
			got, err := ours(base, text)
			if err != nil && applies && (strings.Contains(err.Error(), "no context line") || strings.Contains(err.Error(), "differs in its line feed")) {
				continue // one of the laxities above
			}
			require.Equal(t, applies, err == nil, "seed %d: git applies: %t; we say: %v\n%q\n%s", seed, applies, err, base, text)
			require.Equal(t, want, got, "seed %d\n%q\n%s", seed, base, text)
			if applies {
				fit++
			}
		}
	}
	assert.Greater(t, fit, 100, "most patches should fit something")
}

// randomText returns few different lines, so that hunks fit in several places.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString([]string{"a", "b", "", "c", "-- d", "++ e", "{", "}", "f\r"}[r.IntN(9)] + "\n")
	}
	return cutOff(r, b.String())
}

func cutOff(r *rand.Rand, text string) string {
	if r.IntN(3) == 0 {
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// mutate inserts, removes and changes a few lines.
func mutate(r *rand.Rand, text string) string {
	lines := slices.Collect(strings.Lines(text))
	for range 1 + r.IntN(3) {
		at := r.IntN(len(lines) + 1)
		switch fresh := fmt.Sprintf("new %d\n", r.IntN(3)); {
		case r.IntN(2) == 0 || at == len(lines):
			if at > 0 && !strings.HasSuffix(lines[at-1], "\n") {
				lines[at-1] += "\n"
			}
			lines = slices.Insert(lines, at, fresh)
		case r.IntN(2) == 0:
			lines = slices.Delete(lines, at, at+1)
		default:
			lines[at] = fresh
		}
	}
	return cutOff(r, strings.Join(lines, ""))
}
