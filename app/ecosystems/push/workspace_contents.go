package push

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// WorkspaceContents is the content of a workspace that is to be removed.
type WorkspaceContents struct {
	Heads   []ecosystemport.TrashHead `json:"branches"`
	Trees   []TreeState               `json:"trees"`
	Strays  []string                  `json:"strays"`
	Strange []string                  `json:"strange"`           // worktrees that are not in the workspace
	Problem []string                  `json:"problems"`          // what could not be looked at
	Backups map[string]int            `json:"backups,omitempty"` // by repository, those that Countersign made and no remote has
	Origins []Origin                  `json:"-"`                 // what the unpushed commits were counted by
}

// Origin is what is known of a repository's origin: by what it said, or else by what was last fetched of it.
type Origin struct {
	Repo string
	ecosystemport.LocalHeads
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

// Contents reads everything in the workspace. With ask it contacts the origins, to know what they have; otherwise it uses no network.
func (y TrashManager) Contents(ctx context.Context, f runs.Ecosystem, ask bool) (h WorkspaceContents, err error) {
	dir, err := WorkspaceDir(f)
	if err != nil {
		return h, err
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	all := clones(f)
	parts := make([]cloneContents, len(all))
	for i, c := range all {
		group.Go(func() (err error) {
			parts[i], err = y.inspect(ctx, c, ask)
			return err
		})
	}
	var root ecosystemport.LocalHeads
	group.Go(func() (err error) {
		root, err = y.Git.Heads(ctx, f.Layout.Root, f.State.WorkspaceBranch, ask)
		return err
	})
	if err := group.Wait(); err != nil {
		return h, err
	}
	known := []string{}
	for i, c := range all {
		known = append(known, RelativePath(dir, c.Dir))
		h.add(c.Name, dir, parts[i], &known)
	}
	if h.Strays, err = y.Git.Strays(ctx, dir, known); err != nil {
		return h, err
	}
	h.addHeads("", root)
	status, err := y.Git.Look(ctx, ecosystemport.Worktree{Dir: dir, Outside: outside(f)}, false)
	if err != nil && ctx.Err() == nil {
		h.Problem = append(h.Problem, "workspace: "+ErrorMessage(err))
		err = nil
	}
	h.Trees = append(h.Trees, TreeState{Dir: dir, Branch: status.Branch, Head: status.Head, Porcelain: status.Porcelain, Doing: status.Doing, Status: status})
	return h, err
}

// cloneContents is what a repository holds.
type cloneContents struct {
	heads   ecosystemport.LocalHeads
	dirs    []string // of its worktrees
	trees   []TreeState
	problem string
}

// inspect looks at a repository's branches and worktrees. What is wrong with one does not keep others from being looked at.
func (y TrashManager) inspect(ctx context.Context, c Clone, ask bool) (found cloneContents, err error) {
	if found.dirs, err = y.Git.Trees(ctx, c.Dir); err == nil {
		found.heads, err = y.Git.Heads(ctx, c.Dir, "", ask)
	}
	for _, tree := range found.dirs {
		var status ecosystemport.WorktreeStatus
		if err == nil {
			status, err = y.Git.Look(ctx, ecosystemport.Worktree{Dir: tree}, false)
		}
		if !status.Missing {
			found.trees = append(found.trees, TreeState{Repo: c.Name, Dir: tree, Branch: status.Branch, Head: status.Head, Porcelain: status.Porcelain, Doing: status.Doing, Stashes: status.Stashes, Status: status})
		}
	}
	if err != nil && ctx.Err() == nil {
		found.problem, err = ErrorMessage(err), nil
	}
	return found, err
}

// add adds what a repository of the workspace in dir holds, and its worktrees to those that are known.
func (h *WorkspaceContents) add(repo, dir string, c cloneContents, known *[]string) {
	for _, tree := range c.dirs {
		if rel := RelativePath(dir, tree); rel == "" {
			h.Strange = append(h.Strange, tree)
		} else {
			*known = append(*known, rel)
		}
	}
	h.addHeads(repo, c.heads)
	if n := c.heads.Backup; n > 0 {
		if h.Backups == nil {
			h.Backups = map[string]int{}
		}
		h.Backups[repo] = n
	}
	h.Trees = append(h.Trees, c.trees...)
	if c.problem != "" {
		h.Problem = append(h.Problem, repo+": "+c.problem)
	}
}

func (h *WorkspaceContents) addHeads(repo string, found ecosystemport.LocalHeads) {
	for _, head := range found.Heads {
		h.Heads = append(h.Heads, ecosystemport.TrashHead{Repo: repo, Branch: head.Branch, Head: head.Commit, Unpushed: head.Unpushed})
	}
	if found.Remote {
		h.Origins = append(h.Origins, Origin{cmp.Or(repo, "workspace"), found})
	}
}

// JudgedBy says what the unpushed commits were counted by.
func (h WorkspaceContents) JudgedBy() string {
	fetched := 0
	for _, o := range h.Origins {
		if !o.Asked {
			fetched++
		}
	}
	switch {
	case len(h.Origins) == 0:
		return "there is no origin"
	case fetched == 0:
		return "what origin has now"
	case fetched == len(h.Origins):
		return "what was last fetched from origin"
	}
	return fmt.Sprintf("what origin has now; for %d of %s, what was last fetched from it", fetched, CountNoun(len(h.Origins), "repository", "repositories"))
}

// OriginWarnings says of which origins it is not certain what they have, although they were asked.
func (h WorkspaceContents) OriginWarnings() (out []string) {
	for _, o := range h.Origins {
		if !o.Asked {
			last := "what was last fetched"
			if !o.Seen.IsZero() {
				last += " on " + o.Seen.UTC().Format(time.DateOnly)
			}
			out = append(out, o.Repo+": origin did not answer; what it lacks is judged by "+last)
		}
		if len(o.Moved) > 0 {
			out = append(out, fmt.Sprintf("%s: origin has commits on %s that were never fetched; what was last fetched of it counts as being there, and amof_sync_ecosystem fetches the rest",
				o.Repo, strings.Join(o.Moved[:min(len(o.Moved), maxMoved)], ", ")))
		}
	}
	return out
}

const maxMoved = 5 // branches that are named

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
