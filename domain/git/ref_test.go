package git_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/git"
)

var goodBranches = []string{
	"main", "feature/login", "sandbox/x-1", "a", "a/b/c", "v1.2.3", "a.b", "a@b", "@@", "a/@", "@/a", "a{b", "x}", "HEAD2", "a/HEAD",
	"refs/heads/x", "日本", "naïve", "a-", "a.lockx", "lock", "a\u0085b", "a!b", "a#b", "a$b", "a%b", "a&b", "a'b", "a\"b", "a(b)", "a,b",
	"a;b", "a<b>", "a=b", "a]b", "a`b", "a|b", "head", strings.Repeat("x", 300),
}

var badBranches = []string{
	"", "HEAD", "@", "-x", "--force", ".a", "a/.b", "a.", "a..b", "a.lock", "a.lock/b", "a/b.lock", "/a", "a/", "a//b", "a b", "a~b", "a^b",
	"a:b", "a?b", "a*b", "a[b", `a\b`, "a@{b", "@{-1}", "a\x00b", "a\x1fb", "a\x7fb", "a\nb", "a\tb", "..", ".", "/", "a/..", "a/.", ".lock",
}

func TestParseBranch(t *testing.T) {
	for _, s := range goodBranches {
		b, err := git.ParseBranch(s)
		require.NoError(t, err, s)
		assert.Equal(t, s, b.String())
		assert.Equal(t, "refs/heads/"+s, b.Ref())
	}
	for _, s := range append(badBranches, "\xff", "a\xc3") {
		b, err := git.ParseBranch(s)
		require.ErrorIs(t, err, git.ErrBranch, "%q", s)
		assert.True(t, b.IsZero())
		assert.Empty(t, b.Ref())
	}
}

// gitAccepts asks the real program, outside of any repository, so that nothing is expanded.
func gitAccepts(t testing.TB, dir, name string) bool {
	t.Helper()
	cmd := exec.Command("git", "check-ref-format", "--branch", name)
	cmd.Dir = dir
	cmd.Env = []string{"GIT_CEILING_DIRECTORIES=/", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir, "GIT_DIR=" + dir + "/none"}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit, "git does not run")
	}
	return err == nil
}

// TestBranchesAgainstGit asks git about the same names, and about random ones of the characters that matter.
func TestBranchesAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	dir := t.TempDir()
	for _, s := range goodBranches {
		assert.True(t, gitAccepts(t, dir, s), "%q", s)
	}
	for _, s := range badBranches {
		if s != "@" && !strings.Contains(s, "\x00") { // no argument holds NUL; @ stands for HEAD and is accepted as that
			assert.False(t, gitAccepts(t, dir, s), "%q", s)
		}
	}
	alphabet := []string{"a", "HEAD", "lock", ".lock", ".", "/", "@", "{", "-", " ", "~", "^", ":", "?", "*", "[", `\`, "\x01", "\x7f", "é", "}", "]", "#"}
	rapid.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 5).Draw(r, "parts"), "")
		if s == "@" {
			return
		}
		_, err := git.ParseBranch(s)
		require.Equal(r, gitAccepts(t, dir, s), err == nil, "%q: %v", s, err)
	})
}

func FuzzParseBranch(f *testing.F) {
	for _, s := range append(goodBranches, badBranches...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := git.ParseBranch(s)
		if err != nil {
			require.ErrorIs(t, err, git.ErrBranch)
			return
		}
		require.Equal(t, s, b.String())
		require.True(t, utf8.ValidString(s))
		require.False(t, strings.HasPrefix(s, "-"))
		require.NotContains(t, s, "..")
		require.NotContains(t, s, "\x00")
	})
}

func TestCommit(t *testing.T) {
	sha1 := "0123456789abcdef0123456789abcdef01234567"
	sha256 := sha1 + "89abcdef0123456789abcdef"
	for _, s := range []string{sha1, sha256, strings.ToUpper(sha1)} {
		c, err := git.ParseCommit(s)
		require.NoError(t, err, s)
		assert.Equal(t, strings.ToLower(s), c.String())
		assert.Equal(t, "0123456789ab", c.Short())
	}
	for _, s := range []string{"", "HEAD", sha1[:39], sha1 + "0", sha256[:63], sha256 + "0", sha1[:39] + "g", " " + sha1[1:], sha1[:20] + "-" + sha1[21:],
		strings.Repeat("0", 40), strings.Repeat("0", 64), "0x" + sha1[2:], strings.Repeat("\u212a", 20), strings.Repeat("é", 20)} {
		c, err := git.ParseCommit(s)
		require.ErrorIs(t, err, git.ErrCommit, "%q", s)
		assert.True(t, c.IsZero())
		assert.Empty(t, c.Short())
	}
}

func TestRefText(t *testing.T) {
	type refs struct {
		Branch git.Branch
		Commit git.Commit
	}
	var v refs
	doc := `{"Branch":"feature/x","Commit":"0123456789abcdef0123456789abcdef01234567"}`
	require.NoError(t, json.Unmarshal([]byte(doc), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	assert.JSONEq(t, doc, string(out))
	before := v
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Branch":"-x"}`), &v), git.ErrBranch)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Commit":"HEAD"}`), &v), git.ErrCommit)
	assert.Equal(t, before, v)
}
