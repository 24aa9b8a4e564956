// Package trees is the tools about sandboxes: git worktrees of a project, made, listed, reset, deleted and brought back. They work whether the
// project's server runs or not.
//
// It refuses to know servers.
package trees

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/sandboxes/basis"
	"github.com/countersign-dev/countersign/app/sandboxes/mending"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The typed handles.
var (
	Create  = tool.Ref[CreateInput, Created]{Name: "opencode_sandbox_create"}
	List    = tool.Ref[basis.URLInput, Listing]{Name: "opencode_sandbox_list"}
	Delete  = tool.Ref[DeleteInput, Done]{Name: "opencode_sandbox_delete"}
	Reset   = tool.Ref[ResetInput, ResetDone]{Name: "opencode_sandbox_reset"}
	Restore = tool.Ref[RestoreInput, Created]{Name: "sandbox_restore"}
	Backups = tool.Ref[basis.URLInput, Kept]{Name: "sandbox_backups"}
)

type service struct {
	basis.Deps
	mend mending.Mender
}

// Entries are the tools of the seed.
func Entries(d basis.Deps) []tool.Entry {
	s := service{Deps: d, mend: mending.Mender{Deps: d}}
	return []tool.Entry{
		bind.Command(Create, basis.Change("Create sandbox", "Create a git worktree (sandbox) for isolated development. Worktrees share the same .git database but have separate working directories and can "+
			"be on different branches. Works without a running server.", createSchema), s.planCreate, s.create),
		bind.Query(List, basis.Read("List sandboxes", "List a project's sandboxes with branch, changes, and commits ahead and behind.", urlSchema), s.list),
		bind.Command(Delete, basis.Destroy("Delete sandbox", "Delete a sandbox. One with work that is nowhere else is refused with the list; force states that it may go, and it is kept under a backup ref.", deleteSchema), s.planDelete, s.delete),
		bind.Command(Reset, basis.Destroy("Reset sandbox", "Reset a sandbox to the default branch. Work that would be lost is kept under backup refs, which are in the answer.", resetSchema), s.planReset, s.reset),
	}
}

// ForPeople are the tools that only people are served.
func ForPeople(d basis.Deps) []tool.Entry {
	s := service{Deps: d, mend: mending.Mender{Deps: d}}
	entries := []tool.Entry{
		bind.Query(Backups, basis.Read("List backups", "List the work of sandboxes that was kept when they were deleted or reset.", urlSchema), s.backups),
		bind.Command(Restore, basis.Change("Restore sandbox", "Make a sandbox from work that was kept.", restoreSchema), s.planRestore, s.restore),
	}
	for i := range entries {
		entries[i].Spec.People = true
	}
	return entries
}

// Item is a sandbox in a list.
type Item struct {
	Name      string            `json:"name"`
	Branch    string            `json:"branch"`
	Directory string            `json:"directory"`
	Head      string            `json:"head"`
	Dirty     bool              `json:"dirty"`
	Changes   int               `json:"changes"`
	Ahead     int               `json:"ahead"`
	Behind    int               `json:"behind"`
	Unpushed  int               `json:"unpushed"`
	Locked    bool              `json:"locked"`
	Prunable  bool              `json:"prunable"`
	CreatedAt *time.Time        `json:"created_at"`
	Leases    map[string]string `json:"leases,omitempty"`
	Removable bool              `json:"removable"` // a clean-up would take it
	Cleanup   string            `json:"cleanup"`   // why, or why not
}

// Listing is a project's sandboxes.
type Listing struct {
	Status    string   `json:"status"`
	Project   string   `json:"project"`
	URL       string   `json:"git_url"`
	Worktrees []string `json:"worktrees"`
	Count     int      `json:"count"`
	Sandboxes []Item   `json:"sandboxes"`
}

func (s service) list(ctx context.Context, _ tool.Scope, in basis.URLInput) (Listing, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return Listing{}, err
	}
	found, err := s.Trees.Survey(ctx, f.Layout.Repo)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Worktrees: []string{}, Sandboxes: []Item{}}
	findings := make([]sandbox.Finding, 0, len(found))
	for _, t := range found {
		box, recorded := byDirectory(f.Project, t.Directory)
		if !recorded {
			box = sandbox.Sandbox{Name: path.Base(t.Directory), Directory: t.Directory}
		}
		findings = append(findings, sandbox.Finding{Sandbox: box, Changes: t.Changes, Unpushed: t.Unpushed, Locked: t.Locked, Missing: t.Missing || t.Prunable,
			Busy: f.Project.Doing != nil && f.Project.Doing.Sandbox == box.Name, Problem: t.Err})
		out.Worktrees = append(out.Worktrees, t.Directory)
		out.Sandboxes = append(out.Sandboxes, Item{Name: box.Name, Branch: t.Branch, Directory: t.Directory, Head: t.Head, Dirty: t.Dirty, Changes: t.Changes, Ahead: t.Ahead, Behind: t.Behind,
			Unpushed: t.Unpushed, Locked: t.Locked, Prunable: t.Prunable, CreatedAt: tool.Known(box.CreatedAt), Leases: box.Leases})
	}
	for _, v := range sandbox.CleanUp(findings, s.Clock.Now(), sandbox.DefaultAge) {
		for i := range out.Sandboxes {
			if item := &out.Sandboxes[i]; item.Directory == v.Directory {
				item.Removable, item.Cleanup = v.Remove, v.Reason
			}
		}
	}
	out.Count = len(out.Worktrees)
	return out, nil
}

func byDirectory(p sandbox.Project, dir string) (sandbox.Sandbox, bool) {
	for _, box := range p.Sandboxes {
		if box.Directory == dir {
			return box, true
		}
	}
	return sandbox.Sandbox{}, false
}

// must is the sandbox of that name, whatever the case, or sandbox.ErrNotFound with those there are.
func must(f basis.Found, name string) (sandbox.Sandbox, error) {
	box, known := f.Project.Sandboxes[strings.ToLower(name)]
	if known {
		return box, nil
	}
	names := sandbox.Names(f.Project)
	if len(names) == 0 {
		return box, sandbox.ErrNotFound.Sayf("project %s has no sandbox %q, and no other", f.Project.Name, name)
	}
	return box, sandbox.ErrNotFound.Sayf("project %s has no sandbox %q; there are: %s", f.Project.Name, name, strings.Join(names, ", ")).With(map[string]any{"sandboxes": names})
}

// lossOf is what of one sandbox is nowhere else.
func (s service) lossOf(ctx context.Context, f basis.Found, box sandbox.Sandbox) ([]sandboxport.Loss, error) {
	losses, err := s.Keeping.Losses(ctx, f.Layout.Repo, []string{box.Directory})
	return slices.DeleteFunc(losses, func(l sandboxport.Loss) bool { return l.Directory != box.Directory }), err
}

// Kept is work that was kept.
type Kept struct {
	Status  string               `json:"status"`
	Project string               `json:"project"`
	URL     string               `json:"git_url"`
	Backups []sandboxport.Backup `json:"backups"`
}

func (s service) backups(ctx context.Context, _ tool.Scope, in basis.URLInput) (Kept, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return Kept{}, err
	}
	found, err := s.Keeping.Backups(ctx, f.Layout.Repo)
	if found == nil {
		found = []sandboxport.Backup{}
	}
	return Kept{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Backups: found}, err
}
