package deployments

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// mending is the lines to add to each .gitignore, and the reasons for those that are not added.
type mending struct {
	planner.Edit[DoctorData]
	asked    planner.Selection
	fixes    []GitignoreFix
	warnings []string
}

// prepareFix determines the lines to add.
func (s *maintenanceService) prepareFix(ctx context.Context, _ tool.Scope, in FixInput) (*mending, error) {
	c := in.Selection()
	state, err := s.Compiler.Load(ctx, c.Request())
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	bare, err := target.Render(target.Input{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets, Sep: s.Compiler.Sep})
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	e := &mending{Edit: planner.Edit[DoctorData]{Command: "doctor --fix", Place: state.Place}, asked: c, fixes: []GitignoreFix{}}
	done := map[string]bool{}
	for _, root := range bare.Roots {
		health, err := s.Machine.Check(ctx, root)
		if err != nil {
			return nil, err
		}
		if health.Worktree == "" || health.Ignored || done[health.Worktree] {
			continue
		}
		done[health.Worktree] = true
		fix, w, problem, err := s.ignoring(ctx, state.Place, health.Worktree)
		switch {
		case err != nil:
			return nil, err
		case problem != "":
			e.warnings = append(e.warnings, problem)
		case w != nil:
			e.Writes = append(e.Writes, *w)
		}
		e.fixes = append(e.fixes, fix)
	}
	e.Nothing = len(e.Writes) == 0
	if e.Report, err = s.examined(ctx, e); err != nil {
		return nil, err
	}
	return e, nil
}

// ignoring returns the line for one worktree, or why it cannot be added.
func (s *maintenanceService) ignoring(ctx context.Context, at deployment.Locations, tree string) (fix GitignoreFix, w *deployment.Write, problem string, err error) {
	path := s.in(tree, authoring.GitignoreFile)
	fix = GitignoreFix{Path: path, PathPosix: deployment.PosixPath(path), Repo: tree, RepoPosix: deployment.PosixPath(tree)}
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: []string{path}})
	if err != nil {
		return fix, nil, "", err
	}
	now := o.Files[path]
	if now.Kind != deployment.Absent && now.Kind != deployment.Regular { // writing would replace a link by a file
		return fix, nil, path + " is no regular file; add " + authoring.ManifestIgnoreLine + " by hand", nil
	}
	text, _, err := s.Machine.Read(ctx, path)
	if err != nil {
		return fix, nil, "", err
	}
	out, changed := authoring.EnsureIgnoreLines(text, authoring.ManifestIgnoreLine)
	if !changed {
		return fix, nil, path + " has the line " + authoring.ManifestIgnoreLine + ", and git does not ignore manifests all the same; look for a rule that takes it back", nil
	}
	fix.Updated = true
	return fix, planner.FileWrite(tree, path, now, out), "", nil
}

// examined returns doctor's result, with the fixes.
func (s *maintenanceService) examined(ctx context.Context, m *mending) (planner.Report[DoctorData], error) {
	said, err := s.Doctor(ctx, m.asked)
	if err != nil {
		return said, err
	}
	said.Data.GitignoreFixes = m.fixes
	return planner.NewReport(said.Data, slices.Concat(said.Warnings, m.warnings)...), nil
}

// fix adds the lines, and examines again.
func (s *maintenanceService) fix(ctx context.Context, sc tool.Scope, e *mending) (planner.Report[DoctorData], error) {
	if len(e.Writes) > 0 {
		if _, err := s.Machine.Apply(ctx, e.Transaction(), planner.ReportProgress(sc, "mending")); err != nil {
			return planner.Report[DoctorData]{}, planner.WithWarnings(err, e.Report.Warnings)
		}
	}
	return s.examined(ctx, e)
}
