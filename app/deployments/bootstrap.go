package deployments

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// BootstrapDeps holds the dependencies of the use case; all except Version are required.
type BootstrapDeps struct {
	Compiler  planner.Compiler
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Registry  deployport.Registry
	Version   string // of the product: written into the assets
}

type bootstrapService struct{ BootstrapDeps }

// BootstrapEntries returns the tool.
func BootstrapEntries(d BootstrapDeps) []tool.Entry {
	s := &bootstrapService{d}
	return []tool.Entry{bind.Command(Bootstrap, planner.CommandSpec("Write operator assets",
		"Write the skill and the commands with which Codex and Claude Code operate deployments.", bootstrapSchema, planner.CommandOptions{When: "unless nothing would change"}), s.prepare, s.commit)}
}

// Bootstrap is the typed handle of the tool.
var Bootstrap = tool.Ref[BootstrapInput, planner.Report[authoring.BootstrapData]]{Name: "agents_bootstrap"}

// bootstrapPlan is the plan of a bootstrap.
type bootstrapPlan struct {
	plan     deployment.Plan
	place    deployment.Locations
	lock     deployment.Sum
	in       BootstrapInput
	warnings []string
	handed   planner.Handovers
}

// Hash returns the hash of the bootstrap: its resolved binding and its plan.
func (p *bootstrapPlan) Hash() canon.Hash { return p.plan.Hash() }

// Prompt returns one line for the approval request.
func (p *bootstrapPlan) Prompt() string {
	s := p.plan.Summary()
	what := "write"
	if p.in.Remove {
		what = "take away"
	}
	return fmt.Sprintf("%s operator assets for %s: %d to create, %d to update, %d to delete", what, strings.Join(p.plan.Targets, ", "), s.Create, s.Update, s.Delete)
}

// Assessment returns high risk: the assets are commands that agents run.
func (p *bootstrapPlan) Assessment() policy.Assessment {
	if len(p.plan.Doubtful) > 0 {
		return policy.Assessment{Risk: policy.RiskHigh}
	}
	return p.handed.Assessment()
}

// NoOp reports whether the bootstrap changes nothing.
func (p *bootstrapPlan) NoOp() bool { return p.plan.Empty() }

// Check fails if the plan would overwrite what no bootstrap wrote, unless the call has adopt.
func (p *bootstrapPlan) Check() error {
	if adoptions := p.plan.Adoptions(); !p.in.Adopt && len(adoptions) > 0 {
		return planner.AdoptError(adoptions)
	}
	return nil
}

// MarshalJSON returns the report that a dry run gives.
func (p *bootstrapPlan) MarshalJSON() ([]byte, error) { return json.Marshal(p.report(false, "")) }

// report returns the result, before the plan is applied or with the snapshot that was made.
func (p *bootstrapPlan) report(applied bool, snapshot string) planner.Report[authoring.BootstrapData] {
	d := authoring.BootstrapData{Applied: applied, Changes: p.plan.Changes, Scope: cmp.Or(p.in.Scope, deployment.ScopeBoth), SnapshotID: snapshot, Summary: p.plan.Summary(), Targets: p.plan.Targets}
	switch {
	case p.plan.Empty():
		d.Reason = "no_changes"
	case p.in.DryRun:
		d.Reason = "dry_run"
	}
	return planner.NewReport(d, p.warnings...)
}

func (s *bootstrapService) prepare(ctx context.Context, _ tool.Scope, in BootstrapInput) (*bootstrapPlan, error) {
	state, err := s.Compiler.Load(ctx, in.Selection().Request())
	if err != nil {
		return nil, planner.WithWarnings(err, state.Warnings)
	}
	wanted := map[string]bool{}
	if compiled, failed := s.Compiler.Compile(ctx, in.Selection().Request()); failed == nil && !in.Remove { // a broken module stops a deployment, but not a bootstrap
		for _, f := range compiled.Output.Files {
			wanted[f.Path] = true
		}
	}
	p := &bootstrapPlan{place: state.Place, lock: state.Config.LockSum, in: in}
	p.plan, p.warnings, err = s.plan(ctx, in.Remove, AssetOptions{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets,
		Scope: cmp.Or(in.Scope, deployment.ScopeBoth), Version: s.Version, Sep: s.Compiler.Sep, Theirs: wanted})
	if err == nil {
		p.handed, err = planner.FindHandovers(p.plan.Changes, func(c deployment.Change) ([]byte, error) { return c.After.Data, nil })
	}
	p.warnings = planner.UniqueWarnings(p.handed.Warnings(), p.plan.Ways.Warnings(), p.plan.Warnings(), state.Warnings, p.warnings)
	if err == nil && !p.plan.Empty() && !in.Yes && !in.DryRun {
		err = deployment.ErrYes
	}
	if err != nil {
		return nil, planner.WithWarnings(err, p.warnings)
	}
	return p, nil
}

// plan compares the desired state with the machine. Roots without desired files are only searched for files of earlier bootstraps. A path that a
// deployment owns is left alone, and so is one that a module wants, unless a bootstrap wrote it before.
func (s *bootstrapService) plan(ctx context.Context, remove bool, in AssetOptions) (deployment.Plan, []string, error) {
	wanted := in.Theirs
	in.Theirs = nil // known after the machine was examined
	set, err := AssetFiles(in)
	if err != nil {
		return deployment.Plan{}, nil, err
	}
	if remove {
		set.Files = nil
	}
	repo, err := s.Registry.Repository(ctx, in.Place)
	if err != nil {
		return deployment.Plan{}, nil, err
	}
	look := deployport.Look{Place: in.Place, Repo: repo, Roots: set.Roots}
	for _, f := range set.Files {
		look.Paths = append(look.Paths, f.Path)
	}
	observed, err := s.Machine.Observe(ctx, look)
	if err != nil {
		return deployment.Plan{}, observed.Warnings, err
	}
	theirs, ours := deployedPaths(observed), map[string]bool{}
	for f := range observed.Entries() {
		ours[f.Path] = ours[f.Path] || f.Owner == deployment.OwnerBootstrap
	}
	set.Files = slices.DeleteFunc(set.Files, func(f deployment.Desired) bool { return theirs[f.Path] || wanted[f.Path] && !ours[f.Path] })
	roots := slices.DeleteFunc(slices.Clone(set.Roots), func(r deployment.Root) bool {
		return !slices.ContainsFunc(set.Files, func(f deployment.Desired) bool { return f.Target == r.Target && f.Root == r.Path }) &&
			!slices.ContainsFunc(observed.Owned(), func(f deployment.Owned) bool {
				return f.Owner == deployment.OwnerBootstrap && f.Target == r.Target && f.Root == r.Path
			})
	})
	at := in.Place
	out, err := deployment.NewPlan(deployment.Wanted{Profile: deployment.DefaultProfile, Targets: set.Targets, Roots: roots, Files: set.Files, Owner: deployment.OwnerBootstrap, Repo: repo,
		Binding: deployment.Binding{Home: at.Home, Machine: at.Machine, Profile: deployment.DefaultProfile, ProjectRoot: at.ProjectRoot, Repo: at.Repo,
			Target: strings.Join(set.Targets, ","), UserHome: at.UserHome}}, observed)
	if err == nil && remove {
		out, err = s.goBack(ctx, out, at, observed)
	}
	return out, observed.Warnings, err
}

// goBack makes a plan that releases everything restore what was there before a bootstrap first wrote.
func (s *bootstrapService) goBack(ctx context.Context, p deployment.Plan, at deployment.Locations, observed deployment.Observed) (deployment.Plan, error) {
	originals, err := s.Snapshots.Originals(ctx, at.Home)
	if err != nil {
		return deployment.Plan{}, err
	}
	theirs, ours := deployedPaths(observed), map[string]bool{}
	for have := range observed.Entries() {
		if have.Owner == deployment.OwnerBootstrap && !theirs[have.Path] && slices.ContainsFunc(p.Roots, func(r deployment.Root) bool { return r.Target == have.Target && r.Path == have.Root }) {
			ours[have.Path] = true
		}
	}
	originals = slices.DeleteFunc(originals, func(o deployment.Original) bool { return !ours[o.Path] })
	return p.Restore(originals, deployment.InitialSnapshot, observed), nil
}

// commit applies exactly the plan that was shown.
func (s *bootstrapService) commit(ctx context.Context, sc tool.Scope, b *bootstrapPlan) (none planner.Report[authoring.BootstrapData], err error) {
	if b.plan.Empty() {
		return b.report(false, ""), nil
	}
	t := b.plan.Transaction(b.place, deployment.KindBootstrap, b.lock)
	if t.Settle = b.in.Remove; t.Settle {
		if err := planner.FillContents(ctx, &t, s.Snapshots); err != nil {
			return none, planner.WithWarnings(err, b.warnings)
		}
	}
	snapshot, err := s.Machine.Apply(ctx, t, planner.ReportProgress(sc, "bootstrapping"))
	if err != nil {
		return none, planner.WithWarnings(err, b.warnings)
	}
	return b.report(true, snapshot), nil
}

// InitialAssets returns the operator assets of a project whose config repository is being created, as writes among others (agentpack contract §5.1):
// for the targets that the call names, or those of an existing manifest, or all that have assets. Unmanaged files stay as they are. What it writes is
// unowned until a bootstrap claims it.
func InitialAssets(d BootstrapDeps) authoring.BootstrapFunc {
	s := &bootstrapService{d}
	return func(ctx context.Context, asked authoring.AssetRequest, at deployment.Locations) ([]deployment.Write, *authoring.BootstrapData, error) {
		in := AssetOptions{Place: at, Chosen: asked.Targets, Scope: asked.Scope, Version: s.Version, Sep: s.Compiler.Sep}
		config, err := s.Compiler.Configs.Load(ctx, at.Repo)
		switch {
		case err == nil:
			in.Targets = config.Manifest.Targets
		case !errors.Is(err, deployment.ErrConfigMissing):
			return nil, nil, err
		}
		if len(in.Chosen) == 0 {
			in.Chosen = AssetTargets()
			if err == nil {
				in.Chosen = slices.DeleteFunc(in.Chosen, func(name string) bool { _, configured := in.Targets[name]; return !configured })
			}
		}
		p := &bootstrapPlan{place: at, in: BootstrapInput{Scope: asked.Scope}}
		p.in.DryRun = asked.DryRun
		if p.plan, _, err = s.plan(ctx, false, in); err != nil {
			return nil, nil, err
		}
		p.plan.Changes = slices.DeleteFunc(p.plan.Changes, func(c deployment.Change) bool { return c.Gate.Adopts() || c.Op == deployment.OpDelete })
		p.plan.Stale = false
		shown := p.report(len(p.plan.Changes) > 0 && !asked.DryRun, "").Data
		return p.plan.Transaction(at, deployment.KindEdit, deployment.Sum{}).Writes, &shown, nil
	}
}
