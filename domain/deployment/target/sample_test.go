package target_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// sample is a call whose every part a test may change.
type sample struct{ target.Input }

// module makes a module from path and text pairs; a path that begins with ! is executable.
func module(id string, of deployment.ModuleType, files ...string) target.Module {
	m := target.Module{Module: deployment.Module{ID: id, Type: of, Enabled: true}}
	for i := 0; i < len(files); i += 2 {
		f := deployment.File{Path: files[i], Mode: deployment.PlainMode, Content: deployment.ContentOf([]byte(files[i+1]))}
		if f.Path[0] == '!' {
			f.Path, f.Mode = f.Path[1:], deployment.ExecutableMode
		}
		m.Tree = append(m.Tree, f)
	}
	m.Tree.Sort()
	return m
}

// place returns a machine with a home and a marked project.
func place() deployment.Locations {
	return deployment.Locations{Home: "/h/.agentpack", Repo: "/h/.agentpack/repo", UserHome: "/h", ProjectRoot: "/w/app", Marked: true, Machine: "m1"}
}

// everything returns modules of every type.
func everything() []target.Module {
	return []target.Module{
		module("command:ship", deployment.ModuleCommand, "ship.md", "---\ndescription: Ship it\nallowed-tools: [\"Bash(make:*)\"]\n---\n\nRun make.\n"),
		module("instructions:one", deployment.ModuleInstructions, "AGENTS.md", "# one\n"),
		module("instructions:two", deployment.ModuleInstructions, "AGENTS.md", "# two\n", "notes.txt", "not deployed\n"),
		module("mcp:tools", deployment.ModuleMCP,
			"local.json", `{"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}`,
			"remote.json", `{"url": "https://example.test/mcp", "headers": {"K": "v"}}`,
			"README.md", "no server\n"),
		module("prompt:hello", deployment.ModulePrompt, "hello.md", "Say hello.\n"),
		module("settings:mine", deployment.ModuleSettings,
			"claude_code.json", `{"model": "m", "permissions": {"allow": ["Bash(ls:*)"]}}`,
			"codex.json", `{"model": "m", "temperature": 0.5}`,
			"cursor.json", `{"a": 1}`,
			"gemini_cli.json", `{"ui": {"theme": "GitHub"}}`,
			"opencode.json", `{"theme": "system"}`,
			"vscode.json", `{"editor.tabSize": 4}`,
			"zed.json", `{"tab_size": 4}`),
		module("skill:review", deployment.ModuleSkill, "SKILL.md", "---\nname: review\ndescription: Reviews\n---\nRead.\n", "!bin/run.sh", "#!/bin/sh\n", "data/a.bin", "\x00\x01"),
	}
}

// with returns the sample of some targets, each with scope both, and modules.
func with(modules []target.Module, names ...string) sample {
	s := sample{target.Input{Place: place(), Targets: map[string]deployment.TargetConfig{}, Modules: slices.Clone(modules), Sep: '/',
		Read: func(deployment.Content) ([]byte, error) { return nil, errors.New("everything is in memory") }}}
	slices.SortFunc(s.Modules, func(a, b target.Module) int { return cmp.Compare(a.ID, b.ID) })
	for _, name := range names {
		s = s.set(name, deployment.ScopeBoth)
	}
	return s
}

// set configures a target with a scope and name, value pairs of options.
func (s sample) set(name string, scope deployment.Scope, options ...any) sample {
	o := deployment.Options{}
	if name == "export_dir" {
		o["root"] = "/out"
	}
	for i := 0; i < len(options); i += 2 {
		o[options[i].(string)] = options[i+1]
	}
	s.Targets[name] = deployment.TargetConfig{Scope: scope, Options: o}
	if !slices.Contains(s.Chosen, name) {
		s.Chosen = append(s.Chosen, name)
		slices.Sort(s.Chosen)
	}
	return s
}

func (s sample) render(t *testing.T) target.Output {
	t.Helper()
	out, err := target.Render(s.Input)
	require.NoError(t, err)
	return out
}

// paths returns the paths of the output.
func paths(out target.Output) (all []string) {
	for _, f := range out.Files {
		all = append(all, f.Path)
	}
	return all
}

// roots returns the paths of the output's roots; those that are scanned end with a star.
func roots(out target.Output) (all []string) {
	for _, r := range out.Roots {
		p := r.Path
		if r.ScanExtras {
			p += " *"
		}
		all = append(all, p)
	}
	return all
}

// samples returns every target in the contract's form, and the effects of options, with modules of every type.
func samples() map[string]sample {
	modules := map[string]any{"instructions:two": map[string]any{"globs": []any{"**/*.ts", "**/*.tsx"}, "always_apply": true}}
	all := map[string]sample{
		"claude_code_all":     with(everything()).set("claude_code", deployment.ScopeBoth, "write_instructions", true, "write_user_skills", true, "write_repo_skills", true),
		"codex_section":       with(everything()).set("codex", deployment.ScopeProject, "instructions_mode", "section", "skills_dir", "codex"),
		"cursor_all":          with(everything()).set("cursor", deployment.ScopeProject, "write_skills", true, "write_commands", true, "globs", "**/*.go, docs/{a,b}.md", "description", "House rules", "modules", modules),
		"vscode_all":          with(everything()).set("vscode", deployment.ScopeProject, "instructions_files", true, "description", "House rules", "modules", modules),
		"gemini_cli_switched": with(everything()).set("gemini_cli", deployment.ScopeProject, "write_mcp", false, "write_settings", false, "write_commands", false),
	}
	for _, name := range target.TargetNames()[:9] { // the others have no forms of their own; TestWhereHostsRead shows where they read
		all[name] = with(everything(), name)
	}
	return all
}

// only keeps a module from all targets except one.
func (s sample) only(id, name string) sample {
	for i := range s.Modules {
		if s.Modules[i].ID == id {
			s.Modules[i].Targets = []string{name}
		}
	}
	return s
}
