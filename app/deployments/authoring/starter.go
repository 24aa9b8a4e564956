package authoring

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// StarterFile is one file of a new config repository. Path is relative to it, with slashes.
type StarterFile struct {
	Path, Text string
}

// StarterTarget is an agent that the new repository deploys to.
type StarterTarget struct {
	Name  string
	Scope deployment.Scope
}

// DefaultTargets returns the targets of a repository for which nobody chose any.
func DefaultTargets() []StarterTarget {
	return []StarterTarget{{"codex", deployment.ScopeBoth}, {"claude_code", deployment.ScopeBoth}}
}

// StarterFiles returns a new config repository that deploys to the targets. The manifest comes first.
func StarterFiles(targets []StarterTarget) []StarterFile {
	return []StarterFile{
		{deployment.ManifestFile, manifest(targets)},
		{"modules/claude-commands/ap-plan.md", command},
		{"modules/instructions/base/AGENTS.md", instructions},
		{"modules/prompts/draftpr.md", prompt},
	}
}

// option is a setting of a target, as it is written.
type option struct{ name, value string }

// options returns the settings that the manifest spells out for a target, so that they can be found and changed. A target without any has its
// defaults.
func options(target string) []option {
	on := func(names ...string) (out []option) {
		for _, name := range names {
			out = append(out, option{name, "true"})
		}
		return out
	}
	switch target {
	case "codex":
		return slices.Concat([]option{{"codex_home", `"~/.codex"`}},
			on("write_agents_global", "write_agents_repo_root", "write_user_prompts", "write_user_skills", "write_repo_skills"))
	case "claude_code":
		return append(on("write_user_commands", "write_repo_commands"), option{"# write_instructions", "true  # CLAUDE.md, for you and the project; off unless it is set"},
			option{"# write_user_skills", "true   # ~/.claude/skills, likewise"}, option{"# write_repo_skills", "true   # the project's, likewise"})
	case "cursor", "zed":
		return on("write_rules")
	case "vscode":
		return on("write_instructions", "write_prompts")
	case "jetbrains":
		return on("write_guidelines")
	}
	return nil
}

func manifest(targets []StarterTarget) string {
	var b strings.Builder
	b.WriteString(head)
	if len(targets) == 0 {
		b.WriteString("targets: {}\n")
	} else {
		b.WriteString("targets:\n")
	}
	for _, t := range targets {
		b.WriteString("  " + t.Name + ":\n    mode: files\n    scope: " + string(t.Scope) + "\n")
		if set := options(t.Name); len(set) > 0 {
			b.WriteString("    options:\n")
			for _, o := range set {
				b.WriteString("      " + o.name + ": " + o.value + "\n")
			}
		}
	}
	b.WriteString(tail)
	return b.String()
}

const head = `# What is deployed to your coding agents, and from where.
#
#   countersign agents plan                 shows what a deployment would change
#   countersign agents deploy --apply       makes it so, after asking
#   countersign agents rollback --to <id>   takes it back
version: 1

# A profile chooses modules by their tags (include_tags) or ids (include_modules, exclude_modules). default is used unless --profile says
# otherwise.
profiles:
  default:
    include_tags: ["base"]

# The agents to deploy to. scope says where their files go: user (below your home directory), project (into the repository you stand in)
# or both.
`

const tail = `
# The modules. countersign agents add writes them here, for example:
#   countersign agents add instructions local:modules/instructions/base --tags base
#   countersign agents add prompt local:modules/prompts/draftpr.md --tags base
#   countersign agents add command local:modules/claude-commands/ap-plan.md --tags base
#   countersign agents add skill 'git:https://github.com/owner/repo#ref=main&subdir=skills/review' --tags base
modules: []
`

const instructions = `# Working agreements

- Read the code around a change before you make it, and follow the way it is written.
- Keep changes small. Say what you did not do.
- Run the tests that cover what you touched, and report what failed as it is.
- Ask before you delete anything, add a dependency or rewrite history.
`

const prompt = `# Draft a pull request

Look at what this branch changes compared to the main branch, then write a title and a description:

1. Title: what changes for whoever uses this, in one line of at most 70 characters.
2. Why: the problem, in two or three sentences.
3. What: the changes a reviewer should look at first, by file.
4. Proof: which tests ran, and what they showed. Name what was not tested.

Only state what the diff shows.
`

const command = `---
description: Show what a deployment of the agent configuration would change
allowed-tools: Bash(countersign agents plan:*)
---

!` + "`countersign agents plan --json`" + `

Say in a few lines what would be created, updated and deleted, for each target. Point out every update whose update_kind is adopt_update or
drifted_update: it would overwrite work that no deployment wrote. Change nothing.
`
