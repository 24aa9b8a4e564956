package tool

import (
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
)

// BasicPlan is the Plan that capabilities extend by embedding it: the tool, one line, and what the user needs to decide.
type BasicPlan struct {
	Tool    Name   `json:"tool"`
	Summary string `json:"summary"` // one line
	Context any    `json:"context"` // what the user needs to decide; marshals to JSON without fractions
	assess  policy.Assessment
	hash    canon.Hash
}

// NewBasicPlan returns a plan with its hash, under the label of its capability, and the assessment that it raises its call to.
func NewBasicPlan(label string, name Name, summary string, context any, a policy.Assessment) (BasicPlan, error) {
	p := BasicPlan{Tool: name, Summary: summary, Context: context, assess: a}
	var err error
	p.hash, err = canon.Sum(label, p)
	return p, err
}

// WithScope returns the plan with grants for that scope.
func (p BasicPlan) WithScope(scope string) BasicPlan {
	p.assess.Scope = scope
	return p
}

// Hash covers everything that the plan shows.
func (p BasicPlan) Hash() canon.Hash { return p.hash }

// Prompt returns the summary.
func (p BasicPlan) Prompt() string { return p.Summary }

// Assessment returns the strength and risk that the plan raises its call to, the rule for its action, and the scope of grants (Assessed).
func (p BasicPlan) Assessment() policy.Assessment { return p.assess }
