package gitwork

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PushInput is a branch to push.
type PushInput struct {
	Path   string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Branch string `json:"branch,omitempty" jsonschema:"description=default: the one checked out"`
	Remote string `json:"remote,omitempty" jsonschema:"description=default: as git is configured"`
	Force  bool   `json:"force_with_lease,omitempty" jsonschema:"description=commits there that were seen may be replaced"`
	Hooks  bool   `json:"hooks,omitempty" jsonschema:"description=run the repository's pre-push hook"`
}

// Resources returns the path.
func (in PushInput) Resources() []string { return []string{in.Path} }

type pushPlan struct {
	plan
	push  project.PushPlan
	input PushInput
}

func (s service) planPush(ctx context.Context, _ tool.Scope, in PushInput) (pushPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return pushPlan{}, err
	}
	p := pushPlan{input: in}
	if p.push, err = s.Trees.PlanPush(ctx, top, in.Remote, in.Branch); err != nil {
		return p, err
	}
	m, url := p.push, shown(p.push.URL)
	p.remotes = []string{m.URL}
	context := map[string]any{"project": site.Project.Name, "directory": top, "remote": url, "branch": m.Branch, "to_branch": m.Target, "commit": m.Commit, "stood_on": m.Old, "commits": commits(m.Commits, m.More)}
	notes, risk := hooked(context, m.Hooks, in.Hooks, policy.RiskMedium)
	if m.LFSHere && !in.Hooks {
		notes = append(notes, "files kept by git-lfs are uploaded by its pre-push hook, which is not run: git lfs push does it, or hooks")
	}
	what := project.Counted(len(m.Commits)+m.More, "commit")
	switch {
	case m.Old == m.Commit:
		p.nothing, what = true, "nothing, it is there already"
	case m.Old == "":
		what += ", as a new branch"
		notes = append(notes, "the commits are those that no branch of "+m.Remote+" had when it was last fetched")
	case m.Lost > 0 && !in.Force:
		return p, project.ErrArgument.WithMessage("%s of %s has %s that %s does not have; pull first (git_pull), or replace them with force_with_lease: true (countersign git push --force-with-lease)",
			m.Target, url, project.Counted(m.Lost, "commit"), m.Branch)
	case m.Lost > 0:
		what += ", replacing " + project.Counted(m.Lost, "commit") + " that are there"
		context["commits_taken_off"] = commits(m.Replaced, m.Lost-len(m.Replaced))
		notes, risk = append(notes, "--force-with-lease: it is refused if the branch has moved since it was seen there"), policy.RiskHigh
	}
	if m.Upstream && !p.nothing {
		notes = append(notes, m.Branch+" then follows "+m.Remote+"/"+m.Target)
	}
	context["notes"] = notes
	p.Plan, err = runner.NewPlan(Push.Name, fmt.Sprintf("push %s of %s to %s: %s", m.Branch, site.Project.Name, url, what), context,
		policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: string(site.Project.ID) + "/git/push"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "push", site.Project.Name)
	return p, err
}

// PushAnswer is a branch after it was pushed.
type PushAnswer struct {
	Top      string `json:"top"`
	Remote   string `json:"remote"`
	URL      string `json:"url"`
	Branch   string `json:"branch"`
	Target   string `json:"to_branch"`
	Commit   string `json:"commit"`
	Commits  int    `json:"commits"`
	Replaced int    `json:"replaced,omitempty"`
}

func (s service) push(ctx context.Context, _ tool.Scope, p pushPlan) (PushAnswer, error) {
	m := p.push
	out := PushAnswer{Top: m.Top, Remote: m.Remote, URL: shown(m.URL), Branch: m.Branch, Target: m.Target, Commit: m.Commit, Commits: len(m.Commits) + m.More, Replaced: m.Lost}
	if p.nothing {
		return out, nil
	}
	return out, s.Trees.Push(ctx, m, p.input.Hooks)
}

// PullInput names a worktree to update.
type PullInput struct {
	Path  string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Merge bool   `json:"merge,omitempty" jsonschema:"description=a merge commit may be made"`
}

// Resources returns the path.
func (in PullInput) Resources() []string { return []string{in.Path} }

type pullPlan struct {
	plan
	pull project.PullPlan
}

func (s service) planPull(ctx context.Context, _ tool.Scope, in PullInput) (pullPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return pullPlan{}, err
	}
	var p pullPlan
	if p.pull, err = s.Trees.PlanPull(ctx, top, in.Merge); err != nil {
		return p, err
	}
	m := p.pull
	p.files, p.remotes, p.nothing = m.Files, []string{m.URL}, m.Nothing
	context := map[string]any{"project": site.Project.Name, "directory": top, "remote": shown(m.URL), "branch": m.Branch, "takes_from": m.Remote + "/" + m.Source, "stands_on": m.Old, "commit": m.Commit,
		"commits": commits(m.Commits, m.More), "changed_files": named(lines(m.Files)), "notes": []string{"the repository's hooks do not run"}}
	how := "moving it forward"
	switch {
	case m.Nothing:
		how = "nothing, it has them all"
	case m.Merge:
		how, context["commits_as"] = "with a merge commit", m.Author
	}
	p.Plan, err = runner.NewPlan(Pull.Name, fmt.Sprintf("bring %s into %s of %s: %s, %s", project.Counted(len(m.Commits)+m.More, "commit"), m.Branch, site.Project.Name, project.Counted(len(m.Files), "file"), how), context,
		policy.Assessment{Strength: policy.Simple, Risk: policy.RiskMedium, Scope: string(site.Project.ID) + "/git/pull"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "pull", site.Project.Name)
	return p, err
}

// PullAnswer is a branch after it was updated.
type PullAnswer struct {
	Top      string   `json:"top"`
	URL      string   `json:"url"`
	Branch   string   `json:"branch"`
	Previous string   `json:"previous"`
	Commit   string   `json:"commit"`
	Commits  int      `json:"commits"`
	Files    []string `json:"files"`
	Merged   bool     `json:"merged"`
}

func (s service) pull(ctx context.Context, _ tool.Scope, p pullPlan) (PullAnswer, error) {
	m := p.pull
	out := PullAnswer{Top: m.Top, URL: shown(m.URL), Branch: m.Branch, Previous: m.Old, Commit: m.Old, Commits: len(m.Commits) + m.More, Files: []string{}, Merged: m.Merge}
	for _, f := range m.Files {
		out.Files = append(out.Files, f.Path)
	}
	if m.Nothing {
		return out, nil
	}
	var err error
	out.Commit, err = s.Trees.Pull(ctx, m)
	return out, err
}
