package deployments

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PlanInput is the arguments of plan, diff and deploy, which never change anything.
type PlanInput struct {
	planner.SelectInput
	DryRun bool `json:"dry_run,omitempty" jsonschema_description:"Change nothing."`
}

// PreviewInput is the arguments of preview.
type PreviewInput struct {
	PlanInput
	Diff bool `json:"diff,omitempty" jsonschema_description:"Include diffs."`
}

// StatusInput is the arguments of status.
type StatusInput struct {
	PlanInput
	Only []string `json:"only,omitempty" jsonschema:"enum=missing,enum=modified,enum=extra" jsonschema_description:"Kinds of drift."`
}

// DoctorInput is the arguments of doctor.
type DoctorInput struct {
	planner.RepoInput
	Target string `json:"target,omitempty" jsonschema_description:"One target, or all of them (default: all)."`
}

// Selection returns the config repository and the target.
func (in DoctorInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Target: in.Target})
}

// Validate checks the target.
func (in DoctorInput) Validate() error { return planner.CheckTarget(in.Target) }

// ApplyInput is the arguments of deploy_apply, without the token.
type ApplyInput struct {
	PlanInput
	Adopt bool `json:"adopt,omitempty" jsonschema_description:"Allow overwriting files that no deployment wrote."`
	Yes   bool `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// OnlyPlans reports whether the call is a dry run.
func (in ApplyInput) OnlyPlans() bool { return in.DryRun }

// Validate checks the target, and requires yes first of all.
func (in ApplyInput) Validate() error {
	return cmp.Or(in.PlanInput.Validate(), planner.Approved(in.Yes, in.DryRun))
}

// UneditedInput is the arguments of agents_deploy_unedited.
type UneditedInput struct {
	planner.EditInput
	Profile string `json:"profile,omitempty" jsonschema_description:"Profile (default: default)."`
	Target  string `json:"target,omitempty" jsonschema_description:"One target, or all of them (default: all)."`
	Machine string `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns all of it.
func (in UneditedInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Profile: in.Profile, Target: in.Target, Machine: in.Machine})
}

// Validate checks the target, and requires yes.
func (in UneditedInput) Validate() error {
	return cmp.Or(planner.CheckTarget(in.Target), in.EditInput.Validate())
}

// RollbackInput is the arguments of rollback.
type RollbackInput struct {
	planner.RepoInput
	To  string `json:"to" jsonschema_description:"a snapshot's id, or initial"`
	Yes bool   `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// Validate requires yes.
func (in RollbackInput) Validate() error { return planner.Approved(in.Yes, false) }

// Refused returns what is wrong with the arguments, after the approval was checked.
func (in RollbackInput) Refused(of tool.Name, problems []bind.Problem) error {
	return planner.RefuseUnlessUnapproved(of, problems, in.Yes)
}

// ProposeInput is the arguments of evolve_propose.
type ProposeInput struct {
	PlanInput
	ModuleID string                  `json:"module_id,omitempty" jsonschema_description:"A module's id."`
	Scope    deployment.OverlayScope `json:"scope,omitempty" jsonschema:"enum=global,enum=machine,enum=project" jsonschema_description:"Overlay scope (default: global)."`
	Branch   string                  `json:"branch,omitempty" jsonschema_description:"Branch to create."`
	Yes      bool                    `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// OnlyPlans reports whether the call is a dry run.
func (in ProposeInput) OnlyPlans() bool { return in.DryRun }

// RestoreInput is the arguments of evolve_restore.
type RestoreInput struct {
	PlanInput
	ModuleID string `json:"module_id,omitempty" jsonschema_description:"A module's id."`
	Yes      bool   `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// OnlyPlans reports whether the call is a dry run.
func (in RestoreInput) OnlyPlans() bool { return in.DryRun }

// ExplainInput is the arguments of explain.
type ExplainInput struct {
	planner.SelectInput
	Kind string `json:"kind" jsonschema:"enum=plan,enum=diff,enum=status" jsonschema_description:"plan, diff or status"`
}

// FixInput is the arguments of agents_doctor_fix.
type FixInput struct {
	planner.EditInput
	Target  string `json:"target,omitempty" jsonschema_description:"One target, or all of them (default: all)."`
	Machine string `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns the config repository, the target and the machine.
func (in FixInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Target: in.Target, Machine: in.Machine})
}

// Validate checks the target, and requires yes.
func (in FixInput) Validate() error {
	return cmp.Or(planner.CheckTarget(in.Target), in.EditInput.Validate())
}

// SnapshotInput is the arguments of agents_snapshots_show.
type SnapshotInput struct {
	planner.RepoInput
	ID string `json:"id" jsonschema_description:"A snapshot's id."`
}

// PruneInput is the arguments of agents_snapshots_prune.
type PruneInput struct {
	planner.EditInput
	Keep int      `json:"keep,omitempty" jsonschema_description:"How many of the newest to keep."`
	IDs  []string `json:"ids,omitempty" jsonschema_description:"Snapshots to forget."`
}

// RecordInput is the arguments of agents_record.
type RecordInput struct {
	planner.EditInput
	Event   json.RawMessage `json:"event" jsonschema:"type=object" jsonschema_description:"The event."`
	Machine string          `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns the config repository and the machine.
func (in RecordInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Machine: in.Machine})
}

// Refused accepts any JSON value as an event, although an object is expected: another value says nothing about itself.
func (in RecordInput) Refused(of tool.Name, problems []bind.Problem) error {
	return in.EditInput.Refused(of, slices.DeleteFunc(problems, func(p bind.Problem) bool { return p.Field == "event" && p.Kind == bind.ProblemWrong }))
}

// RecoverInput is the arguments of agents_recover.
type RecoverInput struct {
	planner.EditInput
	Kind string `json:"kind" jsonschema:"enum=resume,enum=undo" jsonschema_description:"resume finishes the interrupted operation, undo takes it back"`
}

// ManifestsInput is the arguments of agents_manifests_write.
type ManifestsInput struct{ planner.EditInput }

// BootstrapInput is the arguments of agents_bootstrap.
type BootstrapInput struct {
	planner.EditInput
	Target  string           `json:"target,omitempty" jsonschema_description:"One target, or all of them (default: all)."`
	Scope   deployment.Scope `json:"scope,omitempty" jsonschema:"enum=user,enum=project,enum=both" jsonschema_description:"Where files go (default: both)."`
	Adopt   bool             `json:"adopt,omitempty" jsonschema_description:"Allow overwriting files that no deployment wrote."`
	Remove  bool             `json:"remove,omitempty" jsonschema_description:"Take them away, and put back what they overwrote."`
	Machine string           `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns the config repository, the target and the machine.
func (in BootstrapInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Target: in.Target, Machine: in.Machine})
}

// Validate checks the target. Yes is required if there is something to do.
func (in BootstrapInput) Validate() error { return planner.CheckTarget(in.Target) }
