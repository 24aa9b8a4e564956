package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Selection is the scope of a call: a config repository, and what of it is deployed to which machine. An empty Repo or Machine is detected; the other
// defaults are those of Selected.
type Selection struct{ Repo, Profile, Target, Machine string }

// Selected returns a selection with its defaults: {} and the same spelled out are one call.
func Selected(s Selection) Selection {
	s.Profile, s.Target = cmp.Or(s.Profile, deployment.DefaultProfile), cmp.Or(s.Target, AllTargets)
	return s
}

// Asked returns what the selection says about the place.
func (s Selection) Asked() deployport.Selection {
	return deployport.Selection{Repo: s.Repo, Machine: s.Machine}
}

// Request returns what the compiler is asked for.
func (s Selection) Request() Request {
	return Request{Asked: s.Asked(), Profile: s.Profile, Target: s.Target}
}

// CheckTarget fails with deployment.ErrTarget for a target that does not exist. Empty is all of them; a host of the config repository's own is
// checked once that is read.
func CheckTarget(name string) error {
	if name == "" || name == AllTargets || slices.Contains(target.TargetNames(), name) || strings.HasPrefix(name, target.OwnPrefix) {
		return nil
	}
	return deployment.ErrTarget.WithMessage("unknown target %q; use one of: all, %s", name, strings.Join(target.TargetNames(), ", ")).
		WithDetails(deployment.ReasonDetails("target_filter_unsupported", "inspect_help_json", "retry_with_supported_target").
			Add("target", name).Add("allowed", append([]string{AllTargets}, target.TargetNames()...)))
}

// RepoInput is the arguments of tools that only need a config repository.
type RepoInput struct {
	Repo string `json:"repo,omitempty" jsonschema_description:"Config repository."`
}

// Selection returns the config repository.
func (in RepoInput) Selection() Selection { return Selected(Selection{Repo: in.Repo}) }

// Refused says what is wrong with arguments.
func (in RepoInput) Refused(of tool.Name, problems []bind.Problem) error {
	return RefuseArguments(of, problems)
}

// SelectInput is the arguments of every tool that compiles a config repository.
type SelectInput struct {
	RepoInput
	Profile string `json:"profile,omitempty" jsonschema_description:"Profile (default: default)."`
	Target  string `json:"target,omitempty" jsonschema_description:"One target, or all of them (default: all)."`
	Machine string `json:"machine,omitempty" jsonschema_description:"Machine id."`
}

// Selection returns all of it.
func (in SelectInput) Selection() Selection {
	return Selected(Selection{Repo: in.Repo, Profile: in.Profile, Target: in.Target, Machine: in.Machine})
}

// Validate checks the target.
func (in SelectInput) Validate() error { return CheckTarget(in.Target) }

// EditInput is the arguments of every tool that changes something of the config repository, or of what it leaves behind.
type EditInput struct {
	RepoInput
	DryRun bool `json:"dry_run,omitempty" jsonschema_description:"Change nothing."`
	Yes    bool `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// OnlyPlans reports whether the call is a dry run.
func (in EditInput) OnlyPlans() bool { return in.DryRun }

// Validate requires yes: a tool that needs it fails before anything else is examined.
func (in EditInput) Validate() error { return Approved(in.Yes, in.DryRun) }

// Refused returns what is wrong with the arguments. Without yes nothing is reported as missing yet: yes is required first.
func (in EditInput) Refused(of tool.Name, problems []bind.Problem) error {
	return RefuseUnlessUnapproved(of, problems, in.Yes || in.DryRun)
}

// Approved fails with deployment.ErrYes for a call that is neither approved nor a dry run.
func Approved(yes, dryRun bool) error {
	if !yes && !dryRun {
		return deployment.ErrYes
	}
	return nil
}

// RefuseUnlessUnapproved is RefuseArguments, except that a call without approval is not told what is missing.
func RefuseUnlessUnapproved(of tool.Name, problems []bind.Problem, approved bool) error {
	if !approved {
		problems = slices.DeleteFunc(problems, func(p bind.Problem) bool { return p.Kind == bind.ProblemMissing })
	}
	return RefuseArguments(of, problems)
}

// RefuseArguments returns tool.ErrArguments with every problem, in the words of these tools; nil if there is none.
func RefuseArguments(of tool.Name, problems []bind.Problem) error {
	var said, missing []string
	for _, p := range problems {
		switch p.Kind {
		case bind.ProblemMissing:
			missing = append(missing, p.Field+" is missing: "+p.Description)
		case bind.ProblemUnknown:
			hint := "there are: " + strings.Join(p.Known, ", ")
			if p.Near != "" {
				hint = "did you mean " + p.Near + "?"
			}
			said = append(said, fmt.Sprintf("%q is no argument; %s", p.Field, hint))
		case bind.ProblemChoice:
			for _, value := range p.Values {
				said = append(said, fmt.Sprintf("%s: %q is none of %s", p.Field, value, strings.Join(p.Choices, ", ")))
			}
		default:
			said = append(said, p.Field+" must be "+form(p.Type))
		}
	}
	if said = append(said, missing...); len(said) == 0 {
		return nil
	}
	return tool.ErrArguments.WithMessage("%s: %s", of, strings.Join(said, "; ")).WithDetails(deployment.FieldDetails("problems", said))
}

// form returns a JSON type in words.
func form(jsonType string) string {
	switch jsonType {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "array":
		return "a list of strings"
	case "object":
		return "a JSON object"
	}
	return "a string"
}
