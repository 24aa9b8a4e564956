package push

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Find returns the entry with that ID, or the newest one. Unfinished entries are left out, except one that is being restored.
func (y TrashManager) Find(ctx context.Context, l ecosystem.Layout, id string) (ecosystemport.TrashEntry, error) {
	entries, _, err := y.Trash.List(ctx, l)
	if err != nil {
		return ecosystemport.TrashEntry{}, err
	}
	for _, e := range entries {
		if e.Whole && (id == "" || e.ID == id) {
			return e, nil
		}
	}
	if id == "" {
		return ecosystemport.TrashEntry{}, ecosystem.ErrTrash.WithMessage("the trash has nothing of ecosystem %s", l.Name)
	}
	return ecosystemport.TrashEntry{}, ecosystem.ErrTrash.WithMessage("the trash has no entry %q of ecosystem %s; ecosystem_trash lists those there are", id, l.Name)
}

// RestoreInterrupted reports whether a restore of that entry was interrupted.
func (y TrashManager) RestoreInterrupted(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) bool {
	j, err := LoadOperation(ctx, y.States, l)
	return err == nil && j != nil && j.Phase == PhaseRestoring && j.Entry.ID == e.ID
}

// Restore logs a restore and performs it. If it cannot be finished, the workspace goes back to the trash.
func (y TrashManager) Restore(ctx context.Context, l ecosystem.Layout, e ecosystemport.TrashEntry) error {
	err := (&Operation{Phase: PhaseRestoring, Entry: e}).Save(ctx, y.States, l)
	if err == nil {
		err = y.bring(ctx, l, e)
	}
	if err == nil {
		return nil
	}
	aside := context.WithoutCancel(ctx)
	if now, bad := y.States.Load(aside, l); bad != nil || now.Installed() {
		return err // nearly done: the next run finishes it
	}
	if y.back(aside, l, e) != nil {
		return err // the journal stays
	}
	if undone := ClearOperation(aside, y.States, l); undone != nil {
		return undone
	}
	return err
}
