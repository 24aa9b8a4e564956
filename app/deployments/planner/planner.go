package planner

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Planner computes plans.
type Planner struct {
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Registry  deployport.Registry
	Documents deployport.Documents
	Sources   deployport.Sources
	Merger    deployport.Merger
}

// Result is a plan and its inputs.
type Result struct {
	Plan     deployment.Plan
	Observed deployment.Observed
	Files    []deployment.Desired // with parts merged, and those of parts that go
	Roots    []deployment.Root    // those that were planned for
	Warnings []string
	Claimed  bool // of a rollback: only files that any program can write, and no recorded operation, say what is restored
}

// Deploy returns the plan for the compiled state. Roots that a deployment of this repository wrote to and that no target names any more are examined
// too, so that nothing is left in them. An edited file is guarded, unless the config repository already has all of the edit.
func (p Planner) Deploy(ctx context.Context, s State) (Result, error) {
	return p.deploy(ctx, s, func(plan deployment.Plan, _ deployment.Observed) deployment.Plan { return plan })
}

// DeployUnedited is Deploy without changes that would overwrite or delete the user's own work.
func (p Planner) DeployUnedited(ctx context.Context, s State) (Result, error) {
	return p.deploy(ctx, s, deployment.Plan.LeaveEdited)
}

func (p Planner) deploy(ctx context.Context, s State, narrow func(deployment.Plan, deployment.Observed) deployment.Plan) (Result, error) {
	w, err := p.wanted(ctx, s)
	if err != nil {
		return Result{}, err
	}
	r, err := p.make(ctx, s.Place, w)
	if err == nil && p.findTaken(ctx, s.Place.Home, &r) {
		w.Files = r.Files
		r.Plan, err = deployment.NewPlan(w, r.Observed)
	}
	if err == nil {
		err = p.sumLeft(ctx, s.Place.Home, &r.Plan)
	}
	if err == nil {
		r.Plan = narrow(r.Plan, r.Observed)
	}
	r.Warnings = append(r.Warnings, r.Plan.Warnings()...)
	if err != nil || !slices.ContainsFunc(r.Plan.Changes, func(c deployment.Change) bool { return c.Op == deployment.OpDelete }) {
		return r, err
	}
	all, err := p.Snapshots.Originals(ctx, s.Place.Home)
	r.Warnings = append(r.Warnings, deletionWarnings(r.Plan, all)...)
	return r, err
}

// Survey examines the machine as Deploy does, without a plan. What cannot be read is no error: it is in Observed.Unread.
func (p Planner) Survey(ctx context.Context, s State) (Result, error) {
	w, err := p.wanted(ctx, s)
	if err != nil {
		return Result{}, err
	}
	return p.look(ctx, s.Place, w, true)
}

func (p Planner) wanted(ctx context.Context, s State) (deployment.Wanted, error) {
	repo, err := p.Registry.Repository(ctx, s.Place)
	if err != nil {
		return deployment.Wanted{}, err
	}
	roots, err := p.withOrphans(ctx, s, repo)
	return deployment.Wanted{Binding: ApprovalBinding(s), Profile: s.Request.Profile, Targets: s.Targets, Roots: roots, Files: s.Output.Files, Repo: repo}, err
}

// ApprovalBinding returns what an approval of a deployment covers, resolved.
func ApprovalBinding(s State) deployment.Binding {
	return deployment.Binding{Home: s.Place.Home, Machine: s.Place.Machine, Profile: s.Request.Profile, ProjectRoot: s.Place.ProjectRoot,
		Repo: s.Place.Repo, Scope: s.Place.Only, Target: strings.Join(s.Targets, ","), UserHome: s.Place.UserHome}
}

// withOrphans returns the state's roots and those that this config repository wrote to before, for a chosen or a removed target, in the same project
// or in none.
func (p Planner) withOrphans(ctx context.Context, s State, repo string) ([]deployment.Root, error) {
	known, err := p.Registry.Roots(ctx, s.Place.Home)
	if err != nil {
		return nil, err
	}
	roots := slices.Clone(s.Output.Roots)
	for _, k := range known {
		_, configured := s.Config.Manifest.Targets[k.Target]
		chosen := slices.Contains(s.Targets, k.Target) || !configured && s.Request.Target == AllTargets
		here := k.Repo == repo && concerns(s.Place, k)
		named := slices.ContainsFunc(roots, func(r deployment.Root) bool { return r.Target == k.Target && r.Path == k.Path })
		if chosen && here && !named {
			roots = append(roots, deployment.Root{Target: k.Target, Path: k.Path})
		}
	}
	return roots, nil
}

// concerns reports whether a call at that place is about a root: the user's, or the project's if there is one, unless only one of them was requested.
func concerns(at deployment.Locations, k deployport.KnownRoot) bool {
	if k.Project == "" {
		return at.Only != deployment.ScopeProject
	}
	return at.Only != deployment.ScopeUser && at.Marked && k.Project == at.ProjectRoot
}

// make observes, merges and compares.
func (p Planner) make(ctx context.Context, at deployment.Locations, w deployment.Wanted) (Result, error) {
	r, err := p.look(ctx, at, w, false)
	if err != nil {
		return r, err
	}
	w.Files = r.Files
	r.Plan, err = deployment.NewPlan(w, r.Observed)
	return r, err
}

// look observes and merges; goOn is as in deployport.Look.
func (p Planner) look(ctx context.Context, at deployment.Locations, w deployment.Wanted, goOn bool) (Result, error) {
	known, err := p.Registry.Roots(ctx, at.Home)
	if err != nil {
		return Result{}, err
	}
	look := deployport.Look{Place: at, Repo: w.Repo, Roots: neighbours(w, known), Paths: make([]string, len(w.Files)), GoOn: goOn}
	for i := range w.Files {
		look.Paths[i] = w.Files[i].Path
	}
	observed, err := p.Machine.Observe(ctx, look)
	r := Result{Observed: observed, Roots: w.Roots, Warnings: observed.Warnings}
	if err != nil {
		return r, err
	}
	r.Files, err = p.mergeParts(ctx, w, observed)
	return r, err
}

// neighbours returns the roots, and those of other targets in the same directories: what two targets own stays when one of them releases it. For
// other config repositories these include the directories above and below, which may have the same files.
func neighbours(w deployment.Wanted, known []deployport.KnownRoot) []deployment.Root {
	out := slices.Clone(w.Roots)
	below := func(dir, path string) bool {
		return deployment.IsBelow(dir, path, '/') || deployment.IsBelow(dir, path, '\\')
	}
	for _, k := range known {
		shared := slices.ContainsFunc(w.Roots, func(r deployment.Root) bool {
			return r.Path == k.Path || k.Repo != w.Repo && (below(r.Path, k.Path) || below(k.Path, r.Path))
		})
		named := slices.ContainsFunc(out, func(r deployment.Root) bool { return r.Path == k.Path && r.Target == k.Target })
		if shared && !named {
			out = append(out, deployment.Root{Target: k.Target, Path: k.Path})
		}
	}
	return out
}

// Rollback returns the plan that goes back to a snapshot, or to the state before the first deployment of this place if to is
// deployment.InitialSnapshot. Its scope is the roots of that snapshot (for the initial state: the place's own and those without a project).
func (p Planner) Rollback(ctx context.Context, at deployment.Locations, to string) (Result, error) {
	wanted, warnings, err := p.before(ctx, at, to)
	if err != nil {
		return Result{}, err
	}
	wanted.Binding = deployment.Binding{Home: at.Home, ProjectRoot: at.ProjectRoot, Repo: at.Repo, UserHome: at.UserHome, Profile: to}
	originals, err := p.Snapshots.Originals(ctx, at.Home)
	if err != nil {
		return Result{}, err
	}
	r, err := p.make(ctx, at, wanted)
	r.Warnings = append(warnings, r.Warnings...)
	if err != nil {
		return r, err
	}
	var left []string
	r.Plan, left = r.Plan.LeaveOthers(r.Observed)
	r.Warnings = slices.Concat(r.Warnings, left, r.Plan.Warnings())
	look := deployport.Look{Place: at}
	for _, o := range originals {
		look.Paths = append(look.Paths, o.Path)
	}
	seen, err := p.Machine.Observe(ctx, look)
	if err != nil {
		return r, err
	}
	seen.Others = r.Observed.Others
	doubtful := len(r.Plan.Doubtful)
	r.Plan = r.Plan.Restore(originals, to, seen)
	if len(r.Plan.Doubtful) > doubtful {
		r.Warnings = UniqueWarnings(r.Plan.Warnings(), r.Warnings)
	}
	r.Claimed = len(r.Plan.Doubtful) > 0 || slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, snapshotClaimed) })
	return r, nil
}

// snapshotClaimed begins the warning of a snapshot that no recorded operation wrote in this form.
const snapshotClaimed = "the audit does not know this record of a snapshot as it stands, so any program may have written what it puts back: "

// before returns what was owned at that snapshot.
func (p Planner) before(ctx context.Context, at deployment.Locations, to string) (deployment.Wanted, []string, error) {
	if to != deployment.InitialSnapshot {
		s, err := p.Snapshots.Load(ctx, at.Home, to)
		switch {
		case err != nil:
			return deployment.Wanted{}, nil, err
		case s.Kind == deployment.KindRollback:
			return deployment.Wanted{}, nil, deployment.ErrSnapshotDamaged.WithMessage("snapshot %s is the record of a rollback; roll back to %s itself", to, s.RolledBackTo).
				WithDetails(deployment.ReasonDetails("snapshot_is_rollback", "list_snapshots").Add("rolled_back_to", s.RolledBackTo))
		case s.Status == deployment.StatusUndone || s.Status == deployment.StatusApplying:
			return deployment.Wanted{}, nil, deployment.ErrSnapshotDamaged.WithMessage("snapshot %s was never finished; choose another", to)
		}
		w := deployment.SnapshotWanted(s)
		var warnings []string
		if s.Unproven {
			warnings = append(warnings, snapshotClaimed+s.ID)
		}
		if w.Repo == "" { // earlier versions and the original did not record it
			w.Repo, err = p.Registry.Repository(ctx, at)
		}
		return w, warnings, err
	}
	repo, err := p.Registry.Repository(ctx, at)
	if err != nil {
		return deployment.Wanted{}, nil, err
	}
	known, err := p.Registry.Roots(ctx, at.Home)
	if err != nil {
		return deployment.Wanted{}, nil, err
	}
	others, warnings, err := p.others(ctx, at, repo)
	if err != nil {
		return deployment.Wanted{}, nil, err
	}
	w := deployment.Wanted{Repo: repo}
	for _, k := range known {
		if k.Repo != repo {
			continue
		}
		projects := others[deployment.Root{Target: k.Target, Path: k.Path}]
		shared := k.Project == "" && len(projects) > 0
		if (k.Project == "" || k.Project == at.ProjectRoot) && !shared {
			w.Roots = append(w.Roots, deployment.Root{Target: k.Target, Path: k.Path})
			w.Targets = append(w.Targets, k.Target)
		}
		if shared {
			who := "the project " + projects[0] + " deploys there too; it goes when that one goes back to the beginning"
			if len(projects) > 1 {
				who = "the projects " + named(projects) + " deploy there too; it goes when the last of them goes back to the beginning"
			}
			warnings = append(warnings, k.Path+" stays as it is: "+who)
		}
	}
	slices.Sort(w.Targets)
	w.Targets = slices.Compact(w.Targets)
	return w, warnings, nil
}

// others returns the roots that deployments of the config repository from other projects used and have not rolled back; each with these projects,
// sorted.
func (p Planner) others(ctx context.Context, at deployment.Locations, repo string) (map[deployment.Root][]string, []string, error) {
	all, warnings, err := p.Snapshots.List(ctx, at.Home)
	if err != nil {
		return nil, nil, err
	}
	byProject := map[string]map[deployment.Root]bool{}
	for _, s := range all { // oldest first
		switch {
		case s.ProjectRoot == at.ProjectRoot || s.ProjectRoot == "" || s.Status != deployment.StatusApplied || s.Repo != "" && s.Repo != repo:
		case s.Kind == deployment.KindRollback && s.RolledBackTo == deployment.InitialSnapshot:
			delete(byProject, s.ProjectRoot)
		case s.Kind == deployment.KindDeploy:
			roots := map[deployment.Root]bool{}
			for i := range s.Managed {
				roots[deployment.Root{Target: s.Managed[i].Target, Path: s.Managed[i].Root}] = true
			}
			byProject[s.ProjectRoot] = roots
		}
	}
	out := map[deployment.Root][]string{}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		health, err := p.Machine.Check(ctx, deployment.Root{Path: project})
		if err != nil {
			return nil, nil, err
		}
		if health.Exists { // a deleted one needs nothing any more
			for root := range byProject[project] {
				out[root] = append(out[root], project)
			}
		}
	}
	return out, warnings, nil
}
