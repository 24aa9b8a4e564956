package deployfile

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// repository is a config repository that deployed here: by its identity, which is the path that it first deployed from, where it is now, and what
// its remote is.
type repository struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Remote string `json:"remote,omitempty"` // its digest: URLs may hold secrets
}

// Repository implements deployport.Registry.
func (m *Machine) Repository(ctx context.Context, at deployment.Locations) (string, error) {
	h, err := OpenHome(at.Home)
	if err != nil {
		return "", err
	}
	defer h.Close()
	proof, err := m.proof(ctx, h)
	if err != nil {
		return "", err
	}
	known, err := h.repositories(proof)
	if err != nil {
		return "", err
	}
	return identify(known, at), nil
}

// repositories are those that are known. A list that no operation on record wrote makes none another's heir.
func (h *home) repositories(proof observe.Proof) ([]repository, error) {
	data, err := h.Document(repositoriesName)
	if err != nil {
		return nil, err
	}
	if !proof.Of(repositoriesName, data) {
		return nil, nil
	}
	var known []repository
	if err := decode(data, &known); err != nil {
		return nil, deployment.ErrSnapshotDamaged.WithMessage("%s cannot be read; it records which config repository deployed which files, so restore it from a backup, or move it away",
			h.Files.File(repositoriesName)).WithCause(err)
	}
	return known, nil
}

// identify is the identity of a place's config repository among those that are known. What stands at a known path is that repository, whatever became
// of its remote: a person who changes a remote goes on with the same one.
func identify(known []repository, at deployment.Locations) string {
	path := canonical(at.Repo)
	for _, k := range known {
		if k.Path == path {
			return k.ID
		}
	}
	for _, k := range known {
		if _, err := os.Lstat(filepath.Join(k.Path, deployment.ManifestFile)); at.Remote != "" && k.Remote == at.Remote && observe.IsAbsent(err) {
			return k.ID // it was moved
		}
	}
	id := path
	for n := 2; slices.ContainsFunc(known, func(k repository) bool { return k.ID == id }); n++ {
		id = path + "#" + strconv.Itoa(n) // another one had this path before it was moved
	}
	return id
}

// canonical is a path with links resolved, as far as it exists.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// repositoriesAfter is the list of config repositories once one has deployed from a place.
func repositoriesAfter(known []repository, id string, at deployment.Locations) []byte {
	now := repository{ID: id, Path: canonical(at.Repo), Remote: at.Remote}
	i := slices.IndexFunc(known, func(k repository) bool { return k.ID == id })
	if i < 0 {
		return lines(append(slices.Clone(known), now))
	}
	known = slices.Clone(known)
	known[i] = now
	return lines(known)
}

// Manifests implements deployport.Registry.
func (m *Machine) Manifests(ctx context.Context, at deployment.Locations) ([]deployment.Write, error) {
	h, err := OpenHome(at.Home)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	proof, err := m.proof(ctx, h)
	if err != nil {
		return nil, err
	}
	repositories, err := h.repositories(proof)
	if err != nil {
		return nil, err
	}
	id := identify(repositories, at)
	known, err := observe.ReadKnownRoots(h.Files)
	if err != nil {
		return nil, err
	}
	owned, err := observe.OpenOwnership(h.Path, id, proof)
	if err != nil {
		return nil, err
	}
	var out []deployment.Write
	done := map[holding]bool{}
	for _, k := range known {
		root := deployment.Root{Target: k.Target, Path: k.Path}
		path := filepath.Join(root.Path, observe.ManifestName(root.Target))
		if key := (holding{root.Target, root.Path}); done[key] {
			continue
		} else {
			done[key] = true
		}
		beside := observe.Manifest{Target: root.Target, Root: root.Path}
		records, _ := owned.Records(root)
		for _, r := range records {
			r.Files = slices.DeleteFunc(r.Files, func(f deployment.Owned) bool { return f.Sure() == nil })
			if r.Repo == "" || r.Repo == id {
				beside.Files, beside.GeneratedAt, beside.SnapshotID = append(beside.Files, r.Files...), r.GeneratedAt, r.SnapshotID
			}
		}
		now, err := observe.InspectPath(path)
		switch {
		case err != nil:
			return nil, observe.FileFault(err, path)
		case len(beside.Files) == 0 || now.Kind != deployment.Absent:
			continue
		}
		data, err := observe.EncodeManifest(beside)
		if err != nil {
			return nil, err
		}
		content := deployment.ContentOf(data)
		out = append(out, deployment.Write{Target: root.Target, Op: deployment.OpCreate, Path: path, Root: root.Path, Data: content,
			After: deployment.Seen{Kind: deployment.Regular, Sum: content.Sum, Size: content.Size, Mode: deployment.PlainMode}})
	}
	return out, nil
}
