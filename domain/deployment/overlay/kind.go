package overlay

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// subject is a layer of a module, with the details of its errors.
type subject struct {
	PatchLayer
	layer Layer
}

func about(m deployment.Module, l Layer) subject {
	return subject{PatchLayer{Module: m.ID, Scope: l.Scope, Dir: l.Dir}, l}
}

// patches returns the layer's patch files in order.
func (s subject) patches() (files []LayerPatch) {
	for _, f := range s.layer.Patches {
		if IsPatchFile(f.Name) {
			files = append(files, s.patch(f.Name, f.Content))
		}
	}
	slices.SortFunc(files, func(a, b LayerPatch) int { return strings.Compare(a.Name, b.Name) })
	return files
}

func (s subject) patch(name string, c deployment.Content) LayerPatch {
	return LayerPatch{PatchLayer: s.PatchLayer, Name: name, At: PatchesDir + "/" + name, Content: c}
}

// overrides returns the layer's files that may be deployed: none below a reserved directory, at any depth.
func (s subject) overrides() deployment.Tree {
	if !slices.ContainsFunc(s.layer.Overrides, reserved) {
		return s.layer.Overrides
	}
	return slices.DeleteFunc(slices.Clone(s.layer.Overrides), reserved)
}

func reserved(f deployment.File) bool {
	for part := range strings.SplitSeq(f.Path, "/") {
		if part == MetaDir || part == ".git" {
			return true
		}
	}
	return false
}

// checkKind checks that a layer matches its kind (agentpack contract §3.3): override files or patch files, never both. It fails with ErrConfig.
func (s subject) checkKind() error {
	files, patches := s.overrides(), s.patches()
	var problem, hint string
	switch kind := s.layer.Kind; {
	case len(files) > 0 && len(patches) > 0:
		problem, hint = "it has both override files and patch files", "keep one of them: move either the files or "+PatchesDir+" away"
	case kind != KindDir && kind != KindPatch && kind != "":
		hint = `set overlay_kind in ` + MetaFile + ` to "dir" or "patch"`
		return s.Fault(deployment.ErrConfig, "unknown overlay kind "+string(kind), hint).WithDetails(s.Details(hint).AddPath("meta_path", s.Native(MetaFile)))
	case kind == KindPatch && len(files) > 0:
		problem, hint = "its kind is patch, but it has override files", `remove them, or set overlay_kind in `+MetaFile+` to "dir"`
	case kind != KindPatch && len(patches) > 0:
		problem, hint = "its kind is dir, but it has patch files", `remove them, or set overlay_kind in `+MetaFile+` to "patch"`
	default:
		return nil
	}
	overridden, patched := make([]string, len(files)), make([]string, len(patches))
	for i, f := range files {
		overridden[i] = f.Path
	}
	for i, f := range patches {
		patched[i] = f.Name
	}
	return s.Fault(deployment.ErrConfig, problem, hint).WithDetails(s.Details(hint).Add("override_files", overridden).Add("patch_files", patched))
}

// conflictPaths returns the files that a rebase left unresolved.
func (s subject) conflictPaths() []string {
	paths := slices.Clone(s.layer.Conflicts)
	for _, f := range s.layer.ConflictFiles {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// unresolved returns ErrConflictsUnsolved for files of the layer.
func (s subject) unresolved(files []string, problem, hint string) error {
	const shown = 5
	list := strings.Join(files[:min(len(files), shown)], ", ")
	if len(files) > shown {
		list += ", and more"
	}
	details := s.Details(hint).Add("conflicts", files).
		Add("reason_code", "overlay_conflicts_unresolved").Add("next_actions", []string{"resolve_overlay_conflicts", "retry_overlay_rebase"})
	return s.Fault(deployment.ErrConflictsUnsolved, problem+" ("+list+")", hint).WithDetails(details)
}
