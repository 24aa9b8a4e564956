package projects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The typed handles.
var (
	ListProjects   = tool.Ref[InfoListInput, ProjectList]{Name: "list_projects"}
	GetProject     = tool.Ref[PathInput, ProjectDetail]{Name: "get_project"}
	ListScripts    = tool.Ref[ProjectInput, ScriptList]{Name: "list_project_scripts"}
	ListTasks      = tool.Ref[ProjectInput, TaskList]{Name: "list_project_tasks"}
	ListWorktrees  = tool.Ref[ProjectInput, WorktreeList]{Name: "list_worktrees"}
	GitStatus      = tool.Ref[ProjectInput, StatusAnswer]{Name: "get_git_status"}
	StagedDiff     = tool.Ref[ProjectInput, StagedAnswer]{Name: "get_staged_diff"}
	WorktreeStatus = tool.Ref[WorktreeInput, WorktreeAnswer]{Name: "get_worktree_status"}
	GitDiff        = tool.Ref[WorktreeInput, DiffAnswer]{Name: "get_git_diff"}
)

// InfoDeps holds the dependencies of the tools. Every field is required.
type InfoDeps struct {
	Sites     runner.SiteFinder
	Workflows projectport.Workflows
}

// InfoEntries returns the tools.
func InfoEntries(d InfoDeps) []tool.Entry {
	s := infoService{d}
	return []tool.Entry{
		bind.Query(ListProjects, runner.ReadSpec(runner.CategoryProjects, "List projects", "List the registered projects with type, package manager and current branch.", infoListSchema), s.list),
		bind.Query(GetProject, runner.ReadSpec(runner.CategoryProjects, "Get project", "Show a registered project: scripts, type, package manager, Node version, git remote and branch, workflows.", pathSchema), s.get),
		bind.Query(ListScripts, runner.ReadSpec(runner.CategoryProjects, "List project scripts", "List the scripts in a project's package.json with their commands.", projectSchema), s.scripts),
		bind.Query(ListTasks, runner.ReadSpec(runner.CategoryProjects, "List project tasks", "List what a directory can run besides package.json scripts, and its workspace's members. "+
			"Reads Makefile, Taskfile, justfile, mise, Cargo, Go, pyproject, composer, Gradle and Maven files; runs nothing.", projectSchema), s.tasks),
		bind.Query(ListWorktrees, runner.ReadSpec(runner.CategoryWorktrees, "List worktrees", "List the git worktrees of a registered project.", projectSchema), s.worktrees),
		bind.Query(GitStatus, runner.ReadSpec(runner.CategoryWorktrees, "Git status", "Show a project's branch and its staged, modified, untracked and conflicted files.", projectSchema), s.status),
		bind.Query(StagedDiff, runner.ReadSpec(runner.CategoryWorktrees, "Staged diff", "Show the diff of what is staged in a project, with a summary.", projectSchema), s.staged),
		bind.Query(WorktreeStatus, runner.ReadSpec(runner.CategoryWorktrees, "Worktree status", "Show a worktree's branch, how far it is ahead and behind, and its changed files.", worktreeSchema), s.worktree),
		bind.Query(GitDiff, runner.ReadSpec(runner.CategoryWorktrees, "Git diff", "Show the diff of what is staged in a worktree, with numbers for each file.", worktreeSchema), s.diff),
	}
}

type infoService struct{ InfoDeps }

// InfoListInput selects projects.
type InfoListInput struct {
	Query string `json:"query,omitempty" jsonschema:"description=part of a name\\, path or description"`
}

// PathInput names a project by its path.
type PathInput struct {
	Path string `json:"path" jsonschema:"minLength=1,description=absolute path of the registered project"`
}

// Resources returns the path.
func (in PathInput) Resources() []string { return []string{in.Path} }

// ProjectInput names a project by its path.
type ProjectInput struct {
	Path string `json:"project_path" jsonschema:"minLength=1,description=absolute path of the registered project"`
}

// Resources returns the path.
func (in ProjectInput) Resources() []string { return []string{in.Path} }

// WorktreeInput names a worktree by its path.
type WorktreeInput struct {
	Path string `json:"worktree_path" jsonschema:"minLength=1,description=absolute path of a project or of one of its worktrees"`
}

// Resources returns the path.
func (in WorktreeInput) Resources() []string { return []string{in.Path} }

// ProjectItem is a project in a list. Unknown values are null.
type ProjectItem struct {
	ID             project.ID       `json:"id"`
	Name           string           `json:"name"`
	Path           string           `json:"path"`
	Description    *string          `json:"description"`
	ProjectType    *string          `json:"projectType"`
	PackageManager *project.Manager `json:"packageManager"`
	CurrentBranch  *string          `json:"currentBranch"`
	WorkflowCount  int              `json:"workflowCount"`
}

// ProjectList is registered projects by name.
type ProjectList struct {
	Projects []ProjectItem `json:"projects"`
	Total    int           `json:"total"`
}

func (s infoService) list(ctx context.Context, _ tool.Scope, in InfoListInput) (ProjectList, error) {
	out := ProjectList{Projects: []ProjectItem{}}
	all, err := s.Sites.Projects.List(ctx)
	if err != nil {
		return out, err
	}
	known := make(map[project.ID]project.Facts, len(all))
	for i, p := range all {
		facts, err := s.Sites.Dirs.Facts(ctx, p.Path)
		if err == nil || errors.Is(err, project.ErrManifest) {
			known[p.ID], all[i].Description = facts, describe(p, facts)
		}
	}
	all = slices.DeleteFunc(all, func(p project.Project) bool { return !p.Matches(in.Query) })
	slices.SortStableFunc(all, func(a, b project.Project) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Path, b.Path))
	})
	flows, err := s.Workflows.List(ctx, "")
	if err != nil {
		return out, err
	}
	count := map[project.ID]int{}
	for _, w := range flows {
		count[w.ProjectID]++
	}
	dirs := make([]string, len(all))
	for i, p := range all {
		dirs[i] = p.Path
	}
	heads := s.Sites.Git.Heads(ctx, dirs)
	for i, p := range all {
		item := ProjectItem{ID: p.ID, Name: p.Name, Path: p.Path, Description: tool.NilIfZero(p.Description), WorkflowCount: count[p.ID]}
		if facts, ok := known[p.ID]; ok {
			item.ProjectType, item.PackageManager = tool.NilIfZero(facts.Type), tool.NilIfZero(facts.Manager)
		}
		if heads[i].Err == nil {
			item.CurrentBranch = tool.NilIfZero(heads[i].Head.Branch)
		}
		out.Projects = append(out.Projects, item)
	}
	out.Total = len(out.Projects)
	return out, ctx.Err()
}

// describe returns a project's description: the user's, else that of its package.json if it is acceptable as one.
func describe(p project.Project, facts project.Facts) string {
	if p.Description != "" || facts.Manifest == nil || project.CheckText("description", facts.Manifest.Description, project.MaxDescription) != nil {
		return p.Description
	}
	return strings.TrimSpace(facts.Manifest.Description)
}

// ProjectDetail is everything about one project.
type ProjectDetail struct {
	ID             project.ID        `json:"id"`
	Path           string            `json:"path"`
	Name           string            `json:"name"`
	Description    *string           `json:"description"`
	GitRemote      *string           `json:"gitRemote"` // without credentials
	CurrentBranch  *string           `json:"currentBranch"`
	PackageManager *project.Manager  `json:"packageManager"`
	ManagerVersion *string           `json:"packageManagerVersion"`
	Scripts        map[string]string `json:"scripts"`
	Masked         []Script          `json:"maskedScripts,omitempty"` // those that the map masks, because a value with such a name looks like a secret
	ProjectType    *string           `json:"projectType"`
	NodeVersion    *string           `json:"nodeVersion"`
	Monorepo       bool              `json:"isMonorepo"`
	MonorepoTool   *string           `json:"monorepoTool"`
	Workflows      []WorkflowRef     `json:"workflows"`
	Warnings       []string          `json:"warnings,omitempty"`
}

// WorkflowRef names a workflow.
type WorkflowRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (s infoService) get(ctx context.Context, _ tool.Scope, in PathInput) (ProjectDetail, error) {
	site, err := s.Sites.Directory(ctx, in.Path)
	if err != nil {
		return ProjectDetail{}, err
	}
	p := site.Project
	facts, err := s.Sites.Dirs.Facts(ctx, p.Path)
	if err != nil && !errors.Is(err, project.ErrManifest) {
		return ProjectDetail{}, err
	}
	d := ProjectDetail{ID: p.ID, Path: p.Path, Name: p.Name, Description: tool.NilIfZero(describe(p, facts)), PackageManager: tool.NilIfZero(facts.Manager),
		ManagerVersion: tool.NilIfZero(facts.ManagerVersion), Scripts: map[string]string{}, ProjectType: tool.NilIfZero(facts.Type), NodeVersion: tool.NilIfZero(facts.NodeVersion),
		Monorepo: facts.Monorepo, MonorepoTool: tool.NilIfZero(facts.MonorepoTool)}
	if facts.Manifest != nil {
		d.Scripts, d.Warnings = facts.Manifest.Scripts, facts.Manifest.Notes
		for _, name := range facts.Manifest.ScriptNames() {
			if redact.IsSecretKey(name) {
				d.Masked = append(d.Masked, Script{name, d.Scripts[name]})
			}
		}
	}
	for _, problem := range []error{err, facts.Broken} {
		if problem != nil {
			d.Warnings = append(d.Warnings, problem.Error())
		}
	}
	if head, err := s.Sites.Git.Head(ctx, p.Path); err == nil {
		d.CurrentBranch = tool.NilIfZero(head.Branch)
		if remote, err := s.Sites.Git.Remote(ctx, p.Path); err == nil {
			d.GitRemote = tool.NilIfZero(remote)
		}
	}
	flows, err := s.Workflows.List(ctx, p.ID)
	for _, w := range flows {
		d.Workflows = append(d.Workflows, WorkflowRef{w.ID, w.Name})
	}
	return d, err
}

// Script is one of a package.json.
type Script struct {
	Name    string `json:"name"`
	Command string `json:"command"`
}

// ScriptList is a project's scripts by name.
type ScriptList struct {
	Scripts []Script `json:"scripts"`
	Count   int      `json:"count"`
}

func (s infoService) scripts(ctx context.Context, _ tool.Scope, in ProjectInput) (ScriptList, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return ScriptList{}, err
	}
	facts, err := s.Sites.Dirs.Facts(ctx, site.Dir)
	switch {
	case facts.Broken != nil:
		return ScriptList{}, facts.Broken
	case err != nil && !errors.Is(err, project.ErrManifest):
		return ScriptList{}, err
	case facts.Manifest == nil:
		return ScriptList{}, project.ErrManifest.WithMessage("%s has no package.json, and so no scripts", site.Dir)
	}
	out := ScriptList{Scripts: []Script{}, Count: len(facts.Manifest.Scripts)}
	for _, name := range facts.Manifest.ScriptNames() {
		out.Scripts = append(out.Scripts, Script{name, facts.Manifest.Scripts[name]})
	}
	return out, nil
}
