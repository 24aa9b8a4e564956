package deployfile

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Roots implements deployport.Registry. A list that cannot be read fails with ErrSnapshotDamaged: without it files could be left behind.
func (m *Machine) Roots(_ context.Context, path string) ([]deployport.KnownRoot, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return observe.ReadKnownRoots(h.Files)
}

// knownRoots is the list of roots once the operation is through: those it owns something in are added, none is ever taken out.
func (op *operation) knownRoots(before []byte) ([]byte, error) {
	known, err := observe.ReadKnownRoots(op.h.Files)
	if err != nil || op.t.Kind != deployment.KindDeploy && op.t.Kind != deployment.KindBootstrap {
		return before, err
	}
	repo, added := op.t.Repo, false
	if repo == "" {
		repo = canonical(op.t.Place.Repo)
	}
	for i := range op.t.Owned {
		f := &op.t.Owned[i]
		r := deployport.KnownRoot{Target: f.Target, Path: f.Root, Repo: repo}
		if deployment.IsBelow(op.t.Place.ProjectRoot, f.Root, '/') {
			r.Project = op.t.Place.ProjectRoot
		}
		if len(known) > 0 && known[len(known)-1] == r || slices.Contains(known, r) {
			continue
		}
		known, added = append(known, r), true
	}
	if !added {
		return before, nil
	}
	slices.SortFunc(known, func(a, b deployport.KnownRoot) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Project, b.Project))
	})
	text, err := json.MarshalIndent(known, "", "  ")
	return append(text, '\n'), err
}
