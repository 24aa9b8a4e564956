package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/git"
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

func changed(kind git.ChangeKind, letters, path, from string) git.Change {
	return git.Change{Kind: kind, Index: letters[0], Tree: letters[1], Path: path, From: from}
}

func TestNewGitStatus(t *testing.T) {
	s := project.NewGitStatus(git.Status{Branch: "feature/\xff", Head: commit, Upstream: "origin/feature/x", Tracked: true, Ahead: 3, Behind: 12, Changes: []git.Change{
		changed(git.Modified, "M.", "staged", ""), changed(git.Modified, ".M", "changed", ""), changed(git.Modified, "MM", "both", ""), changed(git.Modified, "D.", "gone from the index", ""),
		changed(git.Modified, ".D", "gone", ""), changed(git.Renamed, "R.", "new name", "old name"), changed(git.Renamed, ".C", "copy", "\xff"),
		changed(git.Unmerged, "UU", "torn apart", ""), changed(git.Untracked, "??", "\xff\xff.bin", ""), changed(git.Ignored, "!!", "ignored", "")}})
	assert.Equal(t, project.GitStatus{
		Branch: "feature/\ufffd", Head: commit, Upstream: "origin/feature/x", HasUpstream: true, Ahead: 3, Behind: 12,
		Staged:     []string{"staged", "both", "gone from the index", "new name"},
		Modified:   []string{"changed", "both", "gone", "copy"},
		Untracked:  []string{"\ufffd\ufffd.bin"},
		Conflicted: []string{"torn apart"},
		Renamed:    []project.RenamedFile{{From: "old name", To: "new name"}, {From: "\ufffd", To: "copy"}},
		Counts:     project.ChangeCounts{Staged: 4, Modified: 4, Untracked: 1, Conflicted: 1, Renamed: 2},
	}, s)
	assert.False(t, s.Cut())

	s = project.NewGitStatus(git.Status{Detached: true, Changes: []git.Change{changed(git.Ignored, "!!", "ignored", "")}})
	assert.Equal(t, project.GitStatus{Detached: true, Clean: true,
		Staged: []string{}, Modified: []string{}, Untracked: []string{}, Conflicted: []string{}, Renamed: []project.RenamedFile{}}, s, "lists are never nil")
	assert.False(t, project.NewGitStatus(git.Status{Changes: []git.Change{changed(git.Unmerged, "UD", "x", "")}}).Clean, "a conflict is not clean")
}

func TestListsAreCappedAndCountsAreNot(t *testing.T) {
	var list []git.Change
	for i := range project.MaxListedNames + 1 {
		list = append(list, changed(git.Untracked, "??", fmt.Sprintf("u%d", i), ""), changed(git.Renamed, "RM", fmt.Sprintf("to%d", i), "from"), changed(git.Unmerged, "UU", fmt.Sprintf("c%d", i), ""))
	}
	s := project.NewGitStatus(git.Status{Changes: list})
	n := project.MaxListedNames + 1
	assert.Equal(t, project.ChangeCounts{Staged: n, Modified: n, Untracked: n, Conflicted: n, Renamed: n}, s.Counts)
	for _, names := range [][]string{s.Staged, s.Modified, s.Untracked, s.Conflicted} {
		assert.Len(t, names, project.MaxListedNames)
	}
	assert.Len(t, s.Renamed, project.MaxListedNames)
	assert.Equal(t, "u0", s.Untracked[0])
	assert.True(t, s.Cut())
}
