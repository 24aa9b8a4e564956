package project_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

const commit = "25809a224d2945cbd5a7ac6bf25a0f8034c675f2"

// records puts a NUL behind each.
func records(list ...string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}

const (
	blobs   = " N... 100644 100644 100644 " + commit + " " + commit + " "
	unmerge = " N... 100644 100644 100644 100644 " + commit + " " + commit + " " + commit + " "
)

func TestParseHead(t *testing.T) {
	for text, want := range map[string]project.Head{
		"ref: refs/heads/main\n":           {Branch: "main"},
		"ref:\trefs/heads/feature/a b\n":   {},
		"ref: refs/heads/feature/ü-1":      {Branch: "feature/ü-1"},
		"ref: refs/heads/(detached)\n":     {Branch: "(detached)"},
		commit + "\n":                      {Detached: true, Commit: commit},
		strings.Repeat("ab", 32) + "\n":    {Detached: true, Commit: strings.Repeat("ab", 32)},
		"ref: refs/heads/.invalid\n":       {},
		"ref: refs/remotes/origin/main\n":  {},
		"ref: refs/heads/\xff\n":           {},
		"":                                 {},
		"ref:":                             {},
		strings.Repeat("0", 40):            {},
		"ref: refs/heads/--upload-pack=x ": {},
		commit[:39]:                        {},
	} {
		got, ok := project.ParseHead([]byte(text))
		assert.Equal(t, want, got, "%q", text)
		assert.Equal(t, want != project.Head{}, ok, "%q", text)
	}
}

func TestParseStatus(t *testing.T) {
	s, err := project.ParseStatus(records(
		"# branch.oid "+commit, "# branch.head feature/x", "# branch.upstream origin/feature/x", "# branch.ab +3 -12", "# stash 4",
		"1 M."+blobs+"staged", "1 .M"+blobs+"changed", "1 MM"+blobs+"both", "1 D."+blobs+"gone from the index", "1 .D"+blobs+"gone", "1 .T"+blobs+"a link now",
		"1 A."+blobs+"-n\n\"ü\" 日", "2 R."+blobs+"R100 new name", "old name", "2 .C"+blobs+"C75 copy", "1 M.", "u UU"+unmerge+"torn apart", "u AA"+unmerge+"a",
		"? untracked/", "? \xff.bin", "! ignored"))
	require.NoError(t, err)
	assert.Equal(t, project.GitStatus{
		Branch: "feature/x", Head: commit, Upstream: "origin/feature/x", HasUpstream: true, Ahead: 3, Behind: 12,
		Staged:     []string{"staged", "both", "gone from the index", "-n\n\"ü\" 日", "new name"},
		Modified:   []string{"changed", "both", "gone", "a link now", "copy"},
		Untracked:  []string{"untracked/", "\ufffd.bin"},
		Conflicted: []string{"torn apart", "a"},
		Renamed:    []project.RenamedFile{{From: "old name", To: "new name"}, {From: "1 M.", To: "copy"}},
		Counts:     project.ChangeCounts{Staged: 5, Modified: 5, Untracked: 2, Conflicted: 2, Renamed: 2},
	}, s)
	assert.False(t, s.Cut())
}

func TestParseStatusOfWhatIsClean(t *testing.T) {
	s, err := project.ParseStatus(records("# branch.oid (initial)", "# branch.head main", "# branch.upstream origin/main"))
	require.NoError(t, err)
	assert.Equal(t, project.GitStatus{Branch: "main", Upstream: "origin/main", Clean: true,
		Staged: []string{}, Modified: []string{}, Untracked: []string{}, Conflicted: []string{}, Renamed: []project.RenamedFile{}}, s,
		"an upstream that is not there is not counted against, and lists are never nil")
	s, err = project.ParseStatus(records("# branch.oid "+commit, "# branch.head (detached)"))
	require.NoError(t, err)
	assert.Equal(t, []any{"", true, true}, []any{s.Branch, s.Detached, s.Clean})
	s, err = project.ParseStatus(records("u UD" + unmerge + "x"))
	require.NoError(t, err)
	assert.False(t, s.Clean, "a conflict is not clean")
}

func TestParseStatusRefuses(t *testing.T) {
	for _, out := range [][]byte{
		[]byte("? no end"), records("x"), records(""), records("? "), records("1 M. too few"), records("1 M" + blobs + "one letter"), records("1 M." + blobs),
		records("1 .." + blobs + "x"), records("2 R." + blobs + "R100 to"), records("2 R."+blobs+"R100 to", ""), records("2 R."+blobs+"to", "from"), records("u UU" + blobs + "x"),
		records("7 M." + blobs + "x"), records("# branch.ab +1"), records("# branch.ab 1 2"), records("# branch.ab +? -?"), records("# branch.ab +9999999999 -0"),
		[]byte("On branch main\nnothing to commit\n"), []byte("\x00\x00"),
	} {
		_, err := project.ParseStatus(out)
		require.ErrorIs(t, err, project.ErrExecutionFailed, "%q", out)
	}
}

func TestListsAreCappedAndCountsAreNot(t *testing.T) {
	var list []string
	for i := range project.MaxListedNames + 1 {
		list = append(list, fmt.Sprintf("? u%d", i), fmt.Sprintf("2 RM%sR100 to%d", blobs, i), fmt.Sprintf("from%d", i), fmt.Sprintf("u UU%sc%d", unmerge, i))
	}
	s, err := project.ParseStatus(records(list...))
	require.NoError(t, err)
	n := project.MaxListedNames + 1
	assert.Equal(t, project.ChangeCounts{Staged: n, Modified: n, Untracked: n, Conflicted: n, Renamed: n}, s.Counts)
	for _, names := range [][]string{s.Staged, s.Modified, s.Untracked, s.Conflicted} {
		assert.Len(t, names, project.MaxListedNames)
	}
	assert.Len(t, s.Renamed, project.MaxListedNames)
	assert.Equal(t, "u0", s.Untracked[0])
	assert.True(t, s.Cut())
}

// FuzzParseStatus: any bytes give an answer or the error, and an answer is valid text and counts what it lists.
func FuzzParseStatus(f *testing.F) {
	f.Add(records("# branch.oid "+commit, "# branch.head main", "# branch.ab +1 -0", "1 M."+blobs+"a", "2 R."+blobs+"R9 b", "c", "u UU"+unmerge+"d", "? e"))
	f.Add([]byte("2 \x00"))
	f.Add([]byte("#\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		s, err := project.ParseStatus(out)
		if err != nil {
			require.ErrorIs(t, err, project.ErrExecutionFailed)
			return
		}
		for _, list := range [][]string{s.Staged, s.Modified, s.Untracked, s.Conflicted} {
			require.NotNil(t, list)
			for _, name := range list {
				require.True(t, utf8.ValidString(name) && name != "")
			}
		}
		require.LessOrEqual(t, s.Counts.Renamed, s.Counts.Staged+s.Counts.Modified)
		require.Equal(t, s.Clean, s.Counts == project.ChangeCounts{})
	})
}

// FuzzStatusNames: a name comes back as it is, whatever is in it, and every record counts once.
func FuzzStatusNames(f *testing.F) {
	f.Add("plain", "two  words", uint8(3))
	f.Add("-x\n\"", " ", uint8(0))
	f.Fuzz(func(t *testing.T, one, two string, n uint8) {
		if one == "" || two == "" || strings.Contains(one+two, "\x00") || !utf8.ValidString(one) || !utf8.ValidString(two) {
			t.Skip("no name that git has")
		}
		var list []string
		for range n {
			list = append(list, "2 RM"+blobs+"R50 "+one, two, "u UU"+unmerge+one, "? "+two, "1 .D"+blobs+two)
		}
		s, err := project.ParseStatus(records(list...))
		require.NoError(t, err)
		require.Equal(t, project.ChangeCounts{Staged: int(n), Modified: 2 * int(n), Untracked: int(n), Conflicted: int(n), Renamed: int(n)}, s.Counts)
		for i := range int(n) {
			require.Equal(t, []any{one, one, two, two, one, project.RenamedFile{From: two, To: one}},
				[]any{s.Staged[i], s.Modified[2*i], s.Modified[2*i+1], s.Untracked[i], s.Conflicted[i], s.Renamed[i]})
		}
	})
}
