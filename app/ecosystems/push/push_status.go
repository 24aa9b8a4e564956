package push

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Pusher reads the status of worktrees and pushes them. Every field is required.
type Pusher struct {
	States ecosystemport.States
	Git    ecosystemport.PushGit
	Clock  ports.Clock

	// Delivered puts on record that tags of a repository's releases got out.
	Delivered func(ctx context.Context, l ecosystem.Layout, repo string, tags []string) error
}

const parallel = 8 // repositories that are looked at at a time

// MaxListedFiles is the maximum number of files that are named; the rest are counted.
const MaxListedFiles = 100

// WorkingTree is a worktree whose branch may be pushed, with its status.
type WorkingTree struct {
	Name     string // of the repository; empty: the workspace itself
	Ticket   string
	Want     string // the branch it is to be on; empty: any
	Skip     string // why it is left alone; empty: it is not
	Extra    bool   // the clone beside a ticket's worktree, for its tags alone
	Worktree ecosystemport.Worktree
	Status   ecosystemport.WorktreeStatus
	Tags     []string // of releases, that origin lacks; the lowest version first
	Clash    []string // that origin has for something else
	Known    []string // of releases, that origin has too
	Local    []string // other tags that origin lacks
}

// Title returns the display name of the worktree.
func (v *WorkingTree) Title() string {
	switch {
	case v.Name == "":
		return "workspace"
	case v.Ticket != "":
		return v.Name + " (" + v.Ticket + ")"
	}
	return v.Name
}

// NeedsCommit reports whether the push commits local changes first.
func (v *WorkingTree) NeedsCommit(o Options) bool {
	return o.CommitAll && v.Skip == "" && !v.Extra && len(v.Status.Changes) > 0
}

// NeedsPush reports whether there are commits to push. If origin has commits that are unknown here, git decides whether the push succeeds.
func (v *WorkingTree) NeedsPush(o Options) bool {
	c := v.Status
	return v.Skip == "" && !o.Offline && (v.NeedsCommit(o) || len(v.Tags) > 0 || c.Head != c.RemoteHead && (c.RemoteHead == "" || c.Ahead > 0))
}

// Status returns the selected worktrees with their status. It contacts the remotes unless the options forbid it.
func (y Pusher) Status(ctx context.Context, f runs.Ecosystem, o Options) ([]*WorkingTree, error) {
	trees, err := selectTrees(f, o)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, v := range trees {
		if v.Skip != "" {
			continue
		}
		group.Go(func() (err error) {
			v.Status, err = y.Git.Look(ctx, v.Worktree, o.asks())
			if err != nil && ctx.Err() == nil {
				v.Skip, err = ErrorMessage(err), nil // one repository that is broken keeps no other from being pushed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	prefix := f.Manifest().Release.TagPrefix
	for _, v := range trees {
		v.sortTags(prefix)
		if v.Skip == "" {
			v.Skip = skipReason(v, o)
		}
	}
	trees = slices.DeleteFunc(trees, func(v *WorkingTree) bool { return v.Extra && len(v.Tags) == 0 })
	return trees, y.secrets(f, trees, o)
}

// sortTags separates release tags, by that prefix, from other tags. If origin did not answer, its missing tags are unknown.
func (v *WorkingTree) sortTags(prefix string) {
	if !v.Status.Asked {
		return
	}
	for name, object := range v.Status.Tags {
		there, isThere := v.Status.RemoteTags[name]
		switch isRelease := len(releases.ReleaseTags(prefix, []string{name})) > 0; {
		case isThere && there != object:
			v.Clash = append(v.Clash, name)
		case isThere && isRelease:
			v.Known = append(v.Known, name)
		case !isThere && isRelease:
			v.Tags = append(v.Tags, name)
		case !isThere:
			v.Local = append(v.Local, name)
		}
	}
	releases.SortTags(prefix, v.Tags)
	slices.Sort(v.Clash)
	slices.Sort(v.Local)
}

// selectTrees returns the working trees that an order is about.
func selectTrees(f runs.Ecosystem, o Options) ([]*WorkingTree, error) {
	if _, err := WorkspaceDir(f); err != nil {
		return nil, err
	}
	chosen, err := f.Manifest().Choose(o.Repos)
	if err != nil {
		return nil, err
	}
	var trees []*WorkingTree
	active := f.State.Active()
	for _, r := range chosen {
		clone := ecosystemport.Worktree{Dir: path.Join(f.State.WorkspaceDir, r.Path), Tags: true}
		v := &WorkingTree{Name: r.Name, Worktree: clone}
		switch {
		case r.ReadOnly && slices.Contains(o.Repos, r.Name):
			return nil, ecosystem.ErrReadOnly.WithMessage("repository %s is read-only in ecosystem %s and is never pushed; leave it out, or set readonly: false in the manifest", r.Name, f.Layout.Name)
		case r.ReadOnly:
			v.Skip = "it is read-only"
		case active != "" && !o.Whole:
			v.useTicket(f, active)
			trees = append(trees, &WorkingTree{Name: r.Name, Extra: true, Worktree: clone}) // releases are made in the clone
		}
		trees = append(trees, v)
		if o.Whole && !r.ReadOnly {
			trees = append(trees, tickets(f, r.Name)...)
		}
	}
	if len(o.Repos) == 0 {
		tree := ecosystemport.Worktree{Dir: f.State.WorkspaceDir, Outside: outside(f)}
		trees = append(trees, &WorkingTree{Want: f.State.WorkspaceBranch, Worktree: tree})
	}
	return trees, nil
}

// useTicket makes the worktree that of a ticket.
func (v *WorkingTree) useTicket(f runs.Ecosystem, ticket string) {
	t := f.State.Tickets[ticket]
	v.Ticket, v.Want, v.Worktree = ticket, t.Repos[v.Name], ecosystemport.Worktree{Dir: path.Join(t.WorktreeBase, v.Name)}
	if v.Want == "" {
		v.Skip = "it is not part of ticket " + ticket
	}
}

// tickets returns the worktrees of a repository in every ticket.
func tickets(f runs.Ecosystem, repo string) (trees []*WorkingTree) {
	ids := make([]string, 0, len(f.State.Tickets))
	for id, t := range f.State.Tickets {
		if t.Repos[repo] != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		v := &WorkingTree{Name: repo}
		v.useTicket(f, id)
		trees = append(trees, v)
	}
	return trees
}

// skipReason says why a working tree cannot be pushed as it is, or nothing.
func skipReason(v *WorkingTree, o Options) string {
	c := v.Status
	switch {
	case c.Missing && v.Ticket != "":
		return "the ticket's worktree is missing; amof_ticket_switch makes it anew"
	case c.Missing:
		return "no repository found at " + v.Worktree.Dir + "; amof_sync_ecosystem clones it"
	case c.Doing != "":
		return fmt.Sprintf("it is in the middle of a %s; finish or abort that (git %s --abort)", c.Doing, c.Doing)
	case c.Branch == "":
		return "it is on no branch (detached HEAD); switch to one, or make one (git switch -c)"
	case v.Want != "" && c.Branch != v.Want:
		return fmt.Sprintf("it is on %s instead of %s", c.Branch, v.Want)
	case c.Remote == "" && !o.Offline:
		return "it has no remote"
	case c.Head == "" && !o.CommitAll:
		return "it has no commit"
	}
	for _, change := range c.Changes {
		if o.CommitAll && strings.HasSuffix(change.Path, "/") {
			return "it holds another repository at " + change.Path + "; move that away, or have git ignore it"
		}
	}
	return ""
}

// SecretFile is a file that must not be committed.
type SecretFile struct {
	Repo    string `json:"repo"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

// secrets refuses, before anything is done, to commit what is protected.
func (y Pusher) secrets(f runs.Ecosystem, trees []*WorkingTree, o Options) error {
	rules := ecosystem.NewProtectedRules(f.Manifest().NoTouch)
	var found []SecretFile
	for _, v := range trees {
		if v.NeedsCommit(o) {
			found = append(found, secretsIn(rules, v, staying(v.Status.Changes))...)
		}
	}
	return refuse(found)
}

func secretsIn(rules ecosystem.ProtectedRules, v *WorkingTree, paths []string) (found []SecretFile) {
	for _, hit := range rules.Find(paths) {
		found = append(found, SecretFile{Repo: v.Title(), Path: strings.ToValidUTF8(hit.Path, "\uFFFD"), Pattern: hit.Pattern})
	}
	return found
}

func refuse(found []SecretFile) error {
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	return ecosystem.ErrSecrets.WithMessage("%s that must not leave this machine would be committed, the first being %s in %s (pattern %s); have git ignore them, or commit the rest by hand",
		CountNoun(len(found), "file", "files"), first.Path, first.Repo, first.Pattern).WithDetails(map[string]any{"files": found[:min(len(found), MaxListedFiles)], "count": len(found)})
}

// staying returns the paths of changes that leave something behind: a secret that is deleted may go.
func staying(changes []ecosystemport.Change) (paths []string) {
	for _, c := range changes {
		if !c.Gone {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// PreviewFact is the state of one worktree that a preview is based on (amof contract §14).
type PreviewFact struct {
	Name      string `json:"name"`
	Ticket    string `json:"ticket,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Head      string `json:"head,omitempty"`
	Remote    string `json:"remote_head,omitempty"`
	PushTo    string `json:"push_to,omitempty"`
	Porcelain string `json:"porcelain,omitempty"`
	Hooks     string `json:"hooks,omitempty"`
	Skip      string `json:"skip,omitempty"`

	Tags []string `json:"tags,omitempty"`
}

// PreviewFacts returns the facts that the preview of the worktrees is based on.
func PreviewFacts(trees []*WorkingTree) []PreviewFact {
	out := make([]PreviewFact, len(trees))
	for i, v := range trees {
		c := v.Status
		out[i] = PreviewFact{Name: v.Name, Ticket: v.Ticket, Branch: c.Branch, Head: c.Head, Remote: c.RemoteHead, PushTo: c.Remote, Porcelain: c.Porcelain, Hooks: c.HooksHash, Skip: v.Skip, Tags: v.Tags}
	}
	return out
}
