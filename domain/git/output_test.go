package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
)

const (
	id      = "25809a224d2945cbd5a7ac6bf25a0f8034c675f2"
	zeros   = "0000000000000000000000000000000000000000"
	blobs   = " N... 100644 100644 100644 " + id + " " + id + " "
	unmerge = " N... 100644 100644 100644 100644 " + id + " " + id + " " + id + " "
)

// records puts a NUL behind each.
func records(list ...string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}

func TestParseStatus(t *testing.T) {
	for name, test := range map[string]struct {
		out  []byte
		want git.Status
	}{
		"nothing":                   {nil, git.Status{}},
		"before the first commit":   {records("# branch.oid (initial)", "# branch.head main", "# future header"), git.Status{Branch: "main"}},
		"detached":                  {records("# branch.oid "+id, "# branch.head (detached)"), git.Status{Head: id, Detached: true}},
		"upstream that is not here": {records("# branch.head x", "# branch.upstream origin/x"), git.Status{Branch: "x", Upstream: "origin/x"}},
		"in step":                   {records("# branch.head x", "# branch.upstream o/x", "# branch.ab +0 -0"), git.Status{Branch: "x", Upstream: "o/x", Tracked: true}},
		"not in step, uncounted":    {records("# branch.head x", "# branch.upstream o/x", "# branch.ab +? -?"), git.Status{Branch: "x", Upstream: "o/x"}},
		"ahead, behind and stashed": {records("# branch.ab +3 -12", "# stash 4"), git.Status{Tracked: true, Ahead: 3, Behind: 12, Stashes: 4}},
		"changes": {
			records("1 M."+blobs+"staged", "1 .D"+blobs+"-n\n\"ü\" 日", "2 R."+blobs+"R100 new name", "old name", "2 .C"+blobs+"C75 copy", "1 M.", "u UU"+unmerge+"torn apart", "? dir/", "? \xff", "! out/"),
			git.Status{Changes: []git.Change{
				{Kind: git.Modified, Index: 'M', Tree: git.Same, Path: "staged", Record: "1 M." + blobs + "staged"},
				{Kind: git.Modified, Index: git.Same, Tree: 'D', Path: "-n\n\"ü\" 日", Record: "1 .D" + blobs + "-n\n\"ü\" 日"},
				{Kind: git.Renamed, Index: 'R', Tree: git.Same, Path: "new name", From: "old name", Record: "2 R." + blobs + "R100 new name\x00old name"},
				{Kind: git.Renamed, Index: git.Same, Tree: 'C', Path: "copy", From: "1 M.", Record: "2 .C" + blobs + "C75 copy\x001 M."},
				{Kind: git.Unmerged, Index: 'U', Tree: 'U', Path: "torn apart", Record: "u UU" + unmerge + "torn apart"},
				{Kind: git.Untracked, Index: '?', Tree: '?', Path: "dir/", Record: "? dir/"},
				{Kind: git.Untracked, Index: '?', Tree: '?', Path: "\xff", Record: "? \xff"},
				{Kind: git.Ignored, Index: '!', Tree: '!', Path: "out/", Record: "! out/"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := git.ParseStatus(test.out)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestParseStatusRefuses(t *testing.T) {
	for _, out := range [][]byte{
		[]byte("? no end"), records("x"), records(""), records("? "), records("1 M. too few"), records("1 M" + blobs + "one letter"), records("1 M." + blobs),
		records("1 .." + blobs + "x"), records("2 R." + blobs + "R100 to"), records("2 R."+blobs+"R100 to", ""), records("2 R."+blobs+"to", "from"), records("u UU" + blobs + "x"),
		records("7 M." + blobs + "x"), records("# branch.ab +1"), records("# branch.ab 1 2"), records("# branch.ab +? -1"), records("# branch.ab +1 -?"), records("# branch.ab +9999999999 -0"), records("# stash x"),
		[]byte("On branch main\nnothing to commit\n"), []byte("\x00\x00"), []byte("2 \x00"), []byte("#\x00"),
	} {
		s, err := git.ParseStatus(out)
		require.ErrorIs(t, err, git.ErrOutput, "%q", out)
		assert.Zero(t, s)
	}
}

func TestChangesAreShownAsInTheShortForm(t *testing.T) {
	s, err := git.ParseStatus(records("1 .M"+blobs+"a b", "1 A."+blobs+"new\nline", "2 R."+blobs+"R100 to", "from", "u UU"+unmerge+"both", "? loose/", "? \xff\xfe"))
	require.NoError(t, err)
	var lines []string
	for _, c := range s.Changes {
		lines = append(lines, c.String())
	}
	assert.Equal(t, []string{" M a b", `A  "new\nline"`, "R  to", "UU both", "?? loose/", "?? \uFFFD"}, lines)
}

func TestParseWorktrees(t *testing.T) {
	got, err := git.ParseWorktrees(records(
		"worktree /p", "HEAD "+id, "branch refs/heads/main", "",
		"worktree /p/.worktrees/a b\nc", "HEAD "+id, "detached", "locked on a\nstick", "",
		"worktree /gone", "HEAD "+zeros, "branch refs/heads/feature/ü", "prunable gitdir file points to non-existent location", "something new", "",
		"worktree /l", "HEAD "+id, "branch refs/heads/l", "locked", ""))
	require.NoError(t, err)
	assert.Equal(t, []git.Worktree{
		{Path: "/p", Head: id, Branch: "main", Main: true},
		{Path: "/p/.worktrees/a b\nc", Head: id, Detached: true, Locked: true},
		{Path: "/gone", Branch: "feature/ü", Prunable: true},
		{Path: "/l", Head: id, Branch: "l", Locked: true},
	}, got)
	got, err = git.ParseWorktrees(records("worktree /p.git", "bare", ""))
	require.NoError(t, err)
	assert.Equal(t, []git.Worktree{{Path: "/p.git", Main: true, Bare: true}}, got)
	got, err = git.ParseWorktrees(nil)
	require.NoError(t, err)
	assert.Empty(t, got)
	for _, out := range [][]byte{records("HEAD " + id), []byte("worktree /p"), records("worktree /a", "worktree /b", ""), records("worktree", ""), records("worktree ", ""), records("worktree /a", "", "bare")} {
		_, err := git.ParseWorktrees(out)
		require.ErrorIs(t, err, git.ErrOutput, "%q", out)
	}
}

func TestParseRefs(t *testing.T) {
	line := func(fields ...string) string { return string(records(fields...)) + "\n" }
	head := git.Ref{Name: "refs/remotes/origin/HEAD", Object: id, Symbolic: "refs/remotes/origin/main"}
	got, err := git.ParseRefs([]byte(line("refs/heads/x/y", id, "") + line(head.Name, id, head.Symbolic)))
	require.NoError(t, err)
	assert.Equal(t, []git.Ref{{Name: "refs/heads/x/y", Object: id}, head}, got)
	got, err = git.ParseRefs([]byte(line("refs/heads/main", id, "", "/a\nb\n") + line("refs/heads/x", id, "", "") + line(head.Name, id, head.Symbolic, "")))
	require.NoError(t, err)
	assert.Equal(t, []git.Ref{{Name: "refs/heads/main", Object: id, Worktree: "/a\nb\n"}, {Name: "refs/heads/x", Object: id}, head}, got)
	got, err = git.ParseRefs(nil)
	require.NoError(t, err)
	assert.Empty(t, got)
	for _, bad := range []string{"refs/heads/a", "refs/heads/a\x00" + id, line("main", id, ""), line("refs/heads/a", "", ""), line("refs/heads/a", id, "") + "\n", "refs/heads/a\x00" + id + "\x00\x00/w"} {
		_, err := git.ParseRefs([]byte(bad))
		require.ErrorIs(t, err, git.ErrOutput, "%q", bad)
	}
}

func entries(out []byte) (list []git.Entry, err error) {
	for entry, err := range git.Entries(out) {
		if err != nil {
			return list, err
		}
		list = append(list, entry)
	}
	return list, nil
}

func TestEntries(t *testing.T) {
	got, err := entries(records("100644 "+id+" 0\ta", "160000 "+id+" 1\tvendor/lib x", "160000 "+id+" 2\tvendor/lib x", "120000 "+id+" 0\tl"))
	require.NoError(t, err)
	assert.Equal(t, []git.Entry{{Mode: git.FileMode, Object: id, Path: "a"}, {Mode: git.SubmoduleMode, Object: id, Path: "vendor/lib x"},
		{Mode: git.SubmoduleMode, Object: id, Path: "vendor/lib x"}, {Mode: git.LinkMode, Object: id, Path: "l"}}, got)
	got, err = entries(records("100755 blob "+id+"\ttabs\tin it", "040000 tree "+id+"\tdir", "100644 blob "+id+"     12\tlong"))
	require.NoError(t, err)
	assert.Equal(t, []git.Entry{{Mode: git.ScriptMode, Object: id, Path: "tabs\tin it"}, {Mode: git.DirectoryMode, Object: id, Path: "dir"}, {Mode: git.FileMode, Object: id, Path: "long"}}, got)
	for _, bad := range []string{"160000 x 0\x00", "160000 x\ta\x00", "160000 x 0\t\x00", "100644 x 0\tno end", "\x00", "1 2 3 4 5\ta\x00"} {
		_, err := entries([]byte(bad))
		require.ErrorIs(t, err, git.ErrOutput, "%q", bad)
	}
}

func TestSplitRecords(t *testing.T) {
	assert.Nil(t, git.SplitRecords(nil))
	assert.Equal(t, []string{"a", "b\nc"}, git.SplitRecords(records("a", "b\nc")))
}

// FuzzOutput: whatever git prints is read or is the error, and what was read stands in it.
func FuzzOutput(f *testing.F) {
	f.Add(records("# branch.oid "+id, "# branch.head main", "# branch.ab +1 -0", "1 M."+blobs+"a", "2 R."+blobs+"R9 b", "c", "u UU"+unmerge+"d", "? e"))
	f.Add(records("worktree /p", "HEAD "+id, "branch refs/heads/main", "", "worktree /q", "detached", ""))
	f.Add([]byte("refs/heads/a\x00" + id + "\x00\x00/w\x00\nrefs/heads/b\x00" + id + "\x00\x00\x00\n"))
	f.Add(records("100644 "+id+" 0\ta", "160000 commit "+id+"\tb"))
	f.Fuzz(func(t *testing.T, out []byte) {
		text := string(out)
		check := func(err error) {
			if err != nil {
				require.ErrorIs(t, err, git.ErrOutput)
			}
		}
		s, err := git.ParseStatus(out)
		check(err)
		require.True(t, s.Ahead >= 0 && s.Behind >= 0 && s.Stashes >= 0)
		rest := text
		for _, c := range s.Changes {
			require.NotEmpty(t, c.Path)
			require.Equal(t, c.From != "", c.Kind == git.Renamed)
			require.Len(t, c.Code(), 2)
			require.NotContains(t, c.String(), "\n")
			_, after, found := strings.Cut(rest, c.Record+"\x00")
			require.True(t, found, "every record is git's, in git's order")
			rest = after
		}
		worktrees, err := git.ParseWorktrees(out)
		check(err)
		require.LessOrEqual(t, len(worktrees), strings.Count(text, "worktree "))
		for i, w := range worktrees {
			require.Equal(t, i == 0, w.Main)
			require.NotEmpty(t, w.Path)
		}
		refs, err := git.ParseRefs(out)
		check(err)
		for _, r := range refs {
			require.True(t, strings.HasPrefix(r.Name, "refs/") && r.Object != "")
		}
		list, err := entries(out)
		check(err)
		for _, e := range list {
			require.True(t, e.Mode != "" && e.Object != "" && e.Path != "")
		}
	})
}

// FuzzStatusNames: a name comes back as it is, whatever is in it, and every record is one change.
func FuzzStatusNames(f *testing.F) {
	f.Add("plain", "two  words", uint8(3))
	f.Add("-x\n\"", " ", uint8(0))
	f.Fuzz(func(t *testing.T, one, two string, n uint8) {
		if one == "" || two == "" || strings.Contains(one+two, "\x00") {
			return // no name that git has
		}
		var list, want []string
		for range n {
			list = append(list, "2 RM"+blobs+"R50 "+one, two, "u UU"+unmerge+one, "? "+two, "1 .D"+blobs+two)
			want = append(want, one+"\x00"+two, one+"\x00", two+"\x00", two+"\x00")
		}
		s, err := git.ParseStatus(records(list...))
		require.NoError(t, err)
		var got []string
		for _, c := range s.Changes {
			got = append(got, c.Path+"\x00"+c.From)
		}
		require.Equal(t, want, got)
	})
}
