package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// AllTargets is the filter that stands for every configured target.
const AllTargets = "all"

// TargetScopes returns the scopes that a target can be configured with, or nil if there is no such target.
func TargetScopes(name string) []deployment.Scope {
	a, _ := FindAgent(name)
	return a.Scopes
}

// SelectTargets returns the targets that a filter names, sorted: all configured ones for AllTargets (or an empty filter), otherwise the one. It fails
// with ErrTarget for an unknown target, and with ErrConfig for one that is not configured (agentpack contract §2.2).
func SelectTargets(cfg map[string]deployment.TargetConfig, filter string) ([]string, error) {
	if filter == "" || filter == AllTargets {
		return slices.Sorted(maps.Keys(cfg)), nil
	}
	if _, ok := agentOf(filter, cfg[filter]); !ok {
		return nil, unknown(filter)
	}
	if _, ok := cfg[filter]; !ok {
		return nil, notConfigured(filter)
	}
	return []string{filter}, nil
}

func unknown(name string) error {
	allowed := append([]string{AllTargets}, TargetNames()...)
	return deployment.ErrTarget.WithMessage("unknown target %q; use one of: %s", name, strings.Join(allowed, ", ")).
		WithDetails(deployment.ReasonDetails("target_filter_unsupported", "inspect_help_json", "retry_with_supported_target").Add("target", name).Add("allowed", allowed))
}

func notConfigured(name string) error {
	hint := "add targets." + name + " with mode and scope to " + deployment.ManifestFile
	return deployment.ErrConfig.WithMessage("target %s is not configured; %s", name, hint).
		WithDetails(deployment.FieldDetails("target", name).Add("hint", hint))
}

// line is a line of an agent's table that is in force.
type line struct {
	ActiveRule
	ruled   bool              // of an aggregate: modules with globs go elsewhere
	headed  bool              // of an aggregate: modules with a file of their own go elsewhere
	prompts map[string]string // the names of prompts that are written as skills
}

// takes reports whether the line has a place for a module of its type.
func (l *line) takes(m Module) bool {
	if l.Of != deployment.ModuleInstructions || !l.Headed() && !l.ruled && !l.headed {
		return true
	}
	_, _, own := ownFile(m, l.Agent)
	switch {
	case l.OwnOnly:
		return own
	case l.Shape == ShapeClaudeRule:
		return own || len(l.globs(m)) > 0
	case l.ruled:
		return !own && len(l.globs(m)) == 0
	case l.headed:
		return !own
	}
	return true
}

// choose sets what depends on the present document: which of its names it has, and where servers are in it.
func (l *ActiveRule) choose(n Paths, has func(string, deployment.Format, []string) (document, found bool)) {
	there := false
	for _, name := range l.Names {
		if document, _ := has(n.Join(l.Dir, name), l.Format, nil); document && !there {
			l.Path, there = name, true
		}
	}
	if there {
		*l = l.InDocument(func(key []string) bool { _, found := has(n.Join(l.Dir, l.Path), l.Format, key); return found })
	}
}

// linesOf returns the lines in force of one target. It fails with ErrTarget or ErrConfig.
func linesOf(in Input, name string) (agent, []line, error) {
	cfg, configured := in.Targets[name]
	a, ok := agentOf(name, cfg)
	if !ok {
		return a, nil, unknown(name)
	}
	if !configured {
		return a, nil, notConfigured(name)
	}
	n := Paths{Sep: in.Sep}
	own := slices.ContainsFunc(in.Modules, func(m Module) bool { _, _, own := ownFile(m, name); return own })
	inForce, err := a.Lines(ResolveContext{Config: cfg, Place: in.Place, Paths: n, Own: own})
	lines := make([]line, len(inForce))
	ruled := slices.ContainsFunc(inForce, func(l ActiveRule) bool { return l.Shape == ShapeClaudeRule && !l.OwnOnly })
	headed := slices.ContainsFunc(inForce, func(l ActiveRule) bool { return l.Headed() })
	for i, l := range inForce {
		if in.Has != nil && (len(l.Names) > 1 && l.Shape == ShapeKeys || len(l.Newer) > 0) {
			l.choose(n, in.Has)
		}
		lines[i] = line{ActiveRule: l, ruled: ruled && l.Shape == ShapeAggregate, headed: headed && l.Shape == ShapeAggregate}
		if l.Shape == ShapePromptSkill {
			lines[i].prompts = promptSkills(in.Modules, n)
		}
	}
	return a, lines, err
}
