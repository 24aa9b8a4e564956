package deployfile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// summed reports a record that decides what a plan deletes, puts back or proposes.
func summed(name string) bool {
	return strings.HasPrefix(name, observe.OwnedDir+"/") || strings.HasPrefix(name, snapshotsName+"/") || name == originalsName || name == repositoriesName
}

// sum adds the list of sums to what changes: of the records that operations wrote, this one among them. A record that somebody else changed meanwhile keeps
// the sum that it should have.
func (op *operation) sum(snapshot encoded) error {
	if op.m.Kept == nil || !op.t.Claim {
		return nil
	}
	sums := map[string]deployment.Sum{}
	maps.Copy(sums, op.proof.Sums)
	ids, err := op.h.IDs()
	if err != nil {
		return err
	}
	for name := range sums { // of snapshots that were pruned nothing is needed
		if id, ok := strings.CutPrefix(name, snapshotsName+"/"); ok && !slices.Contains(ids, strings.TrimSuffix(id, recordSuffix)) {
			delete(sums, name)
		}
	}
	for name, text := range op.same {
		sums[name] = deployment.SumOf(text)
	}
	for _, text := range op.journal.State {
		switch {
		case !summed(text.Name):
		case text.After == nil:
			delete(sums, text.Name)
		default:
			sums[text.Name] = deployment.SumOf(text.After)
		}
	}
	sums[SnapshotFileName(op.id)] = snapshot.Sum(deployment.StatusApplied)
	before, err := op.h.Document(observe.SumsName)
	if err != nil {
		return err
	}
	after, err := observe.EncodeSums(sums)
	op.journal.State = append(op.journal.State, Text{Name: observe.SumsName, Before: before, After: after})
	return err
}

// keep has the audit know the home's records as an operation left them, or as they were before it where that was known.
func (m *Machine) keep(ctx context.Context, h *home, j Journal, to direction) error {
	i := slices.IndexFunc(j.State, func(t Text) bool { return t.Name == observe.SumsName })
	if i < 0 {
		return nil
	}
	if to == forward {
		return m.options.Operations.Keep(ctx, h.Path, j.State[i].After)
	}
	if last, _, err := m.options.Operations.Kept(ctx, h.Path, j.State[i].After); !last || err != nil {
		return err // what was kept last is what is there again
	}
	if _, before, err := m.options.Operations.Kept(ctx, h.Path, j.State[i].Before); !before || err != nil {
		return err
	}
	return m.options.Operations.Keep(ctx, h.Path, j.State[i].Before)
}
