package app

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// surveyed returns an assessment raised by what a reader would not see in what would be asked about, and by what is masked in it: that is never allowed for
// later, and never approved in advance. The survey is kept for the question.
func (r *run) surveyed(ctx context.Context, a policy.Assessment, plan tool.Plan, args json.RawMessage) policy.Assessment {
	r.survey = InspectPlan(ctx, plan, args, r.mask.Quietly)
	return a.Raised(policy.Assessment{Risk: r.survey.Risk()})
}
