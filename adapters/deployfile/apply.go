package deployfile

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/adapters/deployfile/carry"
	"github.com/countersign-dev/countersign/adapters/deployfile/ground"
	"github.com/countersign-dev/countersign/adapters/deployfile/record"
	"github.com/countersign-dev/countersign/adapters/deployfile/state"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
)

// Apply implements deployport.Machine: lock, check everything again, keep what will be overwritten and what will be written, journal, write,
// record. A failure on the way is taken back before it is reported. Directories that the deletions leave empty are removed where a deployment
// made them.
func (m *Machine) Apply(ctx context.Context, t plan.Transaction, done func(done, total int)) (string, error) {
	h, err := state.Open(t.Place.Home)
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
	op.archive = h.Vault.Begin(op.id)
	if err := op.prepare(ctx); err != nil {
		return "", errors.Join(err, op.archive.Abort())
	}
	if len(op.jobs) == 0 {
		return "", ground.Fault(op.archive.Abort(), h.Vault.Dir())
	}
	if err := op.run(ctx, done); err != nil {
		return "", err
	}
	if t.Kind == plan.KindEdit {
		return "", nil
	}
	return op.id, nil
}

// run writes everything that was prepared.
func (op *operation) run(ctx context.Context, done func(done, total int)) error {
	m, h := op.m, op.h
	if _, err := op.archive.Commit(); err != nil {
		return ground.Fault(err, h.Vault.Dir())
	}
	m.options.Step("kept", h.Vault.File(op.id))
	encoded := h.Encode(op.journal.Snapshot)
	journal, err := record.EncodeJournal(op.journal, encoded)
	if err == nil {
		err = h.Files.Write(state.JournalName, journal)
	}
	if err != nil { // whether the journal is there or not, nothing was written
		return errors.Join(ground.Fault(err, h.Files.File(state.JournalName)), h.Files.Remove(state.JournalName), h.Vault.Remove(op.id))
	}
	m.options.Step("journalled", h.Files.File(state.JournalName))
	w := m.work(h, op.journal, carry.Forward)
	w.Jobs, w.Ground, w.Umask, w.Done = op.jobs, op.ground, op.umask, done
	if _, err = carry.Run(ctx, w); err == nil {
		err = m.finish(h, op.journal, plan.Applied, encoded)
	}
	if err == nil {
		return nil
	}
	return op.giveUp(ctx, err)
}

// giveUp takes back what was written before something failed.
func (op *operation) giveUp(ctx context.Context, reason error) error {
	ctx = context.WithoutCancel(ctx)
	_, err := carry.Run(ctx, op.m.work(op.h, op.journal, carry.Backward))
	if err == nil {
		err = ground.Fault(errors.Join(op.h.Files.Remove(state.RecordName(op.id)), op.h.Files.Remove(state.JournalName)), op.h.Files.File(state.JournalName))
	}
	if err != nil {
		return deployment.ErrInterrupted.Sayf("writing failed (%v), and so did taking it back (%v); repair the cause, then finish it with resume or take it back with undo",
			reason, err).With(deployment.Fields("snapshot_id", op.id).Add("kind", string(op.t.Kind)).Add("started_at", op.at)).Because(reason)
	}
	_ = op.h.Vault.Remove(op.id) // what is left of it, Prune drops
	return reason
}

// finish makes the outcome of an operation known and forgets its journal.
func (m *Machine) finish(h *state.Home, j record.Journal, outcome plan.Status, encoded record.Encoded) error {
	if j.Kind != plan.KindEdit {
		if err := h.Files.Write(state.RecordName(j.ID), encoded.As(outcome)); err != nil {
			return ground.Fault(err, h.Files.File(state.RecordName(j.ID)))
		}
	}
	m.options.Step("recorded", h.Files.File(state.RecordName(j.ID)))
	if err := h.Files.Remove(state.JournalName); err != nil {
		return ground.Fault(err, h.Files.File(state.JournalName))
	}
	m.options.Step("closed", h.Files.File(state.JournalName))
	if j.Kind == plan.KindEdit {
		_ = h.Vault.Remove(j.ID) // nothing needs it; what is left of it, Prune drops
	}
	return nil
}
