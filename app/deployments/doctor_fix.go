package deployments

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ignoreFix is one work tree whose .gitignore lacks the line (agentpack contract §5.7).
type ignoreFix struct {
	Path      string `json:"gitignore_path"`
	PathPosix string `json:"gitignore_path_posix"`
	Repo      string `json:"repo_root"`
	RepoPosix string `json:"repo_root_posix"`
	Updated   bool   `json:"updated"`
}

// mending is what is added where, and why something is not.
type mending struct {
	fixes    []ignoreFix
	warnings []string
}

// prepareFix works out the lines to add.
func (s *maintenanceService) prepareFix(ctx context.Context, sc tool.Scope, c planner.Call) (tool.Plan, error) {
	state, err := s.Compiler.Load(ctx, planner.Request{Asked: c.Asked(), Profile: c.Profile, Target: c.Target})
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	bare, err := target.Render(target.Input{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets, Sep: s.Compiler.Sep})
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	e := &planner.Edit{Command: "doctor --fix", Place: state.Place}
	fixes := []ignoreFix{}
	var warnings []string
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
			warnings = append(warnings, problem)
		case w != nil:
			e.Writes = append(e.Writes, *w)
		}
		fixes = append(fixes, fix)
	}
	next := mending{fixes, warnings}
	e.More, e.Nothing = next, len(e.Writes) == 0
	if e.Report, err = s.examined(ctx, sc, c, next); err != nil {
		return nil, err
	}
	return e, nil
}

// ignoring is the line for one work tree, or why it cannot be added.
func (s *maintenanceService) ignoring(ctx context.Context, at deployment.Place, tree string) (fix ignoreFix, w *deployment.Write, problem string, err error) {
	path := s.in(tree, authoring.GitignoreFile)
	fix = ignoreFix{Path: path, PathPosix: deployment.PosixPath(path), Repo: tree, RepoPosix: deployment.PosixPath(tree)}
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: []string{path}})
	if err != nil {
		return fix, nil, "", err
	}
	now := o.Files[path]
	if now.Kind != deployment.Absent && now.Kind != deployment.Regular { // writing would put a file in place of a link
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

// examined is what doctor says, with the fixes.
func (s *maintenanceService) examined(ctx context.Context, sc tool.Scope, c planner.Call, m mending) (planner.Report, error) {
	value, err := s.Doctor(ctx, sc, c)
	if err != nil {
		return planner.Report{}, err
	}
	var said struct {
		Data     map[string]any `json:"data"`
		Warnings []string       `json:"warnings"`
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return planner.Report{}, err
	}
	if said.Data == nil {
		said.Data = map[string]any{}
	}
	said.Data["gitignore_fixes"] = m.fixes
	return planner.Report{Data: said.Data, Warnings: planner.UniqueWarnings(said.Warnings, m.warnings)}, nil
}

// fix adds the lines, and looks again.
func (s *maintenanceService) fix(ctx context.Context, sc tool.Scope, c planner.Call, p tool.Plan) (any, error) {
	e := p.(*planner.Edit)
	if len(e.Writes) > 0 {
		if _, err := s.Machine.Apply(ctx, e.Transaction(), planner.ReportProgress(sc, "mending")); err != nil {
			return nil, planner.WithWarnings(err, e.Report.Warnings)
		}
	}
	out, err := s.examined(ctx, sc, c, e.More.(mending))
	if err != nil {
		return nil, err
	}
	return out, nil
}
