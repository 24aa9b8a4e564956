package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// OperationNote is the name of the journal of an installation.
const OperationNote = "install"

// journal is what is kept while an installation lasts.
type journal struct {
	Build ecosystemport.Build `json:"build"`
	State ecosystem.State     `json:"state"` // to be recorded once the workspace is at its place
}

// RepoOutcome is what came of one repository.
type RepoOutcome struct {
	Name   string `json:"name"`
	Result string `json:"result"` // cloned, updated, up_to_date, skipped or failed
	Commit string `json:"commit,omitempty"`
	From   string `json:"from,omitempty"` // commit before
	Reason string `json:"reason,omitempty"`
}

// InstallResult is what came of an installation.
type InstallResult struct {
	Status       string        `json:"status"` // success or failed
	WorkspaceDir string        `json:"workspace_dir"`
	Branch       string        `json:"branch"`
	Repos        []RepoOutcome `json:"repos"`
	Pushed       bool          `json:"pushed"`
}

// performInstall creates the workspace beside its final path, moves it there, and records it last.
func (s service) performInstall(ctx context.Context, j runs.Job) (any, error) {
	f := j.Found
	if err := s.recoverInstall(ctx, j); err != nil { // what an earlier one could not take back
		return nil, err
	}
	if st, err := s.States.Load(ctx, f.Layout); err != nil || st.Installed() {
		if err == nil {
			f.State = st
			err = installed(f)
		}
		return nil, err
	}
	with, err := payload[installPayload](j.Run.Payload)
	if err != nil {
		return nil, err
	}
	at, g, err := s.ground(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := refused(f.Layout.Name, s.conflicts(f, at, g)); err != nil {
		return nil, err
	}
	w := journal{Build: ecosystemport.Build{ID: j.Run.ID, Root: at.Root, Dir: at.Dir, Branch: at.Branch, Start: g.Branch, Create: g.Branch == "", Missing: g.Missing, Excludes: g.Excludes}, State: s.state(f, at)}
	if w.Build.Create {
		w.Build.Start = g.Head
	}
	out := InstallResult{Status: "failed", WorkspaceDir: at.Dir, Branch: at.Branch}
	out.Repos, err = s.build(ctx, j, w)
	if err != nil {
		return out, errors.Join(err, s.undo(ctx, j, w))
	}
	if with.Push {
		j.Log("info", "pushing "+at.Branch)
		if err := s.Grounds.Publish(ctx, at.Root, at.Branch, j.Log); err != nil {
			return out, ecosystem.ErrFailed.WithMessage("ecosystem %s is installed, but its branch %s was not pushed: %s; amof_push_ecosystem pushes it", f.Layout.Name, at.Branch, fault.From(err).Message).WithCause(err)
		}
		out.Pushed = true
	}
	out.Status = "success"
	return out, nil
}

// state returns what will be recorded.
func (s service) state(f runs.Ecosystem, at ecosystemport.InstallTarget) ecosystem.State {
	now := s.Clock.Now().UTC()
	st := ecosystem.State{Version: ecosystem.StateVersion, Ecosystem: f.Layout.Name, Root: at.Root, WorkspaceBranch: at.Branch, WorkspaceDir: at.Dir, Tickets: map[string]ecosystem.Ticket{}, CreatedAt: now, LastModified: now}
	for _, r := range f.Manifest().Active() {
		st.Repos = append(st.Repos, recorded(r))
	}
	return st
}

func recorded(r ecosystem.Repo) ecosystem.RepoState {
	return ecosystem.RepoState{Name: r.Name, URL: r.URL, Path: r.Path, Branch: r.Branch, ReadOnly: r.ReadOnly, Enabled: r.Enabled}
}

// build makes everything. It is written down before anything is made, and recorded as installed once everything is.
func (s service) build(ctx context.Context, j runs.Job, w journal) ([]RepoOutcome, error) {
	l, none := j.Found.Layout, []RepoOutcome{}
	doc, err := tool.Encode(w)
	if err != nil {
		return none, err
	}
	if err := s.States.Note(ctx, l, OperationNote, doc); err != nil {
		return none, err
	}
	j.Log("info", fmt.Sprintf("making a worktree of %s on branch %s", w.Build.Root, w.Build.Branch))
	if err := s.Grounds.Stage(ctx, w.Build); err != nil {
		return none, err
	}
	outcomes, err := s.clone(ctx, j, w.Build.Tree())
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return outcomes, err
	}
	if err := s.Grounds.Place(ctx, w.Build); err != nil {
		return outcomes, err
	}
	return outcomes, s.record(ctx, j, w)
}

// record is the last step.
func (s service) record(ctx context.Context, j runs.Job, w journal) error {
	ctx = context.WithoutCancel(ctx)
	l := j.Found.Layout
	_, err := s.States.Update(ctx, l, func(st *ecosystem.State) error {
		if st.Installed() {
			return installed(runs.Ecosystem{Layout: l, State: *st})
		}
		*st = w.State
		return nil
	})
	if err != nil {
		return err
	}
	j.Log("info", "installed at "+w.Build.Dir)
	if err := s.States.Note(ctx, l, OperationNote, nil); err != nil {
		j.Log("warning", "the journal of the installation stays until the next run: "+fault.From(err).Message)
	}
	return nil
}

// clone clones every repository into a directory, to the last one even when some fail, so that all that is wrong is known at once.
func (s service) clone(ctx context.Context, j runs.Job, dir string) ([]RepoOutcome, error) {
	repos := j.Found.Manifest().Active()
	saved, err := s.saved(ctx, j.Found)
	if err != nil {
		return nil, err
	}
	outcomes, failed := make([]RepoOutcome, len(repos)), make([]error, len(repos))
	each(j, len(repos), func(i int, tell ecosystemport.ProgressFunc) {
		at := path.Join(dir, repos[i].Path)
		outcomes[i], failed[i] = s.cloneOne(ctx, repos[i], at, tell)
		if bundle := saved[repos[i].Name]; bundle != "" && failed[i] == nil {
			s.unbundle(ctx, repos[i], at, bundle, &outcomes[i], tell)
		}
	})
	return outcomes, failure(j, failed)
}

func (s service) cloneOne(ctx context.Context, r ecosystem.Repo, dir string, tell ecosystemport.ProgressFunc) (RepoOutcome, error) {
	tell = named(r.Name, tell)
	if url, err := s.Clones.Address(r); err == nil {
		tell("info", fmt.Sprintf("cloning %s, branch %s", url, r.Branch))
	}
	commit, err := s.Clones.Clone(ctx, r, dir, tell)
	if err != nil {
		message := fault.From(err).Message
		tell("error", message)
		return RepoOutcome{Name: r.Name, Result: "failed", Reason: message}, err
	}
	tell("info", "cloned at "+short(commit))
	return RepoOutcome{Name: r.Name, Result: "cloned", Commit: commit}, nil
}

// unbundle restores commits that only an archive has. A failure does not stop the installation; the bundle is kept.
func (s service) unbundle(ctx context.Context, r ecosystem.Repo, dir, bundle string, out *RepoOutcome, tell ecosystemport.ProgressFunc) {
	tell = named(r.Name, tell)
	tags, moved, err := s.Clones.Unbundle(ctx, r, dir, bundle)
	if err != nil {
		tell("warning", bundle+", which the last archive wrote, could not be read: "+fault.From(err).Message)
		return
	}
	if len(tags) > 0 {
		tell("info", "brought back from the last archive: "+strings.Join(tags, ", "))
	}
	if moved {
		tell("info", "brought back from the last archive: commits of "+r.Branch+" that the origin does not have")
		if seen, err := s.Clones.Look(ctx, r, dir); err == nil {
			out.Commit = seen.Head
		}
	}
}

func short(commit string) string { return commit[:min(7, len(commit))] }

// failure is nil when nothing failed, the error when one thing did, and else one that counts them.
func failure(j runs.Job, failed []error) error {
	var first *fault.Error
	var all []string
	for _, err := range failed {
		if err == nil {
			continue
		}
		f := fault.From(err)
		if all = append(all, f.Message); first == nil {
			first = f
		}
	}
	if len(all) < 2 {
		if first == nil {
			return nil
		}
		return first
	}
	return ecosystem.ErrFailed.WithMessage("%d of %d repositories of %s failed: %s", len(all), len(failed), j.Found.Layout.Name, strings.Join(all, " | ")).WithCause(errors.Join(failed...))
}

// undo takes back what an installation that failed has made; nothing is on record of it.
func (s service) undo(ctx context.Context, j runs.Job, w journal) error {
	ctx = context.WithoutCancel(ctx)
	if st, err := s.States.Load(ctx, j.Found.Layout); err != nil || st.Installed() {
		return err // it was recorded after all, or its state is unknown: the next run recovers it
	}
	j.Log("warning", "taking back what was made")
	if err := s.Grounds.Undo(ctx, w.Build); err != nil {
		j.Log("error", "not everything was taken back; the next run tries again: "+fault.From(err).Message)
		return err
	}
	return s.States.Note(ctx, j.Found.Layout, OperationNote, nil)
}

// recoverInstall finishes an interrupted installation whose workspace had got to its place, and takes back any other.
func (s service) recoverInstall(ctx context.Context, j runs.Job) error {
	l := j.Found.Layout
	doc, err := s.States.Noted(ctx, l, OperationNote)
	if err != nil || len(doc) == 0 {
		return err
	}
	var w journal
	if err := json.Unmarshal(doc, &w); err != nil {
		return ecosystem.ErrState.WithMessage("the journal of the installation of %s cannot be read", l.Name).WithCause(err)
	}
	st, err := s.States.Load(ctx, l)
	if err != nil {
		return err
	}
	if st.Installed() {
		return s.States.Note(ctx, l, OperationNote, nil)
	}
	placed, err := s.Grounds.Settle(ctx, w.Build)
	if err != nil {
		return err
	}
	if placed {
		j.Log("info", "the interrupted installation had got as far as its end; it is finished")
		return s.record(ctx, j, w)
	}
	j.Log("info", "what the interrupted installation had made was taken back")
	return s.States.Note(ctx, l, OperationNote, nil)
}
