package push

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// WorkspaceContents is the content of a workspace that is to be removed.
type WorkspaceContents struct {
	Heads   []ecosystemport.TrashHead `json:"branches"`
	Trees   []TreeState               `json:"trees"`
	Strays  []string                  `json:"strays"`
	Strange []string                  `json:"strange"`  // worktrees that are not in the workspace
	Problem []string                  `json:"problems"` // what could not be looked at
}

// TreeState is the state of a worktree.
type TreeState struct {
	Repo      string                       `json:"repo"`
	Dir       string                       `json:"dir"`
	Branch    string                       `json:"branch,omitempty"`
	Head      string                       `json:"head,omitempty"`
	Porcelain string                       `json:"porcelain,omitempty"`
	Doing     string                       `json:"doing,omitempty"`
	Stashes   int                          `json:"stashes,omitempty"`
	Status    ecosystemport.WorktreeStatus `json:"-"`
}

// Contents reads everything in the workspace. It uses no network.
func (y TrashManager) Contents(ctx context.Context, f runs.Ecosystem) (h WorkspaceContents, err error) {
	dir, err := WorkspaceDir(f)
	if err != nil {
		return h, err
	}
	known := []string{}
	for _, c := range clones(f) {
		known = append(known, RelativePath(dir, c.Dir))
		trees, err := y.Git.Trees(ctx, c.Dir)
		if err != nil {
			if ctx.Err() != nil {
				return h, err
			}
			h.Problem = append(h.Problem, c.Name+": "+ErrorMessage(err))
			continue
		}
		for _, tree := range trees {
			if rel := RelativePath(dir, tree); rel == "" {
				h.Strange = append(h.Strange, tree)
			} else {
				known = append(known, rel)
			}
		}
		if err := y.inspect(ctx, &h, c, trees); err != nil {
			return h, err
		}
	}
	if h.Strays, err = y.Git.Strays(ctx, dir, known); err != nil {
		return h, err
	}
	heads, err := y.Git.Heads(ctx, f.Layout.Root, f.State.WorkspaceBranch)
	if err != nil {
		return h, err
	}
	for _, head := range heads {
		h.Heads = append(h.Heads, ecosystemport.TrashHead{Repo: "", Branch: head.Branch, Head: head.Commit, Unpushed: head.Unpushed})
	}
	status, err := y.Git.Look(ctx, ecosystemport.Worktree{Dir: dir, Outside: outside(f)}, false)
	if err != nil && ctx.Err() == nil {
		h.Problem = append(h.Problem, "workspace: "+ErrorMessage(err))
		err = nil
	}
	h.Trees = append(h.Trees, TreeState{Dir: dir, Branch: status.Branch, Head: status.Head, Porcelain: status.Porcelain, Doing: status.Doing, Status: status})
	return h, err
}

// inspect looks at a repository's branches and working trees.
func (y TrashManager) inspect(ctx context.Context, h *WorkspaceContents, c Clone, trees []string) error {
	repo := c.Name
	heads, err := y.Git.Heads(ctx, c.Dir, "")
	for _, head := range heads {
		h.Heads = append(h.Heads, ecosystemport.TrashHead{Repo: repo, Branch: head.Branch, Head: head.Commit, Unpushed: head.Unpushed})
	}
	for _, tree := range trees {
		var status ecosystemport.WorktreeStatus
		if err == nil {
			status, err = y.Git.Look(ctx, ecosystemport.Worktree{Dir: tree}, false)
		}
		if !status.Missing {
			h.Trees = append(h.Trees, TreeState{Repo: repo, Dir: tree, Branch: status.Branch, Head: status.Head, Porcelain: status.Porcelain, Doing: status.Doing, Stashes: status.Stashes, Status: status})
		}
	}
	if err != nil && ctx.Err() == nil {
		h.Problem = append(h.Problem, repo+": "+ErrorMessage(err))
		return nil
	}
	return err
}

// Dirty returns the uncommitted files and other obstacles, at most MaxListedFiles, and their number.
func (h WorkspaceContents) Dirty(f runs.Ecosystem) (list []string, count int) {
	for _, t := range h.Trees {
		where := RelativePath(f.Layout.Root, t.Dir)
		if t.Doing != "" {
			list = append(list, fmt.Sprintf("%s (in the middle of a %s)", where, t.Doing))
		}
		for _, change := range t.Status.Changes {
			list = append(list, where+"/"+strings.ToValidUTF8(change.Path, "\uFFFD"))
		}
	}
	for _, stray := range h.Strays {
		list = append(list, RelativePath(f.Layout.Root, f.State.WorkspaceDir)+"/"+stray+" (no repository of the ecosystem)")
	}
	slices.Sort(list)
	if list = slices.Compact(list); list == nil {
		list = []string{}
	}
	return list[:min(len(list), MaxListedFiles)], len(list)
}

// Stashes returns the number of stashes of all clones; the worktrees of a clone share them.
func (h WorkspaceContents) Stashes() (n int) {
	seen := map[string]bool{}
	for _, t := range h.Trees {
		if !seen[t.Repo] {
			n += t.Stashes
		}
		seen[t.Repo] = true
	}
	return n
}
