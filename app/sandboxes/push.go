package sandboxes

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// PushInput names a sandbox whose branch, or whose base branch, is to be pushed.
type PushInput struct {
	URL    string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name   string `json:"name" jsonschema:"minLength=1"`
	Branch string `json:"branch,omitempty" jsonschema:"description=local branch (default: the sandbox's)"`
	Force  bool   `json:"force,omitempty" jsonschema:"description=commits on the remote's branch may be replaced"`
}

// Resources returns the project.
func (in PushInput) Resources() []string { return []string{in.URL} }

// SandboxPushed is a branch after it was pushed to origin.
type SandboxPushed struct {
	Status  string `json:"status"`
	Project string `json:"project"`
	URL     string `json:"git_url"`
	Name    string `json:"name"`
	Branch  string `json:"branch"`
	Base    string `json:"base"` // the branch to merge the work into, by its name at the remote
	Commit  string `json:"commit"`
	Commits int    `json:"commits"`
	Open    string `json:"pull_request_url,omitempty"` // page that opens a pull request
	Title   string `json:"title,omitempty"`            // for a pull request: the newest commit's subject
	Message string `json:"message"`
}

type pushPlan struct {
	Plan
	found  FoundProject
	box    sandbox.Sandbox
	access sandboxport.Access
	push   sandboxport.PushPlan
}

// Remotes returns the URL that is pushed to, which the plan shows.
func (p pushPlan) Remotes() []string { return []string{p.access.URL} }

func (s sandboxService) planPush(ctx context.Context, _ tool.Scope, in PushInput) (pushPlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return pushPlan{}, err
	}
	p := pushPlan{found: f, box: box}
	if p.access, err = s.access(ctx, f); err != nil {
		return p, err
	}
	s.Repos.Fetch(ctx, f.Layout.Repo, p.access) //nolint:errcheck // the plan itself asks the remote
	if p.push, err = s.Repos.PlanPush(ctx, f.Layout.Repo, p.access, box.Directory, in.Branch); err != nil {
		return p, err
	}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "remote": p.access.URL, "branch": p.push.Branch, "commit": p.push.Commit}
	if p.push.Old == p.push.Commit {
		p.Plan, err = NewPlan(SandboxPush.Name, fmt.Sprintf("nothing to do: %s has %s already", p.access.URL, p.push.Branch), shown, ConfirmOptions{Nothing: true})
		return p, err
	}
	commits := make([]string, 0, len(p.push.Commits))
	for _, c := range p.push.Commits {
		commits = append(commits, fmt.Sprintf("%.10s %s (%s)", c.Commit, c.Subject, c.Author))
	}
	shown["commits"], shown["notes"] = commits, []string{"the repository's hooks do not run"}
	what := "a new branch"
	if p.push.Old != "" {
		what, shown["stands_on"] = counted(len(commits), "commit"), p.push.Old
	}
	asks := ConfirmOptions{Strength: policy.Preview}
	if p.push.Replaced > 0 {
		if !in.Force {
			return p, sandbox.ErrUnmerged.WithMessage("origin's %s has %s that the branch does not have; bring them in (sandbox_update with from: %q), or call again with force: true to replace them",
				p.push.Branch, counted(p.push.Replaced, "commit"), "origin/"+p.push.Branch)
		}
		what += fmt.Sprintf(", replacing %s there", counted(p.push.Replaced, "commit"))
		asks.Risk = policy.RiskHigh
	}
	p.Plan, err = NewPlan(SandboxPush.Name, fmt.Sprintf("push %s of %s to %s: %s", p.push.Branch, f.Project.Name, p.access.URL, what), shown, asks)
	return p, err
}

func (s sandboxService) push(ctx context.Context, _ tool.Scope, p pushPlan) (SandboxPushed, error) {
	f := p.found
	out := SandboxPushed{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: p.box.Name, Branch: p.push.Branch, Commit: p.push.Commit, Commits: len(p.push.Commits), Message: "origin had it already"}
	if !p.NoOp() {
		release, err := s.manager.LockProject(ctx, f.URL)
		if err != nil {
			return SandboxPushed{}, err
		}
		defer release()
		if err := s.Repos.Push(ctx, f.Layout.Repo, p.access, p.push); err != nil {
			return SandboxPushed{}, err
		}
		out.Message = "origin has " + p.push.Branch
	}
	around, err := s.Repos.Compare(ctx, f.Layout.Repo, p.box.Directory, sandboxport.Compare{BaseRef: p.box.BaseRef, Commits: 1})
	if err != nil {
		return out, nil //nolint:nilerr // it is pushed; the rest is optional
	}
	if out.Base = strings.TrimPrefix(around.Base, "origin/"); len(around.Commits) > 0 {
		out.Title = around.Commits[0].Subject
	}
	if out.Base != out.Branch {
		if u, err := git.ParseURL(p.access.URL); err == nil {
			out.Open = sandbox.PullRequestURL(u, out.Base, out.Branch)
		}
	}
	return out, nil
}
