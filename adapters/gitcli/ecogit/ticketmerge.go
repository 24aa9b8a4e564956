package ecogit

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// maxAheadShown is how many commits of a ticket are named.
const maxAheadShown = 20

// maxFilesShown is how many files of a ticket are named.
const maxFilesShown = 100

const notCommitted = " has changes that are not committed"

// Compare implements ecosystemport.TicketMerges.
func (c TicketClient) Compare(ctx context.Context, t ecosystemport.TicketTree, local, ask bool) (d ecosystemport.TicketDistance, err error) {
	at, err := openTicket(t)
	if err != nil {
		return d, err
	}
	base, branch := git.HeadsPrefix+t.Base, git.HeadsPrefix+t.Branch
	for ref, into := range map[string]*string{branch: &d.Head, base: &d.Base, git.RemotesPrefix + t.Base: &d.Origin} {
		if *into, err = quiet(ctx, t.Clone, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); err != nil {
			return d, err
		}
	}
	if d.URL, err = quiet(ctx, t.Clone, "remote", "get-url", "--", "origin"); err != nil {
		return d, err
	}
	if d.Push, err = quiet(ctx, t.Clone, "remote", "get-url", "--push", "--all", "--", "origin"); err != nil {
		return d, err
	}
	if d.Push == d.URL {
		d.Push = ""
	}
	d.Push = gitcli.Mask(strings.ReplaceAll(d.Push, "\n", ", ")) // git pushes to all of them
	switch {
	case d.URL == "":
		d.Origin = ""
	case ask:
		there, err := remoteHeads(ctx, t.Clone, base, branch)
		if ctx.Err() != nil {
			return d, err
		}
		if d.Asked = err == nil; d.Asked {
			d.Origin, d.Pushed = there[base], there[branch] == d.Head && d.Head != ""
		}
	}
	if d.Asked {
		if err := ahead(ctx, t, &d); ctx.Err() != nil {
			return d, err
		} else if err != nil {
			d.Asked = false
		}
	}
	d.URL = gitcli.Mask(d.URL)
	if d.Tree, err = obstacle(ctx, t.Dir, t.Branch); err != nil {
		return d, err
	}
	d.TreeOpen = strings.HasPrefix(d.Tree, t.Dir+notCommitted)
	if d.Open, err = uncommitted(ctx, at, t.Dir); err != nil {
		return d, err
	}
	if d.Clone, err = obstacle(ctx, t.Clone, t.Base); err != nil {
		return d, err
	}
	onto := d.Onto()
	if local {
		onto = d.Base
	}
	if d.Known = d.Head != "" && present1(ctx, t.Clone, onto); !d.Known {
		d.Behind = -1
		return d, nil
	}
	return d, c.distance(ctx, t, onto, &d)
}

// ahead says whether the base has commits that are not here where it would be pushed to, which may be elsewhere than it is fetched from.
func ahead(ctx context.Context, t ecosystemport.TicketTree, d *ecosystemport.TicketDistance) error {
	at, err := openRelease(t.Clone)
	if err != nil {
		return err
	}
	there := []map[string]string{{git.HeadsPrefix + t.Base: d.Origin}}
	if d.Push != "" {
		if there, err = atPushURLs(ctx, at, git.HeadsPrefix+t.Base); err != nil {
			return err
		}
	}
	d.Sent = true
	for _, refs := range there {
		commit := refs[git.HeadsPrefix+t.Base]
		within, err := contains(ctx, at, d.Base, commit)
		if err != nil {
			return err
		}
		if within {
			d.Sent = d.Sent && commit == d.Base
			continue
		}
		sent := d.Base == ""
		for _, tip := range []string{commit, git.RemotesPrefix + t.Base} { // a commit that was never fetched stands on what was, in all likelihood
			if !sent && present1(ctx, t.Clone, tip) {
				if sent, err = contains(ctx, at, tip, d.Base); err != nil {
					return err
				}
			}
		}
		d.Sent = d.Sent && sent
		d.Lacks = true
		if within, err = contains(ctx, at, d.Head, commit); err != nil {
			return err
		}
		d.LacksToo = d.LacksToo || !within
	}
	return nil
}

// distance fills in the difference between the ticket's branch and a commit.
func (c TicketClient) distance(ctx context.Context, t ecosystemport.TicketTree, onto string, d *ecosystemport.TicketDistance) error {
	at, err := openRelease(t.Clone)
	if err != nil {
		return err
	}
	var h ecosystemport.History
	if err := since(ctx, ecosystemport.CommitRange{Dir: t.Clone, From: onto, Head: d.Head}, maxAheadShown, &h); err != nil {
		return namedRelease(err)
	}
	d.Ahead, d.Total = h.Commits, h.Total
	if d.Total > 0 {
		out, err := at.Git(ctx, gitcli.Command{Args: []string{"diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", "--end-of-options", onto + "..." + d.Head, "--"}})
		if err != nil {
			return namedRelease(err)
		}
		d.Files = git.SplitRecords(out)
		d.FileCount = len(d.Files)
		d.Files = d.Files[:min(d.FileCount, maxFilesShown)]
	}
	text, err := at.Word(ctx, "rev-list", "--count", "--end-of-options", onto, "^"+d.Head, "--")
	if err != nil {
		return namedRelease(err)
	}
	if d.Behind, err = strconv.Atoi(text); err != nil || d.Behind == 0 || d.Total == 0 {
		return err
	}
	_, d.Conflicts, err = merged(ctx, t.Clone, onto, d.Head)
	return err
}

// present1 reports a commit that is in the repository.
func present1(ctx context.Context, dir, commit string) bool {
	known, err := present(ctx, dir, map[string]string{"": commit})
	return err == nil && len(known) == 1
}

// obstacle says why a working tree cannot be worked on as the branch that it is to be on; empty when it can.
func obstacle(ctx context.Context, dir, branch string) (string, error) {
	if !repository(dir) {
		return "no worktree exists at " + dir, nil
	}
	out, err := gitPush(ctx, dir, gitcli.Command{Args: []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"}})
	if err != nil {
		return "", named(dir, err)
	}
	s, err := git.ParseStatus(out)
	if err != nil {
		return "", misread(dir, err)
	}
	admin, err := word(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", named(dir, err)
	}
	switch doing := gitcli.Operation(admin); {
	case doing != "":
		return "git is in the middle of a " + doing + " in " + dir, nil
	case s.Branch != branch:
		return dir + " is on " + quotedBranch(s.Branch) + " instead of " + branch, nil
	case len(s.Changes) > 0:
		return dir + notCommitted + " (" + s.Changes[0].Path + ")", nil
	}
	return "", nil
}

// uncommitted describes the uncommitted changes of a worktree; "" if there are none, or if it is not a worktree.
func uncommitted(ctx context.Context, at *gitcli.Repo, dir string) (string, error) {
	linked, ok, err := at.Tree(dir)
	if err != nil || !ok || !linked.Exists() {
		return "", namedTicket(err)
	}
	s, err := worktree.Status(ctx, linked, "all")
	if err != nil || len(s.Changes) == 0 {
		return "", namedTicket(err)
	}
	said := dir + notCommitted + " (" + s.Changes[0].Path
	if more := len(s.Changes) - 1; more > 0 {
		said += " and " + strconv.Itoa(more) + " more"
	}
	return said + ")", nil
}

func quotedBranch(branch string) string {
	if branch == "" {
		return "no branch"
	}
	return branch
}

// merged returns the tree of a merge, and the paths that conflict. Nothing is checked out.
func merged(ctx context.Context, dir, ours, theirs string) (tree string, conflicts []string, err error) {
	out, err := gitPush(ctx, dir, gitcli.Command{Args: []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs}})
	if err != nil {
		var exit *gitcli.ExitError
		if !errors.As(err, &exit) || exit.Code != 1 {
			return "", nil, named(dir, err)
		}
		out = gitcli.Printed(err)
		parts := git.SplitRecords(out)
		return "", parts[min(1, len(parts)):], nil
	}
	parts := git.SplitRecords(out)
	if len(parts) == 0 {
		return "", nil, ecosystem.ErrGit.WithMessage("git printed no merged tree in %s", dir)
	}
	return parts[0], nil, nil
}

// Rebase implements ecosystemport.TicketMerges.
func (c TicketClient) Rebase(ctx context.Context, t ecosystemport.TicketTree, head, onto string, begun func(ecosystemport.MergeStep) error) (string, error) {
	if !present1(ctx, t.Clone, onto) {
		args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--no-auto-maintenance", "--", "origin", "+" + git.HeadsPrefix + t.Base + ":" + git.RemotesPrefix + t.Base}
		if _, err := gitPush(ctx, t.Clone, gitcli.Command{Protocols: gitcli.Network, Timeout: netTime, Args: args}); err != nil {
			return "", named(t.Clone, err)
		}
		if !present1(ctx, t.Clone, onto) {
			return "", ecosystem.ErrChanged.WithMessage("%s at origin of %s has changed; call again", t.Base, t.Repo)
		}
	}
	if err := settled(ctx, t.Dir, t.Branch, head, t.Repo); err != nil {
		return "", err
	}
	m := sandboxport.Merge{Name: t.Branch, Dir: t.Dir, Base: t.Base, Update: true, Method: sandboxport.MergeRebase, At: c.clock.Now().UTC()}
	if tip, err := word(ctx, t.Clone, "rev-parse", "--verify", "--quiet", git.RemotesPrefix+t.Base); err == nil && tip == onto {
		m.Base = "origin/" + t.Base
	}
	return c.join(ctx, t, m, head, onto, begun)
}

// join does what the merge comes to, if it is about those commits.
func (c TicketClient) join(ctx context.Context, t ecosystemport.TicketTree, m sandboxport.Merge, from, with string, begun func(ecosystemport.MergeStep) error) (string, error) {
	p, err := c.trees.PlanMerge(ctx, t.Clone, m)
	if errors.Is(err, sandbox.ErrConflicts) {
		_, files, bad := merged(ctx, t.Clone, from, with)
		if bad != nil || len(files) == 0 {
			files = []string{"the same lines"}
		}
		return "", ecosystem.ErrConflict.WithMessage("%s of %s and %s both changed %s; resolve the conflict by hand in %s (git rebase %s)", t.Branch, t.Repo, t.Base, strings.Join(files, ", "), t.Dir, t.Base).WithCause(err)
	}
	if err != nil {
		return "", namedTicket(err)
	}
	if p.Method == sandboxport.MergeNothing {
		return from, nil
	}
	if p.From != from || p.With != with {
		return "", ecosystem.ErrChanged.WithMessage("%s of %s moved since the plan was made; call again", t.Branch, t.Repo)
	}
	done, err := c.trees.Merge(ctx, t.Clone, p, func(commit string) error {
		doc, err := json.Marshal(mergeStep{p, commit})
		if err != nil {
			return err
		}
		return begun(ecosystemport.MergeStep{Clone: t.Clone, Doc: doc})
	})
	return done.Commit, namedTicket(err)
}

// mergeStep is a merge that has begun.
type mergeStep struct {
	Plan   sandboxport.MergePlan
	Commit string
}

// FinishMerge implements ecosystemport.TicketMerges.
func (c TicketClient) FinishMerge(ctx context.Context, step ecosystemport.MergeStep) error {
	var m mergeStep
	if err := json.Unmarshal(step.Doc, &m); err != nil {
		return ecosystem.ErrState.WithMessage("the record of a merge in %s cannot be read", step.Clone).WithCause(err)
	}
	return namedTicket(c.trees.FinishMerge(ctx, step.Clone, m.Plan, m.Commit))
}

// settled fails with ecosystem.ErrChanged for a working tree that is not as it was when it was planned.
func settled(ctx context.Context, dir, branch, head, repo string) error {
	why, err := obstacle(ctx, dir, branch)
	if err != nil {
		return err
	}
	now, err := word(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err == nil && why == "" && now != head {
		why = dir + " is on another commit"
	}
	if why != "" {
		return ecosystem.ErrChanged.WithMessage("%s: %s; call again", repo, why)
	}
	return named(dir, err)
}

// Merge implements ecosystemport.TicketMerges.
func (c TicketClient) Merge(ctx context.Context, t ecosystemport.TicketTree, head, base, message string, squash bool, begun func(ecosystemport.MergeStep) error) (string, error) {
	if err := settled(ctx, t.Clone, t.Base, base, t.Repo); err != nil {
		return "", err
	}
	m := sandboxport.Merge{Name: t.Branch, Dir: t.Dir, Base: t.Base, Method: sandboxport.MergeCommit, Message: message, At: c.clock.Now().UTC()}
	if squash {
		m.Method = sandboxport.MergeSquash
	}
	return c.join(ctx, t, m, base, head, begun)
}
