package app

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// surveyed returns the assessment raised by hidden characters and redacted parts in what the user would review: a plan with either never gets a grant
// and is never auto-approved. The inspection is kept for the approval request.
func (r *run) surveyed(ctx context.Context, a policy.Assessment, plan tool.Plan, args json.RawMessage) policy.Assessment {
	r.survey = InspectPlan(ctx, plan, args, r.mask.Quietly)
	return a.Raised(policy.Assessment{Risk: r.survey.Risk()})
}
