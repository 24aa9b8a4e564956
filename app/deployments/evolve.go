package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/action"
	"github.com/countersign-dev/countersign/app/deployments/drift"
	"github.com/countersign-dev/countersign/app/deployments/evolving"
	"github.com/countersign-dev/countersign/app/deployments/inputs"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (s *service) evolver() evolving.Evolver {
	return evolving.Evolver{Compiler: s.Compiler, Planner: s.Planner,
		Deps: evolving.Deps{Differ: s.Differ, History: s.History, Remote: s.Remote, Clock: s.Clock}}
}

func (s *service) preparePropose(ctx context.Context, sc tool.Scope, c inputs.Call) (tool.Plan, error) {
	state, result, err := s.with(ctx, c, s.Planner.Survey)
	if err != nil {
		return nil, err
	}
	p, err := s.evolver().Propose(ctx, state, result, c, drift.Prefix(c))
	if err != nil {
		return nil, action.Warned(err, result.Warnings)
	}
	p.Bound(sc.MaxOutput)
	return p, nil
}

func (s *service) propose(ctx context.Context, _ tool.Scope, _ inputs.Call, p tool.Plan) (any, error) {
	return s.evolver().Commit(ctx, p.(*evolving.Proposal))
}

func (s *service) prepareRestore(ctx context.Context, sc tool.Scope, c inputs.Call) (tool.Plan, error) {
	state, result, err := s.with(ctx, c, s.Planner.Survey)
	if err != nil {
		return nil, err
	}
	r, err := s.evolver().Restore(ctx, state, result, c)
	if err != nil {
		return nil, action.Warned(err, result.Warnings)
	}
	r.Bound(sc.MaxOutput)
	return r, nil
}

func (s *service) restore(ctx context.Context, sc tool.Scope, _ inputs.Call, p tool.Plan) (any, error) {
	return s.evolver().Recreate(ctx, p.(*evolving.Restoration), action.Progress(sc, "restoring"))
}
