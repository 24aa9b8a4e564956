// Package keeping is the tools that look after what deployments leave behind: agents_doctor_fix, agents_snapshots_list,
// agents_snapshots_show, agents_snapshots_prune, agents_record, agents_score, agents_pending and agents_recover.
//
// # What they promise
//
// Those that change something need yes first of all (deployment.ErrYes); dry_run shows the data that would come out and writes nothing.
//
// agents_doctor_fix (agentpack contract §5.7) puts the line .agentpack.manifest*.json once into the .gitignore of every git work tree that
// is deployed into and does not ignore manifests. Data: doctor's, with gitignore_fixes: [{repo_root, gitignore_path, updated}].
//
// agents_snapshots_list is what was done, newest last: {snapshots: [{id, kind, status, created_at, targets, profile, managed, changes,
// rolled_back_to?}], snapshots_omitted?}. agents_snapshots_show is one of them with its files: {…, project_root, roots, managed_files,
// file_changes, files_omitted?, lockfile_sha256}. agents_snapshots_prune forgets all but the newest keep, and those in ids; never the newest one that is
// applied, nor one under way. Data: {pruned: [ids], freed_bytes, kept}. The originals from before the first deployment stay.
//
// agents_record (§5.16) appends an event to the log, with what it says about itself lifted out. Data: {path, recorded_at, machine_id}.
// agents_score counts the log by module: {modules: [{module_id, total, failures, failure_rate, last_seen_at}], read_stats}. Lines that
// cannot be used are warnings.
//
// agents_pending says whether an operation was interrupted: {interrupted: null | {…}, next_actions}. agents_recover finishes it (resume)
// or takes it back (undo): {id, kind, action, left: [paths]}; a file that is neither as before nor as after is left alone and listed.
//
// It refuses to know how any of it is stored.
package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Deps is what the use cases need. All of it is required.
type MaintenanceDeps struct {
	Compiler  planner.Compiler
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Recovery  deployport.Recovery
	Events    deployport.Events
	Clock     ports.Clock
	Doctor    planner.Query // the tool doctor
}

type maintenanceService struct{ MaintenanceDeps }

// Entries is the tools.
func MaintenanceEntries(d MaintenanceDeps) []tool.Entry {
	s := &maintenanceService{d}
	about := func(name tool.Name, title, description string) planner.About {
		return planner.About{Name: name, Title: title, Description: description}
	}
	return []tool.Entry{
		planner.Change(about("agents_doctor_fix", "Check and mend the set-up",
			"Check the set-up as doctor does, and add ownership manifests to the .gitignore of work trees that do not ignore them."),
			planner.Command{NeedsYes: true, Class: policy.ClassDangerous, When: "unless nothing would change", Prepare: s.prepareFix, Commit: s.fix}),
		planner.Read(about("agents_snapshots_list", "List snapshots", "List the deployments, rollbacks and restores that can be rolled back to, newest last."), s.list),
		planner.Read(about("agents_snapshots_show", "Show a snapshot", "Show one snapshot with every file it changed and everything that was managed after it."), s.show),
		planner.Change(about("agents_snapshots_prune", "Forget snapshots",
			"Forget old snapshots and the content that only they need. The newest applied one and the originals stay."),
			planner.Command{NeedsYes: true, Class: policy.ClassDangerous, When: "unless there is nothing to forget", Prepare: s.preparePrune, Commit: s.prune}),
		planner.Change(about("agents_record", "Record an event", "Append an event to the log of what operations reported about themselves."),
			planner.Command{NeedsYes: true, Class: policy.ClassWrite, Own: true, Prepare: s.prepareRecord, Commit: s.record}),
		planner.Read(about("agents_score", "Score modules", "Count recorded events and failures by module, the worst first."), s.score),
		planner.Read(about("agents_pending", "Show interrupted work", "Show whether a deployment was interrupted and what to do about it."), s.pending),
		planner.Change(about("agents_recover", "Recover interrupted work", "Finish an interrupted deployment (resume) or take it back (undo)."),
			planner.Command{NeedsYes: true, Class: policy.ClassDangerous, When: "unless nothing was interrupted", Prepare: s.prepareRecover, Commit: s.settle}),
	}
}

func (s *maintenanceService) place(ctx context.Context, c planner.Call) (deployment.Place, error) {
	return s.Compiler.Places.Resolve(ctx, c.Asked())
}

// in is a slash path below dir as a native one.
func (s *maintenanceService) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}

func report(data any, warnings ...string) planner.Report {
	return planner.Report{Data: data, Warnings: planner.Unique(warnings)}
}
