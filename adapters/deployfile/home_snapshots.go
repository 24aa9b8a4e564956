package deployfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// foreignChars is how much of a path's sum the original tool names a stored file by, in hex digits (agentpack contract §4.5).
const foreignChars = 16

// damaged is ErrSnapshotDamaged for a record, with what is wrong with it.
func damaged(id string, err error) error {
	return deployment.ErrSnapshotDamaged.WithMessage("the snapshot %s cannot be used: %v", id, err).
		WithDetails(deployment.FieldDetails("snapshot_id", id)).WithCause(err)
}

// Load reads one record.
func (h *home) Load(id string) (decoded, error) {
	if !ValidID(id) {
		return decoded{}, deployment.ErrSnapshot.WithMessage("%q is not a snapshot; list the snapshots to see their names", id)
	}
	data, err := h.Document(SnapshotFileName(id))
	switch {
	case err != nil:
		return decoded{}, damaged(id, err)
	case data == nil:
		return decoded{}, deployment.ErrSnapshot.WithMessage("snapshot %s not found; list the snapshots to see their names", id).
			WithDetails(deployment.FieldDetails("snapshot_id", id))
	}
	d, err := DecodeSnapshot(data)
	d.Sum = deployment.SumOf(data)
	if err == nil && d.ID != id {
		err = errors.New("it is the record of " + d.ID)
	}
	if err != nil {
		return decoded{}, damaged(id, err)
	}
	return d, nil
}

// DecodeOriginals reads the registry, which is never given up on: what it lists is kept for ever.
func (h *home) DecodeOriginals(data []byte, proof observe.Proof) ([]deployment.Original, error) {
	all, err := DecodeOriginals(data)
	if err != nil {
		return nil, deployment.ErrSnapshotDamaged.WithMessage("%s cannot be read; it lists the files from before the first deployment, so restore it from a backup",
			h.Files.File(originalsName)).WithCause(err)
	}
	if !proof.Of(originalsName, data) {
		for i := range all {
			all[i].Unproven = true
		}
	}
	return all, nil
}

// Blob is kept content, also from beside the records of the original tool.
func (h *home) Blob(sum deployment.Sum) ([]byte, error) { return h.blobIn(nil, sum) }

// blobIn is Blob in the room of another text, where it is large enough.
func (h *home) blobIn(room []byte, sum deployment.Sum) ([]byte, error) {
	data, err := h.Vault.BlobIn(room, sum)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, observe.FileFault(err, h.Vault.Dir())
	}
	ids, err := h.IDs()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		if data := h.foreign(id, sum); data != nil {
			return data, nil
		}
	}
	return nil, deployment.ErrSnapshotDamaged.WithMessage("the content %s is missing; the snapshots that need it cannot be used", sum).
		WithDetails(deployment.FieldDetails("sha256", sum.String()))
}

// foreign is a content that the original tool stored with that snapshot, or nil.
func (h *home) foreign(id string, sum deployment.Sum) []byte {
	beside := h.Files.File(snapshotsName + "/" + id)
	if info, err := os.Lstat(beside); err != nil || !info.IsDir() {
		return nil // one of ours has no such directory
	}
	d, err := h.Load(id)
	if err != nil || !d.Foreign {
		return nil
	}
	read := func(kind, target, path string) []byte {
		name := deployment.SumOf([]byte(path)).Short(foreignChars)
		data, _, err := h.Files.Read(snapshotsName+"/"+id+"/"+kind+"/"+deployment.SafeName(target)+"/"+name, maxDocument)
		if err != nil || deployment.SumOf(data) != sum {
			return nil
		}
		return data
	}
	for _, f := range d.Managed {
		if f.Sum == sum {
			if data := read("state", f.Target, deployment.PosixPath(f.Path)); data != nil {
				return data
			}
		}
	}
	for _, c := range d.Changes {
		var data []byte
		switch sum {
		case c.After.Sum:
			data = read("state", c.Target, deployment.PosixPath(c.Path))
		case c.Before.Sum:
			data = read("backup", c.Target, c.Path)
		}
		if data != nil {
			return data
		}
	}
	return nil
}

// Needed are the contents that originals and snapshots need, but for those that go. A record that cannot be read may need anything.
func (h *home) Needed(ctx context.Context, without []string) (map[deployment.Sum]bool, error) {
	needed := map[deployment.Sum]bool{}
	data, err := h.Document(originalsName)
	if err != nil {
		return nil, err
	}
	originals, err := h.DecodeOriginals(data, observe.Believed()) // what nobody needs may be kept
	if err != nil {
		return nil, err
	}
	for _, o := range originals {
		needed[o.Sum] = true
	}
	ids, err := h.IDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if slices.Contains(without, id) {
			continue
		}
		d, err := h.Load(id)
		if err != nil {
			return nil, err
		}
		for _, f := range d.Managed {
			needed[f.Sum] = true
		}
		for _, c := range d.Changes {
			needed[c.Before.Sum], needed[c.After.Sum] = true, true
		}
	}
	return needed, nil
}

// Forget removes a record and, first, what the original tool stored beside it: without its record that would be found by nobody.
func (h *home) Forget(id string) (freed int64, err error) {
	beside := h.Files.File(snapshotsName + "/" + id)
	_ = filepath.WalkDir(beside, func(_ string, e fs.DirEntry, err error) error { // only to tell how much it is
		if info, wrong := infoOf(e, err); wrong == nil && info.Mode().IsRegular() {
			freed += info.Size()
		}
		return nil
	})
	if err := os.RemoveAll(beside); err != nil {
		return 0, observe.FileFault(err, beside)
	}
	if info, err := h.Files.Stat(SnapshotFileName(id)); err == nil {
		freed += info.Size()
	}
	return freed, observe.FileFault(h.Files.Remove(SnapshotFileName(id)), h.Files.File(SnapshotFileName(id)))
}

func infoOf(e fs.DirEntry, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return e.Info()
}
