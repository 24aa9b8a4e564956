package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// BranchInput names a branch to create or delete.
type BranchInput struct {
	Path   string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Name   string `json:"name" jsonschema:"minLength=1"`
	From   string `json:"from,omitempty" jsonschema:"description=branch or commit (default: the one checked out)"`
	Delete bool   `json:"delete,omitempty"`
}

// Resources returns the path.
func (in BranchInput) Resources() []string { return []string{in.Path} }

// Validate rejects contradictions.
func (in BranchInput) Validate() error {
	if in.Delete && in.From != "" {
		return project.ErrArgument.WithMessage("from is for a new branch, and this one is to be deleted; leave it out")
	}
	return nil
}

type branchPlan struct {
	plan
	change project.BranchChange
}

func (s service) planBranch(ctx context.Context, _ tool.Scope, in BranchInput) (branchPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return branchPlan{}, err
	}
	var p branchPlan
	if p.change, err = s.Trees.PlanBranch(ctx, top, in.Name, in.From, in.Delete); err != nil {
		return p, err
	}
	context := map[string]any{"project": site.Project.Name, "directory": top, "branch": in.Name, "commit": p.change.Commit}
	verb := "make"
	if in.Delete {
		verb = "delete"
		context["notes"] = []string{"all its commits are in " + p.change.Into + " too"}
	}
	p.Plan, err = runner.NewPlan(Branch.Name, fmt.Sprintf("%s branch %s of %s at %.10s", verb, in.Name, site.Project.Name, p.change.Commit), context,
		policy.Assessment{Strength: policy.Simple, Risk: policy.RiskLow, Scope: string(site.Project.ID) + "/git/branch"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "branch", site.Project.Name)
	return p, err
}

// BranchAnswer is a branch that was made or deleted.
type BranchAnswer struct {
	Top     string `json:"top"`
	Name    string `json:"name"`
	Commit  string `json:"commit"`
	Deleted bool   `json:"deleted"`
}

func (s service) branch(ctx context.Context, _ tool.Scope, p branchPlan) (BranchAnswer, error) {
	return BranchAnswer{Top: p.change.Top, Name: p.change.Name, Commit: p.change.Commit, Deleted: p.change.Delete}, s.Trees.Branch(ctx, p.change)
}

// SwitchInput is a branch to check out.
type SwitchInput struct {
	Path   string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Name   string `json:"name" jsonschema:"minLength=1"`
	Create bool   `json:"create,omitempty"`
	From   string `json:"from,omitempty" jsonschema:"description=with create: branch or commit"`
}

// Resources returns the path.
func (in SwitchInput) Resources() []string { return []string{in.Path} }

// Validate rejects contradictions.
func (in SwitchInput) Validate() error {
	if in.From != "" && !in.Create {
		return project.ErrArgument.WithMessage("from is for create: true")
	}
	return nil
}

type switchPlan struct {
	plan
	move project.BranchMove
}

// maxNamed is the number of files named in a plan that only applies committed changes.
const maxNamed = 200

func named(files []string) []string {
	if len(files) > maxNamed {
		return append(append([]string{}, files[:maxNamed]...), fmt.Sprintf("and %d more", len(files)-maxNamed))
	}
	return append([]string{}, files...)
}

func (s service) planSwitch(ctx context.Context, _ tool.Scope, in SwitchInput) (switchPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return switchPlan{}, err
	}
	var p switchPlan
	if p.move, err = s.Trees.PlanSwitch(ctx, top, in.Name, in.From, in.Create); err != nil {
		return p, err
	}
	m := p.move
	context := map[string]any{"project": site.Project.Name, "directory": top, "leaves": m.From, "stands_on": m.Old, "branch": m.Branch, "commit": m.Commit, "changed_files": named(m.Files)}
	notes := []string{"the repository's hooks do not run"}
	if len(m.Dirty) > 0 {
		notes = append(notes, "not committed, and left as it is: "+project.Counted(len(m.Dirty), "file"))
	}
	if m.Track != "" {
		context["follows"] = m.Track
	}
	context["notes"] = notes
	what := "switch " + site.Project.Name + " to " + m.Branch
	if m.Create {
		what = "make branch " + m.Branch + " and switch " + site.Project.Name + " to it"
	}
	p.nothing = m.Branch == m.From && !m.Create
	p.Plan, err = runner.NewPlan(Switch.Name, what+": "+project.Counted(len(m.Files), "file")+" change", context,
		policy.Assessment{Strength: policy.Simple, Risk: policy.RiskMedium, Scope: string(site.Project.ID) + "/git/switch"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "switch", site.Project.Name)
	return p, err
}

// SwitchAnswer is the branch that is checked out now.
type SwitchAnswer struct {
	Top      string `json:"top"`
	Branch   string `json:"branch"`
	Commit   string `json:"commit"`
	Previous string `json:"previous"`
	Created  bool   `json:"created"`
}

func (s service) switchTo(ctx context.Context, _ tool.Scope, p switchPlan) (SwitchAnswer, error) {
	m := p.move
	out := SwitchAnswer{Top: m.Top, Branch: m.Branch, Commit: m.Commit, Previous: m.From, Created: m.Create}
	if p.nothing {
		return out, nil
	}
	return out, s.Trees.Switch(ctx, m)
}

// StashInput stashes changes, restores them, or drops a stash.
type StashInput struct {
	Path    string `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Action  string `json:"action" jsonschema:"enum=push,enum=pop,enum=apply,enum=drop,description=pop forgets the stash afterwards"`
	Message string `json:"message,omitempty" jsonschema:"description=of push"`
	Stash   string `json:"stash,omitempty" jsonschema:"description=of pop\\, apply and drop (default: the newest)"`
}

// Resources returns the path.
func (in StashInput) Resources() []string { return []string{in.Path} }

// Validate rejects contradictions.
func (in StashInput) Validate() error {
	if in.Action == "push" && in.Stash != "" || in.Action != "push" && in.Message != "" {
		return project.ErrArgument.WithMessage("message is for push, and stash for pop, apply and drop")
	}
	return message(in.Message)
}

type stashPlan struct {
	plan
	stash project.StashPlan
	input StashInput
}

func (s service) planStash(ctx context.Context, _ tool.Scope, in StashInput) (stashPlan, error) {
	site, top, err := s.site(ctx, in.Path)
	if err != nil {
		return stashPlan{}, err
	}
	p := stashPlan{input: in}
	summary := "stash the uncommitted changes of "
	risk := policy.RiskMedium
	if in.Action == "push" {
		p.stash, err = s.Trees.PlanStash(ctx, top)
	} else if in.Action == "drop" {
		if p.stash, err = s.Trees.PlanDrop(ctx, top, in.Stash); err == nil {
			summary, risk = "forget "+p.stash.Stash.Name+" of ", policy.RiskHigh
		}
	} else if p.stash, err = s.Trees.PlanUnstash(ctx, top, in.Stash); err == nil {
		summary = "bring back " + p.stash.Stash.Name + " into "
	}
	if err != nil {
		return p, err
	}
	p.files = p.stash.Files
	var text strings.Builder
	for _, f := range p.files {
		text.WriteString(f.Text())
	}
	sum := sha256.Sum256([]byte(text.String()))
	context := map[string]any{"project": site.Project.Name, "directory": top, "branch": p.stash.Branch, "stands_on": p.stash.Head, "changed_files": lines(p.files), "patch_sha256": hex.EncodeToString(sum[:])}
	switch in.Action {
	case "push":
		context["message"] = in.Message
		context["notes"] = []string{"the files are then as in the last commit: new ones are removed, ignored ones stay; countersign git stash pop restores them all"}
	case "drop":
		context["stash"], context["commit"] = p.stash.Stash.Subject, p.stash.Stash.Commit
		context["notes"] = []string{"these lines exist nowhere else; git stash store " + p.stash.Stash.Commit + " restores the stash until git prunes unreferenced commits"}
	case "pop":
		context["stash"], context["commit"] = p.stash.Stash.Subject, p.stash.Stash.Commit
		context["notes"] = []string{"the stash is dropped once all of it is restored"}
	default:
		context["stash"], context["commit"] = p.stash.Stash.Subject, p.stash.Stash.Commit
	}
	p.Plan, err = runner.NewPlan(Stash.Name, summary+site.Project.Name+": "+project.Counted(len(p.files), "file"), context,
		policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: string(site.Project.ID) + "/git/stash"})
	p.Plan = p.Plan.Bound().WithProject(site.Project.Name).Covering("git", "stash", site.Project.Name)
	return p, err
}

// StashAnswer is a stash that was made or restored.
type StashAnswer struct {
	Top    string           `json:"top"`
	Action string           `json:"action"`
	Stash  project.GitStash `json:"stash"`
	Files  []string         `json:"files"`
}

func (s service) stash(ctx context.Context, _ tool.Scope, p stashPlan) (StashAnswer, error) {
	out := StashAnswer{Top: p.stash.Top, Action: p.input.Action, Stash: p.stash.Stash, Files: []string{}}
	for _, f := range p.files {
		out.Files = append(out.Files, f.Path)
	}
	var err error
	switch p.input.Action {
	case "push":
		out.Stash, err = s.Trees.Stash(ctx, p.stash, p.input.Message)
	case "drop":
		err = s.Trees.Drop(ctx, p.stash)
	default:
		err = s.Trees.Unstash(ctx, p.stash, p.input.Action == "pop")
	}
	return out, err
}
