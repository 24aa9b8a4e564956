package runner

import (
	"context"
	"path"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// SiteFinder finds the project of a path. Every field is required.
type SiteFinder struct {
	Projects projectport.Projects
	Dirs     projectport.Directories
	Git      projectport.Repositories
}

// Site is a directory in a registered project.
type Site struct {
	Project project.Project
	Dir     string // absolute, links resolved
	Root    string // the project's directory, or that of its linked worktree, which contains Dir
}

// Title names the project in a summary, and its linked worktree if the site is in one: several agents may ask for the same, each in a worktree of its
// own.
func (s Site) Title() string {
	if s.Root == s.Project.Path {
		return s.Project.Name
	}
	return s.Project.Name + " (worktree " + path.Base(s.Root) + ")"
}

// Roots is the directories of all registered projects, with their projects.
type Roots struct {
	Dirs     []string
	projects map[string]project.Project
}

// Project returns the project registered at root.
func (r Roots) Project(root string) project.Project { return r.projects[root] }

// Roots returns the current directories of all projects; it reads them at every call, because projects may have been registered.
func (f SiteFinder) Roots(ctx context.Context) (Roots, error) {
	all, err := f.Projects.List(ctx)
	if err != nil {
		return Roots{}, err
	}
	r := Roots{Dirs: make([]string, 0, len(all)), projects: make(map[string]project.Project, len(all))}
	for _, p := range all {
		r.Dirs = append(r.Dirs, p.Path)
		r.projects[p.Path] = p
	}
	return r, nil
}

// Directory returns the site of a path inside a registered project, or project.ErrPath.
func (f SiteFinder) Directory(ctx context.Context, path string) (Site, error) {
	if err := project.CheckPath(path); err != nil {
		return Site{}, err
	}
	roots, err := f.Roots(ctx)
	if err != nil {
		return Site{}, err
	}
	dir, root, err := f.Dirs.Resolve(ctx, path, roots.Dirs)
	if err != nil {
		return Site{}, err
	}
	return Site{Project: roots.Project(root), Dir: dir, Root: root}, nil
}

// Worktree returns the site of a path inside a registered project, or of a linked worktree of one that lies elsewhere: one that the project's
// own list names and that says so itself (packageflow-security contract §4.1).
func (f SiteFinder) Worktree(ctx context.Context, path string) (Site, error) {
	site, outside := f.Directory(ctx, path)
	if outside == nil || project.CheckPath(path) != nil {
		return site, outside
	}
	all, err := f.Projects.List(ctx)
	if err != nil {
		return Site{}, err
	}
	for _, p := range all {
		if belongs, err := f.Git.Belongs(ctx, path, p.Path); err != nil || !belongs {
			continue
		}
		dir, _, err := f.Dirs.Resolve(ctx, path, []string{path})
		if err != nil {
			return Site{}, err
		}
		root, err := f.top(ctx, p, dir)
		return Site{Project: p, Dir: dir, Root: root}, err
	}
	return Site{}, outside
}

// top returns the project's worktree that contains the directory, according to the project's own list.
func (f SiteFinder) top(ctx context.Context, p project.Project, dir string) (string, error) {
	trees, err := f.Git.Worktrees(ctx, p.Path)
	if err != nil {
		return "", err
	}
	for _, t := range trees {
		if _, root, err := f.Dirs.Resolve(ctx, dir, []string{t.Path}); err == nil && root == t.Path {
			return t.Path, nil
		}
	}
	return dir, nil
}

// Contains reports whether a resolved directory belongs to the project, which may have others registered within it.
func (f SiteFinder) Contains(ctx context.Context, p project.Project, dir string) bool {
	_, _, err := f.Dirs.Planned(ctx, dir, []string{p.Path})
	return err == nil
}

// Planned returns the site of a directory that need not exist yet: the cwd of a step. A relative one is relative to the project; for a global
// workflow, whose steps name absolute directories, p is zero.
func (f SiteFinder) Planned(ctx context.Context, path string) (Site, error) {
	if err := project.CheckPath(path); err != nil {
		return Site{}, err
	}
	roots, err := f.Roots(ctx)
	if err != nil {
		return Site{}, err
	}
	dir, root, err := f.Dirs.Planned(ctx, path, roots.Dirs)
	if err != nil {
		return Site{}, err
	}
	return Site{Project: roots.Project(root), Dir: dir, Root: root}, nil
}
