package projects

import (
	"context"
	"errors"
	"path"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TaskList is the tasks of a project's directory, and its workspace.
type TaskList struct {
	Path           string           `json:"path"`
	PackageManager *project.Manager `json:"packageManager"`
	ManagerVersion *string          `json:"packageManagerVersion"`
	Tasks          []tasks.Task     `json:"tasks"`
	Workspace      *WorkspaceDetail `json:"workspace"` // null when there is none
	Notes          []string         `json:"notes,omitempty"`
}

// WorkspaceDetail is a workspace.
type WorkspaceDetail struct {
	Root    string       `json:"root"`
	Tools   []string     `json:"tools"` // that define it
	Members []MemberItem `json:"members"`
}

// MemberItem is a package of a workspace, with the tasks that run_task accepts for it.
type MemberItem struct {
	tasks.Member
	Tasks []string `json:"tasks"`
}

// tasks lists what the directory can run, without running anything.
func (s infoService) tasks(ctx context.Context, _ tool.Scope, in ProjectInput) (TaskList, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return TaskList{}, err
	}
	own, err := s.found(ctx, site.Root, site.Dir)
	if err != nil {
		return TaskList{}, err
	}
	out := TaskList{Path: site.Dir, PackageManager: tool.NilIfZero(own.facts.Manager), ManagerVersion: tool.NilIfZero(own.facts.ManagerVersion), Tasks: own.list.Tasks, Notes: own.list.Notes}
	if out.Tasks == nil {
		out.Tasks = []tasks.Task{}
	}
	top, w, err := s.workspace(ctx, site)
	if err != nil || len(w.Members) == 0 {
		return out, err
	}
	detail := &WorkspaceDetail{Root: top, Tools: w.Tools, Members: []MemberItem{}}
	for _, m := range w.Members {
		item := MemberItem{Member: m, Tasks: []string{}}
		member, err := s.found(ctx, site.Root, path.Join(top, m.Dir))
		if err != nil {
			return out, err
		}
		for _, t := range member.list.Tasks {
			name := t.Name
			if found, err := member.list.Find(name); err != nil || found.Runner != t.Runner {
				name = t.ID()
			}
			item.Tasks = append(item.Tasks, name)
		}
		detail.Members = append(detail.Members, item)
	}
	out.Workspace = detail
	out.Notes = append(out.Notes, w.Notes...)
	return out, ctx.Err()
}

// finder finds tasks and workspaces.
type finder struct {
	runner.Runner
}

func (s infoService) found(ctx context.Context, root, dir string) (foundTasks, error) {
	return finder{runner.Runner{Dirs: s.Sites.Dirs}}.tasks(ctx, root, dir)
}

func (s infoService) workspace(ctx context.Context, site runner.Site) (string, tasks.Workspace, error) {
	return finder{runner.Runner{Dirs: s.Sites.Dirs}}.workspace(ctx, site)
}

// foundTasks is the tasks of a directory, and what is known of it.
type foundTasks struct {
	facts project.Facts
	list  tasks.List
}

// tasks returns the tasks of a directory. A package.json that cannot be read, or that names an unknown package manager, is noted, and its scripts are
// not listed.
func (f finder) tasks(ctx context.Context, root, dir string) (foundTasks, error) {
	facts, problem := f.Facts(ctx, root, dir)
	if problem != nil && !errors.Is(problem, project.ErrManifest) {
		return foundTasks{}, problem
	}
	if problem != nil {
		facts.Manifest = nil
	}
	list, err := f.Dirs.Tasks(ctx, dir, facts)
	for _, err := range []error{facts.Broken, problem} {
		if err != nil {
			list.Notes = append(list.Notes, err.Error())
		}
	}
	return foundTasks{facts, list}, err
}

// workspace returns the innermost workspace around a directory, within its project, and its location.
func (f finder) workspace(ctx context.Context, site runner.Site) (string, tasks.Workspace, error) {
	for at := site.Dir; ; at = path.Dir(at) {
		facts, err := f.Dirs.Facts(ctx, at)
		if err != nil && !errors.Is(err, project.ErrManifest) {
			return "", tasks.Workspace{}, err
		}
		if w, err := f.Dirs.Workspace(ctx, at, facts); err != nil || len(w.Members) > 0 || at == site.Root || at == path.Dir(at) {
			return at, w, err
		}
	}
}
