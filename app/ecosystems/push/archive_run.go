package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Archived is the result of an archive.
type Archived struct {
	Status      string           `json:"status"`
	ArchiveFile string           `json:"archive_file,omitempty"`
	Bundles     []string         `json:"bundles"`
	Push        PushResult       `json:"push"`
	Cleanup     []BranchDeletion `json:"cleanup,omitempty"`
	Trash       string           `json:"trash_id,omitempty"`
	Until       *time.Time       `json:"restorable_until,omitempty"`
	Restore     string           `json:"restore,omitempty"`
	Repos       []ArchivedRepo   `json:"repos,omitempty"`
}

// BranchDeletion is the result for a ticket's branch at its remote: deleted or kept.
type BranchDeletion struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// ArchiveRecord is the file of an archive (amof contract §5).
type ArchiveRecord struct {
	Ecosystem       string         `json:"ecosystem"`
	ArchivedAt      time.Time      `json:"archived_at"`
	WorkspaceBranch string         `json:"workspace_branch"`
	WorkspaceCommit string         `json:"workspace_commit"`
	Message         string         `json:"message"`
	Tickets         []string       `json:"tickets"`
	Repos           []ArchivedRepo `json:"repos"`
	Trash           string         `json:"trash_id"`
}

// ArchivedRepo is a repository in the file of an archive.
type ArchivedRepo struct {
	Name     string `json:"name"`
	Branch   string `json:"branch"`
	Commit   string `json:"commit"`
	ReadOnly bool   `json:"readonly"`
	URL      string `json:"url,omitempty"`
	Bundle   string `json:"bundle,omitempty"`
}

// archive carries out a confirmed archive: push, verify, bundle, record, remove.
func (s service) archive(ctx context.Context, j runs.Job) (any, error) {
	f, l := j.Found, j.Found.Layout
	done := Archived{Status: "failed", Bundles: []string{}, Push: PushResult{Repos: []RepoResult{}}}
	o, err := DecodeOptions(j.Run.Payload)
	if err == nil {
		err = s.recoverRun(ctx, f, j.Log)
	}
	if err == nil {
		err = s.publisher.Recover(ctx, j)
	}
	if err != nil {
		return done, err
	}
	s.trashManager.Purge(ctx, l, j.Log)
	c, err := s.prepare(ctx, f, o)
	if err != nil {
		return done, err
	}
	if !o.Offline {
		if done.Push, err = s.pusher.Push(ctx, j, c.trees, o); err != nil {
			return done, pushFailedError(f, err)
		}
		if err := s.deliver(ctx, j, c.trees, &done.Push); err != nil {
			return done, pushFailedError(f, err)
		}
	}
	if err := s.verify(ctx, j, c, o); err != nil {
		return done, err
	}
	e, err := s.trashManager.Entry(ctx, f, archiving, named(c.holding.Heads))
	if err != nil {
		return done, err
	}
	e.Cut = o.Cut
	if e, err = s.Trash.Keep(ctx, l, e); err != nil {
		return done, err
	}
	jr := &Operation{Phase: PhaseSaving, Entry: e, Message: o.Message, File: path.Join("archives", e.ID+".json")}
	if err := s.save(ctx, j, c, jr, &done, o.asks()); err != nil {
		return done, err
	}
	for _, b := range c.mergedBranches {
		done.Cleanup = append(done.Cleanup, s.deleteMergedBranch(ctx, j, b))
	}
	j.Log("info", "everything is saved; moving "+e.Workspace+" to the trash as "+e.ID)
	jr.Phase = PhaseRemoving
	if err := s.trashManager.MoveToTrash(ctx, l, jr); err != nil {
		return done, err
	}
	done.Status, done.ArchiveFile, done.Trash, done.Until, done.Restore = "success", relative(l, jr.File), e.ID, &e.Until, e.Restore
	return done, nil
}

// pushFailedError says that a push that failed kept everything where it is.
func pushFailedError(f runs.Ecosystem, err error) error {
	if errors.Is(err, ecosystem.ErrFailed) {
		return ecosystem.ErrUnsaved.WithMessage("%s of %s stopped before anything was removed: %s", archiving, f.Layout.Name, ErrorMessage(err)).WithCause(err)
	}
	return err
}

// verify has every commit of every repository that may be written to be at its remote, by what that says now, unless a bundle will hold it.
func (s service) verify(ctx context.Context, j runs.Job, c archiveContents, o Options) error {
	full, bundled := map[string]bool{}, map[string]bool{}
	for _, b := range c.bundles {
		full[b.Repo], bundled[b.Repo] = !b.rest, true
	}
	var list []string
	for _, r := range clones(j.Found) {
		there := slices.ContainsFunc(c.holding.Trees, func(t TreeState) bool { return t.Dir == r.Dir })
		if !there || r.ReadOnly || full[r.Name] {
			continue
		}
		alone, err := s.Git.Alone(ctx, r.Dir)
		if err != nil {
			return err
		}
		for _, ref := range alone.Refs {
			list = append(list, r.Name+": "+ref)
		}
		for _, ref := range alone.Backups {
			if !bundled[r.Name] {
				list = append(list, r.Name+": "+ref)
			}
		}
		saved := c.localTags(r.Name) // by a bundle
		for _, tag := range alone.Tags {
			if !slices.Contains(saved, tag) && !slices.Contains(alone.Refs, "refs/tags/"+tag) {
				list = append(list, r.Name+": tag "+tag)
			}
		}
		if alone.More > 0 {
			list = append(list, fmt.Sprintf("%s: %d more", r.Name, alone.More))
		}
		if len(alone.Refs) == 0 && len(alone.Backups) == 0 && len(alone.Tags) == len(saved) {
			j.Log("info", r.Name+": every commit and tag is at its remote")
		}
	}
	if root := c.root(); o.Cut && !full["workspace"] {
		status, err := s.Git.Look(ctx, root.Worktree, true)
		if err != nil {
			return err
		}
		if !status.Asked || status.RemoteHead != status.Head {
			list = append(list, "workspace: "+status.Branch)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return stay(j.Found, list, "push them, delete them, or archive with offline: true, which saves everything in bundles")
}

// save writes the bundles, with ask by what the origins say, and the record. What it had begun is undone when it fails.
func (s service) save(ctx context.Context, j runs.Job, c archiveContents, jr *Operation, done *Archived, ask bool) error {
	l := j.Found.Layout
	err := jr.Save(ctx, s.States, l)
	bundles := map[string]string{}
	for _, b := range c.bundles {
		if err != nil {
			break
		}
		file, wrote := path.Join(s.bundles(l, jr.Entry), b.Repo+".bundle"), false
		if wrote, err = s.Git.Bundle(ctx, b.dir, file, ecosystemport.BundleOptions{Rest: b.rest, Ask: ask, Tags: b.tags}); wrote {
			bundles[b.Repo] = file
			done.Bundles = append(done.Bundles, file)
			j.Log("info", b.Repo+": saved in "+file)
		}
	}
	if err == nil {
		err = s.unmoved(ctx, j.Found, c)
	}
	if err == nil {
		jr.Phase = PhaseRecording
		err = jr.Save(ctx, s.States, l)
	}
	if err == nil {
		done.Repos = record(j.Found, c, bundles)
		err = s.record(ctx, j.Found, jr, done.Repos)
	}
	if err == nil {
		return nil
	}
	if undone := s.undoSaving(context.WithoutCancel(ctx), j.Found, jr); undone == nil {
		_ = ClearOperation(context.WithoutCancel(ctx), s.States, l) // else the next run undoes it
	}
	done.Bundles = []string{}
	return err
}

// bundles returns the directory of an archive's bundles.
func (s service) bundles(l ecosystem.Layout, e ecosystemport.TrashEntry) string {
	return path.Join(l.Data, "archives", e.ID)
}

// record returns the repositories as they are archived.
func record(f runs.Ecosystem, c archiveContents, bundles map[string]string) []ArchivedRepo {
	repos := []ArchivedRepo{}
	for _, r := range clones(f) {
		for _, t := range c.holding.Trees {
			if t.Repo == r.Name && t.Dir == r.Dir {
				repos = append(repos, ArchivedRepo{Name: r.Name, Branch: t.Status.Branch, Commit: t.Head, ReadOnly: r.ReadOnly, URL: t.Status.Remote, Bundle: bundles[r.Name]})
			}
		}
	}
	return repos
}

// record writes the archive's file into the ecosystem's directory, and commits that alone.
func (s service) record(ctx context.Context, f runs.Ecosystem, jr *Operation, repos []ArchivedRepo) error {
	e := jr.Entry
	tickets := []string{}
	for id := range f.State.Tickets {
		tickets = append(tickets, id)
	}
	slices.Sort(tickets)
	doc, err := json.MarshalIndent(ArchiveRecord{Ecosystem: e.Ecosystem, ArchivedAt: e.At, WorkspaceBranch: e.Branch, WorkspaceCommit: e.Head, Message: jr.Message, Tickets: tickets, Repos: repos, Trash: e.ID}, "", "  ")
	if err != nil {
		return err
	}
	if _, err := s.Manifests.Write(ctx, f.Layout, jr.File, append(doc, '\n')); err != nil {
		return err
	}
	message := cmp.Or(jr.Message, "Archive ecosystem "+e.Ecosystem)
	return s.Git.Record(ctx, f.Layout.Root, relative(f.Layout, jr.File), message)
}

// deleteMergedBranch deletes a ticket's branch at its remote. A branch that stays is not a failure.
func (s service) deleteMergedBranch(ctx context.Context, j runs.Job, l mergedBranch) BranchDeletion {
	r := BranchDeletion{Repo: l.repo, Branch: l.head.Branch, Status: "deleted"}
	kept, err := s.Git.DeleteMergedBranch(ctx, l.dir, l.head, l.into)
	if err != nil {
		kept = ErrorMessage(err)
	}
	if kept != "" {
		r.Status, r.Reason = "kept", kept
	}
	j.Log("info", fmt.Sprintf("%s: %s at the remote: %s %s", r.Repo, r.Branch, r.Status, r.Reason))
	return r
}

// undoSaving takes the bundles, the record that was not committed, and the entry of the trash away again.
func (s service) undoSaving(ctx context.Context, f runs.Ecosystem, j *Operation) error {
	l, repos := f.Layout, []string{f.Layout.Root}
	for _, c := range clones(f) {
		repos = append(repos, c.Dir)
	}
	if err := s.Git.Drop(ctx, s.bundles(l, j.Entry), repos); err != nil {
		return err
	}
	if err := s.Git.Drop(ctx, path.Join(l.Dir, j.File), nil); err != nil {
		return err
	}
	return s.Trash.Forget(ctx, l, j.Entry)
}

// recoverRecord keeps an archive's record that is committed, with its bundles: what it says is so. Nothing was removed. Else it is undone.
func (s service) recoverRecord(ctx context.Context, f runs.Ecosystem, j *Operation, log func(level, message string)) error {
	done, err := s.Git.Recorded(ctx, f.Layout.Root, relative(f.Layout, j.File))
	if err != nil {
		return err
	}
	if !done {
		return s.undoSaving(ctx, f, j)
	}
	log("warning", "the archive was interrupted after "+j.File+" was committed; nothing was removed: archive again")
	return s.Trash.Forget(ctx, f.Layout, j.Entry)
}
