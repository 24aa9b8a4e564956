package deployfile

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/sorting"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Roots implements deployport.Registry. A list that cannot be read fails with ErrSnapshotDamaged: without it files could be left behind.
func (m *Machine) Roots(_ context.Context, path string) ([]deployport.KnownRoot, error) {
	h, err := OpenHome(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	data, err := h.Document(rootsName)
	if err != nil {
		return nil, err
	}
	return decodeRoots(data)
}

func decodeRoots(data []byte) ([]deployport.KnownRoot, error) {
	var known []deployport.KnownRoot
	if len(data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, deployment.ErrSnapshotDamaged.Sayf("the list of deployed directories, state/%s, cannot be read: %v; restore it, or move it away", rootsName, err)
	}
	return known, nil
}

// knownRoots is the list of roots once the operation is through: those it owns something in are added, none is ever taken out.
func (op *operation) knownRoots(before []byte) ([]byte, error) {
	known, err := decodeRoots(before)
	if err != nil || op.t.Kind != deployment.KindDeploy && op.t.Kind != deployment.KindBootstrap {
		return before, err
	}
	added := false
	for _, f := range op.t.Owned {
		r := deployport.KnownRoot{Target: f.Target, Path: f.Root, Repo: op.t.Place.Repo}
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
	sorting.By(known, func(a, b deployport.KnownRoot) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Project, b.Project))
	})
	text, err := json.MarshalIndent(known, "", "  ")
	return append(text, '\n'), err
}
