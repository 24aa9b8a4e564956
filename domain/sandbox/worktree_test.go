package sandbox_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	one = "1111111111111111111111111111111111111111"
	two = "2222222222222222222222222222222222222222"
)

// nul is text with every | a NUL.
func nul(text string) []byte { return []byte(strings.ReplaceAll(text, "|", "\x00")) }

func TestParseWorktrees(t *testing.T) {
	list, err := sandbox.ParseWorktrees(nul("worktree /repo|HEAD " + one + "|branch refs/heads/main||worktree /a\nb ü|HEAD " + two + "|detached|locked why\nnot||" +
		"worktree /gone|HEAD 0000000000000000000000000000000000000000|branch refs/heads/x/y|prunable gitdir file points nowhere|future thing||"))
	require.NoError(t, err)
	assert.Equal(t, []sandbox.Worktree{{Path: "/repo", Head: one, Branch: "main"}, {Path: "/a\nb ü", Head: two, Locked: true}, {Path: "/gone", Branch: "x/y", Prunable: true}}, list)
	for _, bad := range []string{"HEAD x||", "worktree ||", "worktree /a|worktree /b||", "worktree /a", "|worktree /a|branch b"} {
		_, err := sandbox.ParseWorktrees(nul(bad))
		require.ErrorIs(t, err, sandbox.ErrGit, "%q", bad)
	}
	none, err := sandbox.ParseWorktrees(nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestParseStatus(t *testing.T) {
	s, err := sandbox.ParseGitStatus(nul("# branch.oid " + one + "|# branch.head main|# branch.upstream origin/main|# branch.ab +3 -12|" +
		"1 .M N... 100644 100644 100644 " + one + " " + one + " a b|1 A. N... 0 0 0 x y new\nline|2 R. N... 0 0 0 x y R100 to|from|" +
		"u UU N... 1 2 3 4 a b c both sides|? loose/|! ignored|"))
	require.NoError(t, err)
	assert.Equal(t, []int{3, 12}, []int{s.Ahead, s.Behind})
	var lines []string
	for _, c := range s.Changes {
		lines = append(lines, c.String())
	}
	assert.Equal(t, []string{" M a b", `A  "new\nline"`, "R  to", "UU both sides", "?? loose/"}, lines)
	empty, err := sandbox.ParseGitStatus(nul("# branch.oid (initial)|# branch.head main|"))
	require.NoError(t, err)
	assert.Zero(t, empty)
	for _, bad := range []string{"? x", "x y|", "1 .M|", "2 R. N... 0 0 0 x y R100 to|", "# branch.ab 3 4|", "# branch.ab +3 -x|", "1 M N... 1 1 1 x y p|", "|"} {
		_, err := sandbox.ParseGitStatus(nul(bad))
		require.ErrorIs(t, err, sandbox.ErrGit, "%q", bad)
	}
}

func TestGraph(t *testing.T) {
	g, err := sandbox.ParseGraph([]byte("dd bb cc\x00four\ncc aa\x00three\nbb aa\x00two\naa 00\x00one \xff\nee\x00alone\n"))
	require.NoError(t, err)
	for head, count := range map[string]int{"dd": 4, "cc": 2, "aa": 1, "ee": 1, "ff": 0, "": 0} {
		assert.Equal(t, count, g.Count(head), head)
	}
	lines, more := g.Lines("dd", 3)
	assert.Equal(t, []any{[]string{"four", "three", "two"}, 1}, []any{lines, more})
	lines, _ = g.Lines("bb", 9)
	assert.Equal(t, []string{"two", "one \uFFFD"}, lines)
	for _, bad := range []string{"\n", "xyz\n", "\x00text\n"} {
		_, err := sandbox.ParseGraph([]byte(bad))
		require.ErrorIs(t, err, sandbox.ErrGit)
	}
	assert.Zero(t, sandbox.Graph{}.Count("aa"))
}

func TestParseLinks(t *testing.T) {
	links, err := sandbox.ParseSubmodules(nul("100644 " + one + " 0\ta|160000 " + one + " 1\tvendor/lib x|160000 " + two + " 2\tvendor/lib x|120000 " + one + " 0\tl|"))
	require.NoError(t, err)
	assert.Equal(t, []string{"vendor/lib x"}, links)
	for _, bad := range []string{"160000 x 0|", "160000 x\ta|", "160000 x 0\t|"} {
		_, err := sandbox.ParseSubmodules(nul(bad))
		require.ErrorIs(t, err, sandbox.ErrGit)
	}
}

func TestParseRefs(t *testing.T) {
	r, err := sandbox.ParseRefs(nul("refs/heads/main||/a\nb|\nrefs/heads/x/y|||\nrefs/remotes/origin/HEAD|refs/remotes/origin/main||\nrefs/remotes/origin/main|||\n"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.BranchRefs{Local: map[string]string{"main": "/a\nb", "x/y": ""}, Origin: map[string]bool{"main": true}}, r)
	for _, bad := range []string{"refs/tags/x|||\n", "refs/heads/a|b"} {
		_, err := sandbox.ParseRefs(nul(bad))
		require.ErrorIs(t, err, sandbox.ErrGit)
	}
}

func TestDecide(t *testing.T) {
	base := func() sandbox.BranchRefs {
		return sandbox.BranchRefs{Current: "main", Commit: one, Local: map[string]string{"main": "/repo", "free": "", "taken": "/elsewhere", "dir/x": ""},
			Origin: map[string]bool{"main": true, "far": true, "feature/login": true, "dir": true, "dir/x/y": true}}
	}
	with := func(change func(*sandbox.BranchRefs)) sandbox.BranchRefs {
		r := base()
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		refs sandbox.BranchRefs
		wish string
		want sandbox.BranchPlan
	}{
		"current":           {base(), "", sandbox.BranchPlan{Branch: "sandbox/a", From: "main", Create: true}},
		"detached":          {with(func(r *sandbox.BranchRefs) { r.Current = "" }), "", sandbox.BranchPlan{Branch: "sandbox/a", From: one, Create: true}},
		"local and free":    {base(), "free", sandbox.BranchPlan{Branch: "free", From: "free"}},
		"checked out":       {base(), "taken", sandbox.BranchPlan{Branch: "sandbox/a", From: "taken", Create: true, Note: "taken is checked out in /elsewhere, and a branch can be in one place only"}},
		"only on origin":    {base(), "far", sandbox.BranchPlan{Branch: "far", From: "origin/far", Create: true, Track: true}},
		"left over":         {with(func(r *sandbox.BranchRefs) { r.Local["sandbox/a"], r.Local["sandbox/a-2"] = "", "/x" }), "", sandbox.BranchPlan{Branch: "sandbox/a-3", From: "main", Create: true, Note: "sandbox/a could not be made, because of a branch that is there"}},
		"directory of it":   {with(func(r *sandbox.BranchRefs) { r.Local["sandbox/a/b"] = "" }), "", sandbox.BranchPlan{Branch: "sandbox/a-2", From: "main", Create: true, Note: "sandbox/a could not be made, because of a branch that is there"}},
		"blocked by prefix": {with(func(r *sandbox.BranchRefs) { r.Local["sandbox"], r.Local["sandbox-a"] = "", "" }), "", sandbox.BranchPlan{Branch: "sandbox-a-2", From: "main", Create: true, Note: "sandbox/a could not be made, because of a branch that is there"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := sandbox.PlanBranch(test.refs, "a", test.wish)
			require.NoError(t, err)
			assert.Equal(t, test.want, p)
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	r := sandbox.BranchRefs{Current: "main", Commit: one, Local: map[string]string{"main": "/r", "feature/login": ""}, Origin: map[string]bool{"feature/logon": true, "main/x": true}}
	for _, name := range []string{"", "-x", "a/b", "..", "a b", "ü", "a.lock", strings.Repeat("x", 65), "a\n"} {
		_, err := sandbox.PlanBranch(r, name, "")
		require.ErrorIs(t, err, sandbox.ErrName, "%q", name)
	}
	for _, wish := range []string{"-x", "--force", "a..b", "../x", "/x", "a b", "HEAD", "@", "a\nb", "x.lock", "@{-1}", "main/x"} {
		_, err := sandbox.PlanBranch(r, "a", wish)
		require.ErrorIs(t, err, sandbox.ErrArguments, "%q", wish)
	}
	_, err := sandbox.PlanBranch(r, "a", "feature/logim")
	require.ErrorIs(t, err, sandbox.ErrBranch)
	var told interface{ Error() string } = err
	assert.Contains(t, told.Error(), "feature/login, feature/logon")
	_, err = sandbox.PlanBranch(sandbox.BranchRefs{Current: "main", Local: map[string]string{}}, "a", "")
	require.ErrorIs(t, err, sandbox.ErrBranch, "nothing was committed yet")
}

func TestNear(t *testing.T) {
	among := []string{"main", "develop", "feature/login", "feature/logout", "release/1.0", "Feature/Login-2"}
	for wish, want := range map[string][]string{
		"mian": {"main"}, "login": {"feature/login", "feature/logout", "Feature/Login-2"}, "origin/main": {"main"}, "DEVELOP": {"develop"},
		"feature/login": {"feature/login", "Feature/Login-2", "feature/logout"}, "quite-different-name": {}, "": {"main"},
	} {
		got := sandbox.SimilarNames(wish, among, 3)
		if wish == "" || wish == "login" {
			assert.LessOrEqual(t, len(got), 3)
			continue
		}
		assert.Equal(t, want, got, wish)
	}
	assert.Equal(t, "feature/login", sandbox.SimilarNames("login", among, 20)[0])
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("branch-%02d", i))
	}
	assert.Len(t, sandbox.SimilarNames("branch-0", many, sandbox.MaxNear), sandbox.MaxNear)
}

func TestBackups(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	there := map[string]bool{}
	has := func(ref string) bool { return there[ref] }
	s := sandbox.NextBackup("My-box", at, has)
	assert.Equal(t, "refs/opencode-backup/My-box/1767323045", s.Ref(sandbox.BackupCommits))
	assert.Equal(t, "refs/opencode-backup/My-box/1767323045-stash", s.Ref(sandbox.BackupStash))
	there[s.Ref(sandbox.BackupStash)] = true
	second := sandbox.NextBackup("My-box", at, has)
	there[second.Ref(sandbox.BackupCommits)] = true
	third := sandbox.NextBackup("My-box", at, has)
	assert.Equal(t, []int{0, 2, 3}, []int{s.Number, second.Number, third.Number})
	for _, set := range []sandbox.BackupSet{s, second, third} {
		for _, kind := range []sandbox.BackupKind{sandbox.BackupCommits, sandbox.BackupBranch, sandbox.BackupStash, sandbox.SubmoduleBackup(1, false), sandbox.SubmoduleBackup(12, true)} {
			got, is, ok := sandbox.ParseBackup(set.Ref(kind))
			require.True(t, ok, set.Ref(kind))
			assert.Equal(t, []any{set, kind}, []any{got, is})
			assert.Equal(t, strings.HasSuffix(string(kind), "-stash"), is.IsStash())
			assert.True(t, is.Changes().IsStash())
		}
	}
	for _, bad := range []string{"", "refs/heads/main", "refs/opencode-backup/a", "refs/opencode-backup/a/x", "refs/opencode-backup/a/01", "refs/opencode-backup/a/1-1",
		"refs/opencode-backup/-a/1", "refs/opencode-backup/a/1-stash-2", "refs/opencode-backup/a/1\n", "refs/opencode-backup/a/b/1", "refs/opencode-backup/a/1-branch-stash"} {
		_, _, ok := sandbox.ParseBackup(bad)
		assert.False(t, ok, "%q", bad)
	}
}

func TestProgress(t *testing.T) {
	var told []string
	p := sandbox.CloneProgress{Tell: func(percent int, what string) { told = append(told, fmt.Sprint(percent, " ", what)) }}
	for _, piece := range []string{"Cloning into '.'...\nremote: Enumerating objects: 5, done.\nremote: Counting ob", "jects:  50% (1/2)\rremote: Counting objects: 100% (2/2), done.\n",
		"Receiving objects:   0% (0/9)\rReceiving objects:  50% (5/9), 1.2 MiB | 3 MiB/s\rReceiving objects:  50% (5/9)\r", "Receiving objects: 999%\rnonsense\n: 4%\nResolving deltas: 100% (3/3), done.\n",
		"Updating files: 100% (9/9), done.\n", "Receiving objects:  10% (1/9)\r", strings.Repeat("x", 9999)} {
		n, err := p.Write([]byte(piece))
		require.NoError(t, err)
		assert.Equal(t, len(piece), n)
	}
	assert.Equal(t, []string{"3 counting objects", "5 counting objects", "10 receiving objects", "40 receiving objects", "90 resolving deltas", "100 writing files", "100 receiving objects"}, told)
	silent := sandbox.CloneProgress{}
	_, err := silent.Write([]byte("Receiving objects:  10% (1/9)\r"))
	require.NoError(t, err)
}

func FuzzWorktreeParse(f *testing.F) {
	for _, seed := range []string{"", "worktree /a|HEAD 1||", "# branch.ab +1 -2|1 .M N... 1 1 1 a b p|2 R. N... 0 0 0 x y R100 to|from|? x|", "100644 a 0\tp|160000 a 1\tq|", "aa bb|text\nbb\n",
		"refs/heads/a||/b|\nrefs/remotes/origin/c|||\n", "Receiving objects:  50% (5/9)\r"} {
		f.Add(nul(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		check := func(err error) {
			if err != nil {
				require.ErrorIs(t, err, sandbox.ErrGit)
			}
		}
		list, err := sandbox.ParseWorktrees(out)
		check(err)
		for _, w := range list {
			require.NotEmpty(t, w.Path)
		}
		s, err := sandbox.ParseGitStatus(out)
		check(err)
		require.True(t, s.Ahead >= 0 && s.Behind >= 0)
		for _, c := range s.Changes {
			require.Len(t, c.Code, 2)
			require.NotContains(t, c.String(), "\n")
		}
		g, err := sandbox.ParseGraph(out)
		check(err)
		if head, _, _ := strings.Cut(string(out), " "); err == nil {
			lines, more := g.Lines(head, 3)
			require.Equal(t, g.Count(head), len(lines)+more)
		}
		_, err = sandbox.ParseSubmodules(out)
		check(err)
		_, err = sandbox.ParseRefs(out)
		check(err)
		last := 0
		p := sandbox.CloneProgress{Tell: func(percent int, _ string) {
			require.True(t, percent >= last && percent <= 100)
			last = percent
		}}
		_, err = p.Write(out)
		require.NoError(t, err)
		if set, kind, ok := sandbox.ParseBackup(string(out)); ok {
			require.Equal(t, string(out), set.Ref(kind))
		}
	})
}

// FuzzDecide: whatever is wished for, a plan names a branch that git takes, and never one that is in use.
func FuzzDecide(f *testing.F) {
	for _, seed := range [][2]string{{"a", ""}, {"a", "main"}, {"x", "far"}, {"-x", "--force"}, {"sandbox", "sandbox/x"}, {"a", "ma"}} {
		f.Add(seed[0], seed[1], "sandbox/a")
	}
	f.Fuzz(func(t *testing.T, name, wish, other string) {
		r := sandbox.BranchRefs{Current: "main", Commit: one, Local: map[string]string{"main": "/r", other: "/o", "free": ""}, Origin: map[string]bool{"far": true, other + "x": true}}
		p, err := sandbox.PlanBranch(r, name, wish)
		if err != nil {
			require.Zero(t, p)
			return
		}
		require.NoError(t, sandbox.CheckName(name))
		place, there := r.Local[p.Branch]
		require.Equal(t, p.Create, !there)
		require.Empty(t, place)
		require.False(t, strings.HasPrefix(p.Branch, "-"))
		require.NotEmpty(t, p.From)
	})
}

func TestRecords(t *testing.T) {
	assert.Nil(t, sandbox.SplitRecords(nil))
	assert.Equal(t, []string{"a", "b\nc"}, sandbox.SplitRecords(nul("a|b\nc|")))
}

// TestRefsAreGitsOwn: git takes every name that a set makes.
func TestRefsAreGitsOwn(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	for _, name := range []string{"a", "A_b-c", "lock", strings.Repeat("x", sandbox.MaxName), "9"} {
		require.NoError(t, sandbox.CheckName(name))
		ref := sandbox.NextBackup(name, time.Unix(5, 0), func(string) bool { return false }).Ref(sandbox.SubmoduleBackup(3, true))
		require.NoError(t, exec.Command("git", "check-ref-format", ref).Run(), ref)
	}
}
