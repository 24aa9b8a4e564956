// Package gitwork implements the git toolset for users who let agents work: changes with hunks; staging by file and by hunk, commits, branches,
// switching, stashes, pushing and pulling. Every change is a plan that shows the lines, the commits and the URL; the contract is packageflow's.
//
// It is for users, on the command line and in the console. Agents get it only if the server configuration names the toolset (--toolsets git);
// --toolsets all does not include it.
//
// No operation loses work: files that differ from the last commit are never overwritten, a branch with unique commits is not deleted, a stash is
// dropped only after all of it was restored, or when only that was requested, a commit that a remote has is replaced only by a plan that says so, and
// a push that replaces commits must be requested as such and replaces only those that were seen.
//
// Hooks of a repository are programs. They run only if the call requests it, and the plan then names each with the hash of its text.
//
// Its API may change at any time.
package gitwork

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// Name is the toolset's name.
const Name = "git"

// Category is the category of its tools.
const Category = "Git"

// Deps holds the dependencies of the tools. Every field is required.
type Deps struct {
	Sites runner.SiteFinder
	Trees projectport.WorkTrees
}

type service struct{ Deps }

// The typed handles.
var (
	Changes = tool.Ref[ChangesInput, ChangesAnswer]{Name: "git_changes"}
	Stage   = tool.Ref[StageInput, StageAnswer]{Name: "git_stage"}
	Unstage = tool.Ref[StageInput, StageAnswer]{Name: "git_unstage"}
	Commit  = tool.Ref[CommitInput, CommitAnswer]{Name: "git_commit"}
	Branch  = tool.Ref[BranchInput, BranchAnswer]{Name: "git_branch"}
	Switch  = tool.Ref[SwitchInput, SwitchAnswer]{Name: "git_switch"}
	Stash   = tool.Ref[StashInput, StashAnswer]{Name: "git_stash"}
	Push    = tool.Ref[PushInput, PushAnswer]{Name: "git_push"}
	Pull    = tool.Ref[PullInput, PullAnswer]{Name: "git_pull"}
)

// callTimeout bounds a call.
const callTimeout = 11 * time.Minute

// spec returns the spec of a tool that changes a repository.
func spec(title, description, schema string, effects policy.Effects, risk policy.Risk) tool.Spec {
	s := runner.ExecuteSpec(Category, title, description, schema)
	s.Class, s.Effects, s.Risk, s.Timeout = policy.ClassWrite, policy.Read|policy.Write|effects, risk, callTimeout
	return s
}

// unless returns the tool as one whose plan may do nothing and then needs no approval.
func unless(s tool.Spec, when string) tool.Spec {
	s.When = "unless " + when
	return s
}

// Capability returns the toolset. It is for users only unless agents is set.
func Capability(d Deps, agents bool) tool.Capability {
	s := service{d}
	c := tool.Capability{Name: Name, Contract: "packageflow.v1", Mode: policy.Execute, Entries: []tool.Entry{
		bind.Query(Changes, runner.ReadSpec(Category, "Git changes", "What differs in a project's working tree: files and hunks with their ids, staged and not, branches and stashes.", changesSchema), s.changes),
		bind.Command(Stage, spec("Stage", "Stage files, or single hunks by the ids of git_changes.", stageSchema, 0, policy.RiskLow), s.planStage, s.stage),
		bind.Command(Unstage, spec("Unstage", "Unstage files or hunks; the files do not change.", stageSchema, 0, policy.RiskLow), s.planUnstage, s.stage),
		bind.Command(Commit, spec("Commit", "Commit what is staged, or with amend replace the last commit by one that has it too. The plan shows its lines and the hooks there are.", commitSchema, policy.Exec, policy.RiskMedium), s.planCommit, s.commit),
		bind.Command(Branch, spec("Make or delete a branch", "Make a branch, or delete one whose commits another branch has.", branchSchema, 0, policy.RiskLow), s.planBranch, s.branch),
		bind.Command(Switch, unless(spec("Switch branches", "Check out a branch; create makes it. Refused if uncommitted files are in the way.", switchSchema, 0, policy.RiskMedium), "it is checked out already"), s.planSwitch, s.switchTo),
		bind.Command(Stash, spec("Stash", "Stash changes, or pop, apply or drop a stash.", stashSchema, 0, policy.RiskMedium), s.planStash, s.stash),
		bind.Command(Push, unless(spec("Push", "Push a branch to its remote. The plan shows the commits and the URL.", pushSchema, policy.Network|policy.Exec, policy.RiskMedium), "the remote has it already"), s.planPush, s.push),
		bind.Command(Pull, unless(spec("Pull", "Fetch the upstream of the branch and merge it, unless uncommitted changes are in the way.", pullSchema, policy.Network, policy.RiskMedium), "there is nothing new"), s.planPull, s.pull),
	}}
	for i := range c.Entries {
		c.Entries[i].Spec.UserOnly = !agents
	}
	return c
}

// site returns the site of a path, and the top of its repository, which must be in the project.
func (s service) site(ctx context.Context, path string) (runner.Site, string, error) {
	site, err := s.Sites.Worktree(ctx, path)
	if err != nil {
		return site, "", err
	}
	top, err := s.Trees.Top(ctx, site.Dir)
	if err == nil && top != site.Root && !strings.HasPrefix(top, strings.TrimSuffix(site.Root, "/")+"/") {
		err = project.ErrPath.WithMessage("the repository of %s begins at %s, outside of the project; register that directory to work with its git", site.Dir, top)
	}
	return site, top, err
}

// ChangesInput names a worktree.
type ChangesInput struct {
	Path  string   `json:"path" jsonschema:"minLength=1,description=of a project or worktree"`
	Files []string `json:"files,omitempty" jsonschema:"description=only these; then all their lines"`
}

// Resources returns the path.
func (in ChangesInput) Resources() []string { return []string{in.Path} }

// ChangedFile is a file that differs.
type ChangedFile struct {
	Path      string         `json:"path"`
	Status    string         `json:"status"`
	Untracked bool           `json:"untracked,omitempty"`
	Binary    bool           `json:"binary,omitempty"`
	Added     int            `json:"added"`
	Deleted   int            `json:"deleted"`
	Hunks     []project.Hunk `json:"hunks"`
}

// ChangesAnswer is the status of a worktree. Branch is empty if none is checked out.
type ChangesAnswer struct {
	Top           string              `json:"top"`
	Branch        string              `json:"branch"`
	Head          string              `json:"head"`
	Upstream      string              `json:"upstream,omitempty"`
	Ahead         int                 `json:"ahead"`
	Behind        int                 `json:"behind"`
	Doing         string              `json:"in_progress,omitempty"`
	Staged        []ChangedFile       `json:"staged"`
	Unstaged      []ChangedFile       `json:"unstaged"`
	Conflicted    []string            `json:"conflicted,omitempty"`
	MoreUntracked int                 `json:"more_untracked,omitempty"`
	Filters       []string            `json:"filters_not_run,omitempty"`
	Branches      []project.GitBranch `json:"branches"`
	Stashes       []project.GitStash  `json:"stashes"`
	Cut           bool                `json:"truncated,omitempty"` // some hunks have no lines
}

// maxText is the maximum size of the lines in a result, in bytes.
const maxText = 48 << 10

func (s service) changes(ctx context.Context, _ tool.Scope, in ChangesInput) (ChangesAnswer, error) {
	_, top, err := s.site(ctx, in.Path)
	if err != nil {
		return ChangesAnswer{}, err
	}
	w, err := s.Trees.Look(ctx, top)
	if err != nil {
		return ChangesAnswer{}, err
	}
	out := ChangesAnswer{Top: w.Top, Branch: w.Branch, Head: w.Head, Upstream: w.Upstream, Ahead: w.Ahead, Behind: w.Behind, Doing: w.Doing, Conflicted: w.Conflicted, MoreUntracked: w.MoreUntracked,
		Filters: w.Filters, Branches: append([]project.GitBranch{}, w.Branches...), Stashes: append([]project.GitStash{}, w.Stashes...)}
	room := maxText
	list := func(files []project.FilePatch) []ChangedFile {
		shown := []ChangedFile{}
		for _, f := range files {
			if len(in.Files) > 0 && !within(f.Path, in.Files) {
				continue
			}
			one := ChangedFile{Path: f.Path, Status: f.Status, Untracked: f.New, Binary: f.Binary, Added: f.Added, Deleted: f.Deleted, Hunks: []project.Hunk{}}
			for _, h := range f.Hunks {
				if room -= len(h.Text); room < 0 {
					h.Text, out.Cut = "", true
				}
				one.Hunks = append(one.Hunks, h)
			}
			shown = append(shown, one)
		}
		return shown
	}
	out.Staged, out.Unstaged = list(w.Staged), list(w.Unstaged)
	return out, nil
}

// within reports whether a path is one of the names, or below one.
func within(path string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.TrimSuffix(strings.TrimPrefix(n, "./"), "/")
		return n == "" || n == "." || n == path || strings.HasPrefix(path, n+"/")
	})
}

// plan is the common part of all plans here.
type plan struct {
	runner.Plan
	files   []project.FilePatch
	remotes []string
	nothing bool
}

// NoOp reports whether the plan does nothing.
func (p plan) NoOp() bool { return p.nothing }

// Remotes returns the URLs that the plan shows.
func (p plan) Remotes() []string { return p.remotes }

// maxShown is the maximum size of the lines shown with a plan, in bytes.
const maxShown = 300 << 10

// Details returns the changed lines, file by file.
func (p plan) Details(context.Context) (any, error) {
	if len(p.files) == 0 {
		return nil, nil
	}
	type file struct {
		Root    string `json:"root"`
		Path    string `json:"path"`
		Unified string `json:"unified"`
	}
	shown := struct {
		Files    []file   `json:"files"`
		Warnings []string `json:"warnings,omitempty"`
	}{Files: []file{}}
	room := maxShown
	var left []string
	for _, f := range p.files {
		text := f.Text()
		if f.Binary {
			text = f.Line() + "\n"
		}
		if room -= len(text); room < 0 {
			left = append(left, f.Path)
			room += len(text)
			continue
		}
		shown.Files = append(shown.Files, file{"", f.Path, text})
	}
	if len(left) > 0 {
		shown.Warnings = append(shown.Warnings, "The lines of these files do not fit here, and git diff shows them: "+strings.Join(left, ", "))
	}
	return shown, nil
}

// lines returns files, one per line. A binary one is identified by its contents.
func lines(files []project.FilePatch) []string {
	out := make([]string, 0, len(files))
	for _, f := range files {
		out = append(out, f.Line())
	}
	return out
}

// commits returns commits, one per line.
func commits(all []project.GitCommit, more int) []string {
	out := make([]string, 0, len(all))
	for _, c := range all {
		out = append(out, c.Commit[:min(len(c.Commit), 10)]+" "+c.Subject+" ("+c.Author+")")
	}
	if more > 0 {
		out = append(out, "and "+project.Counted(more, "more"))
	}
	return out
}

// shown returns a remote's URL without parts that may be secret.
func shown(url string) string { return project.PublicURL(url) }
