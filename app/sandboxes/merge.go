package sandboxes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// maxMergeLines is the number of bytes of changed lines shown with the plan of a merge.
const maxMergeLines = 300 << 10

// maxLeftNamed is how many files without shown lines are named.
const maxLeftNamed = 5

// The operations that are recorded while a branch is moved.
const (
	doingMerge  = "merge"
	doingUpdate = "update"
)

// MergeInput names a sandbox whose work is to be merged.
type MergeInput struct {
	URL           string                  `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name          string                  `json:"name" jsonschema:"minLength=1"`
	Method        sandboxport.MergeMethod `json:"method,omitempty" jsonschema:"enum=merge,enum=squash,enum=rebase,description=default merge"`
	Into          string                  `json:"into,omitempty" jsonschema:"description=local branch (default: the one it was made from)"`
	Message       string                  `json:"message,omitempty" jsonschema:"description=of the commit that merge or squash makes"`
	CommittedOnly bool                    `json:"committed_only,omitempty" jsonschema:"description=changes that are not committed stay in the sandbox"`
}

// Resources returns the project.
func (in MergeInput) Resources() []string { return []string{in.URL} }

// UpdateInput names a sandbox that is to get the changes of its base.
type UpdateInput struct {
	URL    string                  `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name   string                  `json:"name" jsonschema:"minLength=1"`
	Method sandboxport.MergeMethod `json:"method,omitempty" jsonschema:"enum=merge,enum=rebase,description=default merge"`
	From   string                  `json:"from,omitempty" jsonschema:"description=branch (default: the one it was made from, or its remote where that is ahead)"`
}

// Resources returns the project.
func (in UpdateInput) Resources() []string { return []string{in.URL} }

// SandboxMerged is a branch that was moved.
type SandboxMerged struct {
	Status   string                  `json:"status"`
	Project  string                  `json:"project"`
	URL      string                  `json:"git_url"`
	Name     string                  `json:"name"`
	Method   sandboxport.MergeMethod `json:"method"`
	Branch   string                  `json:"branch"`              // the branch that was moved
	Other    string                  `json:"other"`               // the branch whose work it now includes
	Place    string                  `json:"directory,omitempty"` // where the branch is checked out
	Previous string                  `json:"previous"`
	Commit   string                  `json:"commit"`
	Commits  int                     `json:"commits"`
	Files    int                     `json:"files"`
	Backups  []string                `json:"backup_refs,omitempty"`
	Message  string                  `json:"message"`
}

type mergePlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox
	merge sandboxport.MergePlan
	repos sandboxport.Repositories
	doing string
}

// Details returns the changed lines, file by file.
func (p mergePlan) Details(ctx context.Context) (any, error) {
	if p.NoOp() {
		return nil, nil
	}
	type file struct {
		Root string `json:"root"`
		sandboxport.FileLines
	}
	lines, left, err := p.repos.MergedLines(ctx, p.found.Layout.Repo, p.merge, maxMergeLines)
	shown := struct {
		Files    []file   `json:"files"`
		Warnings []string `json:"warnings,omitempty"`
	}{Files: []file{}}
	has := map[string]bool{}
	for _, l := range lines {
		has[l.Path] = true
		shown.Files = append(shown.Files, file{p.merge.Branch, l})
	}
	if left > 0 {
		var out []string
		for _, f := range p.merge.Files {
			if !has[f.Path] && len(out) < maxLeftNamed {
				out = append(out, f.Path)
			}
		}
		if left > len(out) {
			out = append(out, "...")
		}
		shown.Warnings = append(shown.Warnings, fmt.Sprintf("The lines of %d more files do not fit here (%s): countersign sandbox diff %s %s shows them.", left, strings.Join(out, ", "), p.found.Project.Name, p.box.Name))
	}
	return shown, err
}

func (s sandboxService) planMerge(ctx context.Context, _ tool.Scope, in MergeInput) (mergePlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return mergePlan{}, err
	}
	if strings.ContainsRune(in.Message, 0) {
		return mergePlan{}, sandbox.ErrArguments.WithMessage("the message of a commit cannot have a NUL character")
	}
	merge, err := s.Repos.PlanMerge(ctx, f.Layout.Repo, sandboxport.Merge{Name: box.Name, Dir: box.Directory, BaseRef: box.BaseRef, Base: in.Into, Method: in.Method, Message: in.Message,
		CommittedOnly: in.CommittedOnly, At: s.Clock.Now()})
	if err != nil {
		return mergePlan{}, err
	}
	return s.merging(SandboxMerge.Name, doingMerge, f, box, merge, ConfirmOptions{Strength: policy.Preview})
}

func (s sandboxService) planUpdate(ctx context.Context, _ tool.Scope, in UpdateInput) (mergePlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return mergePlan{}, err
	}
	if access, err := s.access(ctx, f); err == nil {
		s.Repos.Fetch(ctx, f.Layout.Repo, access) //nolint:errcheck // the last known state of the remote is good enough
	}
	merge, err := s.Repos.PlanMerge(ctx, f.Layout.Repo, sandboxport.Merge{Name: box.Name, Dir: box.Directory, BaseRef: box.BaseRef, Base: in.From, Update: true, Method: in.Method, At: s.Clock.Now()})
	if err != nil {
		return mergePlan{}, err
	}
	return s.merging(SandboxUpdate.Name, doingUpdate, f, box, merge, ConfirmOptions{})
}

// merging returns the plan for the user. It identifies both sides and the resulting files, so that nothing else can be applied.
func (s sandboxService) merging(name tool.Name, doing string, f FoundProject, box sandbox.Sandbox, m sandboxport.MergePlan, asks ConfirmOptions) (mergePlan, error) {
	p := mergePlan{found: f, box: box, merge: m, repos: s.Repos, doing: doing}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "method": string(m.Method), "branch": m.Branch, "takes_from": m.Other, "from": m.From, "with": m.With}
	var err error
	if m.Method == sandboxport.MergeNothing {
		asks = ConfirmOptions{Nothing: true}
		p.Plan, err = NewPlan(name, fmt.Sprintf("nothing to do: %s has everything that %s has", m.Branch, m.Other), shown, asks)
		return p, err
	}
	commits, files := make([]string, 0, len(m.Commits)), make([]string, 0, len(m.Files))
	for _, c := range m.Commits {
		commits = append(commits, fmt.Sprintf("%.10s %s (%s)", c.Commit, c.Subject, c.Author))
	}
	added, deleted := 0, 0
	for _, file := range m.Files {
		files, added, deleted = append(files, file.Line()), added+file.Added, deleted+file.Deleted
	}
	for key, value := range map[string]string{"checked_out_in": m.Place, "commit": m.Commit, "message": strings.TrimSuffix(m.Message, "\n"), "commits_as": m.By} {
		if value != "" {
			shown[key] = value
		}
	}
	shown["tree"], shown["commits"], shown["changed_files"] = m.Tree, commits, files
	shown["lines"] = fmt.Sprintf("%d added, %d deleted", added, deleted)
	if len(m.Left) > 0 {
		left := m.Left
		if m.MoreLeft > 0 {
			left = append(left, fmt.Sprintf("… and %d more", m.MoreLeft))
		}
		shown["not_merged"] = left
	}
	notes := []string{"the repository's hooks and merge drivers do not run, and the commit is not signed"}
	if m.Method == sandboxport.MergeForward {
		notes = []string{"the repository's hooks do not run"}
	}
	if m.Rewritten > 0 {
		notes = append(notes, fmt.Sprintf("rewrites %s of %s, and keeps the originals under a backup ref", counted(m.Rewritten, "commit"), m.Branch))
	}
	if m.Behind > 0 {
		notes = append(notes, fmt.Sprintf("origin/%s has %s that %s does not have", m.Branch, counted(m.Behind, "commit"), m.Branch))
	}
	shown["notes"] = notes
	how := map[sandboxport.MergeMethod]string{sandboxport.MergeForward: "by moving it forward", sandboxport.MergeCommit: "with a merge commit", sandboxport.MergeSquash: "as one commit", sandboxport.MergeRebase: "by rebasing its commits"}[m.Method]
	summary := fmt.Sprintf("merge %s into %s of %s %s: %s, %s", m.Other, m.Branch, f.Project.Name, how, counted(len(m.Commits), "commit"), counted(len(m.Files), "file"))
	if m.Update {
		if m.Method == sandboxport.MergeRebase {
			how = "by rebasing its own commits on top"
		}
		summary = fmt.Sprintf("update %s (sandbox %s of %s) from %s %s: %s, %s", m.Branch, box.Name, f.Project.Name, m.Other, how, counted(len(m.Commits), "commit"), counted(len(m.Files), "file"))
	}
	p.Plan, err = NewPlan(name, summary, shown, asks)
	return p, err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// merge applies the plan. The operation is recorded before the first change, so that it can be finished after an interruption.
func (s sandboxService) merge(ctx context.Context, sc tool.Scope, p mergePlan) (SandboxMerged, error) {
	f, m := p.found, p.merge
	out := SandboxMerged{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: p.box.Name, Method: m.Method, Branch: m.Branch, Other: m.Other, Place: m.Place, Previous: m.From, Commit: m.From,
		Message: "there was nothing to merge"}
	if p.NoOp() {
		return out, nil
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return SandboxMerged{}, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return SandboxMerged{}, err
	}
	doing, err := s.Begin(sc, p.Plan, p.doing, p.box.Name)
	if err != nil {
		return SandboxMerged{}, err
	}
	begun := false
	done, err := s.Repos.Merge(ctx, f.Layout.Repo, m, func(commit string) error {
		doing.Undo, begun = commit, true
		return s.manager.Change(ctx, f, func(now *sandbox.Project) { now.Doing = doing })
	})
	if begun { // the client that asked gets the error; no other call may finish the operation
		err = errors.Join(err, s.settled(context.WithoutCancel(ctx), f))
	}
	if err != nil {
		return SandboxMerged{}, fault.From(err)
	}
	out.Commit, out.Commits, out.Files, out.Backups = done.Commit, len(m.Commits), len(m.Files), done.Backups
	out.Message = fmt.Sprintf("%s has the work of %s", m.Branch, m.Other)
	return out, nil
}

// mergeBegun is the part of a stored plan that is needed to finish an interrupted merge.
type mergeBegun struct {
	Method sandboxport.MergeMethod `json:"method"`
	Branch string                  `json:"branch"`
	Other  string                  `json:"takes_from"`
	From   string                  `json:"from"`
	With   string                  `json:"with"`
	Tree   string                  `json:"tree"`
	Place  string                  `json:"checked_out_in"`
}

// finishMerge finishes an allowed merge that was interrupted.
func (m ProjectManager) finishMerge(ctx context.Context, f FoundProject) error {
	doing := f.Project.Doing
	var shown struct {
		Context mergeBegun `json:"context"`
	}
	if err := json.Unmarshal([]byte(doing.Plan), &shown); err != nil {
		return sandbox.ErrState.WithMessage("the record of the interrupted %s of sandbox %s cannot be read", doing.What, doing.Sandbox).WithCause(err)
	}
	b := shown.Context
	p := sandboxport.MergePlan{Name: doing.Sandbox, Dir: f.Project.Sandboxes[sandbox.SandboxKey(doing.Sandbox)].Directory, Update: doing.What == doingUpdate, Method: b.Method, Branch: b.Branch, Place: b.Place,
		Other: b.Other, From: b.From, With: b.With, Tree: b.Tree, At: doing.Since}
	if err := m.Repos.FinishMerge(ctx, f.Layout.Repo, p, doing.Undo); err != nil {
		return err
	}
	return m.Change(ctx, f, func(p *sandbox.Project) { p.Doing = nil })
}
