package authoring

import (
	"context"
	"io/fs"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The typed handles of the tools of overlays.
var (
	EditOverlay   = tool.Ref[OverlayEditInput, planner.Report[OverlayData]]{Name: "agents_overlay_edit"}
	OverlayPath   = tool.Ref[OverlayPathInput, planner.Report[OverlayPathData]]{Name: "agents_overlay_path"}
	RebaseOverlay = tool.Ref[RebaseInput, planner.Report[RebaseData]]{Name: "agents_overlay_rebase"}
)

// OverlayDeps is what the use cases need, all of it.
type OverlayDeps struct {
	Compiler planner.Compiler
	Machine  deployport.Machine
	History  deployport.History
	Merger   deployport.Merger
	Differ   deployport.Differ
	Clock    ports.Clock
}

type overlayService struct{ OverlayDeps }

// OverlayEntries returns the tools.
func OverlayEntries(d OverlayDeps) []tool.Entry {
	s := &overlayService{d}
	return []tool.Entry{
		bind.Command(EditOverlay, planner.CommandSpec("Make an overlay",
			"Create an overlay of a module in a scope, or complete an existing one, ready to be edited. Existing files stay as they are.", overlayEditSchema,
			planner.CommandOptions{Class: policy.ClassWrite, When: "unless the overlay lacks nothing"}), s.prepareEdit, s.edit),
		bind.Query(OverlayPath, planner.QuerySpec("Where an overlay is", "Show where a module's overlay of a scope is, or would be created.", overlayPathSchema), s.path),
		bind.Command(RebaseOverlay, planner.CommandSpec("Rebase an overlay",
			"Bring an overlay up to date with its module, merging file by file; conflicts are left in files for the user to resolve.", rebaseSchema,
			planner.CommandOptions{When: "unless nothing would change"}), s.prepareRebase, s.rebase),
	}
}

// load reads the config repository, and the overlay that the call names.
func (s *overlayService) load(ctx context.Context, c planner.Selection, of OverlayInput) (planner.State, overlay.Layer, error) {
	state, err := s.Compiler.Load(ctx, c.Request())
	if err != nil {
		return state, overlay.Layer{}, planner.WithWarnings(err, state.Warnings)
	}
	layer, err := s.Compiler.Overlays.Layer(ctx, state.Place, of.ModuleID, of.scope())
	if err != nil {
		return state, layer, planner.WithWarnings(err, state.Warnings)
	}
	return state, layer, nil
}

// OverlayPathData is the data of overlay path.
type OverlayPathData struct {
	ModuleID string                  `json:"module_id"`
	Dir      string                  `json:"overlay_dir"`
	DirPosix string                  `json:"overlay_dir_posix"`
	Scope    deployment.OverlayScope `json:"scope"`
}

// path finds the directory without reading what is in it, so that damage there does not hide it.
func (s *overlayService) path(ctx context.Context, _ tool.Scope, in OverlayPathInput) (none planner.Report[OverlayPathData], err error) {
	state, err := s.Compiler.Load(ctx, in.Selection().Request())
	if err != nil {
		return none, planner.WithWarnings(err, state.Warnings)
	}
	at := state.Place
	dir := s.in(s.in(at.Repo, at.OverlayParent(in.scope())), deployment.ModuleKey(in.ModuleID))
	there, err := s.Compiler.Overlays.Candidates(ctx, at, in.ModuleID, in.scope())
	if err != nil {
		return none, planner.WithWarnings(err, state.Warnings)
	}
	if len(there) > 0 {
		dir = there[0]
	}
	return planner.NewReport(OverlayPathData{in.ModuleID, dir, deployment.PosixPath(dir), in.scope()}, state.Warnings...), nil
}

// upstream returns a module's files below all overlays, and where a baseline can find them again.
func (s *overlayService) upstream(ctx context.Context, state planner.State, m deployment.Module) (deployment.Tree, *overlay.Origin, error) {
	if m.Source.Git != nil && state.Config.Lock == nil {
		return nil, nil, s.Compiler.LockMissing(state.Place)
	}
	tree, origin, err := s.Compiler.Upstream(ctx, state, m)
	if err != nil || origin != nil {
		return tree, origin, err
	}
	origin, err = planner.LocalOrigin(ctx, s.History, state.Place.Repo, m.Source.Local)
	return tree, origin, err
}

// in returns a slash path below dir as a native one.
func (s *overlayService) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}

// stamp is the baseline among an edit's writes. It gets its time when it is written, so that an edit has the same hash however often it
// is prepared.
type stamp struct {
	path     string
	baseline *overlay.Baseline // nil: there is none to write
}

// overlayPlan is an edit of an overlay with its baseline.
type overlayPlan[T any] struct {
	planner.Edit[T]
	stamp stamp
}

// writeOverlay carries the edit out.
func writeOverlay[T any](ctx context.Context, s *overlayService, sc tool.Scope, e *overlayPlan[T]) (planner.Report[T], error) {
	b := e.stamp
	for i := range e.Writes {
		if w := &e.Writes[i]; b.baseline != nil && w.Path == b.path {
			b.baseline.CreatedAt = s.Clock.Now().UTC()
			data, err := b.baseline.Encode()
			if err != nil {
				return planner.Report[T]{}, err
			}
			w.Data = deployment.ContentOf(data)
			w.After.Sum, w.After.Size = w.Data.Sum, w.Data.Size
		}
	}
	return write(ctx, s.Machine, sc, &e.Edit)
}

// put is a file to write: a slash path below an overlay's directory.
type put struct {
	path    string
	content deployment.Content
	mode    fs.FileMode
}

// writes returns the files as writes, and the deletions of those to remove, each with what stands there now.
func (s *overlayService) writes(ctx context.Context, at deployment.Locations, dir string, puts []put, remove ...string) ([]deployment.Write, error) {
	look := deployport.Look{Place: at}
	for _, p := range puts {
		look.Paths = append(look.Paths, s.in(dir, p.path))
	}
	for _, path := range remove {
		look.Paths = append(look.Paths, s.in(dir, path))
	}
	o, err := s.Machine.Observe(ctx, look)
	if err != nil {
		return nil, err
	}
	var out []deployment.Write
	for i, path := range look.Paths {
		w := deployment.Write{Op: deployment.OpDelete, Path: path, Root: at.Repo, Before: o.Files[path]}
		there := w.Before.Kind != deployment.Absent
		if i < len(puts) {
			p := puts[i]
			w.Op, w.Data = deployment.OpCreate, p.content
			w.After = deployment.Seen{Kind: deployment.Regular, Sum: p.content.Sum, Size: p.content.Size, Mode: p.mode}
			if there {
				w.Op = deployment.OpUpdate
			}
		} else if !there {
			continue
		}
		out = append(out, w)
	}
	return out, nil
}
