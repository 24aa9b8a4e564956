package deployfile

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// Apply implements deployport.Machine: lock, check everything again, keep what will be overwritten and what will be written, journal, write,
// record. A failure on the way is taken back before it is reported. Directories that the deletions leave empty are removed where a deployment
// made them.
func (m *Machine) Apply(ctx context.Context, t deployment.Transaction, done func(done, total int)) (string, error) {
	h, err := OpenHome(t.Place.Home)
	if err != nil {
		return "", err
	}
	defer h.Close()
	held, err := h.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer held.Release()
	if err := h.Idle(); err != nil {
		return "", err
	}
	m.options.Step("locked", h.Path)
	op := &operation{m: m, h: h, t: t, at: m.options.Clock.Now()}
	if op.id, err = h.Next(op.at.UnixNano()); err != nil {
		return "", err
	}
	if op.umask, err = h.Umask(); err != nil {
		return "", err
	}
	if op.proof, err = m.proof(ctx, h); err != nil {
		return "", err
	}
	op.archive = h.Vault.Begin(op.id)
	if err := op.prepare(ctx); err != nil {
		return "", errors.Join(err, op.archive.Abort())
	}
	if len(op.jobs) == 0 && len(op.journal.State) == 0 {
		return "", observe.FileFault(op.archive.Abort(), h.Vault.Dir())
	}
	if err := op.run(ctx, done); err != nil {
		return "", err
	}
	if t.Kind == deployment.KindEdit {
		return "", nil
	}
	return op.id, nil
}

// run writes everything that was prepared.
func (op *operation) run(ctx context.Context, done func(done, total int)) error {
	m, h := op.m, op.h
	if _, err := op.archive.Commit(); err != nil {
		return observe.FileFault(err, h.Vault.Dir())
	}
	m.options.Step("kept", h.Vault.File(op.id))
	encoded := h.Encode(op.journal.Snapshot, op.journal.room())
	err := op.sum(encoded)
	var journal []byte
	if err == nil {
		journal, err = EncodeJournal(op.journal, encoded)
	}
	if err == nil {
		err = m.options.Operations.Begin(ctx, h.Path, journal)
	}
	if err == nil {
		err = h.Files.Write(journalName, journal)
	}
	if err != nil { // whether the journal is there or not, nothing was written
		return errors.Join(observe.FileFault(err, h.Files.File(journalName)), h.Files.Remove(journalName), h.Vault.Remove(op.id))
	}
	m.options.Step("journalled", h.Files.File(journalName))
	w := m.work(h, op.journal, forward)
	w.Jobs, w.Ground, w.Umask, w.Done = op.jobs, op.ground, op.umask, done
	if _, err = RunWork(ctx, w); err == nil {
		err = m.keep(ctx, h, op.journal, forward)
	}
	if err == nil {
		err = m.finish(ctx, h, op.journal, deployment.StatusApplied, encoded)
	}
	if err == nil {
		return nil
	}
	return op.giveUp(ctx, err)
}

// giveUp takes back what was written before something failed.
func (op *operation) giveUp(ctx context.Context, reason error) error {
	ctx = context.WithoutCancel(ctx)
	_, err := RunWork(ctx, op.m.work(op.h, op.journal, backward))
	if err == nil {
		err = op.m.keep(ctx, op.h, op.journal, backward)
	}
	if err == nil {
		err = observe.FileFault(errors.Join(op.h.Files.Remove(SnapshotFileName(op.id)), op.m.close(ctx, op.h)), op.h.Files.File(journalName))
	}
	if err != nil {
		return deployment.ErrInterrupted.WithMessage("writing failed (%v), and undoing it failed too (%v); fix the cause, then finish with resume or revert with undo",
			reason, err).WithDetails(deployment.FieldDetails("snapshot_id", op.id).Add("kind", string(op.t.Kind)).Add("started_at", op.at)).WithCause(reason)
	}
	_ = op.h.Vault.Remove(op.id) // what is left of it, Prune drops
	return reason
}

// finish makes the outcome of an operation known and forgets its journal.
func (m *Machine) finish(ctx context.Context, h *home, j Journal, outcome deployment.SnapshotStatus, encoded encoded) error {
	if j.Kind != deployment.KindEdit {
		if err := h.Files.WriteParts(SnapshotFileName(j.ID), encoded.parts(outcome)...); err != nil {
			return observe.FileFault(err, h.Files.File(SnapshotFileName(j.ID)))
		}
	}
	m.options.Step("recorded", h.Files.File(SnapshotFileName(j.ID)))
	if err := m.close(ctx, h); err != nil {
		return observe.FileFault(err, h.Files.File(journalName))
	}
	m.options.Step("closed", h.Files.File(journalName))
	if j.Kind == deployment.KindEdit {
		_ = h.Vault.Remove(j.ID) // nothing needs it; what is left of it, Prune drops
	}
	return nil
}

// close forgets the journal. That it is over is kept afterwards, and is said by the outcome of the call as well: without it nothing is undone.
func (m *Machine) close(ctx context.Context, h *home) error {
	journal, err := h.Document(journalName)
	if err == nil {
		err = h.Files.Remove(journalName)
	}
	if err == nil && journal != nil {
		_ = m.options.Operations.End(context.WithoutCancel(ctx), h.Path, journal)
	}
	return err
}
