package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The typed handles of the maintenance tools.
var (
	DoctorFix      = tool.Ref[FixInput, planner.Report[DoctorData]]{Name: "agents_doctor_fix"}
	ListSnapshots  = tool.Ref[planner.RepoInput, planner.Report[SnapshotsData]]{Name: "agents_snapshots_list"}
	ShowSnapshot   = tool.Ref[SnapshotInput, planner.Report[SnapshotDetail]]{Name: "agents_snapshots_show"}
	PruneSnapshots = tool.Ref[PruneInput, planner.Report[PruneData]]{Name: "agents_snapshots_prune"}
	Record         = tool.Ref[RecordInput, planner.Report[RecordData]]{Name: "agents_record"}
	Score          = tool.Ref[planner.RepoInput, planner.Report[ScoreData]]{Name: "agents_score"}
	Pending        = tool.Ref[planner.RepoInput, planner.Report[PendingData]]{Name: "agents_pending"}
	Recover        = tool.Ref[RecoverInput, planner.Report[RecoverData]]{Name: "agents_recover"}
	WriteManifests = tool.Ref[ManifestsInput, planner.Report[ManifestsData]]{Name: "agents_manifests_write"}
)

// MaintenanceDeps holds the dependencies of the use cases. All of it is required.
type MaintenanceDeps struct {
	Compiler  planner.Compiler
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Recovery  deployport.Recovery
	Registry  deployport.Registry
	Events    deployport.Events
	Clock     ports.Clock
	Doctor    DoctorFunc
}

type maintenanceService struct{ MaintenanceDeps }

// MaintenanceEntries returns the tools.
func MaintenanceEntries(d MaintenanceDeps) []tool.Entry {
	s := &maintenanceService{d}
	return []tool.Entry{
		bind.Command(DoctorFix, planner.CommandSpec("Check and fix the set-up",
			"Check the set-up as doctor does, and add ownership manifests to the .gitignore of work trees that do not ignore them.", fixSchema,
			planner.CommandOptions{When: "unless nothing would change"}), s.prepareFix, s.fix),
		bind.Query(ListSnapshots, planner.QuerySpec("List snapshots", "List the deployments, rollbacks and restores that can be rolled back to, newest last.", repoSchema), s.list),
		bind.Query(ShowSnapshot, planner.QuerySpec("Show a snapshot", "Show one snapshot with every file it changed and everything that was managed after it.", snapshotSchema), s.show),
		bind.Command(PruneSnapshots, planner.CommandSpec("Forget snapshots",
			"Delete old snapshots and the content that only they need. The newest applied one and the originals stay.", pruneSchema,
			planner.CommandOptions{When: "unless there is nothing to delete"}), s.preparePrune, s.prune),
		bind.Command(Record, planner.CommandSpec("Record an event", "Append an event to the log of what operations reported about themselves.", recordSchema,
			planner.CommandOptions{Class: policy.ClassWrite, Own: true}), s.prepareRecord, s.record),
		bind.Query(Score, planner.QuerySpec("Score modules", "Count recorded events and failures by module, the worst first.", repoSchema), s.score),
		bind.Query(Pending, planner.QuerySpec("Show interrupted work", "Show whether a deployment was interrupted and what to do about it.", repoSchema), s.pending),
		bind.Command(Recover, planner.CommandSpec("Recover interrupted work", "Finish an interrupted deployment (resume) or take it back (undo).", recoverSchema,
			planner.CommandOptions{When: "unless nothing was interrupted"}), s.prepareRecover, s.settle),
		bind.Command(WriteManifests, planner.CommandSpec("Write ownership manifests",
			"Write the ownership manifests beside deployed files that earlier versions and the original tool read. The next deployment takes them over again.", editSchema,
			planner.CommandOptions{When: "unless there is nothing to write"}), s.prepareManifests, s.writeManifests),
	}
}

func (s *maintenanceService) place(ctx context.Context, c planner.Selection) (deployment.Locations, error) {
	return s.Compiler.Places.Resolve(ctx, c.Asked())
}

// in returns a slash path below dir as a native one.
func (s *maintenanceService) in(dir, below string) string {
	return target.Paths{Sep: s.Compiler.Sep}.Join(dir, below)
}
