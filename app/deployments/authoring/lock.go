package authoring

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// workers bounds how many modules are resolved or fetched at once.
const workers = 8

// LockData is the data of lock (agentpack contract §5.3).
type LockData struct {
	Lockfile      string `json:"lockfile"`
	LockfilePosix string `json:"lockfile_posix"`
	Modules       int    `json:"modules"`
}

// locking is a lock that was worked out. Unless it says what the one before it said it has no time yet: a plan must be the same when it is
// made again, so the time is that of writing.
type locking struct {
	lock  deployment.Lock
	fresh bool
	data  LockData
}

// lockPlan is a lock that is to be written.
type lockPlan struct {
	planner.Edit[LockData]
	locking *locking
}

func (s *service) prepareLock(ctx context.Context, sc tool.Scope, c planner.EditInput) (*lockPlan, error) {
	at, err := s.place(ctx, c)
	if err != nil {
		return nil, err
	}
	config, err := s.config(ctx, at, true)
	if err != nil {
		return nil, err
	}
	e := &lockPlan{Edit: planner.Edit[LockData]{Command: "lock", Place: at}}
	e.locking, e.Writes, err = s.relock(ctx, sc, at, config)
	if err != nil {
		return nil, planner.WithWarnings(err, config.Warnings)
	}
	e.Report, e.Nothing = planner.NewReport(e.locking.data, config.Warnings...), len(e.Writes) == 0
	return e, nil
}

// lock writes the lockfile.
func (s *service) lock(ctx context.Context, sc tool.Scope, e *lockPlan) (planner.Report[LockData], error) {
	if err := s.stamp(e.Writes, e.locking); err != nil {
		return planner.Report[LockData]{}, err
	}
	return write(ctx, s.Machine, sc, &e.Edit)
}

// stamp gives a new lock its time.
func (s *service) stamp(writes []deployment.Write, l *locking) error {
	if !l.fresh {
		return nil
	}
	l.lock.GeneratedAt = s.Clock.Now()
	data, err := s.Compiler.Configs.EncodeLock(l.lock)
	if err != nil {
		return err
	}
	for i, w := range writes {
		if w.Path == l.data.Lockfile {
			writes[i] = *planner.FileWrite(w.Root, w.Path, w.Before, data)
		}
	}
	return nil
}

// config returns the manifest and the lockfile. Where the lockfile is going to be made anew, one that cannot be read is as good as none.
func (s *service) config(ctx context.Context, at deployment.Locations, anew bool) (deployport.Config, error) {
	config, err := s.Compiler.Configs.Load(ctx, at.Repo)
	if anew && config.Manifest.Profiles != nil && (errors.Is(err, deployment.ErrLock) || errors.Is(err, deployment.ErrLockVersion)) {
		config.Warnings = append(slices.Clone(config.Warnings), "the lockfile could not be read and is replaced: "+err.Error())
		return config, nil
	}
	return config, err
}

// relock resolves every enabled module, and gives the write of the lockfile where that says something new.
func (s *service) relock(ctx context.Context, sc tool.Scope, at deployment.Locations, config deployport.Config) (*locking, []deployment.Write, error) {
	path := s.in(at.Repo, deployment.LockFile)
	l := &locking{lock: deployment.Lock{Version: deployment.LockVersion, Modules: []deployment.LockedModule{}}}
	enabled := slices.DeleteFunc(slices.Clone(config.Manifest.Modules), func(m deployment.Module) bool { return !m.Enabled })
	slices.SortFunc(enabled, func(a, b deployment.Module) int { return cmp.Compare(a.ID, b.ID) })
	l.lock.Modules, l.lock.Refs = make([]deployment.LockedModule, len(enabled)), refsOf(enabled)
	err := each(ctx, sc, "resolving modules", len(enabled), func(ctx context.Context, i int) (err error) {
		if l.lock.Modules[i], err = s.resolve(ctx, at, enabled[i]); err != nil {
			return err
		}
		now := l.lock.Modules[i]
		was, _ := config.Lock.Module(now.ID)
		if now.Source.Git != nil && was.Source.Git != nil && *now.Source.Git == *was.Source.Git && now.Sum != was.Sum {
			return s.tampered(at, was, now.Sum) // a commit does not change: what the cache holds is not it
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	l.data = LockData{Lockfile: path, LockfilePosix: deployment.PosixPath(path), Modules: len(enabled)}
	l.fresh = !l.lock.Same(config.Lock)
	if !l.fresh {
		l.lock.GeneratedAt = config.Lock.GeneratedAt
	}
	w, err := s.lockWrite(ctx, at, l)
	return l, w, err
}

// lockWrite returns the write of a lockfile; none where it is there already.
func (s *service) lockWrite(ctx context.Context, at deployment.Locations, l *locking) ([]deployment.Write, error) {
	path := l.data.Lockfile
	data, err := s.Compiler.Configs.EncodeLock(l.lock)
	if err != nil {
		return nil, err
	}
	seen, err := s.seen(ctx, at, path)
	if err != nil {
		return nil, err
	}
	now := seen[path]
	if now.Kind == deployment.Link && now.Sum == deployment.SumOf(data) { // it leads to what it should say
		return nil, nil
	}
	if w := planner.FileWrite(at.Repo, path, now, data); w != nil {
		return []deployment.Write{*w}, nil
	}
	return nil, nil
}

// resolve returns a module's entry in the lockfile.
func (s *service) resolve(ctx context.Context, at deployment.Locations, m deployment.Module) (deployment.LockedModule, error) {
	if m.Source.Git == nil {
		out := deployment.LockedModule{ID: m.ID, Type: m.Type, Version: deployment.LocalVersion}
		out.Source.Local = &deployment.ResolvedLocal{Path: m.Source.Local}
		tree, err := s.Compiler.Local(ctx, at, m)
		out.Sum, out.Manifest = tree.Sum(), tree.Entries()
		return out, err
	}
	commit, err := s.commitOf(ctx, m)
	if err != nil {
		return deployment.LockedModule{ID: m.ID, Type: m.Type}, err
	}
	out, _, err := s.pin(ctx, at, m, commit)
	return out, err
}

// pin returns a git module's entry in the lockfile at a commit, with its files.
func (s *service) pin(ctx context.Context, at deployment.Locations, m deployment.Module, commit string) (deployment.LockedModule, deployment.Tree, error) {
	out := deployment.LockedModule{ID: m.ID, Type: m.Type, Version: commit}
	out.Source.Git = &deployment.ResolvedGit{URL: m.Source.Git.URL, Commit: commit, Subdir: m.Source.Git.Subdir}
	tree, err := s.Compiler.Sources.Git(ctx, at, *out.Source.Git, s.Compiler.Offline)
	out.Sum, out.Manifest = tree.Sum(), tree.Entries()
	return out, tree, err
}

// refsOf returns the refs of those modules that come from git; nil where none does.
func refsOf(modules []deployment.Module) map[string]string {
	var out map[string]string
	for _, m := range modules {
		if m.Source.Git == nil {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[m.ID] = m.Source.Git.Ref
	}
	return out
}

// commitOf asks the remote, which offline only a ref that is a commit can do without.
func (s *service) commitOf(ctx context.Context, m deployment.Module) (string, error) {
	const digits = 40
	if _, err := git.ParseCommit(m.Source.Git.Ref); s.Compiler.Offline && (err != nil || len(m.Source.Git.Ref) != digits) {
		return "", deployment.ErrOffline.WithMessage("which commit %s of module %s is now only its remote can say, and --offline forbids asking; repeat without --offline",
			m.Source.Git.Ref, m.ID).WithDetails(deployment.FieldDetails("module_id", m.ID).Add("ref", m.Source.Git.Ref))
	}
	return s.Compiler.Sources.Resolve(ctx, *m.Source.Git)
}

// each does n things side by side until one fails.
func each(ctx context.Context, sc tool.Scope, what string, n int, do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return do(inner, i) })
	}
	sc.Progress(tool.Progress{Total: int64(n), Message: what})
	return group.Wait()
}
