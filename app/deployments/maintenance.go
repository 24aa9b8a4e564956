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

// MaintenanceDeps is what the use cases need. All of it is required.
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

// MaintenanceEntries is the tools.
func MaintenanceEntries(d MaintenanceDeps) []tool.Entry {
	s := &maintenanceService{d}
	about := func(name tool.Name, title, description string) planner.ToolInfo {
		return planner.ToolInfo{Name: name, Title: title, Description: description}
	}
	return []tool.Entry{
		planner.CommandEntry(about("agents_doctor_fix", "Check and mend the set-up",
			"Check the set-up as doctor does, and add ownership manifests to the .gitignore of work trees that do not ignore them."),
			planner.Command{NeedsYes: true, Class: policy.ClassDangerous, When: "unless nothing would change", Prepare: s.prepareFix, Commit: s.fix}),
		planner.QueryEntry(about("agents_snapshots_list", "List snapshots", "List the deployments, rollbacks and restores that can be rolled back to, newest last."), s.list),
		planner.QueryEntry(about("agents_snapshots_show", "Show a snapshot", "Show one snapshot with every file it changed and everything that was managed after it."), s.show),
		planner.CommandEntry(about("agents_snapshots_prune", "Forget snapshots",
			"Forget old snapshots and the content that only they need. The newest applied one and the originals stay."),
			planner.Command{NeedsYes: true, Class: policy.ClassDangerous, When: "unless there is nothing to forget", Prepare: s.preparePrune, Commit: s.prune}),
		planner.CommandEntry(about("agents_record", "Record an event", "Append an event to the log of what operations reported about themselves."),
			planner.Command{NeedsYes: true, Class: policy.ClassWrite, Own: true, Prepare: s.prepareRecord, Commit: s.record}),
		planner.QueryEntry(about("agents_score", "Score modules", "Count recorded events and failures by module, the worst first."), s.score),
		planner.QueryEntry(about("agents_pending", "Show interrupted work", "Show whether a deployment was interrupted and what to do about it."), s.pending),
		planner.CommandEntry(about("agents_recover", "Recover interrupted work", "Finish an interrupted deployment (resume) or take it back (undo)."),
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
	return planner.Report{Data: data, Warnings: planner.UniqueWarnings(warnings)}
}
