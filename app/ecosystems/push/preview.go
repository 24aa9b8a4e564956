package push

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RepoPreview is the plan for one repository.
type RepoPreview struct {
	Name       string   `json:"name"`
	Ticket     string   `json:"ticket,omitempty"`
	Branch     string   `json:"branch"`
	Remote     string   `json:"remote"`
	Head       string   `json:"head"`
	RemoteHead *string  `json:"remote_head"` // null: the remote has no such branch
	Verified   bool     `json:"remote_asked"`
	Ahead      int      `json:"ahead"`
	Behind     *int     `json:"behind"` // null: unknown
	DirtyFiles []string `json:"dirty_files"`
	DirtyCount int      `json:"dirty_count"`
	WillCommit bool     `json:"will_commit"`
	WillPush   bool     `json:"will_push"`
	Hooks      []string `json:"hooks"`
	Skipped    string   `json:"skipped_reason,omitempty"`
	Tags       []string `json:"tags,omitempty"` // of releases, which are pushed with the branch
}

// Preview is what would be pushed (amof contract §13, tool 10).
type Preview struct {
	Repos           []RepoPreview `json:"repos"`
	ReposAffected   []string      `json:"repos_affected"`
	WorkspaceBranch string        `json:"workspace_branch"`
	Workspace       *RepoPreview  `json:"workspace,omitempty"`
	Message         string        `json:"message,omitempty"`

	Root *releases.RootPlan `json:"root,omitempty"` // whose records of releases get out too

	Forge []releases.ForgeRelease `json:"github_releases,omitempty"` // that gh makes once their tags are out
}

// CountNoun returns a number with its noun in the right form.
func CountNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pushed returns how many repositories are pushed to, in words; one counts once, however many of its worktrees have something.
func (p Preview) pushed() string {
	names := map[string]bool{}
	for _, r := range p.Repos {
		if r.WillPush {
			names[r.Name] = true
		}
	}
	words := CountNoun(len(names), "repository", "repositories")
	if p.Workspace != nil && p.Workspace.WillPush {
		words += " and the workspace"
	}
	return words
}

// NewPreview returns the preview of the worktrees.
func NewPreview(f runs.Ecosystem, trees []*WorkingTree, o Options) Preview {
	p := Preview{Repos: []RepoPreview{}, ReposAffected: []string{}, WorkspaceBranch: f.State.WorkspaceBranch}
	for _, v := range trees {
		r := v.shown(o)
		if v.NeedsPush(o) {
			p.ReposAffected = append(p.ReposAffected, v.Title())
		}
		if v.NeedsCommit(o) {
			p.Message = o.Message
		}
		if v.Name == "" {
			p.Workspace = &r
		} else {
			p.Repos = append(p.Repos, r)
		}
	}
	return p
}

func (v *WorkingTree) shown(o Options) RepoPreview {
	c := v.Status
	r := RepoPreview{Name: v.Title(), Ticket: v.Ticket, Branch: c.Branch, Remote: c.Remote, Head: c.Head, Verified: c.Asked, RemoteHead: tool.NilIfZero(c.RemoteHead), Ahead: c.Ahead, DirtyFiles: []string{},
		DirtyCount: len(c.Changes), WillCommit: v.NeedsCommit(o), WillPush: v.NeedsPush(o), Hooks: []string{}, Skipped: v.Skip, Tags: v.Tags}
	if v.Name != "" {
		r.Name = v.Name
	}
	if c.Behind >= 0 {
		r.Behind = &c.Behind
	}
	for _, change := range c.Changes[:min(len(c.Changes), MaxListedFiles)] {
		r.DirtyFiles = append(r.DirtyFiles, strings.ToValidUTF8(change.Path, "\uFFFD"))
	}
	for _, hook := range c.Hooks {
		if r.WillCommit || r.WillPush && hook == "pre-push" {
			r.Hooks = append(r.Hooks, hook)
		}
	}
	return r
}

// PushWarnings returns the warnings to show with the approval request.
func PushWarnings(trees []*WorkingTree, o Options) (out []string) {
	for _, v := range trees {
		c := v.Status
		if v.NeedsPush(o) && c.Behind != 0 {
			out = append(out, fmt.Sprintf("%s: the remote has commits on %s that are not here; the push will be rejected unless amof_sync_ecosystem brings them first", v.Title(), c.Branch))
		}
		if v.NeedsPush(o) && !c.Asked && o.Explaining {
			out = append(out, v.Title()+": the remote was not asked; what is shown of it is what was last fetched")
		} else if v.NeedsPush(o) && !c.Asked {
			out = append(out, v.Title()+": the remote did not answer; what is shown of it is what was last known")
		}
		if len(v.Clash) > 0 {
			out = append(out, v.Title()+": the remote has other tags of these names, which are left alone: "+strings.Join(v.Clash, ", "))
		}
		if v.Skip == "" && !v.Extra && len(c.Changes) > 0 && !o.CommitAll {
			out = append(out, fmt.Sprintf("%s: %s not committed and will not be pushed; commit_all with message commits them", v.Title(), CountNoun(len(c.Changes), "file is", "files are")))
		}
		if hooks := v.shown(o).Hooks; len(hooks) > 0 {
			out = append(out, v.Title()+": the repository's hooks run: "+strings.Join(hooks, ", "))
		}
		if v.NeedsCommit(o) {
			for _, filter := range c.Filters {
				out = append(out, v.Title()+": a filter that the repository's own configuration names runs on files that are committed: "+filter)
			}
		}
	}
	return out
}

// PreviewLines returns the preview as text, one line for each repository.
func PreviewLines(p Preview) []string {
	var out []string
	for _, r := range p.Repos {
		state := "up to date"
		switch {
		case r.Skipped != "":
			state = "skipped: " + r.Skipped
		case r.WillPush:
			state = fmt.Sprintf("%d to push", r.Ahead)
			if len(r.Tags) > 0 {
				state += ", with " + strings.Join(r.Tags, ", ")
			}
		case r.Behind == nil || *r.Behind > 0:
			state = "behind its remote"
		}
		out = append(out, fmt.Sprintf("%s  %s  %s", r.Name, r.Branch, state))
	}
	if most := 14; len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}
