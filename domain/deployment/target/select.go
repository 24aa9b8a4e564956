package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// AllTargets is the filter that stands for every configured target.
const AllTargets = "all"

// TargetScopes are the scopes a target can be configured with, or nil when there is no such target.
func TargetScopes(name string) []deployment.Scope {
	a, _ := FindAgent(name)
	return a.Scopes
}

// SelectTargets is the targets that a filter names, sorted: all of the configuration for All (or nothing), otherwise the one. It fails with
// ErrTarget on a name that is no target, and with ErrConfig on one that is not configured (agentpack contract §2.2).
func SelectTargets(cfg map[string]deployment.TargetConfig, filter string) ([]string, error) {
	if filter == "" || filter == AllTargets {
		return slices.Sorted(maps.Keys(cfg)), nil
	}
	if _, ok := FindAgent(filter); !ok {
		return nil, unknown(filter)
	}
	if _, ok := cfg[filter]; !ok {
		return nil, notConfigured(filter)
	}
	return []string{filter}, nil
}

func unknown(name string) error {
	allowed := append([]string{AllTargets}, TargetNames()...)
	return deployment.ErrTarget.Sayf("there is no target %q; there are: %s", name, strings.Join(allowed, ", ")).
		With(deployment.ReasonDetails("target_filter_unsupported", "inspect_help_json", "retry_with_supported_target").Add("target", name).Add("allowed", allowed))
}

func notConfigured(name string) error {
	hint := "add targets." + name + " with mode and scope to " + deployment.ManifestFile
	return deployment.ErrConfig.Sayf("target %s is not configured; %s", name, hint).
		With(deployment.FieldDetails("target", name).Add("hint", hint))
}

// line is a line of an agent's table that is in force.
type line struct{ ActiveRule }

// linesOf are the lines in force of one target. It fails with ErrTarget or ErrConfig.
func linesOf(in Input, name string) (agent, []line, error) {
	a, ok := FindAgent(name)
	if !ok {
		return a, nil, unknown(name)
	}
	cfg, ok := in.Targets[name]
	if !ok {
		return a, nil, notConfigured(name)
	}
	inForce, err := a.Lines(ResolveContext{Config: cfg, Place: in.Place, Paths: Paths{Sep: in.Sep}})
	lines := make([]line, len(inForce))
	for i, l := range inForce {
		lines[i] = line{l}
	}
	return a, lines, err
}
