package authoring

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/tool"
)

// OverlayData is the data of overlay edit.
type OverlayData struct {
	Created      bool                    `json:"created"`
	MachineID    *string                 `json:"machine_id"`
	Materialized bool                    `json:"materialized"`
	ModuleID     string                  `json:"module_id"`
	Dir          string                  `json:"overlay_dir"`
	DirPosix     string                  `json:"overlay_dir_posix"`
	Kind         overlay.Kind            `json:"overlay_kind"`
	PatchesDir   *string                 `json:"patches_dir"`
	Project      bool                    `json:"project"`
	ProjectID    *string                 `json:"project_id"`
	Scope        deployment.OverlayScope `json:"scope"`
	Sparse       bool                    `json:"sparse"`
}

// keptFile holds a directory open that has nothing in it yet, here and in git.
const keptFile = overlay.PatchesDir + "/.gitkeep"

// prepareEdit works out what an overlay lacks.
func (s *overlayService) prepareEdit(ctx context.Context, _ tool.Scope, c OverlayEditInput) (*overlayPlan[OverlayData], error) {
	if c.Sparse && c.Materialize {
		return nil, tool.ErrArguments.WithMessage("sparse and materialize contradict each other; give one of them, or neither")
	}
	state, layer, err := s.load(ctx, c.Selection(), c.OverlayInput)
	if err != nil {
		return nil, err
	}
	m, err := state.Config.Manifest.Module(c.ModuleID)
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	if layer.Kind, err = kindOf(c, layer); err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	upstream, origin, err := s.upstream(ctx, state, m)
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	var puts []put
	if layer.Kind == overlay.KindDir && !c.Sparse && (!layer.Exists || c.Materialize) {
		puts = lacking(upstream, layer)
	}
	e := &overlayPlan[OverlayData]{Edit: planner.Edit[OverlayData]{Command: "overlay edit", Place: state.Place}}
	mark := stamp{path: s.in(layer.Dir, overlay.BaselineFile)}
	if layer.Baseline == nil {
		mark.baseline = &overlay.Baseline{Version: overlay.BaselineVersion, Sum: upstream.Sum(), Manifest: upstream.Entries(), Upstream: origin}
	}
	about, err := s.metadata(ctx, c.ModuleID, layer, mark.baseline)
	if err != nil {
		return nil, err
	}
	if e.Writes, err = s.writes(ctx, state.Place, layer.Dir, append(puts, about...)); err != nil {
		return nil, err
	}
	e.stamp, e.Nothing = mark, len(e.Writes) == 0
	e.Report = planner.NewReport(s.editData(c, state.Place, layer), slices.Concat(state.Warnings, unfounded(c.ModuleID, mark.baseline))...)
	return e, nil
}

// edit makes the overlay.
func (s *overlayService) edit(ctx context.Context, sc tool.Scope, e *overlayPlan[OverlayData]) (planner.Report[OverlayData], error) {
	return writeOverlay(ctx, s, sc, e)
}

// kindOf returns the kind that the overlay shall have: the one it has, or patch where that is asked for and nothing is in its way.
func kindOf(c OverlayEditInput, l overlay.Layer) (overlay.Kind, error) {
	about := overlay.PatchLayer{Module: c.ModuleID, Scope: l.Scope, Dir: l.Dir}
	switch {
	case c.Kind == string(overlay.KindPatch) && c.Materialize:
		return "", about.Fault(deployment.ErrConfig, "an overlay of patches holds no copies of files", "leave materialize out, or make it of the kind dir")
	case c.Kind == string(overlay.KindPatch) && len(l.Overrides) > 0:
		files := make([]string, len(l.Overrides))
		for i, f := range l.Overrides {
			files[i] = f.Path
		}
		hint := "move them away, or keep the kind dir"
		return "", about.Fault(deployment.ErrConfig, "it has override files, which no overlay of patches may have", hint).
			WithDetails(about.Details(hint).Add("override_files", files).Add("patch_files", []string{}))
	case c.Kind == string(overlay.KindPatch):
		return overlay.KindPatch, nil
	case l.Kind == overlay.KindPatch && c.Materialize:
		return "", about.Fault(deployment.ErrConfig, "it is of the kind patch, which holds no copies of files", "leave materialize out")
	}
	return l.Kind, nil
}

// lacking returns the files of the module that the overlay has no version of.
func lacking(upstream deployment.Tree, l overlay.Layer) (out []put) {
	for _, f := range upstream {
		if _, has := l.Overrides.Find(f.Path); !has {
			out = append(out, put{f.Path, f.Content, deployment.ModeOf(f.Mode)})
		}
	}
	return out
}

// metadata returns the files of the reserved directory that are missing, and those that say another kind.
func (s *overlayService) metadata(ctx context.Context, id string, l overlay.Layer, b *overlay.Baseline) ([]put, error) {
	var out []put
	add := func(name string, data []byte) {
		out = append(out, put{name, deployment.ContentOf(data), deployment.PlainMode})
	}
	kind, err := s.kindFile(ctx, l)
	if err != nil {
		return nil, err
	}
	if kind != nil {
		add(overlay.MetaFile, kind)
	}
	if l.ModuleID == "" {
		add(overlay.IDFile, []byte(id+"\n"))
	}
	if b != nil {
		data, err := b.Encode()
		if err != nil {
			return nil, err
		}
		add(overlay.BaselineFile, data)
	}
	if l.Kind == overlay.KindPatch && len(l.Patches) == 0 {
		_, there, err := s.Machine.Read(ctx, s.in(l.Dir, keptFile))
		if err != nil {
			return nil, err
		}
		if !there {
			add(keptFile, nil)
		}
	}
	return out, nil
}

// kindFile returns overlay.json with the layer's kind in it, or nothing where it says so already. What else it says stays.
func (s *overlayService) kindFile(ctx context.Context, l overlay.Layer) ([]byte, error) {
	text, there, err := s.Machine.Read(ctx, s.in(l.Dir, overlay.MetaFile))
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if there {
		if err := json.Unmarshal(text, &fields); err != nil || fields["overlay_kind"] == string(l.Kind) || fields["overlay_kind"] == nil && l.Kind == overlay.KindDir {
			return nil, nil // what cannot be read was refused when the layer was
		}
	}
	fields["overlay_kind"] = l.Kind
	out, err := json.MarshalIndent(fields, "", "  ")
	return append(out, '\n'), err
}

func (s *overlayService) editData(c OverlayEditInput, at deployment.Locations, l overlay.Layer) OverlayData {
	d := OverlayData{Created: !l.Exists, Materialized: c.Materialize, ModuleID: c.ModuleID, Dir: l.Dir, DirPosix: deployment.PosixPath(l.Dir), Kind: l.Kind,
		Project: c.scope() == deployment.ProjectScope, Scope: c.scope(), Sparse: c.Sparse}
	switch {
	case c.scope() == deployment.MachineScope:
		d.MachineID = &at.Machine
	case d.Project:
		d.ProjectID = &at.ProjectID
	}
	if l.Kind == overlay.KindPatch {
		dir := s.in(l.Dir, overlay.PatchesDir)
		d.PatchesDir = &dir
	}
	return d
}

// unfounded warns of a new baseline that no rebase will be able to use.
func unfounded(id string, b *overlay.Baseline) []string {
	if b == nil || b.Upstream.Git != nil || b.Upstream.Local.Commit != "" {
		return nil
	}
	return []string{"module " + id + " is in no git commit: this overlay cannot be rebased when the module changes; commit the config repository before you make overlays"}
}
