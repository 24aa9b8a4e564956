package push

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// RepoResult is the result for one repository: pushed, up_to_date, rejected, skipped or failed.
type RepoResult struct {
	Name      string `json:"name"`
	Ticket    string `json:"ticket,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Status    string `json:"status"`
	Commit    string `json:"commit,omitempty"`
	Committed bool   `json:"committed,omitempty"` // changes were committed first
	Reason    string `json:"reason,omitempty"`

	Tags []string `json:"tags,omitempty"` // of releases, that got out with it
}

// PushResult is the result of a push.
type PushResult struct {
	Status string       `json:"status"` // success or failed
	Repos  []RepoResult `json:"repos"`
	Pushed int          `json:"pushed"`
	Failed int          `json:"failed"`

	Root *releases.RootResult `json:"root,omitempty"` // with the records of releases

	Forge []releases.PublishedRelease `json:"github_releases,omitempty"`
}

// Push commits and pushes one repository after the other. A failure does not stop the others; the whole then fails with ecosystem.ErrFailed.
func (y Pusher) Push(ctx context.Context, j runs.Job, trees []*WorkingTree, o Options) (PushResult, error) {
	done := PushResult{Status: "success", Repos: []RepoResult{}}
	var bad []string
	for i, v := range trees {
		r, err := y.sendOne(ctx, j, v, o)
		done.Repos = append(done.Repos, r)
		line, level := v.Title()+": "+strings.ReplaceAll(r.Status, "_", " "), "info"
		if r.Reason != "" {
			line += ": " + r.Reason
		}
		switch r.Status {
		case "pushed":
			done.Pushed++
		case "rejected", "failed":
			level, done.Status, done.Failed = "error", "failed", done.Failed+1
			bad = append(bad, fmt.Sprintf("%s (%s: %s)", v.Title(), r.Status, r.Reason))
		case "skipped":
			level = "warning"
		}
		j.Log(level, line)
		j.Percent(i+1, len(trees))
		if err != nil {
			return done, err
		}
	}
	if len(bad) > 0 {
		return done, ecosystem.ErrFailed.WithMessage("push of %s failed in %d of %d: %s; what the others had was pushed", j.Found.Layout.Name, len(bad), len(trees), strings.Join(bad, "; ")).
			WithDetails(map[string]any{"repos": done.Repos})
	}
	return done, nil
}

// sendOne commits and pushes one repository. An error is one that nothing can be done after.
func (y Pusher) sendOne(ctx context.Context, j runs.Job, v *WorkingTree, o Options) (RepoResult, error) {
	r := RepoResult{Name: v.Title(), Ticket: v.Ticket, Branch: v.Status.Branch, Commit: v.Status.Head}
	if v.Name != "" {
		r.Name = v.Name
	}
	switch {
	case v.Skip != "":
		r.Status, r.Reason = "skipped", v.Skip
		return r, nil
	case !v.NeedsPush(o):
		r.Status = "up_to_date"
		if v.Status.Behind != 0 {
			r.Reason = "the remote is ahead"
		}
		return r, nil
	}
	if v.NeedsCommit(o) {
		commit, err := y.commit(ctx, j.Found, v, o)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			r.Status, r.Reason = "failed", ErrorMessage(err)
			return r, nil
		}
		r.Commit, r.Committed = commit, commit != v.Status.Head
	}
	on := PendingPush{Repo: v.Name, Dir: v.Worktree.Dir, Branch: v.Status.Branch, Commit: r.Commit}
	if err := (&Operation{Phase: PhaseSending, Sent: &on}).Save(ctx, y.States, j.Found.Layout); err != nil {
		return r, err
	}
	pushed, err := y.Git.Push(ctx, v.Worktree.Dir, v.Status.Branch, v.Tags)
	if err != nil {
		r.Status, r.Reason = "failed", ErrorMessage(err)
		return r, err // the operation log stays: the result of the push is unknown
	}
	r.Status, r.Reason = pushed.Status, pushed.Reason
	if out := r.Status == "pushed" || r.Status == "up_to_date"; out && len(v.Tags) > 0 {
		r.Tags = v.Tags
		if err := y.Delivered(ctx, j.Found.Layout, v.Name, v.Tags); err != nil {
			return r, err
		}
	}
	if v.Name != "" && !v.Extra && (r.Status == "pushed" || r.Status == "up_to_date") {
		if err := y.record(ctx, j.Found.Layout, on); err != nil {
			return r, err
		}
	}
	return r, ClearOperation(ctx, y.States, j.Found.Layout)
}

// commit commits what the preview showed, and nothing that is protected: what was staged, and what hooks added, is looked at again.
func (y Pusher) commit(ctx context.Context, f runs.Ecosystem, v *WorkingTree, o Options) (commit string, err error) {
	index, err := y.Git.Index(ctx, v.Worktree.Dir)
	if err != nil {
		return "", err
	}
	if err := (&Operation{Phase: PhaseSending, Opened: &StagedTree{Dir: v.Worktree.Dir, Head: v.Status.Head, Index: index}}).Save(ctx, y.States, f.Layout); err != nil {
		return "", err
	}
	rules := ecosystem.NewProtectedRules(f.Manifest().NoTouch)
	var committed []string
	staged, err := y.Git.Stage(ctx, v.Worktree.Dir, v.Status.Changes)
	if err == nil {
		err = refuse(secretsIn(rules, v, staged))
	}
	if err == nil {
		commit, committed, err = y.Git.Commit(ctx, v.Worktree.Dir, o.Message)
	}
	aside := context.WithoutCancel(ctx)
	if err != nil {
		if commit == "" && y.Git.Unstage(aside, v.Worktree.Dir, index) != nil {
			return "", err // the journal stays
		}
	} else if hits := secretsIn(rules, v, committed); len(hits) > 0 {
		err = ecosystem.ErrSecrets.WithMessage("commit %s has %s, which must not leave this machine (a hook added it); it was not pushed: undo the commit", commit, hits[0].Path)
	}
	if noted := ClearOperation(aside, y.States, f.Layout); err == nil {
		err = noted
	}
	return commit, err
}

// Recover unstages what was staged and not committed, and records a completed push.
func (y Pusher) Recover(ctx context.Context, f runs.Ecosystem, j *Operation, log func(level, message string)) error {
	if o := j.Opened; o != nil {
		status, err := y.Git.Look(ctx, ecosystemport.Worktree{Dir: o.Dir}, false)
		if err == nil && !status.Missing && status.Head == o.Head {
			err = y.Git.Unstage(ctx, o.Dir, o.Index)
		}
		if err != nil { // the files are unchanged; the user can see what is staged
			log("warning", o.Dir+": what was staged could not be taken back: "+ErrorMessage(err))
		}
	}
	if sent := j.Sent; sent != nil {
		status, err := y.Git.Look(ctx, ecosystemport.Worktree{Dir: sent.Dir}, true)
		if err != nil || status.Branch != sent.Branch || status.RemoteHead != sent.Commit {
			return nil //nolint:nilerr // it did not arrive, or nobody can tell
		}
		return y.record(ctx, f.Layout, *sent)
	}
	return nil
}

// record puts a push into the state.
func (y Pusher) record(ctx context.Context, l ecosystem.Layout, p PendingPush) error {
	_, err := y.States.Update(ctx, l, func(state *ecosystem.State) error {
		if r := state.Repo(p.Repo); r != nil {
			r.LastPush = &ecosystem.Push{Branch: p.Branch, Commit: p.Commit[:min(7, len(p.Commit))], CommitFull: p.Commit, PushedAt: y.Clock.Now().UTC()}
		}
		return nil
	})
	return err
}
