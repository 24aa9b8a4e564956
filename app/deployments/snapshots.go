package deployments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// outputSlack is the size of an answer without its lists, in bytes.
const outputSlack = 16 << 10

// SnapshotData is one snapshot in a list.
type SnapshotData struct {
	Changes      int       `json:"changes"`
	CreatedAt    time.Time `json:"created_at"`
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`
	Managed      int       `json:"managed"`
	Profile      string    `json:"profile"`
	Repo         string    `json:"repo,omitempty"` // the config repository that it was made from, if recorded
	RolledBackTo string    `json:"rolled_back_to,omitempty"`
	Status       string    `json:"status"`
	Targets      []string  `json:"targets"`
}

// SnapshotsData is the data of snapshots list. The oldest ones of a list too long for the caller are omitted.
type SnapshotsData struct {
	Snapshots []SnapshotData `json:"snapshots"`
	Omitted   int            `json:"snapshots_omitted,omitempty"`
}

// SnapshotDetail is the data of snapshots show.
type SnapshotDetail struct {
	Changes      int              `json:"changes"`
	CreatedAt    time.Time        `json:"created_at"`
	FileChanges  []SnapshotChange `json:"file_changes"`
	Omitted      int              `json:"files_omitted,omitempty"` // of both lists, if they are too long for the caller
	ID           string           `json:"id"`
	Kind         string           `json:"kind"`
	Lock         *string          `json:"lockfile_sha256"`
	Managed      int              `json:"managed"`
	Files        []SnapshotFile   `json:"managed_files"`
	Profile      string           `json:"profile"`
	Repo         string           `json:"repo,omitempty"`
	Project      string           `json:"project_root"`
	ProjectPosix string           `json:"project_root_posix"`
	RolledBackTo string           `json:"rolled_back_to,omitempty"`
	Roots        []SnapshotRoot   `json:"roots"`
	Status       string           `json:"status"`
	Targets      []string         `json:"targets"`
}

// SnapshotRoot is a directory that was deployed to.
type SnapshotRoot struct {
	Root      string `json:"root"`
	RootPosix string `json:"root_posix"`
	Target    string `json:"target"`
}

// SnapshotChange is a file that was changed.
type SnapshotChange struct {
	After     *string `json:"after_sha256"`
	Before    *string `json:"before_sha256"`
	Op        string  `json:"op"`
	Path      string  `json:"path"`
	PathPosix string  `json:"path_posix"`
	Target    string  `json:"target"`
}

// SnapshotFile is a file that was managed afterwards.
type SnapshotFile struct {
	Modules   []string `json:"module_ids"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`
	Sum       *string  `json:"sha256"`
	Target    string   `json:"target"`
}

func brief(snap deployment.Snapshot) SnapshotData {
	return SnapshotData{Changes: len(snap.Changes), CreatedAt: snap.CreatedAt.UTC(), ID: snap.ID, Kind: string(snap.Kind), Managed: len(snap.Managed),
		Profile: snap.Profile, Repo: snap.Repo, RolledBackTo: snap.RolledBackTo, Status: string(snap.Status), Targets: append([]string{}, snap.Targets...)}
}

func sum(s deployment.Sum) *string {
	if s.IsZero() {
		return nil
	}
	text := s.String()
	return &text
}

// list returns every snapshot.
func (s *maintenanceService) list(ctx context.Context, sc tool.Scope, c planner.RepoInput) (none planner.Report[SnapshotsData], err error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return none, err
	}
	all, warnings, err := s.Snapshots.List(ctx, at.Home)
	if err != nil {
		return none, planner.WithWarnings(err, warnings)
	}
	data := SnapshotsData{Snapshots: make([]SnapshotData, len(all))}
	for i, snap := range all {
		data.Snapshots[i] = brief(snap)
	}
	const each = 360
	if room := max(1, (sc.MaxOutput-outputSlack)/each); sc.MaxOutput > 0 && len(all) > room {
		data.Omitted = len(all) - room
		data.Snapshots = data.Snapshots[data.Omitted:]
	}
	return planner.NewReport(data, warnings...), nil
}

// show returns one snapshot with its files, within the caller's limit.
func (s *maintenanceService) show(ctx context.Context, sc tool.Scope, c SnapshotInput) (none planner.Report[SnapshotDetail], err error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return none, err
	}
	snap, err := s.Snapshots.Load(ctx, at.Home, c.ID)
	if err != nil {
		return none, err
	}
	short := brief(snap)
	data := SnapshotDetail{Changes: short.Changes, CreatedAt: short.CreatedAt, FileChanges: []SnapshotChange{}, ID: short.ID, Kind: short.Kind, Lock: sum(snap.Lock),
		Managed: short.Managed, Files: []SnapshotFile{}, Profile: short.Profile, Repo: short.Repo, Project: snap.ProjectRoot, ProjectPosix: deployment.PosixPath(snap.ProjectRoot),
		RolledBackTo: short.RolledBackTo, Roots: []SnapshotRoot{}, Status: short.Status, Targets: short.Targets}
	for _, r := range snap.Roots {
		data.Roots = append(data.Roots, SnapshotRoot{r.Path, deployment.PosixPath(r.Path), r.Target})
	}
	size := outputSlack
	fits := func(path string) bool {
		const fixed = 400
		size += 2*len(path) + fixed
		if sc.MaxOutput > 0 && size > sc.MaxOutput {
			data.Omitted++
			return false
		}
		return true
	}
	for _, r := range snap.Changes {
		if fits(r.Path) {
			data.FileChanges = append(data.FileChanges, SnapshotChange{After: sum(r.After.Sum), Before: sum(r.Before.Sum), Op: string(r.Op), Path: r.Path,
				PathPosix: deployment.PosixPath(r.Path), Target: r.Target})
		}
	}
	for _, f := range snap.Managed {
		if fits(f.Path) {
			data.Files = append(data.Files, SnapshotFile{Modules: append([]string{}, f.Modules...), Path: f.Path, PathPosix: deployment.PosixPath(f.Path),
				Sum: sum(f.Sum), Target: f.Target})
		}
	}
	return planner.NewReport(data), nil
}

// PruneData is the data of snapshots prune.
type PruneData struct {
	Freed  int64    `json:"freed_bytes"`
	Kept   int      `json:"kept"`
	Pruned []string `json:"pruned"`
}

// pruning is the snapshots to delete, and the arguments.
type pruning struct {
	planner.Edit[PruneData]
	in PruneInput
}

// preparePrune selects the snapshots to delete.
func (s *maintenanceService) preparePrune(ctx context.Context, _ tool.Scope, c PruneInput) (*pruning, error) {
	if c.Keep < 0 || c.Keep == 0 && len(c.IDs) == 0 {
		return nil, tool.ErrArguments.WithMessage("agents_snapshots_prune: give the number of the newest to keep (keep, at least 1), or those to delete (ids)")
	}
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return nil, err
	}
	data, warnings, err := s.doomed(ctx, at, c)
	if err != nil {
		return nil, planner.WithWarnings(err, warnings)
	}
	return &pruning{planner.Edit[PruneData]{Command: fmt.Sprintf("snapshots prune (%d)", len(data.Pruned)), Place: at, Report: planner.NewReport(data, warnings...), Nothing: len(data.Pruned) == 0}, c}, nil
}

// doomed returns what a call would delete: the named ones, and all but the newest. Those in progress and the newest applied one of every config
// repository and project stay.
func (s *maintenanceService) doomed(ctx context.Context, at deployment.Locations, c PruneInput) (PruneData, []string, error) {
	data := PruneData{Pruned: []string{}}
	all, warnings, err := s.Snapshots.List(ctx, at.Home)
	if err != nil {
		return data, warnings, err
	}
	newest := map[[2]string]string{} // of every config repository and project
	owner := func(snap deployment.Snapshot) [2]string { return [2]string{snap.Repo, snap.ProjectRoot} }
	for _, snap := range all {
		if snap.Status == deployment.StatusApplied {
			newest[owner(snap)] = snap.ID
		}
	}
	for i, snap := range all {
		needed := snap.ID == newest[owner(snap)] || snap.Status == deployment.StatusApplying
		named := slices.Contains(c.IDs, snap.ID)
		switch {
		case named && needed:
			return data, warnings, tool.ErrArguments.WithMessage("snapshot %s stays: it is the newest one of its config repository and project that is applied, or still under way; take it out of ids", snap.ID).
				WithDetails(deployment.FieldDetails("id", snap.ID))
		case named, c.Keep > 0 && i < len(all)-c.Keep && !needed:
			data.Pruned = append(data.Pruned, snap.ID)
		default:
			data.Kept++
		}
	}
	for _, id := range c.IDs {
		if slices.ContainsFunc(all, func(snap deployment.Snapshot) bool { return snap.ID == id }) || slices.Contains(data.Pruned, id) {
			continue
		}
		_, err := s.Snapshots.Load(ctx, at.Home, id) // a record that cannot be read is in no list, and may be deleted
		if err != nil && !errors.Is(err, deployment.ErrSnapshotDamaged) {
			return data, warnings, err
		}
		data.Pruned = append(data.Pruned, id)
	}
	return data, warnings, nil
}

// prune deletes exactly what was shown.
func (s *maintenanceService) prune(ctx context.Context, _ tool.Scope, e *pruning) (none planner.Report[PruneData], err error) {
	data := e.Report.Data
	now, _, err := s.doomed(ctx, e.Place, e.in)
	switch {
	case err != nil:
		return none, err
	case !slices.Equal(now.Pruned, data.Pruned):
		return none, deployment.ErrStale.WithMessage("the snapshots changed after they were listed; nothing was deleted, list them again").
			WithDetails(deployment.ReasonDetails("snapshots_changed", "list_snapshots", "retry_command"))
	case len(data.Pruned) == 0:
		return e.Report, nil
	}
	if data.Freed, err = s.Snapshots.Prune(ctx, e.Place.Home, data.Pruned); err != nil {
		return none, err
	}
	return planner.NewReport(data, e.Report.Warnings...), nil
}
