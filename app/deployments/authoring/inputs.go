package authoring

import (
	"cmp"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// InitInput is the arguments of agents_init.
type InitInput struct {
	planner.EditInput
	Git       bool             `json:"git,omitempty" jsonschema_description:"Also make it a git repository."`
	Bootstrap bool             `json:"bootstrap,omitempty" jsonschema_description:"Also write the operator assets."`
	Targets   []string         `json:"targets,omitempty" jsonschema_description:"Targets to configure."`
	Scope     deployment.Scope `json:"scope,omitempty" jsonschema:"enum=user,enum=project,enum=both" jsonschema_description:"Where files go (default: both)."`
	From      string           `json:"from,omitempty" jsonschema_description:"Clone this config repository: owner/repo[@ref] or URL[#ref=..]."`
}

// AddInput is the arguments of agents_add.
type AddInput struct {
	planner.EditInput
	ModuleType deployment.ModuleType `json:"module_type" jsonschema:"enum=instructions,enum=skill,enum=prompt,enum=command,enum=mcp,enum=settings,enum=agent,enum=hooks,enum=permissions,enum=output_style,enum=plugins" jsonschema_description:"Type."`
	Source     string                `json:"source" jsonschema_description:"local:<path> or git:<url>[#ref=..&subdir=..]"`
	ID         string                `json:"id,omitempty" jsonschema_description:"Id of the module."`
	Tags       []string              `json:"tags,omitempty" jsonschema_description:"Tags."`
	Targets    []string              `json:"targets,omitempty" jsonschema_description:"Default: all."`
}

// AddFromInput is the arguments of agents_add_from.
type AddFromInput struct {
	planner.EditInput
	Source     string                `json:"source" jsonschema_description:"owner/repo[/path][@ref], or URL[#ref=..]"`
	Skills     []string              `json:"skills,omitempty" jsonschema_description:"* is all."`
	ModuleType deployment.ModuleType `json:"module_type,omitempty" jsonschema:"enum=instructions,enum=skill,enum=prompt,enum=command,enum=mcp,enum=settings,enum=agent,enum=hooks,enum=permissions,enum=output_style,enum=plugins" jsonschema_description:"Default: skill."`
	ID         string                `json:"id,omitempty" jsonschema_description:"Id."`
	Tags       []string              `json:"tags,omitempty" jsonschema_description:"Tags."`
	Targets    []string              `json:"targets,omitempty" jsonschema_description:"Default: all."`
}

// SkillsInput is the arguments of agents_skills.
type SkillsInput struct {
	planner.RepoInput
	Source string `json:"source" jsonschema_description:"owner/repo[/path][@ref], or URL[#ref=..&subdir=..]"`
}

// RemoveInput is the arguments of agents_remove.
type RemoveInput struct {
	planner.EditInput
	ModuleID string `json:"module_id" jsonschema_description:"A module's id."`
}

// UpdateInput is the arguments of agents_update.
type UpdateInput struct {
	planner.EditInput
	Lock    bool `json:"lock,omitempty" jsonschema_description:"Lock again."`
	Fetch   bool `json:"fetch,omitempty" jsonschema_description:"Fetch."`
	NoLock  bool `json:"no_lock,omitempty" jsonschema_description:"Do not lock."`
	NoFetch bool `json:"no_fetch,omitempty" jsonschema_description:"Do not fetch."`
	Latest  bool `json:"latest,omitempty" jsonschema_description:"Lock again to what the refs are now."`

	Modules []string `json:"modules,omitempty" jsonschema_description:"Lock these alone again."`
}

// Validate leaves yes to where there is something to do.
func (in UpdateInput) Validate() error { return nil }

// RemoteInput is the arguments of agents_remote_set.
type RemoteInput struct {
	planner.EditInput
	URL  string `json:"url" jsonschema_description:"URL of the remote."`
	Name string `json:"name,omitempty" jsonschema_description:"Name of the remote (default: origin)."`
}

// SyncInput is the arguments of agents_sync.
type SyncInput struct {
	planner.EditInput
	Remote string `json:"remote,omitempty" jsonschema_description:"Remote (default: origin)."`
	Rebase bool   `json:"rebase,omitempty" jsonschema_description:"Rebase instead of merging."`
}

// defaultRemote is the remote that is meant where none is named.
const defaultRemote = "origin"

// ImportInput is the arguments of agents_import and agents_import_apply.
type ImportInput struct {
	planner.EditInput
	HomeRoot string `json:"home_root,omitempty" jsonschema_description:"Home directory to scan."`
	Machine  string `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns the config repository and the machine.
func (in ImportInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Machine: in.Machine})
}

// ShowImportInput is the arguments of agents_import, which needs no yes.
type ShowImportInput struct{ ImportInput }

// Validate asks for nothing.
func (in ShowImportInput) Validate() error { return nil }

// OverlayInput names an overlay: of a module, in a scope.
type OverlayInput struct {
	ModuleID string                  `json:"module_id" jsonschema_description:"A module's id."`
	Scope    deployment.OverlayScope `json:"scope,omitempty" jsonschema:"enum=global,enum=machine,enum=project" jsonschema_description:"Overlay scope (default: global)."`
	Machine  string                  `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// scope returns the overlay's.
func (in OverlayInput) scope() deployment.OverlayScope {
	return cmp.Or(in.Scope, deployment.GlobalScope)
}

// OverlayPathInput is the arguments of agents_overlay_path.
type OverlayPathInput struct {
	planner.RepoInput
	OverlayInput
}

// Selection returns the config repository and the machine.
func (in OverlayPathInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Machine: in.Machine})
}

// OverlayEditInput is the arguments of agents_overlay_edit.
type OverlayEditInput struct {
	planner.EditInput
	OverlayInput
	Kind        string `json:"kind,omitempty" jsonschema:"enum=dir,enum=patch" jsonschema_description:"Kind (default: dir)."`
	Sparse      bool   `json:"sparse,omitempty" jsonschema_description:"Metadata only."`
	Materialize bool   `json:"materialize,omitempty" jsonschema_description:"Copy upstream files that are missing."`
}

// Selection returns the config repository and the machine.
func (in OverlayEditInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Machine: in.Machine})
}

// RebaseInput is the arguments of agents_overlay_rebase.
type RebaseInput struct {
	planner.EditInput
	OverlayInput
	Sparsify bool `json:"sparsify,omitempty" jsonschema_description:"Drop files that equal upstream."`
}

// Selection returns the config repository and the machine.
func (in RebaseInput) Selection() planner.Selection {
	return planner.Selected(planner.Selection{Repo: in.Repo, Machine: in.Machine})
}
