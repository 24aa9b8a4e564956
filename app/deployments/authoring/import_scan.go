package authoring

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/sorting"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// candidate is something that could become a module.
type candidate struct {
	deployport.Found
	module deployment.Module // Source is where it would go
	scope  deployment.Scope
}

// kind is one of the places to look in.
type kind struct {
	dir   string
	of    deployment.ModuleType
	scope deployment.Scope
	agent string
	into  string // slash path below the config repository
}

// kinds are the directories whose entries could become modules.
func (s *importService) kinds(f found) []kind {
	const (
		codex, claude = "codex", "claude_code"
		commands      = "modules/claude-commands/imported/"
		skills        = "modules/skills/imported"
	)
	in := s.paths().Join
	out := []kind{
		{in(f.codex, "prompts"), deployment.ModulePrompt, deployment.ScopeUser, codex, "modules/prompts/imported"},
		{in(f.codex, "skills"), deployment.ModuleSkill, deployment.ScopeUser, codex, skills},
		{in(f.home, ".claude/commands"), deployment.ModuleCommand, deployment.ScopeUser, claude, commands + "user"},
	}
	if f.at.ProjectRoot == f.home {
		return out
	}
	return append(out,
		kind{f.at.ProjectRoot, deployment.ModuleInstructions, deployment.ScopeProject, codex, "modules/instructions/imported"},
		kind{in(f.at.ProjectRoot, ".claude/commands"), deployment.ModuleCommand, deployment.ScopeProject, claude, commands + profileOf(f.at)},
		kind{in(f.at.ProjectRoot, ".codex/skills"), deployment.ModuleSkill, deployment.ScopeProject, codex, skills})
}

// Why something that agents keep is no candidate at all.
const (
	leftDeployed = "written_by_a_deployment"
	leftForm     = "not_of_the_expected_form" // a file among skills, or anything but a Markdown file among prompts and commands
	leftKind     = "kind_not_imported"
)

// ImportLeftOut is something that agents keep and that is no candidate.
type ImportLeftOut struct {
	Reason      string `json:"reason"`
	Source      string `json:"source_path"`
	SourcePosix string `json:"source_path_posix"`
}

func (f *found) leave(path, reason string) {
	f.left = append(f.left, ImportLeftOut{reason, path, deployment.PosixPath(path)})
}

// others are the directories of agents, and the names in them of what they keep that is of no kind.
func (s *importService) others(f found) map[string][]string {
	in := s.paths().Join
	out := map[string][]string{
		f.codex:               {"AGENTS.md", "config.toml", "rules"},
		in(f.home, ".claude"): {"CLAUDE.md", "agents", "hooks", "settings.json", "skills"},
	}
	if f.at.ProjectRoot != f.home {
		out[f.at.ProjectRoot] = []string{".cursorrules", ".mcp.json", "CLAUDE.md", "GEMINI.md"}
		out[in(f.at.ProjectRoot, ".claude")] = []string{"agents", "hooks", "settings.json", "skills"}
		out[in(f.at.ProjectRoot, ".codex")] = []string{"config.toml"}
		out[in(f.at.ProjectRoot, ".cursor")] = []string{"mcp.json", "rules"}
		out[in(f.at.ProjectRoot, ".github")] = []string{"copilot-instructions.md"}
	}
	return out
}

// lookBeside finds what agents keep that is of no kind. What cannot be looked at is not told of: nothing of it would be imported.
func (s *importService) lookBeside(ctx context.Context, f *found) {
	for dir, names := range s.others(*f) {
		entries, _ := s.Scanner.Scan(ctx, dir)
		for _, e := range entries {
			if slices.Contains(names, e.Name) {
				f.leave(e.Path, leftKind)
			}
		}
	}
}

// scan lists all candidates by identifier, then source.
func (s *importService) scan(ctx context.Context, f *found) ([]candidate, error) {
	s.lookBeside(ctx, f)
	var out []candidate
	for _, k := range s.kinds(*f) {
		entries, err := s.Scanner.Scan(ctx, k.dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			switch {
			case k.takes(e):
				out = append(out, k.candidate(e, f.at))
			case k.of != deployment.ModuleInstructions && !strings.HasPrefix(e.Name, "."):
				f.leave(e.Path, leftForm)
			}
		}
	}
	sorting.Stable(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.module.ID, b.module.ID), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// takes reports an entry that is of the kind by its name and form. A link to nothing could be anything.
func (k kind) takes(e deployport.Found) bool {
	switch k.of {
	case deployment.ModuleSkill:
		return (e.Kind == deployment.Directory || e.Kind == deployment.Absent) && e.Name != ".git" && e.Name != ".agentpack"
	case deployment.ModuleInstructions:
		return e.Name == "AGENTS.md" && e.Kind != deployment.Directory
	}
	return strings.HasSuffix(e.Name, ".md") && e.Kind != deployment.Directory
}

func (k kind) candidate(e deployport.Found, at deployment.Place) candidate {
	ofProject := k.scope == deployment.ScopeProject
	m := deployment.Module{Type: k.of, Enabled: true, Targets: []string{k.agent}, Scope: k.scope}
	name := component(e.Name)
	if k.of != deployment.ModuleSkill {
		name = component(strings.TrimSuffix(e.Name, ".md"))
	}
	if ofProject {
		name = profileOf(at) + "-" + name
	}
	m.Source.Local = k.into + "/" + e.Name
	switch k.of {
	case deployment.ModuleSkill:
		m.Source.Local = k.into + "/" + name
	case deployment.ModuleInstructions:
		name, m.Source.Local = profileOf(at), k.into+"/"+at.ProjectID
		m.Targets = []string{"codex", "cursor", "vscode"}
	}
	m.ID = string(k.of) + ":" + name
	m.Tags = append([]string{"base", "imported", "user"}, m.Targets...)
	if ofProject {
		m.Tags = append([]string{"imported", "project", profileOf(at)}, m.Targets...)
	}
	return candidate{e, m, k.scope}
}

// component is a name as part of an identifier: lower-case ASCII letters, digits, - and _; each other character is a -, none at either end.
func component(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(name, "-"), "item")
}
