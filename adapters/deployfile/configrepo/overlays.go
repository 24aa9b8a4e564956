package configrepo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	patchExtension = ".patch"
	maxMeta        = 16 << 20 // bytes of one metadata file
)

// Overlays reads overlay directories. It implements deployport.Overlays.
type Overlays struct{ files *Files }

// NewOverlays reads overlays whose files are read by files.
func NewOverlays(files *Files) *Overlays { return &Overlays{files} }

// Candidates implements deployport.Overlays.
func (o *Overlays) Candidates(ctx context.Context, at deployment.Locations, id string, scope deployment.OverlayScope) ([]string, error) {
	if some, err := o.Some(ctx, at, scope); err != nil || !some {
		return nil, err
	}
	return candidates(ctx, dirs(at, id, scope))
}

// Some implements deployport.Overlays.
func (o *Overlays) Some(ctx context.Context, at deployment.Locations, scope deployment.OverlayScope) (bool, error) {
	_, err := observe.Lstat(overlayParent(at, scope))
	return !absent(err), ctx.Err()
}

func overlayParent(at deployment.Locations, scope deployment.OverlayScope) string {
	return at.Repo + string(filepath.Separator) + filepath.FromSlash(at.OverlayParent(scope))
}

// candidates returns the existing directories; all have one parent.
func candidates(ctx context.Context, dirs []string) (found []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Dir(dirs[0])); absent(err) {
		return nil, nil // most scopes have no overlays at all
	}
	for _, dir := range dirs {
		switch _, err := os.Lstat(dir); {
		case err == nil:
			found = append(found, dir)
		case !absent(err):
			return nil, unreadable(dir, err)
		}
	}
	return found, nil
}

// absent reports that nothing exists at a path, or that the path is too long to exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// dirs are the places at which a module's overlay may stand; the first is where one is made. A module whose bare identifier is that of
// the directory which holds the machines' overlays has none under that name.
func dirs(at deployment.Locations, id string, scope deployment.OverlayScope) []string {
	parent := filepath.Clean(overlayParent(at, scope))
	machines := filepath.Dir(filepath.Join(at.Repo, filepath.FromSlash(at.OverlayParent(deployment.MachineScope))))
	var out []string
	for _, name := range deployment.OverlayNames(id) {
		if dir := filepath.Join(parent, name); dir != machines {
			out = append(out, dir)
		}
	}
	return out
}

// Layer implements deployport.Overlays. Besides errors of the file system it fails with ErrPath for an overlay that leads out of the
// repository or holds what no module may hold, and with ErrConfig for metadata that cannot be read.
func (o *Overlays) Layer(ctx context.Context, at deployment.Locations, id string, scope deployment.OverlayScope) (overlay.Layer, error) {
	all := dirs(at, id, scope)
	l := overlay.Layer{Scope: scope, Dir: all[0], Kind: overlay.KindDir}
	there, err := candidates(ctx, all)
	if err != nil || len(there) == 0 {
		return l, err
	}
	l.Dir, l.Exists = there[0], true
	resolved, info, err := o.files.within(at.Repo, l.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, unreadable(l.Dir, err)
	case err != nil:
		return l, err
	case !info.IsDir():
		return l, deployment.ErrPath.WithMessage("%s must be the overlay directory of module %q but is not a directory; move it away", l.Dir, id).
			WithDetails(deployment.Details{}.AddPath("path", l.Dir))
	}
	if err := readMeta(&l, resolved); err != nil {
		return l, err
	}
	if l.Overrides, err = o.files.Tree(ctx, resolved); err != nil {
		return l, err
	}
	patches, err := o.below(ctx, resolved, overlay.PatchesDir)
	if err != nil {
		return l, err
	}
	for _, f := range patches {
		if strings.EqualFold(path.Ext(f.Path), patchExtension) {
			l.Patches = append(l.Patches, overlay.PatchFile{Name: f.Path, Content: f.Content})
		}
	}
	conflicts, err := o.below(ctx, resolved, overlay.ConflictsDir)
	l.ConflictFiles = conflicts
	for _, f := range conflicts {
		l.Conflicts = append(l.Conflicts, f.Path)
	}
	return l, err
}

// below is the tree of a directory in an overlay's reserved part; none where it is not there.
func (o *Overlays) below(ctx context.Context, dir, sub string) (deployment.Tree, error) {
	full := filepath.Join(dir, filepath.FromSlash(sub))
	resolved, info, err := o.files.within(dir, full)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, deployment.ErrPath.WithMessage("%s is not a directory; move it away", full).WithDetails(deployment.Details{}.AddPath("path", full))
	}
	return o.files.Tree(ctx, resolved)
}

// readMeta reads what the reserved directory says: kind, module and baseline, each optional (agentpack contract §3.2).
func readMeta(l *overlay.Layer, dir string) error {
	meta := metaReader{layer: l, dir: docfile.NewDir(dir)}
	var kind struct {
		Kind *overlay.Kind `json:"overlay_kind"`
	}
	if _, err := meta.json(overlay.MetaFile, "meta_path", &kind); err != nil {
		return err
	}
	switch {
	case kind.Kind == nil:
	case *kind.Kind == overlay.KindDir || *kind.Kind == overlay.KindPatch:
		l.Kind = *kind.Kind
	default:
		return meta.bad(overlay.MetaFile, "meta_path", "overlay_kind must be dir or patch")
	}
	id, err := meta.read(overlay.IDFile)
	if err != nil {
		return err
	}
	l.ModuleID = strings.TrimSpace(string(id))
	var b overlay.Baseline
	found, err := meta.json(overlay.BaselineFile, "baseline_path", &b)
	switch {
	case err != nil:
		return err
	case found && b.Sum.IsZero():
		return meta.bad(overlay.BaselineFile, "baseline_path", "upstream_sha256 is missing")
	case found:
		l.Baseline = &b
	}
	return nil
}

type metaReader struct {
	layer *overlay.Layer
	dir   *docfile.Dir
}

// read is a metadata file; nothing where it is not there.
func (m metaReader) read(name string) ([]byte, error) {
	data, _, err := m.dir.Read(name, maxMeta)
	switch {
	case err == nil:
		return data, nil
	case absent(err):
		return nil, nil
	}
	return nil, unreadable(m.dir.File(name), err)
}

func (m metaReader) json(name, field string, into any) (found bool, err error) {
	data, err := m.read(name)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, m.bad(name, field, err.Error())
	}
	return true, nil
}

func (m metaReader) bad(name, field, problem string) *fault.Error {
	const hint = "correct the file, or remove it and create the overlay again with overlay edit"
	file := filepath.Join(m.layer.Dir, filepath.FromSlash(name))
	return deployment.ErrConfig.WithMessage("%s is not valid: %s; %s", file, problem, hint).
		WithDetails(deployment.FieldDetails("scope", string(m.layer.Scope)).Add("error", problem).Add("hint", hint).AddPath("overlay_dir", m.layer.Dir).AddPath(field, file))
}
