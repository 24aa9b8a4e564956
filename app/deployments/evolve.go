package deployments

import (
	"context"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (s *service) evolver() Evolver {
	return Evolver{Compiler: s.Compiler, Planner: s.Planner,
		EvolveDeps: EvolveDeps{Differ: s.Differ, History: s.History, Remote: s.Remote, Clock: s.Clock}}
}

func (s *service) preparePropose(ctx context.Context, sc tool.Scope, in ProposeInput) (*EvolveProposal, error) {
	c := in.Selection()
	state, result, err := s.with(ctx, c, s.Planner.Survey)
	if err != nil {
		return nil, err
	}
	p, err := s.evolver().Propose(ctx, state, result, in, planner.CommandPrefix(c))
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	p.Bound(sc.MaxOutput)
	return p, nil
}

func (s *service) propose(ctx context.Context, _ tool.Scope, p *EvolveProposal) (planner.Report[ProposeData], error) {
	return s.evolver().Commit(ctx, p)
}

func (s *service) prepareRestore(ctx context.Context, sc tool.Scope, in RestoreInput) (*EvolveRestoration, error) {
	state, result, err := s.with(ctx, in.Selection(), s.Planner.Survey)
	if err != nil {
		return nil, err
	}
	r, err := s.evolver().Restore(ctx, state, result, in)
	if err != nil {
		return nil, planner.WithWarnings(err, result.Warnings)
	}
	r.Bound(sc.MaxOutput)
	return r, nil
}

func (s *service) restore(ctx context.Context, sc tool.Scope, p *EvolveRestoration) (planner.Report[RestoreData], error) {
	return s.evolver().Recreate(ctx, p, planner.ReportProgress(sc, "restoring"))
}
