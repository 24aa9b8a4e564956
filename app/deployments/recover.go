package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// undo is the way to recover that does not finish the operation.
const undo = "undo"

// PendingData is the data of pending.
type PendingData struct {
	Interrupted *deployment.InterruptedOperation `json:"interrupted"`
	NextActions []string                         `json:"next_actions"`
}

// RecoverData is the data of recover. ID and Kind are null when nothing was interrupted.
type RecoverData struct {
	Action string                   `json:"action"`
	ID     *string                  `json:"id"`
	Kind   *deployment.SnapshotKind `json:"kind"`
	Left   []string                 `json:"left"`
}

// pending returns the operation that was interrupted.
func (s *maintenanceService) pending(ctx context.Context, _ tool.Scope, c planner.RepoInput) (none planner.Report[PendingData], err error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return none, err
	}
	data := PendingData{NextActions: []string{}}
	if data.Interrupted, err = s.Recovery.Pending(ctx, at.Home); err != nil {
		return none, err
	}
	if data.Interrupted != nil {
		prefix := "countersign agents "
		if c.Repo != "" {
			prefix += "--repo " + c.Repo + " "
		}
		data.NextActions = []string{prefix + "recover --resume --yes --json", prefix + "recover --undo --yes --json"}
	}
	return planner.NewReport(data), nil
}

func (s *maintenanceService) prepareRecover(ctx context.Context, _ tool.Scope, c RecoverInput) (*planner.Edit[RecoverData], error) {
	at, err := s.place(ctx, c.Selection())
	if err != nil {
		return nil, err
	}
	interrupted, err := s.Recovery.Pending(ctx, at.Home)
	if err != nil {
		return nil, err
	}
	data := RecoverData{Action: c.Kind, Left: []string{}}
	if interrupted == nil {
		return &planner.Edit[RecoverData]{Command: c.Kind, Place: at, Nothing: true, Report: planner.NewReport(data, "nothing was interrupted: there is nothing to "+c.Kind)}, nil
	}
	data.ID, data.Kind = &interrupted.ID, &interrupted.Kind
	return &planner.Edit[RecoverData]{Command: c.Kind + " the interrupted " + string(interrupted.Kind), Place: at, Report: planner.NewReport(data)}, nil
}

// settle finishes or takes back the very operation that was shown.
func (s *maintenanceService) settle(ctx context.Context, _ tool.Scope, e *planner.Edit[RecoverData]) (none planner.Report[RecoverData], err error) {
	data := e.Report.Data
	if data.ID == nil {
		return e.Report, nil
	}
	now, err := s.Recovery.Pending(ctx, e.Place.Home)
	switch {
	case err != nil:
		return none, err
	case now == nil || now.ID != *data.ID:
		return none, deployment.ErrStale.WithMessage("operation %s is not the interrupted one any more; nothing was done, look again", *data.ID).
			WithDetails(deployment.ReasonDetails("recovery_changed", "retry_command"))
	}
	way := s.Recovery.Resume
	if data.Action == undo {
		way = s.Recovery.Undo
	}
	left, err := way(ctx, e.Place.Home)
	if err != nil {
		return none, err
	}
	data.Left = append(data.Left, left...)
	var warnings []string
	if len(left) > 0 {
		warnings = append(warnings, "files that are neither as before nor as after were left alone; see left")
	}
	return planner.NewReport(data, warnings...), nil
}
