package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// What a sync does with a repository.
const (
	doClone   = "clone"
	doForward = "fetch+ff"
	doSkip    = "skip"
)

// SyncStep is what a sync would do with one repository.
type SyncStep struct {
	Name   string `json:"name"`
	Action string `json:"action"` // clone, fetch+ff or skip
	Reason string `json:"reason"`
}

// SyncPreview is what a sync would do, as far as it is known without asking any origin (amof contract §13, tool 9).
type SyncPreview struct {
	WorkspaceDir string     `json:"workspace_dir"`
	Repos        []SyncStep `json:"repos"`
	Ticket       *string    `json:"active_ticket"` // whose missing worktrees are made again
}

// syncPayload is what a run is queued with.
type syncPayload struct {
	Repos []string `json:"repos"`
}

// syncFacts is what a preview is made from. How the checkouts stand is looked at again by the run itself, which loses nothing whatever it finds.
type syncFacts struct {
	Manifest     string `json:"manifest_sha256"`
	WorkspaceDir string `json:"workspace_dir"`
}

// syncFacts implements runs.Performer.
func (s service) syncFacts(_ context.Context, f runs.Ecosystem, _ json.RawMessage) (any, error) {
	return syncFacts{Manifest: f.Loaded.SHA256, WorkspaceDir: f.State.WorkspaceDir}, nil
}

func (s service) planSync(ctx context.Context, sc tool.Scope, in SyncInput) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	repos, err := s.chosen(ctx, f, in.Repos)
	if err != nil {
		return runs.Plan{}, err
	}
	pv := SyncPreview{WorkspaceDir: f.State.WorkspaceDir, Repos: make([]SyncStep, len(repos)), Ticket: f.State.ActiveTicket}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range repos {
		group.Go(func() error {
			pv.Repos[i], _ = s.step(inner, r, path.Join(f.State.WorkspaceDir, r.Path))
			return inner.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return runs.Plan{}, err
	}
	doc, err := tool.Encode(syncPayload{Repos: ecosystem.RepoNames(repos)})
	if err != nil {
		return runs.Plan{}, err
	}
	var urls []string
	for _, r := range repos {
		if url, err := s.Clones.Address(r); err == nil {
			urls = append(urls, url)
		}
	}
	facts, _ := s.syncFacts(ctx, f, nil)
	what := count(len(repos), "repository", "repositories")
	return runs.Plan{Tool: Sync.Name, Action: actionSync, Summary: fmt.Sprintf("sync of %s (%s)", f.Layout.Name, what), Preview: pv, Facts: facts, Payload: doc, Options: tool.PlanOptions{Fetches: urls},
		Explanation: runs.Explanation{What: fmt.Sprintf("Syncing %s clones what is missing of its %s and fast-forwards the rest. Nothing that is not committed or not pushed is touched.", f.Layout.Name, what),
			Affects: []string{f.State.WorkspaceDir}, Alternatives: []string{"amof_get_ecosystem_status"}},
		Current: map[string]any{"workspace_dir": f.State.WorkspaceDir, "active_ticket": f.State.ActiveTicket},
		Hint:    "call amof_sync_ecosystem again in execute mode"}.Sealed(f)
}

// chosen returns the repositories of those names, or all; with none there is nothing to do, and without the workspace they would lie in nowhere.
func (s service) chosen(ctx context.Context, f runs.Ecosystem, names []string) ([]ecosystem.Repo, error) {
	at, err := s.Clones.Look(ctx, ecosystem.Repo{}, f.State.WorkspaceDir)
	if err == nil && at.Absent {
		err = ecosystem.ErrNotInstalled.WithMessage("ecosystem %s is recorded as installed at %s, and that directory is gone; amof_discard_ecosystem forgets the record, amof_install_ecosystem makes it anew", f.Layout.Name, f.State.WorkspaceDir)
	}
	if err != nil {
		return nil, err
	}
	repos, err := f.Manifest().Choose(names)
	if err == nil && len(repos) == 0 {
		err = ecosystem.ErrNoWork.WithMessage("ecosystem %s has no enabled repository", f.Layout.Name)
	}
	return repos, err
}

// step returns what to do with a repository, and its status.
func (s service) step(ctx context.Context, r ecosystem.Repo, dir string) (SyncStep, ecosystemport.Checkout) {
	skip := func(reason string) SyncStep { return SyncStep{Name: r.Name, Action: doSkip, Reason: reason} }
	if _, err := s.Clones.Address(r); err != nil {
		return skip(fault.From(err).Message), ecosystemport.Checkout{}
	}
	c, err := s.Clones.Look(ctx, r, dir)
	if err != nil {
		return skip(fault.From(err).Message), c
	}
	if c.Absent {
		return SyncStep{Name: r.Name, Action: doClone, Reason: "it is not there"}, c
	}
	if reason := hindrance(r, c); reason != "" {
		return skip(reason), c
	}
	return SyncStep{Name: r.Name, Action: doForward, Reason: "it is on " + r.Branch + " without changes"}, c
}

// hindrance returns why a checkout is left as it is; empty when it need not be.
func hindrance(r ecosystem.Repo, c ecosystemport.Checkout) string {
	switch {
	case c.Foreign != "":
		return c.Foreign
	case c.Doing != "":
		return "git is in the middle of a " + c.Doing + "; finish or abort it"
	case c.Branch == "":
		return "HEAD is detached; check out " + r.Branch
	case c.Branch != r.Branch:
		return fmt.Sprintf("it is on branch %s, not on %s", c.Branch, r.Branch)
	case c.Changes > 0:
		return fmt.Sprintf("%s not committed, %s first", count(c.Changes, "change is", "changes are"), c.First)
	}
	return ""
}

// sync queues the run.
func (s service) sync(ctx context.Context, sc tool.Scope, p runs.Plan) (runs.QueuedRun, error) {
	return s.Enqueue(ctx, sc, p)
}

// SyncResult is what came of a sync.
type SyncResult struct {
	Status  string        `json:"status"` // success or failed
	Repos   []RepoOutcome `json:"repos"`
	Updated int           `json:"updated"` // clones made and brought forward
	Skipped int           `json:"skipped"`
	Failed  int           `json:"failed"`
	Ticket  string        `json:"active_ticket,omitempty"`
}

// performSync continues if one repository fails, and fails at the end.
func (s service) performSync(ctx context.Context, j runs.Job) (any, error) {
	with, err := payload[syncPayload](j.Run.Payload)
	if err != nil {
		return nil, err
	}
	repos, err := s.chosen(ctx, j.Found, with.Repos)
	if err != nil {
		return nil, err
	}
	dir := j.Found.State.WorkspaceDir
	out := SyncResult{Status: "failed", Repos: make([]RepoOutcome, len(repos))}
	failed := make([]error, len(repos))
	each(j, len(repos), func(i int, tell ecosystemport.ProgressFunc) {
		out.Repos[i], failed[i] = s.syncOne(ctx, repos[i], path.Join(dir, repos[i].Path), tell)
	})
	for _, o := range out.Repos {
		switch o.Result {
		case "cloned", "updated":
			out.Updated++
		case "skipped":
			out.Skipped++
		case "failed":
			out.Failed++
		}
	}
	err = failure(j, failed)
	if ctx.Err() != nil {
		return out, fault.From(ctx.Err())
	}
	if told := s.remember(ctx, j, repos, out.Repos); err == nil {
		err = told
	}
	if told := s.ticket(ctx, j, &out); err == nil {
		err = told
	}
	if err == nil {
		out.Status = "success"
	}
	j.Log("info", fmt.Sprintf("%d of %d repositories changed, %d skipped, %d failed", out.Updated, len(repos), out.Skipped, out.Failed))
	return out, err
}

// syncOne clones a repository, brings it forward, or leaves it as it is.
func (s service) syncOne(ctx context.Context, r ecosystem.Repo, dir string, tell ecosystemport.ProgressFunc) (RepoOutcome, error) {
	if err := ctx.Err(); err != nil {
		return RepoOutcome{Name: r.Name, Result: "failed", Reason: fault.From(err).Message}, err
	}
	step, seen := s.step(ctx, r, dir)
	switch step.Action {
	case doClone:
		return s.cloneOne(ctx, r, dir, tell)
	case doSkip:
		named(r.Name, tell)("warning", "skipped: "+step.Reason)
		return RepoOutcome{Name: r.Name, Result: "skipped", Commit: seen.Head, Reason: step.Reason}, nil
	}
	tell = named(r.Name, tell)
	moved, err := s.Clones.Forward(ctx, r, dir, seen, tell)
	out := RepoOutcome{Name: r.Name, Result: "up_to_date", Commit: moved.To}
	switch {
	case err != nil:
		out.Result, out.Reason = "failed", fault.From(err).Message
		tell("error", out.Reason)
	case moved.Diverged():
		out.Result, out.Reason = "skipped", fmt.Sprintf("it has diverged from its origin: %s of its own, %s there; rebase or merge it", count(moved.Ahead, "commit", "commits"), count(moved.Behind, "commit", "commits"))
		tell("warning", "skipped: "+out.Reason)
	case moved.From != moved.To:
		out.Result, out.From = "updated", moved.From
		tell("info", fmt.Sprintf("%s to %s, %s", short(moved.From), short(moved.To), count(moved.Behind, "commit", "commits")))
	case moved.Ahead > 0:
		out.Reason = count(moved.Ahead, "commit is", "commits are") + " not pushed"
		tell("info", "up to date; "+out.Reason)
	default:
		tell("info", "up to date")
	}
	return out, err
}

// remember puts on record what was cloned, and what the manifest by now says of those that were brought up to date.
func (s service) remember(ctx context.Context, j runs.Job, repos []ecosystem.Repo, outcomes []RepoOutcome) error {
	var news []ecosystem.RepoState
	for i, r := range repos {
		is := recorded(r)
		was := j.Found.State.Repo(r.Name)
		if result := outcomes[i].Result; result == "failed" || result == "skipped" {
			continue
		}
		if was != nil {
			is.LastPush = was.LastPush
		}
		if was == nil || *was != is {
			news = append(news, is)
		}
	}
	if len(news) == 0 {
		return nil
	}
	_, err := s.States.Update(context.WithoutCancel(ctx), j.Found.Layout, func(st *ecosystem.State) error {
		if !st.Installed() {
			return ecosystem.ErrNotInstalled
		}
		for _, is := range news {
			if was := st.Repo(is.Name); was != nil {
				is.LastPush = was.LastPush
				*was = is
			} else {
				st.Repos = append(st.Repos, is)
			}
		}
		st.LastModified = s.Clock.Now().UTC()
		return nil
	})
	return err
}

// ticket makes the missing worktrees of the active ticket again.
func (s service) ticket(ctx context.Context, j runs.Job, out *SyncResult) error {
	st, err := s.States.Load(ctx, j.Found.Layout)
	if err != nil || st.Active() == "" || s.Tickets == nil {
		return err
	}
	out.Ticket = st.Active()
	err = s.Tickets.Ensure(ctx, ecosystemport.Ticketed{Layout: j.Found.Layout, Manifest: j.Found.Manifest(), State: st, Ticket: st.Active()})
	if err != nil {
		j.Log("error", "ticket "+st.Active()+": "+fault.From(err).Message)
	}
	return err
}

// recoverSync removes the clones that a killed sync has left half made.
func (s service) recoverSync(ctx context.Context, j runs.Job) error {
	dir := j.Found.State.WorkspaceDir
	if dir == "" {
		return nil
	}
	var left []string
	for _, r := range j.Found.Manifest().Active() {
		if err := s.Clones.Sweep(ctx, path.Join(dir, r.Path)); err != nil {
			left = append(left, fault.From(err).Message)
		}
	}
	if len(left) > 0 {
		return ecosystem.ErrStorage.WithMessage("%s", strings.Join(left, "; "))
	}
	return nil
}
