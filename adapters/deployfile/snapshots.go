package deployfile

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// List implements deployport.Snapshots. An operation that was interrupted is among them, as applying; its record is the journal.
func (m *Machine) List(ctx context.Context, path string) (all []deployment.Snapshot, warnings []string, err error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, nil, err
	}
	ids, err := h.IDs()
	if err != nil {
		return nil, nil, err
	}
	found := make([]*deployment.Snapshot, len(ids))
	wrong := make([]error, len(ids))
	err = each(ctx, len(ids), func(i int) error {
		d, err := h.Load(ids[i])
		found[i], wrong[i] = &d.Snapshot, err
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range ids {
		switch {
		case wrong[i] == nil:
			all = append(all, *found[i])
		case !errors.Is(wrong[i], deployment.ErrSnapshot): // it went meanwhile
			warnings = append(warnings, wrong[i].Error())
		}
	}
	j, err := h.Journal()
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	if j != nil && j.Kind != deployment.KindEdit && !slices.Contains(ids, j.ID) {
		all = append(all, j.Snapshot)
	}
	return all, warnings, nil
}

// Load implements deployport.Snapshots.
func (m *Machine) Load(ctx context.Context, path, id string) (deployment.Snapshot, error) {
	h, err := OpenHome(path)
	if err != nil {
		return deployment.Snapshot{}, err
	}
	d, err := h.Load(id)
	if err == nil {
		proof, err := m.proof(ctx, h)
		if err != nil {
			return deployment.Snapshot{}, err
		}
		d.Unproven = !proof.OfSum(SnapshotFileName(id), d.Sum)
	}
	if errors.Is(err, deployment.ErrSnapshot) && ValidID(id) {
		if j, wrong := h.Journal(); wrong == nil && j != nil && j.ID == id && j.Kind != deployment.KindEdit {
			return j.Snapshot, nil
		}
	}
	return d.Snapshot, err
}

// Originals implements deployport.Snapshots.
func (m *Machine) Originals(ctx context.Context, path string) ([]deployment.Original, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	data, err := h.Document(originalsName)
	if err != nil {
		return nil, err
	}
	proof, err := m.proof(ctx, h)
	if err != nil {
		return nil, err
	}
	return h.DecodeOriginals(data, proof)
}

// Blob implements deployport.Snapshots.
func (m *Machine) Blob(_ context.Context, path string, sum deployment.Sum) ([]byte, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Blob(sum)
}

// opened is a machine whose home's contents are open for reading.
type opened struct {
	*Machine
	h *home
}

// Open implements deployport.Snapshots.
func (m *Machine) Open(_ context.Context, path string) (deployport.Snapshots, func(), error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, nil, err
	}
	return opened{m, h}, h.Close, nil
}

// Blob implements deployport.Snapshots.
func (o opened) Blob(ctx context.Context, path string, sum deployment.Sum) ([]byte, error) {
	if path != o.h.Path {
		return o.Machine.Blob(ctx, path, sum)
	}
	return o.h.Blob(sum)
}

// Prune implements deployport.Snapshots. Records go first and contents after them: whenever the process dies, every record that is left has
// what it needs. What is deployed now stays as well. It is refused while an operation is unfinished.
func (m *Machine) Prune(ctx context.Context, path string, ids []string) (freed int64, err error) {
	h, err := OpenHome(path)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	for _, id := range ids {
		if _, err := h.Files.Stat(SnapshotFileName(id)); !ValidID(id) || err != nil {
			return 0, deployment.ErrSnapshot.WithMessage("snapshot %q not found; list the snapshots to see their names", id).
				WithDetails(deployment.FieldDetails("snapshot_id", id))
		}
	}
	held, err := h.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	if err := errors.Join(h.Idle(), h.Sweep()); err != nil {
		return 0, err
	}
	needed, err := h.Needed(ctx, ids)
	if err == nil {
		err = m.keepDeployed(ctx, h, needed)
	}
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		size, err := h.Forget(id)
		freed += size
		if err != nil {
			return freed, err
		}
		m.options.Step("forgotten", h.Files.File(SnapshotFileName(id)))
	}
	size, err := h.Vault.Keep(func(sum deployment.Sum) bool { return needed[sum] })
	m.options.Step("pruned", h.Vault.Dir())
	return freed + size, observe.FileFault(err, h.Vault.Dir())
}

// keepDeployed adds what is recorded as deployed, by whichever config repository: edits of these files are merged with it, whatever becomes of the snapshots.
func (m *Machine) keepDeployed(ctx context.Context, h *home, needed map[deployment.Sum]bool) error {
	known, err := m.Roots(ctx, h.Path)
	if err != nil {
		return err
	}
	owned, err := observe.OpenOwnership(h.Path, "", observe.Believed()) // what nobody needs may be kept
	if err != nil {
		return err
	}
	for _, k := range known {
		l, _, err := owned.Read(deployment.Root{Target: k.Target, Path: k.Path}, nil)
		if err != nil {
			continue // there is nothing that could be edited
		}
		for _, f := range l.Owned {
			needed[f.Sum] = true
		}
		for _, f := range l.Others {
			needed[f.Sum] = true
		}
	}
	return ctx.Err()
}
