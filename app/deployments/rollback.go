package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RollbackData is the data of rollback. Changes and what follows are there in previews, and beside the ids once it was done.
type RollbackData struct {
	Changes      []deployment.Change `json:"changes"`
	Omitted      int                 `json:"changes_omitted,omitempty"`
	Event        string              `json:"event_snapshot_id,omitempty"`
	RolledBackTo string              `json:"rolled_back_to"`
	Summary      deployment.Summary  `json:"summary"`
}

// rollbackPlan is a rollback that was worked out.
type rollbackPlan struct {
	result planner.Result
	place  deployment.Locations
	to     string
	limit  int
	handed planner.Handovers

	exhibit func(ctx context.Context) (any, error)
}

// Details returns the lines that would change, file by file.
func (b *rollbackPlan) Details(ctx context.Context) (any, error) { return b.exhibit(ctx) }

// Hash names the rollback: where to, and what it would change.
func (b *rollbackPlan) Hash() canon.Hash { return b.result.Plan.Hash() }

// Prompt returns one line for whoever confirms.
func (b *rollbackPlan) Prompt() string {
	s := b.result.Plan.Files()
	return fmt.Sprintf("roll back to %s: %d to create, %d to update, %d to delete", b.to, s.Create, s.Update, s.Delete)
}

// Assessment returns of high risk where what comes back hands power on, or where no operation on record wrote down what it is.
func (b *rollbackPlan) Assessment() policy.Assessment {
	if b.result.Claimed {
		return policy.Assessment{Risk: policy.RiskHigh}
	}
	return b.handed.Assessment()
}

// NoOp reports a rollback to what is there already.
func (b *rollbackPlan) NoOp() bool { return b.result.Plan.Empty() }

// MarshalJSON returns the report that a dry run gives.
func (b *rollbackPlan) MarshalJSON() ([]byte, error) { return json.Marshal(b.report("")) }

func (b *rollbackPlan) report(event string) planner.Report[RollbackData] {
	shown, cut := dataOf(b.result.Plan, b.limit)
	return planner.Report[RollbackData]{Data: RollbackData{Changes: shown.Changes, Omitted: shown.Omitted, Event: event, RolledBackTo: b.to, Summary: shown.Summary}, Warnings: planner.UniqueWarnings(b.handed.Warnings(), b.result.Plan.Ways.Warnings(), b.result.Warnings, cut)}
}

// prepareRollback works out the way back.
func (s *service) prepareRollback(ctx context.Context, sc tool.Scope, in RollbackInput) (*rollbackPlan, error) {
	at, err := s.Compiler.Places.Resolve(ctx, in.Selection().Asked())
	if err != nil {
		return nil, err
	}
	result, err := s.Planner.Rollback(ctx, at, in.To)
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	kept, done, err := s.Planner.Snapshots.Open(ctx, at.Home)
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	defer done()
	handed, err := planner.FindHandovers(result.Plan.Changes, func(c deployment.Change) ([]byte, error) {
		if c.After.Data != nil {
			return c.After.Data, nil
		}
		return kept.Blob(ctx, at.Home, c.After.Sum)
	})
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	return &rollbackPlan{result: result, place: at, to: in.To, limit: sc.MaxOutput, handed: handed, exhibit: func(ctx context.Context) (any, error) { return s.exhibitBack(ctx, result, at.Home) }}, nil
}

// exhibitBack returns exhibit for the way back: what would be written is kept with the snapshots.
func (s *service) exhibitBack(ctx context.Context, r planner.Result, home string) (any, error) {
	changes := slices.Clone(mostExhibited(r.Plan.Changes))
	for i, c := range changes {
		if c.Op == deployment.OpDelete || c.Link != "" || c.After.Data != nil {
			continue
		}
		data, err := s.Planner.Snapshots.Blob(ctx, home, c.After.Sum)
		if err != nil {
			return nil, err
		}
		changes[i].After = deployment.ContentOf(data)
	}
	return s.exhibitOf(ctx, r, changes, len(r.Plan.Changes)-len(changes))
}

// rollback applies the plan. Edits since then are kept in the snapshot that it makes.
func (s *service) rollback(ctx context.Context, sc tool.Scope, b *rollbackPlan) (none planner.Report[RollbackData], err error) {
	t := b.result.Plan.Transaction(b.place, deployment.KindRollback, deployment.Sum{})
	t.RolledBackTo = b.to
	if err := planner.FillContents(ctx, &t, s.Planner.Snapshots); err != nil {
		return none, err
	}
	event, err := s.Planner.Machine.Apply(ctx, t, planner.ReportProgress(sc, "rolling back"))
	if err != nil {
		return none, planner.WithWarnings(err, b.result.Warnings)
	}
	return b.report(event), nil
}
