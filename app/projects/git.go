package projects

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// MaxDiff bounds the text of a diff in an answer, in bytes (packageflow contract §2.5, row 9).
const MaxDiff = 64 << 10

// Worktree is a git worktree.
type Worktree struct {
	Path     string `json:"path"`
	Branch   string `json:"branch"` // empty when detached
	Head     string `json:"head"`
	Main     bool   `json:"is_main"`
	Bare     bool   `json:"is_bare"`
	Detached bool   `json:"is_detached"`
	Locked   bool   `json:"locked"`
	Prunable bool   `json:"prunable"`
}

// WorktreeList is a project's worktrees, its own first.
type WorktreeList struct {
	Worktrees []Worktree `json:"worktrees"`
	Total     int        `json:"total"`
}

func (s infoService) worktrees(ctx context.Context, _ tool.Scope, in ProjectInput) (WorktreeList, error) {
	site, err := s.Sites.Directory(ctx, in.Path)
	if err != nil {
		return WorktreeList{}, err
	}
	found, err := s.Sites.Git.Worktrees(ctx, site.Dir)
	if err != nil {
		return WorktreeList{}, err
	}
	out := WorktreeList{Worktrees: []Worktree{}, Total: len(found)}
	for _, w := range found {
		out.Worktrees = append(out.Worktrees, Worktree{Path: w.Path, Branch: w.Branch, Head: w.Head, Main: w.Main, Bare: w.Bare, Detached: w.Detached,
			Locked: w.Locked, Prunable: w.Prunable})
	}
	return out, nil
}

// Changes lists the uncommitted files. A list holds at most project.MaxListedNames names; the counts are exact.
type Changes struct {
	Staged          []string `json:"staged"`
	StagedCount     int      `json:"staged_count"`
	Modified        []string `json:"modified"`
	ModifiedCount   int      `json:"modified_count"`
	Untracked       []string `json:"untracked"`
	UntrackedCount  int      `json:"untracked_count"`
	Conflicted      []string `json:"conflicted"`
	ConflictedCount int      `json:"conflicted_count"`
	Renamed         []Rename `json:"renamed"`
	Clean           bool     `json:"clean"`
}

// Rename is a file with another name than in the last commit.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func changesOf(s project.GitStatus) Changes {
	renamed := make([]Rename, 0, len(s.Renamed))
	for _, r := range s.Renamed {
		renamed = append(renamed, Rename(r))
	}
	return Changes{Staged: s.Staged, StagedCount: s.Counts.Staged, Modified: s.Modified, ModifiedCount: s.Counts.Modified, Untracked: s.Untracked,
		UntrackedCount: s.Counts.Untracked, Conflicted: s.Conflicted, ConflictedCount: s.Counts.Conflicted, Renamed: renamed, Clean: s.Clean}
}

// Status is a project's branch and changes.
type Status struct {
	Branch   string `json:"branch"`
	Detached bool   `json:"detached"`
	Changes
}

// StatusAnswer wraps a status, as the contract does.
type StatusAnswer struct {
	Status Status `json:"status"`
}

func (s infoService) status(ctx context.Context, _ tool.Scope, in ProjectInput) (StatusAnswer, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return StatusAnswer{}, err
	}
	st, err := s.Sites.Git.Status(ctx, site.Dir)
	return StatusAnswer{Status{Branch: st.Branch, Detached: st.Detached, Changes: changesOf(st)}}, err
}

// WorktreeAnswer is a worktree's branch, distance from its upstream, and changes. Without an upstream both distances are 0.
type WorktreeAnswer struct {
	Branch        string `json:"branch"`
	CurrentBranch string `json:"currentBranch"`
	Head          string `json:"head"`
	Detached      bool   `json:"detached"`
	Upstream      string `json:"upstream,omitempty"`
	HasUpstream   bool   `json:"has_upstream"`
	Ahead         int    `json:"ahead"`
	Behind        int    `json:"behind"`
	Changes
}

func (s infoService) worktree(ctx context.Context, _ tool.Scope, in WorktreeInput) (WorktreeAnswer, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return WorktreeAnswer{}, err
	}
	st, err := s.Sites.Git.Status(ctx, site.Dir)
	return WorktreeAnswer{Branch: st.Branch, CurrentBranch: st.Branch, Head: st.Head, Detached: st.Detached, Upstream: st.Upstream, HasUpstream: st.HasUpstream,
		Ahead: st.Ahead, Behind: st.Behind, Changes: changesOf(st)}, err
}

// FileStat is one file of a diff; lines are not counted in binary ones.
type FileStat struct {
	Path       string `json:"path"`
	From       string `json:"from,omitempty"`
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	Binary     bool   `json:"binary"`
}

// DiffAnswer is the staged diff.
type DiffAnswer struct {
	Diff         string     `json:"diff"`
	FilesChanged int        `json:"files_changed"`
	Insertions   int        `json:"insertions"`
	Deletions    int        `json:"deletions"`
	HasChanges   bool       `json:"hasChanges"`
	Files        []FileStat `json:"files"`
	Truncated    bool       `json:"truncated"`
	TotalBytes   int64      `json:"totalBytes"`
}

func (s infoService) diff(ctx context.Context, _ tool.Scope, in WorktreeInput) (DiffAnswer, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return DiffAnswer{}, err
	}
	d, err := s.Sites.Git.Staged(ctx, site.Dir, MaxDiff)
	if err != nil {
		return DiffAnswer{}, err
	}
	return diffOf(d), nil
}

func diffOf(d project.Diff) DiffAnswer {
	a := DiffAnswer{Diff: d.Text, FilesChanged: d.FilesChanged, Insertions: d.Insertions, Deletions: d.Deletions, HasChanges: d.FilesChanged > 0,
		Files: []FileStat{}, Truncated: d.Truncated, TotalBytes: int64(d.Total)}
	for _, f := range d.Files {
		a.Files = append(a.Files, FileStat{Path: f.Path, From: f.From, Insertions: f.Insertions, Deletions: f.Deletions, Binary: f.Binary})
	}
	return a
}

// StagedAnswer is the staged diff with a summary of one line per file; without changes only message and has_changes are set.
type StagedAnswer struct {
	Message    string  `json:"message,omitempty"`
	Summary    *string `json:"summary,omitempty"`
	Diff       *string `json:"diff,omitempty"`
	HasChanges bool    `json:"has_changes"`
	Truncated  bool    `json:"truncated,omitempty"`
	TotalBytes int64   `json:"totalBytes,omitempty"`
}

func (s infoService) staged(ctx context.Context, _ tool.Scope, in ProjectInput) (StagedAnswer, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return StagedAnswer{}, err
	}
	d, err := s.Sites.Git.Staged(ctx, site.Dir, MaxDiff)
	if err != nil {
		return StagedAnswer{}, err
	}
	if d.FilesChanged == 0 {
		return StagedAnswer{Message: "nothing is staged"}, nil
	}
	summary := summaryOf(d)
	return StagedAnswer{Summary: &summary, Diff: &d.Text, HasChanges: true, Truncated: d.Truncated, TotalBytes: int64(d.Total)}, nil
}

// summaryOf returns one line per file and one for all, as git diff --stat does.
func summaryOf(d project.Diff) string {
	var out strings.Builder
	for _, f := range d.Files {
		name := f.Path
		if f.From != "" {
			name = f.From + " => " + f.Path
		}
		if f.Binary {
			fmt.Fprintf(&out, "%s | binary\n", name)
			continue
		}
		fmt.Fprintf(&out, "%s | +%d -%d\n", name, f.Insertions, f.Deletions)
	}
	fmt.Fprintf(&out, "%d files changed, %d insertions(+), %d deletions(-)", d.FilesChanged, d.Insertions, d.Deletions)
	return out.String()
}
