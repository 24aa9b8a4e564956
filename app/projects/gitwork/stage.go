package gitwork

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxNames is the maximum number of files and hunks in one call.
const maxNames = 2000

// StageInput names what to stage or unstage.
type StageInput struct {
	Path  string   `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Files []string `json:"files,omitempty" jsonschema:"description=whole files or directories; '.' is all"`
	Hunks []string `json:"hunks,omitempty" jsonschema:"description=ids from git_changes"`
}

// Resources returns the path.
func (in StageInput) Resources() []string { return []string{in.Path} }

// Validate checks what does not need the repository.
func (in StageInput) Validate() error {
	if len(in.Files)+len(in.Hunks) == 0 {
		return project.ErrArgument.WithMessage("name files or hunks; git_changes lists them")
	}
	if len(in.Files)+len(in.Hunks) > maxNames {
		return project.ErrArgument.WithMessage("at most %d files and hunks are taken at a time; name directories", maxNames)
	}
	return nil
}

type stagePlan struct {
	plan
	top   string
	patch string
	back  bool
}

func (s service) planStage(ctx context.Context, _ tool.Scope, in StageInput) (stagePlan, error) {
	return s.staging(ctx, in, false)
}

func (s service) planUnstage(ctx context.Context, _ tool.Scope, in StageInput) (stagePlan, error) {
	return s.staging(ctx, in, true)
}

// staging computes the patch of the index: the plan shows it, and exactly it is applied, whatever the files contain by then.
func (s service) staging(ctx context.Context, in StageInput, back bool) (stagePlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return stagePlan{}, err
	}
	p := stagePlan{top: top, back: back}
	w, err := s.Trees.Look(ctx, top)
	if err != nil {
		return p, err
	}
	all, name, verb := w.Unstaged, Stage.Name, "stage"
	if back {
		all, name, verb = w.Staged, Unstage.Name, "unstage"
	}
	paths, err := chosen(all, in, w)
	if err != nil {
		return p, err
	}
	whole, err := s.Trees.Patch(ctx, top, back, paths)
	if err != nil {
		return p, err
	}
	missing := slices.Clone(in.Hunks)
	var text strings.Builder
	for _, f := range whole {
		if !within(f.Path, in.Files) {
			f = f.Only(in.Hunks, back)
		}
		if len(f.Hunks) == 0 && !within(f.Path, in.Files) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(id string) bool {
			return slices.ContainsFunc(f.Hunks, func(h project.Hunk) bool { return h.ID == id })
		})
		p.files = append(p.files, f)
		text.WriteString(f.Text())
	}
	if len(missing) > 0 {
		return p, project.ErrConflict.WithMessage("hunk %s no longer exists; git_changes lists the present ones", strings.Join(missing, ", "))
	}
	p.patch = text.String()
	sum := sha256.Sum256([]byte(p.patch))
	notes := []string{}
	if w.MoreUntracked > 0 && !back {
		notes = append(notes, fmt.Sprintf("%s that git does not know yet are not looked at here", project.Counted(w.MoreUntracked, "more file")))
	}
	context := map[string]any{"project": site.Project.Name, "directory": top, "branch": w.Branch, "changed_files": lines(p.files), "patch_sha256": hex.EncodeToString(sum[:]), "notes": notes}
	p.Plan, err = runner.NewPlan(name, fmt.Sprintf("%s %s of %s", verb, project.Counted(len(p.files), "file"), site.Title()), context,
		policy.Assessment{Strength: policy.Simple, Risk: policy.RiskLow, Scope: string(site.Project.ID) + "/git/" + verb})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", verb, site.Project.Name)
	return p, err
}

// chosen returns the files with something selected.
func chosen(all []project.FilePatch, in StageInput, w project.WorkTree) ([]string, error) {
	var paths []string
	for _, name := range w.Conflicted {
		if within(name, in.Files) {
			return nil, project.ErrArgument.WithMessage("%s has conflicts; resolve them and stage it by hand with git add", name)
		}
	}
	for _, f := range all {
		some := slices.ContainsFunc(f.Hunks, func(h project.Hunk) bool { return slices.Contains(in.Hunks, h.ID) })
		if within(f.Path, in.Files) || some {
			if some && within(f.Path, in.Files) {
				return nil, project.ErrArgument.WithMessage("%s is named as a whole and by a hunk of it; name the hunks alone, which is that part of it, or the file alone", f.Path)
			}
			if some && !f.Partly() && len(f.Hunks) > 1 {
				return nil, project.ErrArgument.WithMessage("%s can only be taken whole; name it in files", f.Path)
			}
			paths = append(paths, f.Path)
		}
	}
	for _, name := range in.Files {
		if !slices.ContainsFunc(all, func(f project.FilePatch) bool { return within(f.Path, []string{name}) }) {
			return nil, project.ErrArgument.WithMessage("nothing of %.200q differs; git_changes lists the files that do, as seen from %s", name, w.Top)
		}
	}
	if len(paths) == 0 {
		return nil, project.ErrConflict.WithMessage("hunk %s no longer exists; git_changes lists the present ones", strings.Join(in.Hunks, ", "))
	}
	return paths, nil
}

// StageAnswer is what was staged or unstaged.
type StageAnswer struct {
	Top    string   `json:"top"`
	Files  []string `json:"files"`
	Staged bool     `json:"staged"`
}

func (s service) stage(ctx context.Context, _ tool.Scope, p stagePlan) (StageAnswer, error) {
	out := StageAnswer{Top: p.top, Files: []string{}, Staged: !p.back}
	for _, f := range p.files {
		out.Files = append(out.Files, f.Path)
	}
	return out, s.Trees.Stage(ctx, p.top, p.patch, p.back)
}

// CommitInput is a commit to make.
type CommitInput struct {
	Path    string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Message string `json:"message,omitempty" jsonschema:"description=required unless amend\\, which keeps it"`
	Amend   bool   `json:"amend,omitempty" jsonschema:"description=replace the last commit"`
	Hooks   bool   `json:"hooks,omitempty" jsonschema:"description=run the repository's hooks"`
}

// Resources returns the path.
func (in CommitInput) Resources() []string { return []string{in.Path} }

// Validate checks the message.
func (in CommitInput) Validate() error {
	if in.Message == "" && !in.Amend {
		return project.ErrArgument.WithMessage("a commit needs a message; say what the change does")
	}
	return message(in.Message)
}

func message(text string) error {
	if strings.ContainsRune(text, 0) {
		return project.ErrArgument.WithMessage("the message cannot have a NUL character")
	}
	if text != "" && strings.TrimSpace(text) == "" {
		return project.ErrArgument.WithMessage("the message is empty; say what the change does")
	}
	return nil
}

type commitPlan struct {
	plan
	work  project.StagedWork
	input CommitInput
}

func (s service) planCommit(ctx context.Context, _ tool.Scope, in CommitInput) (commitPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return commitPlan{}, err
	}
	p := commitPlan{input: in}
	if p.work, err = s.Trees.PlanCommit(ctx, top, in.Amend); err != nil {
		return p, err
	}
	p.files = p.work.Files
	old := p.work.Amends
	if old != nil {
		if in.Message = cmp.Or(strings.TrimSpace(in.Message), old.Message); old.Nothing && in.Message == old.Message {
			return p, project.ErrArgument.WithMessage("nothing is staged in %s, and the message is as it was, so there is nothing to amend; stage files, or give another message", top)
		}
		p.input.Message = in.Message
	}
	context := map[string]any{"project": site.Project.Name, "directory": top, "branch": p.work.Branch, "stands_on": p.work.Head, "message": strings.TrimSpace(in.Message), "commits_as": p.work.Author,
		"changed_files": lines(p.files), "index_sha256": p.work.Digest}
	notes, risk := hooked(context, p.work.Hooks, in.Hooks, policy.RiskMedium)
	if p.work.Other != "" {
		context["concludes_merge_with"] = p.work.Other
	}
	if p.work.Signed {
		notes = append(notes, "the commit is signed, as your git configuration says")
	}
	if p.work.Branch == "" {
		notes = append(notes, "no branch is checked out: only the reflog will have this commit")
	}
	summary := fmt.Sprintf("commit %s of %s: %s", project.Counted(len(p.files), "file"), site.Title(), runner.OneLine(in.Message))
	if old != nil {
		summary = fmt.Sprintf("replace the last commit of %s (%.10s) by %s: %s", site.Title(), old.Commit, project.Counted(len(p.files), "file"), runner.OneLine(in.Message))
		context["rewrites"], context["message_before"] = commits([]project.GitCommit{old.GitCommit}, 0), old.Message
		notes = append(notes, "the commit as it was is then in the reflog alone; git reset --soft "+old.Commit+" brings it back")
		if len(old.Remotes) > 0 {
			context["remotes_have_it"] = old.Remotes
			notes = append(notes, "a remote has the commit that is rewritten ("+strings.Join(old.Remotes, ", ")+"): others may build on it, and a push then has to replace it")
			risk = policy.RiskHigh
		}
	}
	context["notes"] = notes
	p.Plan, err = runner.NewPlan(Commit.Name, summary, context,
		policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: string(site.Project.ID) + "/git/commit"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "commit", site.Project.Name)
	return p, err
}

// hooked adds to a plan which hooks the repository has, and whether they run. If some do, the plan is high risk: they are programs of the repository.
func hooked(context map[string]any, hooks []project.GitHook, run bool, risk policy.Risk) ([]string, policy.Risk) {
	if len(hooks) == 0 {
		return []string{}, risk
	}
	names := make([]string, 0, len(hooks))
	shown := make([]map[string]any, 0, len(hooks))
	for _, h := range hooks {
		names, shown = append(names, h.Name), append(shown, map[string]any{"name": h.Name, "path": h.Path, "sha256": h.SHA256})
	}
	if !run {
		return []string{"the repository's hooks are not run: " + strings.Join(names, ", ")}, risk
	}
	context["hooks"] = shown
	context["not_bound"] = []string{"what the hooks start in turn, and what they change"}
	return []string{"the repository's hooks run: " + strings.Join(names, ", ")}, policy.RiskHigh
}

// CommitAnswer is a commit that was made.
type CommitAnswer struct {
	Top     string   `json:"top"`
	Branch  string   `json:"branch"`
	Commit  string   `json:"commit"`
	Files   []string `json:"files"`
	Message string   `json:"message"`
}

func (s service) commit(ctx context.Context, _ tool.Scope, p commitPlan) (CommitAnswer, error) {
	out := CommitAnswer{Top: p.work.Top, Branch: p.work.Branch, Message: strings.TrimSpace(p.input.Message), Files: []string{}}
	for _, f := range p.files {
		out.Files = append(out.Files, f.Path)
	}
	var err error
	out.Commit, err = s.Trees.Commit(ctx, p.work, out.Message, p.input.Hooks)
	return out, err
}
