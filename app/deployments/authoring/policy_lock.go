package authoring

import (
	"context"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The typed handles of the tools of the policy.
var (
	LintPolicy  = tool.Ref[planner.RepoInput, planner.Report[governance.Report]]{Name: "agents_policy_lint"}
	LockPolicy  = tool.Ref[planner.EditInput, planner.Report[PolicyLockData]]{Name: "agents_policy_lock"}
	AuditPolicy = tool.Ref[planner.RepoInput, planner.Report[AuditData]]{Name: "agents_policy_audit"}
)

// PolicyDeps is what the use cases need, all of it.
type PolicyDeps struct {
	Compiler planner.Compiler
	Machine  deployport.Machine
	History  deployport.History
	Ancestry deployport.Ancestry
	Orgs     deployport.Orgs
	Lister   deployport.Lister
}

type policyService struct{ PolicyDeps }

// PolicyEntries returns the tools.
func PolicyEntries(d PolicyDeps) []tool.Entry {
	s := &policyService{d}
	return []tool.Entry{
		bind.Query(LintPolicy, planner.QuerySpec("Check the policy",
			"Check skills, commands and sources of the config repository against its policy. Fails when something breaks it.", repoSchema), s.lint),
		bind.Command(LockPolicy, planner.CommandSpec("Lock the policy pack", "Resolve the policy pack of agentpack.org.yaml and write agentpack.org.lock.json.", editSchema,
			planner.CommandOptions{Class: policy.ClassWrite, When: "unless the lock says that already"}), s.prepareLock, s.lock),
		bind.Query(AuditPolicy, planner.QuerySpec("Audit the lockfile",
			"Show what the lockfile pins, and what changed in it since the commit before the current one.", repoSchema), s.audit),
	}
}

// in returns a slash path below dir as a native one.
func (s *policyService) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}

// PolicyLockData is the data of policy lock.
type PolicyLockData struct {
	Files     int            `json:"files"`
	Path      string         `json:"lockfile_path"`
	PathPosix string         `json:"lockfile_path_posix"`
	Version   string         `json:"resolved_version"`
	Sum       deployment.Sum `json:"sha256"`
}

// prepareLock resolves the policy pack.
func (s *policyService) prepareLock(ctx context.Context, _ tool.Scope, c planner.EditInput) (*planner.Edit[PolicyLockData], error) {
	at, err := s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
	if err != nil {
		return nil, err
	}
	org, found, err := s.Orgs.Org(ctx, at.Repo)
	if err != nil {
		return nil, err
	}
	if !found {
		const hint = "write one with version: 1 and policy_pack.source"
		path := s.in(at.Repo, deployment.OrgFile)
		return nil, deployment.ErrPolicyMissing.WithMessage("%s not found; %s", path, hint).WithDetails(deployment.FieldDetails("hint", hint).AddPath("path", path))
	}
	lock, err := s.resolve(ctx, at, org)
	if err != nil {
		return nil, err
	}
	data, err := lock.Encode()
	if err != nil {
		return nil, err
	}
	path := s.in(at.Repo, deployment.OrgLockFile)
	seen, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: []string{path}})
	if err != nil {
		return nil, err
	}
	e := &planner.Edit[PolicyLockData]{Command: "policy lock", Place: at, Report: planner.NewReport(PolicyLockData{
		len(lock.Pack.Manifest), path, deployment.PosixPath(path), lock.Pack.ResolvedVersion, lock.Pack.Sum})}
	if w := planner.FileWrite(at.Repo, path, seen.Files[path], data); w != nil {
		e.Writes = []deployment.Write{*w}
	}
	e.Nothing = len(e.Writes) == 0
	return e, nil
}

// resolve returns the policy pack as it is now.
func (s *policyService) resolve(ctx context.Context, at deployment.Locations, org governance.OrgConfig) (governance.Lock, error) {
	source, err := org.Pack()
	if err == nil {
		err = org.Allow(source)
	}
	if err != nil {
		return governance.Lock{}, err
	}
	if source.Git == nil {
		tree, err := s.Compiler.Sources.Local(ctx, at, source.Local)
		return governance.NewLock(org.PackSource, deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: source.Local}}, tree), err
	}
	if s.Compiler.Offline {
		return governance.Lock{}, deployment.ErrOffline.WithMessage("the policy pack comes from git, and --offline forbids asking for its commit; repeat without it")
	}
	commit, err := s.Compiler.Sources.Resolve(ctx, *source.Git)
	if err != nil {
		return governance.Lock{}, err
	}
	git := deployment.ResolvedGit{URL: source.Git.URL, Commit: commit, Subdir: source.Git.Subdir}
	tree, err := s.Compiler.Sources.Git(ctx, at, git, false)
	return governance.NewLock(org.PackSource, deployment.ResolvedSource{Git: &git}, tree), err
}

// lock writes the lock.
func (s *policyService) lock(ctx context.Context, sc tool.Scope, e *planner.Edit[PolicyLockData]) (planner.Report[PolicyLockData], error) {
	return write(ctx, s.Machine, sc, e)
}

// said returns a failure in words.
func said(err error) string { return fault.From(err).Message }
