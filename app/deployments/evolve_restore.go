package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
)

// RestoredFile is one file that is recreated.
type RestoredFile struct {
	ModuleIDs []string `json:"module_ids,omitempty"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`
	Target    string   `json:"target"`
}

// RestoreSummary counts what was examined.
type RestoreSummary struct {
	Missing         int `json:"missing"`
	Restored        int `json:"restored"`
	SkippedExisting int `json:"skipped_existing"`
	SkippedRead     int `json:"skipped_read_error"`
}

// RestoreData is the data of evolve restore.
type RestoreData struct {
	Reason   string         `json:"reason"`
	Restored []RestoredFile `json:"restored"`
	Omitted  int            `json:"restored_omitted,omitempty"`
	Summary  RestoreSummary `json:"summary"`
}

// EvolveRestoration is missing files to recreate.
type EvolveRestoration struct {
	data     RestoreData
	place    deployment.Locations
	writes   []deployment.Write
	warnings []string
	handed   planner.Handovers
	ways     *deployment.ResolvedDirs
	limit    int // maximum size of an answer in bytes
	content  func(ctx context.Context, c deployment.Content) ([]byte, error)
}

// Details returns exactly the lines that would be written.
func (r *EvolveRestoration) Details(ctx context.Context) (any, error) {
	type file struct {
		Root    string `json:"root"`
		Path    string `json:"path"`
		Unified string `json:"unified"`
	}
	files := []file{}
	for _, w := range r.writes {
		text, err := r.content(ctx, w.Data)
		if err != nil {
			return nil, err
		}
		var diff strings.Builder
		fmt.Fprintf(&diff, "--- /dev/null\n+++ %s\n", w.Path)
		for l := range strings.Lines(string(text)) {
			diff.WriteString("+" + strings.TrimSuffix(l, "\n") + "\n")
		}
		files = append(files, file{Root: w.Root, Path: strings.TrimPrefix(strings.TrimPrefix(w.Path, w.Root), "/"), Unified: diff.String()})
	}
	return map[string]any{"files": files}, nil
}

// Bound sets the maximum size of an answer in bytes; 0 is no limit.
func (r *EvolveRestoration) Bound(limit int) { r.limit = limit }

func (r *EvolveRestoration) report() planner.Report[RestoreData] {
	data := r.data
	data.Restored, data.Omitted = planner.FitJSON(data.Restored, r.limit-planner.AnswerOverhead)
	return planner.Report[RestoreData]{Data: data, Warnings: r.warnings}
}

// Hash returns the hash of the restoration.
func (r *EvolveRestoration) Hash() canon.Hash {
	var text strings.Builder
	for _, w := range r.writes {
		fmt.Fprintf(&text, "%s\n%s\n", w.Path, w.Data.Sum)
	}
	for _, led := range r.ways.Pairs() {
		fmt.Fprintf(&text, "%s\n%s\n", led[0], led[1])
	}
	return canon.SumBytes("deployment.restore.v1", []byte(text.String()))
}

// Prompt returns one line for the approval request.
func (r *EvolveRestoration) Prompt() string {
	return fmt.Sprintf("recreate %d missing files", len(r.writes))
}

// Assessment returns high risk if the recreated files give agents programs or permissions.
func (r *EvolveRestoration) Assessment() policy.Assessment { return r.handed.Assessment() }

// NoOp reports whether nothing is missing.
func (r *EvolveRestoration) NoOp() bool { return len(r.writes) == 0 }

// MarshalJSON returns the report that a dry run gives.
func (r *EvolveRestoration) MarshalJSON() ([]byte, error) {
	return json.Marshal(r.report())
}

// Restore finds deployed files that are missing. A file that cannot be examined is left alone. If some are missing and the call is not a dry run, it
// needs yes.
func (e Evolver) Restore(ctx context.Context, s planner.State, r planner.Result, c RestoreInput) (*EvolveRestoration, error) {
	out := &EvolveRestoration{content: e.Compiler.Sources.Content, place: s.Place, ways: r.Observed.Ways, warnings: slices.Clip(r.Warnings), data: RestoreData{Reason: "no_missing", Restored: []RestoredFile{}}}
	done, others, entries := map[string]bool{}, r.Observed.OthersByPath(), r.Entries(deployment.OwnerDeploy)
	for _, d := range r.Files {
		holder, shared := others.Holder(&d, entries[[2]string{d.Target, d.Path}], r.Observed.Files[d.Path])
		unread, now := r.Observed.Unread[d.Path], r.Observed.Files[d.Path]
		switch {
		case c.ModuleID != "" && !slices.Contains(d.Modules, c.ModuleID):
			continue
		case unread != nil && now.Kind == deployment.Absent: // its state is unknown
			out.warnings = append(out.warnings, unreadable(d.Path, unread))
			out.data.Summary.SkippedRead++
			continue
		case unread == nil && d.Part != nil && d.Merge.Ours.IsZero():
			continue
		case now.Kind != deployment.Absent:
			out.data.Summary.SkippedExisting++
			continue
		case holder != "" && !shared:
			out.warnings = append(out.warnings, d.Path+" is missing and belongs to the config repository "+holder+", which recreates it; "+takeOver)
			continue
		}
		out.data.Summary.Missing++
		out.data.Restored = append(out.data.Restored, RestoredFile{d.Modules, d.Path, deployment.PosixPath(d.Path), d.Target})
		if !done[d.Path] {
			done[d.Path] = true
			out.writes = append(out.writes, deployment.Write{Target: d.Target, Op: deployment.OpCreate, Path: d.Path, Root: d.Root, Data: d.Content,
				After: deployment.Seen{Kind: deployment.Regular, Sum: d.Content.Sum, Size: d.Content.Size, Mode: d.Mode}})
		}
	}
	slices.SortFunc(out.data.Restored, func(a, b RestoredFile) int { return strings.Compare(a.Target+"\x00"+a.Path, b.Target+"\x00"+b.Path) })
	changes := make([]deployment.Change, len(out.writes))
	for i, w := range out.writes {
		changes[i] = deployment.Change{Op: w.Op, Path: w.Path, After: w.Data, Mode: w.After.Mode}
	}
	var err error
	if out.handed, err = e.Compiler.Handovers(ctx, changes); err != nil {
		return nil, err
	}
	out.warnings = planner.UniqueWarnings(out.handed.Warnings(), out.ways.Warnings(), out.warnings)
	if len(out.writes) > 0 {
		out.data.Reason = "dry_run"
		if !c.DryRun && !c.Yes {
			return nil, deployment.ErrYes
		}
	}
	return out, nil
}

// Recreate writes the missing files, and no manifest: ownership does not change.
func (e Evolver) Recreate(ctx context.Context, r *EvolveRestoration, done func(done, total int)) (planner.Report[RestoreData], error) {
	if len(r.writes) > 0 {
		t := deployment.Transaction{Kind: deployment.KindEdit, Place: r.place, Writes: r.writes, Ways: r.ways}
		if _, err := e.Planner.Machine.Apply(ctx, t, done); err != nil {
			return planner.Report[RestoreData]{}, planner.WithWarnings(err, r.warnings)
		}
		r.data.Reason = "restored"
		r.data.Summary.Restored = len(r.data.Restored)
	}
	return r.report(), nil
}
