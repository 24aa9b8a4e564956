package deployments

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

// AssetOptions decides which files should be where.
type AssetOptions struct {
	Place   deployment.Locations
	Targets map[string]deployment.TargetConfig // of the manifest
	Chosen  []string
	Scope   deployment.Scope // empty: each target's own
	Version string           // of the product; empty is "dev"
	Sep     byte             // the native path separator

	Theirs map[string]bool // paths that modules own: no assets are written there, and the modules' rules apply to the files
}

// AssetSet is the files of the chosen targets, and every root that may contain such files, even if an option excludes them.
type AssetSet struct {
	Targets []string // those that have assets, sorted
	Roots   []deployment.Root
	Files   []deployment.Desired // sorted by target, then path
}

// AssetTargets returns the targets that have operator assets.
func AssetTargets() []string { return []string{"claude_code", "codex"} }

// AssetFiles returns the desired files. It fails with ErrProject if a project's files would go into the home directory, and with ErrConfig for
// invalid options.
func AssetFiles(in AssetOptions) (AssetSet, error) {
	set := AssetSet{Targets: []string{}}
	for _, name := range AssetTargets() {
		if slices.Contains(in.Chosen, name) {
			set.Targets = append(set.Targets, name)
		}
	}
	spots, err := in.spots()
	if err != nil {
		return AssetSet{}, err
	}
	for _, s := range spots {
		if s.Project {
			if err := target.CheckProjectRoot(in.Place, s.Agent, in.Sep); err != nil {
				return AssetSet{}, deployment.ErrProject.WithMessage("%s is the home directory or lies above it, and is no git work tree, so that no operator assets of a project belong there: run this inside a project, or choose the scope user", in.Place.ProjectRoot).
					WithDetails(fault.From(err).Details).WithCause(err)
			}
		}
		set.Roots = append(set.Roots, deployment.Root{Target: s.Agent, Path: s.Dir, ScanExtras: s.Scan})
		set.Files = append(set.Files, s.files(in)...)
	}
	slices.SortFunc(set.Files, func(a, b deployment.Desired) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	return set, nil
}

// spot is a directory for commands or skills.
type spot struct {
	target.ActiveRule
	wanted bool
}

// spots returns the directories of the chosen targets: targets in order, those of the user first.
func (in AssetOptions) spots() ([]spot, error) {
	var out []spot
	for _, name := range AssetTargets() {
		if !slices.Contains(in.Chosen, name) {
			continue
		}
		a, _ := target.FindAgent(name)
		setting := target.ResolveContext{Config: in.Targets[name], Place: in.Place, Paths: target.Paths{Sep: in.Sep}}
		setting.Config.Scope = cmp.Or(in.Scope, setting.Config.Scope)
		on, err := a.Lines(setting)
		if err != nil {
			return nil, err
		}
		setting.Config.Options = maps.Clone(setting.Config.Options)
		if setting.Config.Options == nil {
			setting.Config.Options = deployment.Options{}
		}
		for _, option := range []string{"write_user_commands", "write_repo_commands", "write_user_skills", "write_repo_skills"} {
			setting.Config.Options[option] = true
		}
		all, err := a.Lines(setting)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			if l.Of != deployment.ModuleCommand && l.Of != deployment.ModuleSkill {
				continue
			}
			deploys := slices.ContainsFunc(on, func(o target.ActiveRule) bool { return o.Of == l.Of && o.Dir == l.Dir })
			out = append(out, spot{l, name == "codex" || l.Of == deployment.ModuleCommand || deploys})
		}
		if name != "codex" {
			continue
		}
		for _, dir := range []string{"agents", "codex"} { // skills of earlier bootstraps may be in the other directory
			setting.Config.Options["skills_dir"] = dir
			others, err := a.Lines(setting)
			if err != nil {
				return nil, err
			}
			for _, l := range others {
				if l.Of == deployment.ModuleSkill && !slices.ContainsFunc(all, func(o target.ActiveRule) bool { return o.Of == l.Of && o.Dir == l.Dir }) {
					out = append(out, spot{l, false})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b spot) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(b.scope(), a.scope())) })
	return out, nil
}

// scope returns the scope of the spot.
func (s spot) scope() deployment.Scope {
	if s.Project {
		return deployment.ScopeProject
	}
	return deployment.ScopeUser
}

// files returns the files of the spot.
func (s spot) files(in AssetOptions) []deployment.Desired {
	if !s.wanted {
		return nil
	}
	version := cmp.Or(in.Version, "dev")
	paths := target.Paths{Sep: in.Sep}
	file := func(below, id, text string) deployment.Desired {
		return deployment.Desired{Target: s.Agent, Root: s.Dir, Path: paths.Join(s.Dir, below), Mode: deployment.PlainMode, Content: deployment.ContentOf([]byte(text)), Modules: []string{id}}
	}
	theirs := func(f deployment.Desired) bool { return in.Theirs[f.Path] }
	var out []deployment.Desired
	if s.Of == deployment.ModuleSkill {
		out = append(out, file(skillName+"/SKILL.md", "skill:"+skillName, skill(version)))
		return slices.DeleteFunc(out, theirs)
	}
	for _, c := range commands() {
		out = append(out, file("ap-"+c.name+".md", "command:ap-"+c.name, c.document(version)))
	}
	return slices.DeleteFunc(out, theirs)
}

// CheckAssets returns which files are missing or of another version, and the commands that fix it: prefix is the beginning of a command about a
// target. A directory that is not a project lacks nothing, and a file of a module is the module's.
func CheckAssets(in AssetOptions, read func(path string) (data []byte, found bool, err error), prefix func(target string) string) (warnings, actions []string, err error) {
	spots, err := in.spots()
	if err != nil {
		return nil, nil, err
	}
	for len(spots) > 0 {
		first := spots[0]
		n := slices.IndexFunc(spots, func(s spot) bool { return s.Agent != first.Agent || s.Project != first.Project })
		if n < 0 {
			n = len(spots)
		}
		here := spots[:n]
		spots = spots[n:]
		if first.Project && target.CheckProjectRoot(in.Place, first.Agent, in.Sep) != nil {
			continue
		}
		state := map[string][]string{}
		for _, s := range here {
			for _, f := range s.files(in) {
				problem := problemOf(f.Path, cmp.Or(in.Version, "dev"), read)
				state[problem] = append(state[problem], strings.TrimLeft(f.Path[len(s.Dir):], `/\`))
			}
		}
		command := prefix(first.Agent) + " bootstrap --scope " + string(first.scope()) + " --yes --json"
		for _, problem := range []string{missing, outdated} {
			if names := state[problem]; len(names) > 0 {
				warnings = append(warnings, "operator assets "+problem+" ("+first.Agent+"/"+string(first.scope())+"): "+strings.Join(names, ", ")+"; write them with "+command)
				actions = append(actions, command)
			}
		}
	}
	return warnings, slices.Compact(actions), nil
}

// The problems of a file.
const (
	missing  = "missing"
	outdated = "outdated"
)

// problemOf returns what is wrong with a file, or nothing. A file that cannot be read has no version.
func problemOf(path, version string, read func(string) ([]byte, bool, error)) string {
	data, found, err := read(path)
	switch {
	case err == nil && !found:
		return missing
	case err != nil || marker(string(data)) != version:
		return outdated
	}
	return ""
}

// marker returns the version in a file; empty if there is none (agentpack contract §5.6).
func marker(text string) string {
	for l := range strings.Lines(text) {
		if _, version, found := strings.Cut(l, "agentpack_version:"); found {
			version = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(version), "-->"))
			return strings.Trim(version, `"'`)
		}
	}
	return ""
}
