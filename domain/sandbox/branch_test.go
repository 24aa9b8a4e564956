package sandbox_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const one = "1111111111111111111111111111111111111111"

// nul returns text with every | a NUL.
func nul(text string) []byte { return []byte(strings.ReplaceAll(text, "|", "\x00")) }

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

func TestNewBranchRefs(t *testing.T) {
	assert.Equal(t, sandbox.BranchRefs{Local: map[string]string{"main": "/a\nb", "x/y": ""}, Origin: map[string]bool{"main": true}}, sandbox.NewBranchRefs([]git.Ref{
		{Name: "refs/heads/main", Worktree: "/a\nb"}, {Name: "refs/heads/x/y"}, {Name: "refs/remotes/origin/HEAD", Symbolic: "refs/remotes/origin/main"}, {Name: "refs/remotes/origin/main"}}))
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
		"checked out":       {base(), "taken", sandbox.BranchPlan{Branch: "sandbox/a", From: "taken", Create: true, Note: "taken is checked out in /elsewhere, and a branch can be checked out only once"}},
		"only on origin":    {base(), "far", sandbox.BranchPlan{Branch: "far", From: "origin/far", Create: true, Track: true}},
		"left over":         {with(func(r *sandbox.BranchRefs) { r.Local["sandbox/a"], r.Local["sandbox/a-2"] = "", "/x" }), "", sandbox.BranchPlan{Branch: "sandbox/a-3", From: "main", Create: true, Note: "sandbox/a could not be created, because a branch with a conflicting name exists"}},
		"directory of it":   {with(func(r *sandbox.BranchRefs) { r.Local["sandbox/a/b"] = "" }), "", sandbox.BranchPlan{Branch: "sandbox/a-2", From: "main", Create: true, Note: "sandbox/a could not be created, because a branch with a conflicting name exists"}},
		"blocked by prefix": {with(func(r *sandbox.BranchRefs) { r.Local["sandbox"], r.Local["sandbox-a"] = "", "" }), "", sandbox.BranchPlan{Branch: "sandbox-a-2", From: "main", Create: true, Note: "sandbox/a could not be created, because a branch with a conflicting name exists"}},
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
	assert.Contains(t, fault.From(err).Message, "has no commits")
	_, err = sandbox.PlanBranch(sandbox.BranchRefs{Current: "trunk", Origin: map[string]bool{"main": true}}, "a", "")
	require.ErrorIs(t, err, sandbox.ErrBranch)
	assert.Contains(t, fault.From(err).Message, "name a branch: main", "origin's HEAD names a branch that is not there")
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

func FuzzGitWords(f *testing.F) {
	for _, seed := range []string{"", "aa bb|text\nbb\n", "Receiving objects:  50% (5/9)\r", "refs/opencode-backup/a/1"} {
		f.Add(nul(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		g, err := sandbox.ParseGraph(out)
		if err != nil {
			require.ErrorIs(t, err, sandbox.ErrGit)
		}
		if head, _, _ := strings.Cut(string(out), " "); err == nil {
			lines, more := g.Lines(head, 3)
			require.Equal(t, g.Count(head), len(lines)+more)
		}
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

// FuzzDecide: for any request, a plan names a branch that git accepts and that is not in use.
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

// TestRefsAreGitsOwn: git accepts every name that a set makes.
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
