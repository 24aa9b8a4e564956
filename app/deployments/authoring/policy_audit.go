package authoring

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/domain/tool"
)

// AuditData is the data of policy audit.
type AuditData struct {
	Changes   *governance.Changes `json:"change_summary,omitempty"`
	Lockfile  AuditLockfile       `json:"lockfile"`
	Modules   []AuditModule       `json:"modules"`
	Pack      *AuditPack          `json:"org_policy_pack,omitempty"`
	Root      string              `json:"root"`
	RootPosix string              `json:"root_posix"`
}

// AuditLockfile is the lockfile.
type AuditLockfile struct {
	GeneratedAt time.Time `json:"generated_at"`
	Path        string    `json:"lockfile_path"`
	PathPosix   string    `json:"lockfile_path_posix"`
	Modules     int       `json:"modules"`
	Version     int       `json:"version"`
}

// AuditModule is one locked module.
type AuditModule struct {
	ID   string                `json:"id"`
	Type deployment.ModuleType `json:"type"`
	Pinned
}

// AuditPack is the locked policy pack.
type AuditPack struct {
	Source string `json:"source"`
	Pinned
}

// Pinned is what something is locked to.
type Pinned struct {
	Bytes    int64                     `json:"bytes"`
	Files    int                       `json:"files"`
	Resolved deployment.ResolvedSource `json:"resolved_source"`
	Version  string                    `json:"resolved_version"`
	Sum      deployment.Sum            `json:"sha256"`
}

// audit reads the lockfile.
func (s *policyService) audit(ctx context.Context, _ tool.Scope, c planner.RepoInput) (none planner.Report[AuditData], err error) {
	at, err := s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
	if err != nil {
		return none, err
	}
	config, err := s.Compiler.Configs.Load(ctx, at.Repo)
	if err != nil {
		return none, planner.WithWarnings(err, config.Warnings)
	}
	lock := config.Lock
	if lock == nil {
		return none, planner.WithWarnings(s.Compiler.LockMissing(at), config.Warnings)
	}
	path := s.in(at.Repo, deployment.LockFile)
	d := AuditData{Root: at.Repo, RootPosix: deployment.PosixPath(at.Repo), Modules: []AuditModule{}, Lockfile: AuditLockfile{
		GeneratedAt: lock.GeneratedAt, Path: path, PathPosix: deployment.PosixPath(path), Modules: len(lock.Modules), Version: lock.Version}}
	for _, m := range lock.Modules {
		d.Modules = append(d.Modules, AuditModule{m.ID, m.Type, pinned(m.Manifest, m.Source, m.Version, m.Sum)})
	}
	var warnings []string
	pack, found, err := s.Orgs.OrgLock(ctx, at.Repo)
	switch {
	case err != nil:
		warnings = append(warnings, said(err))
	case found:
		d.Pack = &AuditPack{pack.Pack.Source, pinned(pack.Pack.Manifest, pack.Pack.Resolved, pack.Pack.ResolvedVersion, pack.Pack.Sum)}
	}
	var warning string
	if d.Changes, warning, err = s.changes(ctx, at, lock); err != nil {
		return none, err
	}
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return planner.NewReport(d, slices.Concat(config.Warnings, warnings)...), nil
}

func pinned(files []deployment.Entry, source deployment.ResolvedSource, version string, sum deployment.Sum) Pinned {
	p := Pinned{Files: len(files), Resolved: source, Version: version, Sum: sum}
	for _, f := range files {
		p.Bytes += f.Bytes
	}
	return p
}

// changes compares the lockfile with that of the commit before the current one. Outside git, and where nothing was committed before, there
// is nothing to say.
func (s *policyService) changes(ctx context.Context, at deployment.Locations, lock *deployment.Lock) (*governance.Changes, string, error) {
	base, err := s.base(ctx, at)
	if err != nil || base == "" {
		return nil, "", err
	}
	text, found, err := s.History.Show(ctx, at.Repo, base, deployment.LockFile)
	if err != nil {
		return nil, "", err
	}
	var before *deployment.Lock
	if found {
		if before, err = s.Orgs.DecodeLock(text, deployment.LockFile+" of commit "+base); err != nil {
			return nil, said(err), nil
		}
	}
	c := governance.CompareLocks(before, lock)
	c.Ref, c.Commit = "HEAD^", base
	return &c, "", nil
}

// base returns the commit before the current one; empty when there is none, or no git to ask.
func (s *policyService) base(ctx context.Context, at deployment.Locations) (string, error) {
	head, _, err := s.History.Head(ctx, at.Repo)
	if errors.Is(err, deployment.ErrGitRepo) || errors.Is(err, deployment.ErrGitMissing) || errors.Is(err, deployment.ErrGit) {
		return "", nil
	}
	if err != nil || head == "" {
		return "", err
	}
	base, _, err := s.Ancestry.Parent(ctx, at.Repo, head)
	return base, err
}
