package deployfile

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// Pending implements deployport.Recovery. An operation that another process is carrying out is waited for; one that takes longer than a lock is
// waited for is not interrupted, but at work.
func (m *Machine) Pending(ctx context.Context, path string) (*deployment.InterruptedOperation, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if j, err := h.Journal(); j == nil || err != nil {
		return nil, err
	}
	held, err := h.Lock(ctx)
	if errors.Is(err, docfile.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer held.Release()
	j, err := m.own(ctx, h)
	if j == nil || err != nil {
		return nil, err
	}
	p := &deployment.InterruptedOperation{ID: j.ID, Kind: j.Kind, StartedAt: j.CreatedAt, Total: len(j.Changes)}
	land := observe.NewPathResolver(nil)
	for i, c := range j.Changes {
		at, err := land.Parent(j.Roots[i], c.Path)
		if err != nil {
			continue // it cannot be inspected, so it does not count as done
		}
		now, err := observe.InspectPath(at.File(filepath.Base(c.Path)))
		if err == nil && (observe.EquivalentState(now.Seen, c.After) || c.After.Kind == deployment.Absent && now.Kind == deployment.Directory) {
			p.Done++
		}
	}
	return p, nil
}

// Resume implements deployport.Recovery.
func (m *Machine) Resume(ctx context.Context, path string) ([]string, error) {
	return m.mend(ctx, path, forward)
}

// Undo implements deployport.Recovery. The record stays, as undone.
func (m *Machine) Undo(ctx context.Context, path string) ([]string, error) {
	return m.mend(ctx, path, backward)
}

// mend finishes or undoes an interrupted operation. Without one it does nothing.
func (m *Machine) mend(ctx context.Context, path string, to direction) ([]string, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if j, err := h.Journal(); j == nil || err != nil {
		return nil, err
	}
	held, err := h.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	j, err := m.own(ctx, h)
	if j == nil || err != nil {
		return nil, err
	}
	m.options.Step("locked", h.Path)
	if err := h.Sweep(); err != nil {
		return nil, err
	}
	left, err := RunWork(ctx, m.work(h, *j, to))
	if err != nil {
		return nil, err
	}
	if err := m.keep(ctx, h, *j, to); err != nil {
		return nil, err
	}
	outcome := deployment.StatusApplied
	if to == backward {
		outcome = deployment.StatusUndone
	}
	return left, m.finish(ctx, h, *j, outcome, h.Encode(j.Snapshot, 0))
}

// own returns the journal of the interrupted operation, or nil. It fails for an operation that the audit log does not contain.
func (m *Machine) own(ctx context.Context, h *home) (*Journal, error) {
	data, err := h.Document(journalName)
	if data == nil || err != nil {
		return nil, err
	}
	known, err := m.options.Operations.Known(ctx, h.Path, data)
	if err == nil && !known {
		err = deployment.ErrSnapshotDamaged.WithMessage("%s records an interrupted operation that the audit log does not contain: it is neither finished nor undone; check the files that it names, then move it away", h.Files.File(journalName))
	}
	if err != nil {
		return nil, err
	}
	return h.Journal()
}
