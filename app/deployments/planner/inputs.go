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

// Selection is what a call is about: a config repository, and what of it is deployed to which machine. An empty Repo or Machine is found out; of the
// rest Selected knows the defaults.
type Selection struct{ Repo, Profile, Target, Machine string }

// Selected is a selection with the defaults filled in: {} and the same spelled out are one call.
func Selected(s Selection) Selection {
	s.Profile, s.Target = cmp.Or(s.Profile, deployment.DefaultProfile), cmp.Or(s.Target, AllTargets)
	return s
}

// Asked is what the selection says about the place.
func (s Selection) Asked() deployport.Asked {
	return deployport.Asked{Repo: s.Repo, Machine: s.Machine}
}

// Request is what the compiler is asked for.
func (s Selection) Request() Request {
	return Request{Asked: s.Asked(), Profile: s.Profile, Target: s.Target}
}

// CheckTarget fails with deployment.ErrTarget for a target that does not exist. Empty is all of them; whether there is one of the config repository's own is
// known once that is read.
func CheckTarget(name string) error {
	if name == "" || name == AllTargets || slices.Contains(target.TargetNames(), name) || strings.HasPrefix(name, target.OwnPrefix) {
		return nil
	}
	return deployment.ErrTarget.Sayf("there is no target %q; there are: all, %s", name, strings.Join(target.TargetNames(), ", ")).
		With(deployment.ReasonDetails("target_filter_unsupported", "inspect_help_json", "retry_with_supported_target").
			Add("target", name).Add("allowed", append([]string{AllTargets}, target.TargetNames()...)))
}

// RepoInput is the arguments of tools that only need a config repository.
type RepoInput struct {
	Repo string `json:"repo,omitempty" jsonschema_description:"Config repository."`
}

// Selection is the config repository.
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

// Selection is all of it.
func (in SelectInput) Selection() Selection {
	return Selected(Selection{Repo: in.Repo, Profile: in.Profile, Target: in.Target, Machine: in.Machine})
}

// Validate knows the targets.
func (in SelectInput) Validate() error { return CheckTarget(in.Target) }

// EditInput is the arguments of every tool that changes something of the config repository, or of what it leaves behind.
type EditInput struct {
	RepoInput
	DryRun bool `json:"dry_run,omitempty" jsonschema_description:"Change nothing."`
	Yes    bool `json:"yes,omitempty" jsonschema_description:"Approves the change."`
}

// OnlyPlans reports a dry run.
func (in EditInput) OnlyPlans() bool { return in.DryRun }

// Validate asks for yes: a tool that needs it refuses before anything else is looked at.
func (in EditInput) Validate() error { return Approved(in.Yes, in.DryRun) }

// Refused says what is wrong with arguments. Without yes nothing is missing yet: yes is asked for first.
func (in EditInput) Refused(of tool.Name, problems []bind.Problem) error {
	return RefuseUnlessUnapproved(of, problems, in.Yes || in.DryRun)
}

// Approved fails with deployment.ErrYes for a call that neither approves its change nor only looks at it.
func Approved(yes, dryRun bool) error {
	if !yes && !dryRun {
		return deployment.ErrYes
	}
	return nil
}

// RefuseUnlessUnapproved is RefuseArguments, which a call that has no approval yet is not told of what is missing by.
func RefuseUnlessUnapproved(of tool.Name, problems []bind.Problem, approved bool) error {
	if !approved {
		problems = slices.DeleteFunc(problems, func(p bind.Problem) bool { return p.Kind == bind.ProblemMissing })
	}
	return RefuseArguments(of, problems)
}

// RefuseArguments is tool.ErrArguments with every problem, in the words of these tools; nil where there is none.
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
	return tool.ErrArguments.Sayf("%s: %s", of, strings.Join(said, "; ")).With(deployment.FieldDetails("problems", said))
}

// form is a JSON type in words.
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
