package authoring

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RebaseData is the data of overlay rebase.
type RebaseData struct {
	DryRun   bool                    `json:"dry_run"`
	ModuleID string                  `json:"module_id"`
	Dir      string                  `json:"overlay_dir"`
	DirPosix string                  `json:"overlay_dir_posix"`
	Report   overlay.RebaseReport    `json:"report"`
	Scope    deployment.OverlayScope `json:"scope"`
	Sparsify bool                    `json:"sparsify"`
}

// prepareRebase works out what the overlay becomes. A dry run ends here where there are conflicts; otherwise they are written first.
func (s *overlayService) prepareRebase(ctx context.Context, _ tool.Scope, c RebaseInput) (*overlayPlan[RebaseData], error) {
	state, layer, err := s.load(ctx, c.Selection(), c.OverlayInput)
	if err != nil {
		return nil, err
	}
	e, err := s.rebased(ctx, c, state, layer)
	if err == nil && c.DryRun {
		err = conflictsOf(e)
	}
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	return e, nil
}

func (s *overlayService) rebased(ctx context.Context, c RebaseInput, state planner.State, layer overlay.Layer) (*overlayPlan[RebaseData], error) {
	if err := overlay.CheckRebase(deployment.Module{ID: c.ModuleID}, layer); err != nil {
		return nil, err
	}
	m, err := state.Config.Manifest.Module(c.ModuleID)
	if err != nil {
		return nil, err
	}
	upstream, origin, err := s.upstream(ctx, state, m)
	if err != nil {
		return nil, err
	}
	earlier := bases{overlayService: s, place: state.Place, about: overlay.PatchLayer{Module: m.ID, Scope: layer.Scope, Dir: layer.Dir}, checkouts: map[deployment.ResolvedGit]deployment.Tree{}}
	result, err := overlay.Rebase(overlay.RebaseInput{Module: m, Layer: layer, Upstream: upstream, Origin: origin, Sparsify: c.Sparsify,
		Base: func(path string) ([]byte, bool, error) { return earlier.find(ctx, layer.Baseline.OriginOf(path), path) },
		Read: func(content deployment.Content) ([]byte, error) { return s.Compiler.Sources.Content(ctx, content) },
		Merge: func(base, ours, theirs []byte) ([]byte, int, error) {
			merged, err := s.Merger.Merge(ctx, base, ours, theirs)
			return merged.Text, merged.Conflicts, err
		},
		Diff: s.Differ.Unified,
	})
	if err != nil {
		return nil, err
	}
	e := &overlayPlan[RebaseData]{Edit: planner.Edit[RebaseData]{Command: "overlay rebase", Place: state.Place, Report: planner.NewReport(
		RebaseData{c.DryRun, c.ModuleID, layer.Dir, deployment.PosixPath(layer.Dir), result.Report, c.scope(), c.Sparsify}, state.Warnings...)}}
	puts := make([]put, 0, len(result.Files)+1)
	for _, f := range result.Files {
		puts = append(puts, put{f.Path, deployment.ContentOf(f.Data), f.Mode})
	}
	if result.Baseline != nil {
		data, err := result.Baseline.Encode()
		if err != nil {
			return nil, err
		}
		puts = append(puts, put{overlay.BaselineFile, deployment.ContentOf(data), deployment.PlainMode})
	}
	e.stamp = stamp{s.in(layer.Dir, overlay.BaselineFile), result.Baseline}
	e.Writes, err = s.writes(ctx, state.Place, layer.Dir, puts, result.Remove...)
	e.Nothing = len(e.Writes) == 0
	return e, err
}

// rebase writes what merged and what did not, and then says so.
func (s *overlayService) rebase(ctx context.Context, sc tool.Scope, e *overlayPlan[RebaseData]) (planner.Report[RebaseData], error) {
	out, err := writeOverlay(ctx, s, sc, e)
	if err != nil {
		return out, err
	}
	if err := conflictsOf(e); err != nil {
		return planner.Report[RebaseData]{}, planner.WithWarnings(err, e.Report.Warnings)
	}
	return out, nil
}

// conflictsOf is ErrRebaseConflict for a rebase that has conflicts (agentpack contract §3.8).
func conflictsOf(e *overlayPlan[RebaseData]) error {
	d := e.Report.Data
	if len(d.Report.Conflicts) == 0 {
		return nil
	}
	return deployment.ErrRebaseConflict.WithMessage("the %s overlay of %s and the module itself changed the same lines (%s); write what each file shall hold into its file below %s/%s, then rebase again",
		d.Scope, d.ModuleID, strings.Join(d.Report.Conflicts, ", "), d.DirPosix, overlay.ConflictsDir).
		WithDetails(deployment.ReasonDetails("overlay_rebase_conflict", "resolve_overlay_conflicts", "retry_overlay_rebase").Add("module_id", d.ModuleID).
			Add("scope", string(d.Scope)).AddPath("overlay_dir", d.Dir).Add("dry_run", d.DryRun).Add("sparsify", d.Sparsify).
			Add("conflicts", d.Report.Conflicts).Add("summary", d.Report.Summary))
}

// bases finds the files of baselines where their origins say.
type bases struct {
	*overlayService
	place     deployment.Locations
	about     overlay.PatchLayer
	checkouts map[deployment.ResolvedGit]deployment.Tree
}

func (b bases) find(ctx context.Context, o *overlay.Origin, file string) ([]byte, bool, error) {
	switch {
	case o != nil && o.Git != nil:
		return b.fetched(ctx, *o.Git, file)
	case o != nil && o.Local != nil && o.Local.Commit != "":
		return b.committed(ctx, *o.Local, file)
	case o != nil && o.Local != nil:
		hint := "commit the config repository, then recreate the overlay's baseline: remove " + overlay.BaselineFile + " and run overlay edit"
		return nil, false, b.about.Fault(deployment.ErrBaseline, "its baseline names no commit in which "+o.Local.Path+" could be found", hint).
			WithDetails(b.about.Details(hint).Add("repo_rel_path", o.Local.Path))
	}
	hint := "recreate the overlay's baseline: remove " + overlay.BaselineFile + " and run overlay edit"
	return nil, false, b.about.Fault(deployment.ErrBaseline, "its baseline does not say where the module came from", hint)
}

// fetched returns a file of a git source.
func (b bases) fetched(ctx context.Context, at deployment.ResolvedGit, file string) ([]byte, bool, error) {
	tree, known := b.checkouts[at]
	if !known {
		var err error
		if tree, err = b.Compiler.Sources.Git(ctx, b.place, at, b.Compiler.Offline); err != nil {
			return nil, false, err
		}
		b.checkouts[at] = tree
	}
	f, found := tree.Find(file)
	if !found {
		return nil, false, nil
	}
	data, err := b.Compiler.Sources.Content(ctx, f.Content)
	return data, err == nil, err
}

// committed returns a file of the config repository itself. A module that is a single file is that file.
func (b bases) committed(ctx context.Context, at overlay.LocalOrigin, file string) ([]byte, bool, error) {
	data, found, err := b.History.Show(ctx, b.place.Repo, at.Commit, path.Join(at.Path, file))
	if err == nil && !found && path.Base(at.Path) == file {
		data, found, err = b.History.Show(ctx, b.place.Repo, at.Commit, at.Path)
	}
	if errors.Is(err, deployment.ErrGitRepo) || errors.Is(err, deployment.ErrGit) {
		hint := "fetch the commit, or recreate the overlay's baseline: remove " + overlay.BaselineFile + " and run overlay edit"
		return nil, false, b.about.Fault(deployment.ErrBaseline, fmt.Sprintf("the commit %s of its baseline cannot be read (%v)", at.Commit, err), hint).
			WithDetails(b.about.Details(hint).Add("repo_rel_path", at.Path).Add("repo_git_rev", at.Commit)).WithCause(err)
	}
	return data, found, err
}
