package authoring

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// FetchData is the data of fetch (agentpack contract §5.3).
type FetchData struct {
	Modules    int    `json:"git_modules_fetched"`
	Store      string `json:"store"`
	StorePosix string `json:"store_posix"`
}

// UpdateData is the data of update.
type UpdateData struct {
	Changes       []ModuleChange       `json:"changes,omitempty"`  // of git modules in an existing lock
	Findings      []inspection.Finding `json:"findings,omitempty"` // in added or changed files
	Modules       int                  `json:"git_modules_fetched"`
	Lockfile      string               `json:"lockfile"`
	LockfilePosix string               `json:"lockfile_posix"`
	Steps         []UpdateStep         `json:"steps"`
	Store         string               `json:"store"`
	StorePosix    string               `json:"store_posix"`
}

// UpdateStep is a step of an update.
type UpdateStep struct {
	Detail UpdateDetail `json:"detail"`
	Name   string       `json:"name"`
	OK     bool         `json:"ok"`
}

// UpdateDetail is the result of a step: the data of lock, or that of fetch.
type UpdateDetail struct {
	*LockData
	*FetchData
}

// fetchPlan is the plan to fetch modules.
type fetchPlan struct {
	planner.Edit[FetchData]
	modules []deployment.LockedModule
}

// updatePlan is the plan of an update. fetch is nil if it fetches nothing, locking if it locks nothing.
type updatePlan struct {
	planner.Edit[UpdateData]
	locking  *locking
	fetch    []deployment.LockedModule
	findings []inspection.Finding
	shown    []comparison
	service  *service
}

// Assessment requires typing a name if a finding is severe.
func (p *updatePlan) Assessment() policy.Assessment {
	return planner.RaisedBy(p.findings, p.Edit.Assessment())
}

// Target returns what the user must type.
func (p *updatePlan) Target() string { return inspection.Name(p.findings) }

// Details returns the changed lines of git modules.
func (p *updatePlan) Details(ctx context.Context) (any, error) {
	if len(p.shown) == 0 {
		return nil, nil
	}
	return p.service.exhibit(ctx, p.shown)
}

// gitModules returns the modules of a lock that come from git; never nil.
func gitModules(l *deployment.Lock) []deployment.LockedModule {
	out := []deployment.LockedModule{}
	for _, m := range l.Modules {
		if m.Source.Git != nil {
			out = append(out, m)
		}
	}
	return out
}

func (s *service) fetchData(at deployment.Locations, modules []deployment.LockedModule) FetchData {
	store := s.in(at.Home, "cache")
	return FetchData{Modules: len(modules), Store: store, StorePosix: deployment.PosixPath(store)}
}

func (s *service) noLock(at deployment.Locations) error {
	return deployment.ErrLockMissing.WithMessage("there is no %s, which says what to fetch; make it with lock (or update)", deployment.LockFile).
		WithDetails(deployment.FieldDetails("hint", "countersign agents lock").AddPath("path", s.in(at.Repo, deployment.LockFile)))
}

// prepareFetch reads the modules in the lockfile.
func (s *service) prepareFetch(ctx context.Context, _ tool.Scope, c planner.EditInput) (*fetchPlan, error) {
	at, err := s.place(ctx, c)
	if err != nil {
		return nil, err
	}
	config, err := s.config(ctx, at, false)
	switch {
	case err != nil:
		return nil, err
	case config.Lock == nil:
		return nil, planner.WithWarnings(s.noLock(at), config.Warnings)
	}
	modules := gitModules(config.Lock)
	return &fetchPlan{planner.Edit[FetchData]{Command: "fetch", Place: at, Report: planner.NewReport(s.fetchData(at, modules), config.Warnings...), Nothing: len(modules) == 0}, modules}, nil
}

func (s *service) fetch(ctx context.Context, sc tool.Scope, e *fetchPlan) (planner.Report[FetchData], error) {
	warnings, err := s.fetchAll(ctx, sc, e.Place, e.modules)
	if err != nil {
		return planner.Report[FetchData]{}, planner.WithWarnings(err, e.Report.Warnings)
	}
	return planner.NewReport(e.Report.Data, slices.Concat(e.Report.Warnings, warnings)...), nil
}

// fetchAll makes sure that the cache has every module as it was locked. A checkout that differs is replaced, with a warning; offline it is an error.
func (s *service) fetchAll(ctx context.Context, sc tool.Scope, at deployment.Locations, modules []deployment.LockedModule) ([]string, error) {
	damaged := make([]bool, len(modules))
	err := each(ctx, sc, "fetching modules", len(modules), func(ctx context.Context, i int) error {
		err := s.fetchOne(ctx, at, modules[i])
		damaged[i] = !s.Compiler.Offline && (errors.Is(err, deployment.ErrContent) || errors.Is(err, deployment.ErrConfig) || errors.Is(err, deployment.ErrPath))
		if damaged[i] {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.replace(ctx, at, modules, damaged)
}

// fetchOne fails with ErrContent if the cache differs from what was locked.
func (s *service) fetchOne(ctx context.Context, at deployment.Locations, m deployment.LockedModule) error {
	tree, err := s.Compiler.Sources.Git(ctx, at, *m.Source.Git, s.Compiler.Offline)
	if err != nil {
		return err
	}
	if sum := tree.Sum(); sum != m.Sum {
		return s.tampered(at, m, sum)
	}
	return nil
}

// replace fetches the checkouts of damaged modules again, each once, after all readers here have finished.
func (s *service) replace(ctx context.Context, at deployment.Locations, modules []deployment.LockedModule, damaged []bool) (warnings []string, err error) {
	gone := map[deployment.ResolvedGit]bool{}
	for i, m := range modules {
		checkout := *m.Source.Git
		checkout.Subdir = ""
		if !damaged[i] || gone[checkout] {
			continue
		}
		gone[checkout] = true
		if err := s.Compiler.Sources.Discard(ctx, at, checkout); err != nil {
			return nil, err
		}
		warnings = append(warnings, "the cached checkout of module "+m.ID+" was not what "+deployment.LockFile+" says any more, and was replaced")
	}
	for i, m := range modules {
		if !damaged[i] {
			continue
		}
		err := s.fetchOne(ctx, at, m)
		if errors.Is(err, deployment.ErrContent) {
			err = deployment.ErrContent.WithMessage("module %s, fetched just now, is not what %s says of its commit; take the lockfile from its history, or delete it and lock again", m.ID, deployment.LockFile).
				WithDetails(fault.From(err).Details)
		}
		if err != nil {
			return nil, err
		}
	}
	return warnings, nil
}

// tampered reports whether a checkout in the cache differs from the locked content of its commit.
func (s *service) tampered(at deployment.Locations, m deployment.LockedModule, sum deployment.Sum) error {
	checkout := s.in(at.Home, "cache/git/"+deployment.SumOf([]byte(m.Source.Git.URL)).String()+"/"+m.Source.Git.Commit)
	return deployment.ErrContent.WithMessage("module %s in the cache is not what %s says of its commit; fetch, which replaces %s", m.ID, deployment.LockFile, checkout).
		WithDetails(deployment.FieldDetails("module_id", m.ID).Add("expected_sha256", m.Sum.String()).Add("actual_sha256", sum.String()).AddPath("checkout", checkout))
}

// contradiction returns the first pair of contradicting flags.
func contradiction(c UpdateInput) error {
	for _, pair := range []struct {
		both     bool
		one, two string
	}{{c.Lock && c.NoLock, "lock", "no_lock"}, {c.Fetch && c.NoFetch, "fetch", "no_fetch"}, {c.Latest && c.NoLock, "latest", "no_lock"},
		{len(c.Modules) > 0 && c.NoLock, "modules", "no_lock"}} {
		if pair.both {
			return tool.ErrArguments.WithMessage("agents_update: %s and %s contradict each other; leave one out", pair.one, pair.two).
				WithDetails(deployment.FieldDetails("problems", []string{pair.one + " and " + pair.two + " contradict each other"}))
		}
	}
	return nil
}

// prepareUpdate decides the steps, requires yes if there are any, and computes the lockfile if it is one of them.
func (s *service) prepareUpdate(ctx context.Context, sc tool.Scope, c UpdateInput) (*updatePlan, error) {
	if err := contradiction(c); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	only := words(c.Modules)
	relock := c.Lock || c.Latest || len(only) > 0
	config, err := s.config(ctx, at, relock)
	if err != nil {
		return nil, err
	}
	relock = relock || config.Lock == nil && !c.NoLock
	switch {
	case !relock && !c.NoFetch && config.Lock == nil:
		return nil, planner.WithWarnings(s.noLock(at), config.Warnings)
	case (relock || !c.NoFetch) && !c.Yes && !c.DryRun:
		return nil, deployment.ErrYes
	}
	e := &updatePlan{Edit: planner.Edit[UpdateData]{Command: strings.Join(append([]string{"update"}, only...), " "), Place: at}, service: s}
	path, store := s.in(at.Repo, deployment.LockFile), s.fetchData(at, nil)
	data := UpdateData{Lockfile: path, LockfilePosix: deployment.PosixPath(path), Steps: []UpdateStep{}, Store: store.Store, StorePosix: store.StorePosix}
	lock := config.Lock
	if relock {
		if e.locking, e.Writes, err = s.relocked(ctx, sc, at, config, only); err != nil {
			return nil, planner.WithWarnings(err, config.Warnings)
		}
		lock = &e.locking.lock
		if data.Changes, e.shown, e.findings, err = s.compare(ctx, at, config.Lock, *lock); err != nil {
			return nil, planner.WithWarnings(err, config.Warnings)
		}
		data.Findings = planner.Told(e.findings)
		data.Steps = append(data.Steps, UpdateStep{Detail: UpdateDetail{LockData: &e.locking.data}, Name: "lock", OK: true})
	}
	if !c.NoFetch {
		e.fetch = gitModules(lock)
		data.Modules = len(e.fetch)
		fetched := s.fetchData(at, e.fetch)
		data.Steps = append(data.Steps, UpdateStep{Detail: UpdateDetail{FetchData: &fetched}, Name: "fetch", OK: true})
	}
	e.Report, e.Nothing = planner.NewReport(data, config.Warnings...), len(e.Writes)+len(e.fetch) == 0
	return e, nil
}

// relocked returns relock, but with only the named modules locked again, if some are named.
func (s *service) relocked(ctx context.Context, sc tool.Scope, at deployment.Locations, config deployport.Config, only []string) (*locking, []deployment.Write, error) {
	if len(only) == 0 {
		return s.relock(ctx, sc, at, config)
	}
	if config.Lock == nil {
		return nil, nil, s.noLock(at)
	}
	l := &locking{lock: deployment.Lock{Version: deployment.LockVersion, GeneratedAt: config.Lock.GeneratedAt, Modules: slices.Clone(config.Lock.Modules), Refs: maps.Clone(config.Lock.Refs)}}
	for _, id := range only {
		m, err := config.Manifest.Module(id)
		if err != nil {
			return nil, nil, err
		}
		entry, err := s.resolve(ctx, at, m)
		if err != nil {
			return nil, nil, err
		}
		l.lock.Modules = append(slices.DeleteFunc(l.lock.Modules, func(m deployment.LockedModule) bool { return m.ID == id }), entry)
		if m.Source.Git != nil {
			if l.lock.Refs == nil {
				l.lock.Refs = map[string]string{}
			}
			l.lock.Refs[id] = m.Source.Git.Ref
		}
	}
	slices.SortFunc(l.lock.Modules, func(a, b deployment.LockedModule) int { return cmp.Compare(a.ID, b.ID) })
	path := s.in(at.Repo, deployment.LockFile)
	l.data = LockData{Lockfile: path, LockfilePosix: deployment.PosixPath(path), Modules: len(l.lock.Modules)}
	l.fresh = !l.lock.Same(config.Lock)
	w, err := s.lockWrite(ctx, at, l)
	return l, w, err
}

// update runs the steps.
func (s *service) update(ctx context.Context, sc tool.Scope, e *updatePlan) (none planner.Report[UpdateData], err error) {
	if e.locking != nil {
		if err := s.stamp(e.Writes, e.locking); err != nil {
			return none, err
		}
	}
	if _, err := write(ctx, s.Machine, sc, &e.Edit); err != nil {
		return none, err
	}
	warnings, err := s.fetchAll(ctx, sc, e.Place, e.fetch)
	if err != nil {
		return none, planner.WithWarnings(err, e.Report.Warnings)
	}
	return planner.NewReport(e.Report.Data, slices.Concat(e.Report.Warnings, warnings)...), nil
}
