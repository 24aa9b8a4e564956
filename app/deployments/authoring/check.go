package authoring

import (
	"cmp"
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The statuses of a module in check.
const (
	StatusUpToDate   = "up_to_date"       // the lock has what the ref points to
	StatusNewer      = "update_available" // the ref points to another commit now
	StatusRefChanged = "ref_changed"      // the manifest names another ref than was locked
	StatusPinned     = "pinned"           // the ref is a commit
	StatusEdited     = "edited"           // files of the config repository itself differ from the lock
	StatusUnlocked   = "not_locked"       // the lockfile does not have it in the form of the manifest
	StatusUnknown    = "unknown"          // its remote did not answer
)

// CheckData is the status of every enabled module against the lockfile.
type CheckData struct {
	Modules []CheckedModule `json:"modules"`
	Summary CheckSummary    `json:"summary"`
}

// CheckSummary counts them.
type CheckSummary struct {
	Modules  int `json:"modules"`
	Outdated int `json:"outdated"` // an update would change something
	Unknown  int `json:"unknown"`
}

// CheckedModule is one of them.
type CheckedModule struct {
	ID        string `json:"module_id"`
	Status    string `json:"status"`
	URL       string `json:"url,omitempty"`
	Ref       string `json:"ref,omitempty"`
	LockedRef string `json:"locked_ref,omitempty"`
	Locked    string `json:"locked,omitempty"` // commit
	Latest    string `json:"latest,omitempty"` // commit
	Error     string `json:"error,omitempty"`
}

// check asks every remote where the refs point now, and fetches nothing.
func (s *service) check(ctx context.Context, sc tool.Scope, c planner.RepoInput) (none planner.Report[CheckData], err error) {
	at, err := s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
	if err != nil {
		return none, err
	}
	config, err := s.config(ctx, at, false)
	switch {
	case err != nil:
		return none, err
	case config.Lock == nil:
		return none, planner.WithWarnings(s.noLock(at), config.Warnings)
	}
	enabled := slices.DeleteFunc(slices.Clone(config.Manifest.Modules), func(m deployment.Module) bool { return !m.Enabled })
	slices.SortFunc(enabled, func(a, b deployment.Module) int { return cmp.Compare(a.ID, b.ID) })
	data := CheckData{Modules: make([]CheckedModule, len(enabled))}
	err = each(ctx, sc, "asking remotes", len(enabled), func(ctx context.Context, i int) (err error) {
		data.Modules[i], err = s.checkOne(ctx, at, config.Lock, enabled[i])
		return cmp.Or(err, ctx.Err())
	})
	if err != nil {
		return none, err
	}
	for _, m := range data.Modules {
		data.Summary.Modules++
		switch m.Status {
		case StatusNewer, StatusRefChanged, StatusEdited, StatusUnlocked:
			data.Summary.Outdated++
		case StatusUnknown:
			data.Summary.Unknown++
		}
	}
	return planner.NewReport(data, config.Warnings...), nil
}

// checkOne returns the status of one module. An error is part of the status, and stops nothing.
func (s *service) checkOne(ctx context.Context, at deployment.Locations, lock *deployment.Lock, m deployment.Module) (CheckedModule, error) {
	out := CheckedModule{ID: m.ID, Status: StatusUpToDate}
	fail := func(err error) (CheckedModule, error) {
		if fault.From(err).Kind == fault.Denied { // the user is asked whether the remote may be reached
			return out, err
		}
		out.Status, out.Error = StatusUnknown, fault.From(err).Message
		return out, nil
	}
	if m.Source.Git == nil {
		locked, ok := lock.Module(m.ID)
		if !ok || locked.Source.Local == nil {
			out.Status = StatusUnlocked
			return out, nil
		}
		tree, err := s.Compiler.Local(ctx, at, m)
		if err != nil {
			return fail(err)
		}
		if tree.Sum() != locked.Sum {
			out.Status = StatusEdited
		}
		return out, nil
	}
	out.URL, out.Ref = m.Source.Git.URL, m.Source.Git.Ref
	locked, err := planner.FindLocked(lock, m)
	if err != nil {
		out.Status = StatusUnlocked
		return out, nil
	}
	out.Locked, out.LockedRef = locked.Version, lock.Refs[m.ID]
	_, changed := lock.RefChanged(m)
	if out.Latest, err = s.commitOf(ctx, m); err != nil {
		return fail(err)
	}
	switch {
	case changed:
		out.Status = StatusRefChanged
	case out.Latest != out.Locked:
		out.Status = StatusNewer
	case out.Latest == m.Source.Git.Ref:
		out.Status = StatusPinned
	}
	return out, nil
}

// ModuleChange is the change of one module by an update: from commit to commit, file by file.
type ModuleChange struct {
	ID      string        `json:"module_id"`
	Op      deployment.Op `json:"op"`
	Ref     string        `json:"ref,omitempty"`
	WasRef  string        `json:"locked_ref,omitempty"`
	From    string        `json:"from,omitempty"`
	To      string        `json:"to,omitempty"`
	Created []string      `json:"created,omitempty"`
	Updated []string      `json:"updated,omitempty"`
	Deleted []string      `json:"deleted,omitempty"`
}

// compare returns what a new lock changes of git modules in the previous one, with the files of both if available, and the findings of the new ones.
func (s *service) compare(ctx context.Context, at deployment.Locations, old *deployment.Lock, fresh deployment.Lock) (changes []ModuleChange, shown []comparison, findings []inspection.Finding, err error) {
	if old == nil {
		return nil, nil, nil, nil // everything is new, and nothing changes
	}
	look := s.Compiler.Inspector()
	for _, now := range fresh.Modules {
		was, had := old.Module(now.ID)
		if now.Source.Git == nil {
			continue // users know those files
		}
		ref, wasRef := fresh.Refs[now.ID], old.Refs[now.ID]
		if had && was.Sum == now.Sum && was.Version == now.Version && (ref == wasRef || wasRef == "") {
			continue
		}
		change := ModuleChange{ID: now.ID, Op: deployment.OpUpdate, Ref: ref, From: was.Version, To: now.Version}
		if wasRef != ref {
			change.WasRef = wasRef
		}
		if !had {
			change.Op = deployment.OpCreate
		}
		entries(&change, was.Manifest, now.Manifest)
		changes = append(changes, change)
		c := comparison{id: now.ID}
		if c.after, err = s.Compiler.Sources.Git(ctx, at, *now.Source.Git, s.Compiler.Offline); err != nil {
			return nil, nil, nil, err
		}
		if had && was.Source.Git != nil {
			if c.before, err = s.Compiler.Sources.Git(ctx, at, *was.Source.Git, true); err != nil || c.before.Sum() != was.Sum {
				c.before = nil // it is no longer cached: all of it is shown
			}
		}
		shown = append(shown, c)
		for _, d := range differences(c.before, c.after) {
			if d.after == nil {
				continue
			}
			found, err := look(ctx, now.ID, *d.after)
			if err != nil {
				return nil, nil, nil, err
			}
			findings = append(findings, found...)
		}
	}
	for _, was := range old.Modules {
		if _, stays := fresh.Module(was.ID); !stays && was.Source.Git != nil {
			changes = append(changes, ModuleChange{ID: was.ID, Op: deployment.OpDelete, From: was.Version})
		}
	}
	slices.SortFunc(changes, func(a, b ModuleChange) int { return cmp.Compare(a.ID, b.ID) })
	inspection.Sort(findings)
	return changes, shown, findings, nil
}

// entries returns which files were added, changed and removed.
func entries(c *ModuleChange, before, after []deployment.Entry) {
	was := map[string]deployment.Sum{}
	for _, e := range before {
		was[e.Path] = e.Sum
	}
	for _, e := range after {
		sum, there := was[e.Path]
		switch {
		case !there:
			c.Created = append(c.Created, e.Path)
		case sum != e.Sum:
			c.Updated = append(c.Updated, e.Path)
		}
		delete(was, e.Path)
	}
	for _, e := range before {
		if _, gone := was[e.Path]; gone {
			c.Deleted = append(c.Deleted, e.Path)
		}
	}
}
