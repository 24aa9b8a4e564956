package push

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// TrashRetention is how long a discarded or archived workspace can be restored (amof contract §20.4).
const TrashRetention = 7 * 24 * time.Hour

// TrashManager moves workspaces to the trash and back. Every field is required. For changes the caller holds the ecosystem's lock.
type TrashManager struct {
	States ecosystemport.States
	Git    ecosystemport.PushGit
	Trash  ecosystemport.Trash
	Clock  ports.Clock
}

// Entry returns the trash entry that the workspace would get. It changes nothing.
func (y TrashManager) Entry(ctx context.Context, f runs.Ecosystem, why string, heads []ecosystemport.TrashHead) (ecosystemport.TrashEntry, error) {
	dir, err := WorkspaceDir(f)
	if err != nil {
		return ecosystemport.TrashEntry{}, err
	}
	now := y.Clock.Now().UTC()
	name := f.Layout.Name
	return y.Git.Describe(ctx, ecosystemport.TrashEntry{Ecosystem: name, Root: f.Layout.Root, Why: why, At: now, Until: now.Add(TrashRetention), Workspace: dir, Branch: f.State.WorkspaceBranch,
		Heads: heads, State: f.State, Restore: "countersign eco restore " + name})
}

// Remove moves the workspace to the trash and deletes its state. It can be repeated after an interruption.
func (y TrashManager) Remove(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	if err := y.Trash.Take(ctx, l, e); err != nil {
		return err
	}
	if err := y.Git.Detach(ctx, l, e); err != nil {
		return err
	}
	if _, err := y.States.Update(ctx, l, func(state *ecosystem.State) error {
		if state.WorkspaceDir == e.Workspace {
			*state = ecosystem.State{}
		}
		return nil
	}); err != nil {
		return err
	}
	e.Whole = true
	if _, err := y.Trash.Keep(ctx, l, e); err != nil {
		return err
	}
	return ClearOperation(ctx, y.States, l)
}

// away reports whether the workspace has left home.
func (y TrashManager) away(l ecosystem.Layout, e ecosystemport.TrashEntry) bool {
	_, there := y.Git.Where(l, e)
	return there || e.Absent
}

// abandon undoes a removal of which nothing was moved.
func (y TrashManager) abandon(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	if err := y.Trash.Forget(ctx, l, e); err != nil {
		return err
	}
	return ClearOperation(ctx, y.States, l)
}

// RecoverRemoval finishes an interrupted removal that had begun to move files, and undoes any other, because the workspace may have been used since.
func (y TrashManager) RecoverRemoval(ctx context.Context, f runs.Ecosystem, j *Operation, log func(level, message string)) error {
	e := j.Entry
	if y.away(f.Layout, e) {
		return y.Remove(ctx, f.Layout, e)
	}
	log("warning", "the interrupted "+e.Why+" had moved nothing; the workspace stays as it is")
	return y.abandon(ctx, f.Layout, e)
}

// bring puts a workspace back where it was, and records it again. It may be repeated from anywhere in its middle.
func (y TrashManager) bring(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	if err := y.Trash.Bring(ctx, l, e); err != nil {
		return err
	}
	if err := y.Git.Reattach(ctx, l, e); err != nil {
		return err
	}
	if _, err := y.States.Update(ctx, l, func(state *ecosystem.State) error {
		*state = e.State
		return nil
	}); err != nil {
		return err
	}
	if err := y.Trash.Forget(ctx, l, e); err != nil {
		return err
	}
	return ClearOperation(ctx, y.States, l)
}

// RecoverRestore finishes an interrupted restore. If something is at its location now, the workspace goes back to the trash.
func (y TrashManager) RecoverRestore(ctx context.Context, l ecosystem.Layout, j *Operation) error {
	err := y.bring(ctx, l, j.Entry)
	if errors.Is(err, ecosystem.ErrConflict) {
		return y.back(ctx, l, j.Entry)
	}
	return err
}

// back has a workspace that was brought home, and cannot be there, go to the trash again.
func (y TrashManager) back(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	if home, away := y.Git.Where(l, e); !home || away {
		return nil
	}
	if err := y.Trash.Take(ctx, l, e); err != nil {
		return err
	}
	return y.Git.Detach(ctx, l, e)
}

// Purge deletes expired entries. One that cannot be deleted is tried again next time.
func (y TrashManager) Purge(ctx context.Context, l ecosystem.Layout, log func(level, message string)) {
	entries, _, err := y.Trash.List(ctx, l)
	if err != nil {
		log("warning", "the trash could not be looked through: "+ErrorMessage(err))
	}
	for _, e := range entries {
		if y.Clock.Now().Before(e.Until) {
			continue
		}
		err := y.Git.Forget(ctx, l, e)
		if err == nil {
			err = y.Trash.Forget(ctx, l, e)
		}
		if err == nil {
			log("info", "purged "+e.ID+" from the trash")
			continue
		}
		log("warning", e.ID+" could not be purged from the trash: "+ErrorMessage(err))
	}
}

// MoveToTrash logs a removal and performs it. If nothing could be moved, it is undone.
func (y TrashManager) MoveToTrash(ctx context.Context, l ecosystem.Layout, j *Operation) error {
	err := j.Save(ctx, y.States, l)
	if err == nil {
		err = y.Remove(ctx, l, j.Entry)
	}
	if aside := context.WithoutCancel(ctx); err != nil && !y.away(l, j.Entry) {
		if undone := y.abandon(aside, l, j.Entry); undone != nil {
			return undone
		}
	}
	return err
}
