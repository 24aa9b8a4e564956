package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// DeleteInput names a sandbox to delete.
type DeleteInput struct {
	URL   string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name  string `json:"name" jsonschema:"minLength=1,description=Worktree name to delete"`
	Force bool   `json:"force,omitempty" jsonschema:"description=unsaved work is deleted too; it is kept under a backup ref"`
}

// Resources returns the project.
func (in DeleteInput) Resources() []string { return []string{in.URL} }

// SandboxDone is a sandbox that was deleted.
type SandboxDone struct {
	Status  string   `json:"status"`
	Project string   `json:"project"`
	URL     string   `json:"git_url"`
	Message string   `json:"message"`
	Backups []string `json:"backup_refs,omitempty"`
}

type deletePlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox
	force bool
	head  string // of an archive: the commit of the sandbox whose work was found merged

	finished bool // an interrupted call with the same purpose was finished
}

func (s sandboxService) planDelete(ctx context.Context, _ tool.Scope, in DeleteInput) (deletePlan, error) {
	begun, err := s.Must(ctx, in.URL)
	if err != nil {
		return deletePlan{}, err
	}
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if d := begun.Project.Doing; errors.Is(err, sandbox.ErrNotFound) && d != nil && d.What == "delete" && sandbox.SandboxKey(d.Sandbox) == sandbox.SandboxKey(in.Name) {
		p := deletePlan{found: f, finished: true}
		p.Plan, err = NewPlan(SandboxDelete.Name, "nothing: the deletion of "+in.Name+" that was interrupted has been finished", map[string]any{"git_url": f.URL.String(), "name": in.Name}, ConfirmOptions{Nothing: true})
		return p, err
	}
	if err != nil {
		return deletePlan{}, err
	}
	losses, err := s.unsavedIn(ctx, f, box)
	if err != nil {
		return deletePlan{}, err
	}
	p := deletePlan{found: f, box: box, force: in.Force}
	asks := ConfirmOptions{}
	summary := fmt.Sprintf("delete sandbox %s of %s", box.Name, f.Project.Name)
	if len(losses) > 0 {
		if !in.Force {
			return deletePlan{}, dirty(box, losses, s.mergedInto(ctx, f, box))
		}
		asks.Strength = policy.Preview
		summary += " with unsaved work: " + lost(losses) + " (kept under backup refs)"
	}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "directory": box.Directory,
		"branch": box.Branch, "branch_goes": box.CreatedBranch, "lost": losses}
	if view := s.agentView(ctx, f, box); view != nil && view.Running() { // it may create more than there is now
		shown["stops_agent"], asks.Strength = view.Agent, max(asks.Strength, policy.Preview)
		summary += ", and stop " + view.Agent + ", which works in it"
	}
	p.Plan, err = NewPlan(SandboxDelete.Name, summary, shown, asks)
	return p, err
}

// largeSetup returns how many changes are files that set-ups left, too large to be backed up by default.
func largeSetup(losses []sandboxport.Loss) (files int) {
	for _, l := range losses {
		files += l.SetUp
	}
	return files
}

// mergedInto returns the branch that has all of a sandbox's work, itself on no remote; empty if none has, or that cannot be told.
func (s sandboxService) mergedInto(ctx context.Context, f FoundProject, box sandbox.Sandbox) string {
	left, err := s.Repos.PlanMerge(ctx, f.Layout.Repo, sandboxport.Merge{Name: box.Name, Dir: box.Directory, BaseRef: box.BaseRef, Method: sandboxport.MergeSquash, Look: true, At: s.Clock.Now()})
	if err != nil || left.Method != sandboxport.MergeNothing {
		return ""
	}
	return left.Branch
}

// dirty fails with the list of unsaved work, and the way out of it: it is merged into that branch, or into none.
func dirty(box sandbox.Sandbox, losses []sandboxport.Loss, merged string) error {
	changes, commits, more, large := []string{}, []string{}, 0, largeSetup(losses)
	for _, l := range losses {
		changes, commits, more = append(changes, l.Changes...), append(commits, l.Commits...), more+l.More
	}
	details := map[string]any{"changes": changes, "unpushed_commits": commits}
	if more > 0 {
		details["more"] = more
	}
	if large > 0 {
		details["set_up_files"] = large
	}
	if merged != "" {
		return sandbox.ErrDirty.WithMessage("sandbox %s has work that no remote has: %s; branch %s has it: sandbox_archive deletes the sandbox and keeps a backup, with or without a push of %s before",
			box.Name, lost(losses), merged, merged).WithDetails(details)
	}
	return sandbox.ErrDirty.WithMessage("sandbox %s has unsaved work: %s; commit and push it, or call again with force: true, which the user then approves%s", box.Name, lost(losses), sandbox.LargeSetup(large)).WithDetails(details)
}

func (s sandboxService) delete(ctx context.Context, sc tool.Scope, p deletePlan) (SandboxDone, error) {
	f := p.found
	if p.finished {
		return SandboxDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the sandbox was deleted: an interrupted deletion was finished"}, nil
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return SandboxDone{}, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return SandboxDone{}, err
	}
	if p.head != "" { // newer commits are not merged
		now, err := s.Repos.Compare(ctx, f.Layout.Repo, p.box.Directory, sandboxport.Compare{BaseRef: p.box.BaseRef})
		if err != nil {
			return SandboxDone{}, err
		}
		if now.Head != p.head || len(now.Uncommitted) > 0 {
			return SandboxDone{}, sandbox.ErrMoved.WithMessage("sandbox %s changed after the plan was made; call again", p.box.Name)
		}
	}
	doing, err := s.Begin(sc, p.Plan, "delete", p.box.Name)
	if err != nil {
		return SandboxDone{}, err
	}
	if err := s.manager.Change(ctx, f, func(now *sandbox.Project) { now.Doing = doing }); err != nil {
		return SandboxDone{}, err
	}
	_, err = s.stopAgent(ctx, p.box)
	if err == nil {
		_, err = s.manager.StopServer(ctx, f, p.box.Name)
	}
	if err != nil {
		return SandboxDone{}, errors.Join(err, s.settled(context.WithoutCancel(ctx), f))
	}
	backups, err := s.Repos.Remove(ctx, f.Layout.Repo, p.box.Directory, sandboxport.Removal{Name: p.box.Name, Branch: p.box.Branch, DeleteBranch: p.box.CreatedBranch, Force: p.force, At: s.Clock.Now()})
	if err != nil { // the client that asked gets the error; no other call may finish the operation
		return SandboxDone{}, errors.Join(err, s.settled(context.WithoutCancel(ctx), f))
	}
	return SandboxDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the sandbox was deleted", Backups: backups}, s.forget(ctx, f, p.box.Name)
}

// ArchiveInput names a sandbox whose work is merged.
type ArchiveInput struct {
	URL  string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name string `json:"name" jsonschema:"minLength=1"`
	Base string `json:"base,omitempty" jsonschema:"description=branch that has the work (default: the one it was made from)"`
}

// Resources returns the project.
func (in ArchiveInput) Resources() []string { return []string{in.URL} }

// planArchive plans the deletion of a sandbox whose content is all in its base, in any commits. This is checked again when it is deleted.
func (s sandboxService) planArchive(ctx context.Context, _ tool.Scope, in ArchiveInput) (deletePlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return deletePlan{}, err
	}
	if view := s.agentView(ctx, f, box); view != nil && view.Running() {
		return deletePlan{}, sandbox.ErrAgentRuns.WithMessage("%s works in sandbox %s; archive it when that has ended, or stop it", view.Agent, box.Name)
	}
	left, err := s.Repos.PlanMerge(ctx, f.Layout.Repo, sandboxport.Merge{Name: box.Name, Dir: box.Directory, BaseRef: box.BaseRef, Base: in.Base, Method: sandboxport.MergeSquash, Look: true, At: s.Clock.Now()})
	switch {
	case errors.Is(err, sandbox.ErrConflicts):
		return deletePlan{}, sandbox.ErrUnmerged.WithMessage("sandbox %s has work that its base branch does not have; merge it (sandbox_merge), or delete the sandbox with force", box.Name)
	case errors.Is(err, sandbox.ErrUncommitted):
		losses, unknown := s.unsavedIn(ctx, f, box)
		if unknown != nil {
			return deletePlan{}, unknown
		}
		return deletePlan{}, sandbox.ErrUncommitted.WithMessage("sandbox %s has changes that are not committed; commit and merge them, or delete the sandbox with force%s", box.Name, sandbox.LargeSetup(largeSetup(losses))).WithDetails(fault.From(err).Details)
	case err != nil:
		return deletePlan{}, err
	case left.Method != sandboxport.MergeNothing:
		return deletePlan{}, sandbox.ErrUnmerged.WithMessage("sandbox %s changes %s that %s does not have so; merge it (sandbox_merge), or delete the sandbox with force", box.Name, counted(len(left.Files), "file"), left.Branch)
	}
	p := deletePlan{found: f, box: box, force: true, head: left.With}
	p.Plan, err = NewPlan(SandboxArchive.Name, fmt.Sprintf("archive sandbox %s of %s: %s has its work", box.Name, f.Project.Name, left.Branch), map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name,
		"directory": box.Directory, "branch": box.Branch, "branch_goes": box.CreatedBranch, "merged_into": left.Branch, "head": left.With}, ConfirmOptions{})
	return p, err
}

// ResetInput names a sandbox to reset.
type ResetInput struct {
	URL          string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name         string `json:"name" jsonschema:"minLength=1,description=Worktree name"`
	CleanIgnored bool   `json:"clean_ignored,omitempty" jsonschema:"description=delete ignored files too (node_modules or .env)"`
}

// Resources returns the project.
func (in ResetInput) Resources() []string { return []string{in.URL} }

// ResetDone is a sandbox that was reset.
type ResetDone struct {
	Status  string   `json:"status"`
	Project string   `json:"project"`
	URL     string   `json:"git_url"`
	Message string   `json:"message"`
	Branch  string   `json:"branch"`
	Head    string   `json:"head"`
	To      string   `json:"reset_to"`
	Backups []string `json:"backup_refs"`
}

type resetPlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox
	input ResetInput
}

func (s sandboxService) planReset(ctx context.Context, _ tool.Scope, in ResetInput) (resetPlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return resetPlan{}, err
	}
	losses, err := s.unsavedIn(ctx, f, box)
	if err != nil {
		return resetPlan{}, err
	}
	asks := ConfirmOptions{}
	summary := fmt.Sprintf("reset sandbox %s of %s to the default branch", box.Name, f.Project.Name)
	if len(losses) > 0 {
		asks.Strength = policy.Preview
		summary += " with unsaved work: " + lost(losses) + " (kept under backup refs)"
	}
	if in.CleanIgnored {
		asks.Strength = policy.Preview // ignored files exist nowhere else, and no ref can keep them
	}
	p := resetPlan{found: f, box: box, input: in}
	p.Plan, err = NewPlan(SandboxReset.Name, summary,
		map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "branch": box.Branch, "clean_ignored": in.CleanIgnored, "kept_under_backup_refs": losses}, asks)
	return p, err
}

func (s sandboxService) reset(ctx context.Context, _ tool.Scope, p resetPlan) (ResetDone, error) {
	f := p.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ResetDone{}, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return ResetDone{}, err
	}
	if access, err := s.access(ctx, f); err == nil {
		s.Repos.Fetch(ctx, f.Layout.Repo, access) //nolint:errcheck // the last known default branch is good enough
	}
	done, err := s.Repos.Reset(ctx, f.Layout.Repo, p.box.Directory, sandboxport.Reset{Name: p.box.Name, CleanIgnored: p.input.CleanIgnored, At: s.Clock.Now()})
	if err != nil {
		return ResetDone{}, err
	}
	out := ResetDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the sandbox is on the default branch", Branch: done.Branch, Head: done.Head, To: done.To, Backups: done.Backups}
	if out.Backups == nil {
		out.Backups = []string{}
	}
	return out, nil
}

// RestoreInput names a backup, and the sandbox to restore it into.
type RestoreInput struct {
	URL  string `json:"git_url" jsonschema:"minLength=1"`
	Ref  string `json:"ref" jsonschema:"minLength=1,description=as sandbox_backups lists it"`
	Name string `json:"name,omitempty" jsonschema:"description=of the new sandbox (default: the old one's)"`

	Isolate string `json:"isolate,omitempty" jsonschema:"description=as of a new sandbox (default: the old one's)"`
}

type restorePlan struct {
	Plan
	found  FoundProject
	backup sandboxport.Backup
	name   string
	within string // isolation of its programs
}

func (s sandboxService) planRestore(ctx context.Context, _ tool.Scope, in RestoreInput) (restorePlan, error) {
	f, err := s.ready(ctx, in.URL)
	if err != nil {
		return restorePlan{}, err
	}
	kept, err := s.Repos.Backups(ctx, f.Layout.Repo)
	if err != nil {
		return restorePlan{}, err
	}
	p := restorePlan{found: f, name: in.Name}
	for _, b := range kept {
		if b.Ref == in.Ref {
			p.backup = b
		}
	}
	if p.backup.Ref == "" {
		return p, sandbox.ErrNotFound.WithMessage("there is no backup %q; countersign sandbox restore lists the backups", in.Ref)
	}
	if p.name == "" {
		p.name = p.backup.Sandbox
	}
	if err := sandbox.CheckName(p.name); err != nil {
		return p, err
	}
	if _, there := f.Project.Sandboxes[strings.ToLower(p.name)]; there {
		return p, sandbox.ErrExists.WithMessage("project %s has a sandbox %q already; name another", f.Project.Name, p.name)
	}
	was := f.Project.Isolations[sandbox.SandboxKey(p.backup.Sandbox)]
	if box, there := f.Project.Sandboxes[sandbox.SandboxKey(p.backup.Sandbox)]; there { // it was reset
		was = box.Isolation
	}
	if p.within = in.Isolate; p.within == "" {
		p.within = was
	}
	if p.within == sandbox.IsolationNone {
		p.within = ""
	}
	if err := s.Isolator.Check(p.within); err != nil {
		return p, err
	}
	dir := path.Join(f.Layout.Worktrees, p.name)
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "ref": p.backup.Ref, "name": p.name, "commit": p.backup.Commit, "directory": dir}
	if p.within != "" {
		if shown["isolation"], err = s.isolationShown(f, sandbox.Sandbox{Isolation: p.within, Directory: dir}, nil); err != nil {
			return p, err
		}
	}
	summary, asks := fmt.Sprintf("restore %s as sandbox %s", p.backup.Ref, p.name), ConfirmOptions{}
	if was != "" && was != p.within {
		asks = replacesIsolation(shown, was, p.within)
		summary += fmt.Sprintf(", isolated by %s in place of %s", isolationWord(p.within), was)
	}
	p.Plan, err = NewPlan(SandboxRestore.Name, summary, shown, asks)
	return p, err
}

func (s sandboxService) restore(ctx context.Context, sc tool.Scope, p restorePlan) (SandboxCreated, error) {
	f := p.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return SandboxCreated{}, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return SandboxCreated{}, err
	}
	box := sandbox.Sandbox{Name: p.name, Branch: "sandbox/" + p.name, BaseRef: p.backup.Ref, Directory: path.Join(f.Layout.Worktrees, p.name), CreatedBranch: true, Isolation: p.within, CreatedAt: s.Clock.Now()}
	if box, err = s.reserve(ctx, sc, f, p.Plan, box, ""); err != nil {
		return SandboxCreated{}, err
	}
	if err := s.Repos.Restore(ctx, f.Layout.Repo, box.Directory, p.backup.Ref, box.Branch); err != nil {
		return SandboxCreated{}, errors.Join(err, s.forget(context.WithoutCancel(ctx), f, box.Name))
	}
	return SandboxCreated{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Worktree: Worktree{box.Name, box.Branch, box.Directory}, Message: "the work was restored into this sandbox", Leases: box.Leases},
		s.settled(ctx, f)
}
