package sandboxes

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The typed handles.
var (
	SandboxCreate  = tool.Ref[CreateInput, SandboxCreated]{Name: "opencode_sandbox_create"}
	SandboxList    = tool.Ref[URLInput, SandboxListing]{Name: "opencode_sandbox_list"}
	SandboxDelete  = tool.Ref[DeleteInput, SandboxDone]{Name: "opencode_sandbox_delete"}
	SandboxReset   = tool.Ref[ResetInput, ResetDone]{Name: "opencode_sandbox_reset"}
	SandboxDiff    = tool.Ref[DiffInput, SandboxComparison]{Name: "sandbox_diff"}
	SandboxMerge   = tool.Ref[MergeInput, SandboxMerged]{Name: "sandbox_merge"}
	SandboxUpdate  = tool.Ref[UpdateInput, SandboxMerged]{Name: "sandbox_update"}
	SandboxArchive = tool.Ref[ArchiveInput, SandboxDone]{Name: "sandbox_archive"}
	SandboxPush    = tool.Ref[PushInput, SandboxPushed]{Name: "sandbox_push"}
	SandboxAgent   = tool.Ref[AgentInput, SandboxAgentDone]{Name: "sandbox_agent"}
	SandboxReview  = tool.Ref[BoxInput, ReviewComments]{Name: "sandbox_review"}
	SandboxComment = tool.Ref[CommentInput, ReviewComments]{Name: "sandbox_comment"}
	SandboxApply   = tool.Ref[ApplyInput, SandboxApplied]{Name: "sandbox_apply"}
	SandboxRestore = tool.Ref[RestoreInput, SandboxCreated]{Name: "sandbox_restore"}
	SandboxIsolate = tool.Ref[IsolateInput, SandboxIsolated]{Name: "sandbox_isolate"}
	SandboxBackups = tool.Ref[URLInput, BackupList]{Name: "sandbox_backups"}
)

type sandboxService struct {
	Deps
	manager ProjectManager
}

// SandboxEntries returns the tools of the seed.
func SandboxEntries(d Deps) []tool.Entry {
	s := sandboxService{Deps: d, manager: ProjectManager{Deps: d}}
	return []tool.Entry{
		bind.Command(SandboxCreate, PlanConfirmsWhen(ChangeSpec("Create sandbox", "Create a git worktree (sandbox): a directory, branch and ports of its own. Works without a running server.", createSchema), "when it runs a start_command, a set-up or an agent"), s.planCreate, s.create),
		bind.Query(SandboxList, ReadSpec("List sandboxes", "List a project's sandboxes with branch, changes, and commits ahead and behind.", sandboxUrlSchema), s.list),
		bind.Command(SandboxDelete, PlanConfirmsWhen(DestroySpec("Delete sandbox", "Delete a sandbox. One with unsaved work is refused with the list; force deletes it and keeps the work under a backup ref.", deleteSchema), "when work would be lost"), s.planDelete, s.delete),
		bind.Command(SandboxReset, DestroySpec("Reset sandbox", "Reset a sandbox to the default branch. Work that would be lost is kept under backup refs, which are in the answer.", resetSchema), s.planReset, s.reset),
	}
}

// WorkEntries returns the tools that merge or publish the work of a sandbox. They are not the seed's.
func WorkEntries(d Deps) []tool.Entry {
	s := sandboxService{Deps: d, manager: ProjectManager{Deps: d}}
	return []tool.Entry{
		bind.Query(SandboxDiff, ReadSpec("Compare sandbox", "Compare a sandbox with its base branch: commits, changed files and lines, also uncommitted and untracked.", diffSchema), s.diff),
		bind.Query(SandboxReview, ReadSpec("Review comments", "List the users' comments on a sandbox's work by file and line, open and settled. Read them before you continue the work.", reviewSchema), s.review),
		bind.Command(SandboxMerge, ConfirmWhen(MergeSpec("Merge sandbox", "Merge a sandbox's commits into its base branch. Refused on conflicts (sandbox_update first) and over uncommitted changes. "+
			"The plan has every commit and file; the user approves it.", mergeSchema), "unless there is nothing to merge"), s.planMerge, s.merge),
		bind.Command(SandboxUpdate, ConfirmWhen(MergeSpec("Update sandbox", "Merge the base branch into a sandbox, or rebase the sandbox onto it. Conflicts are listed and nothing is changed: run git merge in the sandbox, resolve and commit.",
			updateSchema), "unless there is nothing to merge"), s.planUpdate, s.merge),
		bind.Command(SandboxPush, ConfirmWhen(MergeSpec("Push sandbox", "Push a sandbox's branch to its remote, with the page that opens a pull request. The user approves remote, branch and commits.", pushSchema), "unless the remote has it"), s.planPush, s.push),
		bind.Command(SandboxAgent, ConfirmWhen(ChangeSpec("Agent in sandbox", "Start an agent (opencode, claude, codex) on a prompt in a sandbox, in the background, or stop it. The user approves the exact command. opencode_sandbox_list shows its status.",
			agentSchema), "unless there is none to stop"), s.planSandboxAgent, s.agent),
		bind.Command(SandboxArchive, PlanConfirmsWhen(DestroySpec("Archive sandbox", "Delete a sandbox whose work its base branch has. Its commits are kept under a backup ref. One with other work is refused.", archiveSchema), ""), s.planArchive, s.delete),
	}
}

// UserOnlyEntries returns the tools for users only.
func UserOnlyEntries(d Deps) []tool.Entry {
	s := sandboxService{Deps: d, manager: ProjectManager{Deps: d}}
	entries := []tool.Entry{
		bind.Query(SandboxBackups, ReadSpec("List backups", "List the backups of sandboxes that were deleted or reset.", sandboxUrlSchema), s.backups),
		bind.Command(SandboxRestore, PlanConfirmsWhen(ChangeSpec("Restore sandbox", "Create a sandbox from a backup.", restoreSchema), "when it removes or replaces an isolation"), s.planRestore, s.restore),
		bind.Command(SandboxIsolate, ConfirmWhen(MergeSpec("Isolate sandbox", "Change or remove the isolation of a sandbox's programs.", isolateSchema), "unless it already has this isolation"), s.planIsolate, s.isolate),
		bind.Command(SandboxComment, MergeSpec("Comment on sandbox", "Comment on a sandbox's work for the agent in it, settle a comment, or mark the work as seen.", commentSchema), s.planComment, s.comment),
		bind.Command(SandboxApply, ConfirmWhen(MergeSpec("Apply sandbox", "Apply a sandbox's changes to another worktree, without committing them.", applySchema), "unless there is nothing to apply"), s.planApply, s.apply),
	}
	for i := range entries {
		entries[i].Spec.UserOnly = true
	}
	return entries
}

// SandboxItem is a sandbox in a list.
type SandboxItem struct {
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
	Removable bool              `json:"removable"` // cleanup would delete it
	Cleanup   string            `json:"cleanup"`   // the reason for either
	Agent     *AgentView        `json:"agent,omitempty"`
	Isolation string            `json:"isolation,omitempty"`
	Server    *OwnServer        `json:"server,omitempty"` // of its own
}

// SandboxListing is a project's sandboxes.
type SandboxListing struct {
	Status    string        `json:"status"`
	Project   string        `json:"project"`
	URL       string        `json:"git_url"`
	Worktrees []string      `json:"worktrees"`
	Count     int           `json:"count"`
	Sandboxes []SandboxItem `json:"sandboxes"`
}

func (s sandboxService) list(ctx context.Context, _ tool.Scope, in URLInput) (SandboxListing, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return SandboxListing{}, err
	}
	found, err := s.Repos.Survey(ctx, f.Layout.Repo)
	if err != nil {
		return SandboxListing{}, err
	}
	forgotten, err := s.forgotten(ctx, f, found)
	if err != nil {
		return SandboxListing{}, err
	}
	found = append(found, forgotten...)
	out := SandboxListing{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Worktrees: []string{}, Sandboxes: []SandboxItem{}}
	findings := make([]sandbox.CleanupCandidate, 0, len(found))
	for _, t := range found {
		box, recorded := byDirectory(f.Project, t.Directory)
		if !recorded {
			box = sandbox.Sandbox{Name: path.Base(t.Directory), Directory: t.Directory}
			t.Err = cmp.Or(t.Err, "not created by Countersign; git worktree remove deletes it")
		}
		agent := s.agentView(ctx, f, box)
		findings = append(findings, sandbox.CleanupCandidate{Sandbox: box, Changes: t.Changes, Unpushed: t.Unpushed, Locked: t.Locked, Missing: t.Missing || t.Prunable,
			Busy: f.Project.Doing != nil && f.Project.Doing.Sandbox == box.Name || s.preparing(box) || agent != nil && agent.Running(), Problem: t.Err})
		out.Worktrees = append(out.Worktrees, t.Directory)
		out.Sandboxes = append(out.Sandboxes, SandboxItem{Name: box.Name, Branch: t.Branch, Directory: t.Directory, Head: t.Head, Dirty: t.Dirty, Changes: t.Changes, Ahead: t.Ahead, Behind: t.Behind,
			Unpushed: t.Unpushed, Locked: t.Locked, Prunable: t.Prunable, CreatedAt: tool.NilIfZero(box.CreatedAt), Leases: box.Leases, Agent: agent, Isolation: box.Isolation, Server: ownView(f, box)})
	}
	for _, v := range sandbox.PlanCleanup(findings, s.Clock.Now(), sandbox.DefaultCleanupAge) {
		for i := range out.Sandboxes {
			if item := &out.Sandboxes[i]; item.Directory == v.Directory {
				item.Removable, item.Cleanup = v.Remove, v.Reason
			}
		}
	}
	out.Count = len(out.Worktrees)
	return out, nil
}

// forgotten returns the recorded sandboxes that git no longer knows; they still hold their leases and names.
func (s sandboxService) forgotten(ctx context.Context, f FoundProject, known []sandboxport.Tree) (out []sandboxport.Tree, err error) {
	var dirs []string
	for _, name := range sandbox.SandboxNames(f.Project) {
		box := f.Project.Sandboxes[sandbox.SandboxKey(name)]
		if !slices.ContainsFunc(known, func(t sandboxport.Tree) bool { return t.Directory == box.Directory }) {
			dirs = append(dirs, box.Directory)
			out = append(out, sandboxport.Tree{Directory: box.Directory, Branch: box.Branch, Missing: true, Prunable: true})
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	losses, err := s.Repos.Losses(ctx, f.Layout.Repo, dirs)
	for _, l := range losses {
		if i := slices.Index(dirs, l.Directory); i >= 0 {
			out[i].Missing, out[i].Prunable, out[i].Dirty, out[i].Changes = false, false, true, len(l.Changes)+l.More
		}
	}
	return out, err
}

func byDirectory(p sandbox.Project, dir string) (sandbox.Sandbox, bool) {
	for _, box := range p.Sandboxes {
		if box.Directory == dir {
			return box, true
		}
	}
	return sandbox.Sandbox{}, false
}

// ready returns the project after finishing or undoing the interrupted operations of dead processes, so that the plan is about the resulting state.
func (s sandboxService) ready(ctx context.Context, url string) (FoundProject, error) {
	f, err := s.Must(ctx, url)
	if err != nil || !s.manager.Interrupted(f.Project) {
		return f, err
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return f, err
	}
	defer release()
	if _, err := s.manager.Project(ctx, f); err != nil {
		return f, err
	}
	return s.Must(ctx, url)
}

// readySandbox returns the sandbox with that name in a project that is ready. It fails with sandbox.ErrBusy while its set-up runs.
func (s sandboxService) readySandbox(ctx context.Context, url, name string) (FoundProject, sandbox.Sandbox, error) {
	f, err := s.ready(ctx, url)
	if err != nil {
		return f, sandbox.Sandbox{}, err
	}
	box, err := must(f, name)
	if err == nil && s.preparing(box) {
		err = sandbox.ErrBusy.WithMessage("the set-up of sandbox %s is still being run; try again when that is over, at most %s a command%s", box.Name, sandbox.CommandTimeout, s.Away(box.Preparing))
	}
	return f, box, err
}

func (s sandboxService) preparing(box sandbox.Sandbox) bool {
	return box.Preparing != "" && !s.Owner.Judge(box.Preparing).Dead()
}

// must returns the sandbox with that name, ignoring case. It fails with sandbox.ErrNotFound, listing the existing ones.
func must(f FoundProject, name string) (sandbox.Sandbox, error) {
	box, known := f.Project.Sandboxes[strings.ToLower(name)]
	if known {
		return box, nil
	}
	names := sandbox.SandboxNames(f.Project)
	if len(names) == 0 {
		return box, sandbox.ErrNotFound.WithMessage("project %s has no sandbox %q, and no other", f.Project.Name, name)
	}
	return box, sandbox.ErrNotFound.WithMessage("project %s has no sandbox %q; there are: %s", f.Project.Name, name, strings.Join(names, ", ")).WithDetails(map[string]any{"sandboxes": names})
}

// unsavedIn returns the unsaved work of one sandbox: in its directory, and on its branch if that is no longer checked out there.
func (s sandboxService) unsavedIn(ctx context.Context, f FoundProject, box sandbox.Sandbox) ([]sandboxport.Loss, error) {
	losses, err := s.Repos.Losses(ctx, f.Layout.Repo, []string{box.Directory})
	return slices.DeleteFunc(losses, func(l sandboxport.Loss) bool {
		return l.Directory != box.Directory && (l.Branch != box.Branch || !box.CreatedBranch)
	}), err
}

// lost summarises losses in a few words.
func lost(losses []sandboxport.Loss) string {
	changes, commits, more := 0, 0, 0
	for _, l := range losses {
		changes, commits, more = changes+len(l.Changes), commits+len(l.Commits), more+l.More
	}
	switch {
	case more > 0:
		return fmt.Sprintf("%s, %s and %d more of them", counted(changes, "change"), counted(commits, "commit"), more)
	case commits == 0:
		return counted(changes, "change")
	case changes == 0:
		return counted(commits, "commit")
	}
	return fmt.Sprintf("%s and %s", counted(changes, "change"), counted(commits, "commit"))
}

// BackupList is a list of backups.
type BackupList struct {
	Status  string               `json:"status"`
	Project string               `json:"project"`
	URL     string               `json:"git_url"`
	Backups []sandboxport.Backup `json:"backups"`
}

func (s sandboxService) backups(ctx context.Context, _ tool.Scope, in URLInput) (BackupList, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return BackupList{}, err
	}
	found, err := s.Repos.Backups(ctx, f.Layout.Repo)
	if found == nil {
		found = []sandboxport.Backup{}
	}
	return BackupList{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Backups: found}, err
}
