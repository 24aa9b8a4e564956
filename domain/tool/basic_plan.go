package tool

import (
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
)

// PlanOptions are what a plan tells the call pipeline besides its hash. None of them is shown with the plan, and none is part of its hash.
type PlanOptions struct {
	Assessment policy.Assessment // what the plan raises its call to, the rule for its action, and the scope of grants
	Prompt     string            // what it would do, in one line
	About      string            // name of the project or ecosystem, for notifications; empty is none
	Target     string            // text to type for an approval; empty is none
	Remotes    []string          // URLs that the plan shows and fetches from
	Fetches    []string          // URLs that it fetches from and does not show
	Nothing    bool              // it has nothing to do, and so needs no approval
}

// PlanBase is the Plan that the plans of capabilities extend by embedding it beside the members they show: their hash and their options. It marshals to no
// member.
type PlanBase struct {
	options PlanOptions
	hash    canon.Hash
}

// NewPlanBase returns the base of a plan with that hash.
func NewPlanBase(hash canon.Hash, o PlanOptions) PlanBase { return PlanBase{hash: hash, options: o} }

// Hash covers everything that the plan shows.
func (p PlanBase) Hash() canon.Hash { return p.hash }

// Assessment returns the strength and risk that the plan raises its call to, the rule for its action, and the scope of grants (Assessed).
func (p PlanBase) Assessment() policy.Assessment { return p.options.Assessment }

// Prompt returns what the plan would do, in one line (Prompter).
func (p PlanBase) Prompt() string { return p.options.Prompt }

// About returns the name of the project or ecosystem that the plan is about (Subject).
func (p PlanBase) About() string { return p.options.About }

// Target returns the text to type for an approval (Targeter).
func (p PlanBase) Target() string { return p.options.Target }

// Remotes returns the URLs that the plan shows and fetches from (Reaching).
func (p PlanBase) Remotes() []string { return p.options.Remotes }

// Fetches returns the URLs that the plan fetches from and does not show (Fetching).
func (p PlanBase) Fetches() []string { return p.options.Fetches }

// NoOp reports whether the plan has nothing to do (Idle).
func (p PlanBase) NoOp() bool { return p.options.Nothing }

// BasicPlan is the plan of capabilities that show the tool, one line, and what the user needs to decide.
type BasicPlan struct {
	PlanBase
	Tool    Name   `json:"tool"`
	Summary string `json:"summary"` // one line
	Context any    `json:"context"` // what the user needs to decide; marshals to JSON without fractions
}

// NewBasicPlan returns a plan with its hash, under the label of its capability. Its prompt is the summary.
func NewBasicPlan(label string, name Name, summary string, context any, o PlanOptions) (BasicPlan, error) {
	p := BasicPlan{Tool: name, Summary: summary, Context: context}
	sum, err := canon.Sum(label, p)
	o.Prompt = summary
	p.PlanBase = NewPlanBase(sum, o)
	return p, err
}

// WithScope returns the plan with grants for that scope.
func (p BasicPlan) WithScope(scope string) BasicPlan {
	p.options.Assessment.Scope = scope
	return p
}

// WithAbout returns the plan as one about the project of that name.
func (p BasicPlan) WithAbout(name string) BasicPlan {
	p.options.About = name
	return p
}
