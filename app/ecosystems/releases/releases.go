package releases

import (
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles.
var (
	Status   = tool.Ref[runs.EcosystemInput, StatusResult]{Name: "amof_release_status"}
	Validate = tool.Ref[ValidateInput, Validation]{Name: "amof_release_validate"}
	Log      = tool.Ref[LogInput, ReleaseLog]{Name: "amof_release_log"}
	Bump     = tool.Ref[BumpInput, runs.QueuedRun]{Name: "amof_release_bump"}
	Promote  = tool.Ref[PromoteInput, runs.QueuedRun]{Name: "amof_release_promote"}
)

// The actions of the runs.
const (
	BumpAction    = "release_bump"
	PromoteAction = "release_promote"
)

type service struct{ Deps }

// Entries returns the tools.
func Entries(d Deps) []tool.Entry {
	s := service{d}
	return []tool.Entry{
		bind.Query(Status, runs.ReadSpec("Release status", "Show the current version of an ecosystem, its stage, what was committed since, whether its repositories and version files agree, and the versions that can follow.",
			statusSchema), s.status),
		bind.Query(Validate, runs.ReadSpec("Validate release", "Check whether an ecosystem can be released: clean working trees, branches, version files, changelogs. Changes nothing.", validateSchema), s.validate),
		bind.Query(Log, runs.ReadSpec("Release log", "List the releases of an ecosystem, the highest version first.", logSchema), s.log),
		bind.Command(Bump, runs.DangerousSpec(policy.Preview, "Bump release", "Release the next version of an ecosystem: a tag in all repositories or none; independent: own ones where something changed. auto: by the commits.", bumpSchema), s.planBump, d.Enqueue),
		bind.Command(Promote, runs.DangerousSpec(policy.Preview, "Promote release", "Release the current pre-release of an ecosystem as the next stage (beta, rc) or, without a target, as stable.", promoteSchema),
			s.planPromote, d.Enqueue),
	}
}

// Performers carry out the runs.
func Performers(d Deps) []runs.Performer {
	m := Publisher{Deps: d}
	limit := int(ecosystem.LifecycleTimeout.Seconds())
	return []runs.Performer{
		{Action: BumpAction, Limit: limit, Facts: d.Facts, Do: m.Do, Recover: m.Recover},
		{Action: PromoteAction, Limit: limit, Facts: d.Facts, Do: m.Do, Recover: m.Recover},
	}
}

// BumpInput is a bump.
type BumpInput struct {
	runs.Target
	BumpType   string `json:"bump_type" jsonschema:"enum=patch,enum=minor,enum=major,enum=auto"`
	PreRelease string `json:"pre_release,omitempty" jsonschema:"enum=alpha,enum=beta,enum=rc"`
	ChangeInput
}

// PromoteInput is a promotion.
type PromoteInput struct {
	runs.Target
	Stage string `json:"target,omitempty" jsonschema:"enum=beta,enum=rc,description=default stable"`
	ChangeInput
}

// ChangeInput is what bumps and promotions have in common.
type ChangeInput struct {
	Message        string `json:"message,omitempty" jsonschema:"maxLength=2000"`
	Push           bool   `json:"push,omitempty"`
	Strict         bool   `json:"strict,omitempty"`
	SkipValidation bool   `json:"skip_validation,omitempty"`
	Independent    bool   `json:"independent,omitempty"`
	GitHub         bool   `json:"github,omitempty"`
}
