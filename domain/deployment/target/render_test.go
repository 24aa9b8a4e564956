package target_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func TestContractVectors(t *testing.T) {
	base := with([]target.Module{module("instructions:base", deployment.ModuleInstructions, "AGENTS.md", "# Base instructions\n")}, "cursor", "codex").render(t)
	assert.Equal(t, []string{"/h/.codex/AGENTS.md", "/w/app/AGENTS.md", "/w/app/.cursor/rules/instructions_base--d39861fff1.mdc"}, paths(base))
	assert.Equal(t, "# Base instructions\n", string(base.Files[0].Content.Data), "one module: no markers")
	assert.Equal(t, "0f0afc1b1d98ab294d2f37cd0b313ba20b226edd48beb90f7c801a251377d33e", base.Files[2].Content.Sum.String())

	two := with([]target.Module{
		module("instructions:one", deployment.ModuleInstructions, "AGENTS.md", "# one\n"),
		module("instructions:two", deployment.ModuleInstructions, "AGENTS.md", "# two\n"),
	}, "codex", "vscode", "jetbrains", "zed").render(t)
	for _, f := range two.Files {
		assert.Equal(t, "ee9e6ab7765b65b2e0fd45553b68ffdfa6529057ccc793527d607747444f556d", f.Content.Sum.String(), f.Path)
		assert.Equal(t, []string{"instructions:one", "instructions:two"}, f.Modules)
	}
	assert.Equal(t, []string{"/h/.codex/AGENTS.md", "/w/app/AGENTS.md", "/h/.junie/AGENTS.md", "/w/app/.junie/AGENTS.md",
		"/h/.copilot/copilot-instructions.md", "/w/app/.github/copilot-instructions.md", "/h/.config/zed/AGENTS.md", "/w/app/AGENTS.md"}, paths(two))
}

// TestContractRoots checks the roots without any module, by scope and option: those of the contract's tables, if hosts still read there.
func TestContractRoots(t *testing.T) {
	for name, c := range map[string]struct {
		sample sample
		want   []string
	}{
		"codex":              {with(nil, "codex"), []string{"/h/.agents/skills *", "/h/.codex", "/w/app", "/w/app/.agents/skills *"}},
		"codex user":         {with(nil).set("codex", deployment.ScopeUser), []string{"/h/.agents/skills *", "/h/.codex"}},
		"codex project":      {with(nil).set("codex", deployment.ScopeProject), []string{"/w/app", "/w/app/.agents/skills *"}},
		"codex switched":     {with(nil).set("codex", deployment.ScopeBoth, "write_agents_global", false, "write_user_prompts", "NO", "write_user_skills", "0", "write_agents_repo_root", "maybe"), []string{"/w/app", "/w/app/.agents/skills *"}},
		"codex home":         {with(nil).set("codex", deployment.ScopeUser, "codex_home", "~/c/../d/", "write_user_skills", false), []string{"/h/.agents/skills *", "/h/d"}},
		"codex own skills":   {with(nil).set("codex", deployment.ScopeBoth, "skills_dir", "codex"), []string{"/h/.codex", "/h/.codex/skills *", "/w/app", "/w/app/.codex/skills *"}},
		"claude_code":        {with(nil, "claude_code"), []string{"/h/.claude/commands *", "/w/app/.claude/commands *"}},
		"claude_code skills": {with(nil).set("claude_code", deployment.ScopeUser, "write_user_skills", "Yes", "write_repo_skills", true, "write_user_commands", false), []string{"/h/.claude/skills *"}},
		"claude_code instructions": {with(nil).set("claude_code", deployment.ScopeBoth, "write_instructions", true),
			[]string{"/h/.claude", "/h/.claude/commands *", "/w/app", "/w/app/.claude/commands *"}},
		"cursor":             {with(nil, "cursor"), []string{"/w/app/.cursor/rules *"}},
		"cursor all":         {with(nil).set("cursor", deployment.ScopeProject, "write_skills", true, "write_commands", true), []string{"/w/app/.cursor/commands *", "/w/app/.cursor/rules *", "/w/app/.cursor/skills *"}},
		"vscode":             {with(nil, "vscode"), []string{"/h/.copilot", "/h/.copilot/skills *", "/w/app/.github", "/w/app/.github/skills *"}},
		"vscode files":       {with(nil).set("vscode", deployment.ScopeProject, "instructions_files", true, "write_instructions", false, "prompts_as", "files", "write_skills", false), []string{"/w/app/.github/instructions *", "/w/app/.github/prompts *"}},
		"jetbrains":          {with(nil, "jetbrains"), []string{"/h/.junie", "/h/.junie/commands *", "/h/.junie/skills *", "/w/app/.junie *", "/w/app/.junie/commands *", "/w/app/.junie/skills *"}},
		"zed":                {with(nil, "zed"), []string{"/h/.agents/skills *", "/h/.config/zed", "/w/app", "/w/app/.agents/skills *"}},
		"zed off":            {with(nil).set("zed", deployment.ScopeProject, "write_rules", false), []string{"/w/app/.agents/skills *"}},
		"opencode":           {with(nil, "opencode"), []string{"/h/.config/opencode", "/h/.config/opencode/commands *", "/h/.config/opencode/skills *", "/w/app", "/w/app/.opencode/commands *", "/w/app/.opencode/skills *"}},
		"gemini_cli":         {with(nil, "gemini_cli"), []string{"/h/.gemini", "/h/.gemini/commands *", "/h/.gemini/skills *", "/w/app", "/w/app/.gemini/commands *", "/w/app/.gemini/skills *"}},
		"export_dir":         {with(nil, "export_dir"), []string{"/out/project *", "/out/user *"}},
		"export_dir user":    {with(nil).set("export_dir", deployment.ScopeUser, "scan_extras", false), []string{"/out"}},
		"export_dir project": {with(nil).set("export_dir", deployment.ScopeProject, "root", "dist/agents"), []string{"/w/app/dist/agents *"}},
		"export_dir home":    {with(nil).set("export_dir", deployment.ScopeUser, "root", "~/x"), []string{"/h/x *"}},
	} {
		assert.Equal(t, c.want, roots(c.sample.render(t)), name)
	}
}

func TestCodexHomePrecedence(t *testing.T) {
	for name, c := range map[string]struct{ option, env, want string }{
		"neither":                {"", "", "/h/.codex"},
		"environment":            {"", " ~/e ", "/h/e"},
		"option":                 {"/o", "/e", "/o"},
		"blank option":           {"  ", "/e", "/e"},
		"default that was typed": {"~/.codex", "/e", "/e"},
	} {
		s := with(nil).set("codex", deployment.ScopeUser, "codex_home", c.option, "write_user_skills", false, "write_user_prompts", false)
		s.Place.CodexHome = c.env
		assert.Equal(t, c.want, s.render(t).Roots[0].Path, name)
	}
}

// TestGoldens shows, for every target and for options beyond the contract, the output of modules of every type.
func TestGoldens(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) { golden.Text(t, name, describe(s.render(t))) })
	}
}

// describe returns an output in readable form.
func describe(out target.Output) string {
	var b strings.Builder
	for _, r := range out.Roots {
		fmt.Fprintf(&b, "root %s %s scan=%t\n", r.Target, r.Path, r.ScanExtras)
	}
	for _, w := range out.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, f := range out.Files {
		fmt.Fprintf(&b, "\n== %s (root %s, mode %o, modules %s)\n", f.Path, f.Root, f.Mode, strings.Join(f.Modules, " "))
		if f.Part == nil {
			fmt.Fprintf(&b, "%s", strings.NewReplacer("\x00", "␀", "\x01", "␁").Replace(string(f.Content.Data)))
			if !strings.HasSuffix(string(f.Content.Data), "\n") {
				b.WriteString("\n(no final newline)\n")
			}
			continue
		}
		fmt.Fprintf(&b, "part: %s\n", f.Part.Format)
		if f.Part.Block != "" {
			fmt.Fprintf(&b, "%s\n", f.Part.Block)
		}
		for _, k := range f.Part.Keys {
			fmt.Fprintf(&b, "%s = %s (%s)\n", strings.Join(k.Path, " > "), k.Value, k.Module)
		}
	}
	return b.String()
}

func TestModulesOfOtherTypesAndTargetsAreLeftOut(t *testing.T) {
	for _, name := range target.TargetNames() {
		modules := everything()
		for i := range modules {
			modules[i].Targets = []string{"somebody_else"}
		}
		out := with(modules, name).render(t)
		assert.Empty(t, out.Files, name)
		assert.Empty(t, out.Warnings, name)
	}
	out := with([]target.Module{module("command:a", deployment.ModuleCommand, "a.md", "x")}, "zed", "vscode", "codex").render(t)
	assert.Empty(t, out.Files)
	assert.Empty(t, out.Warnings, "a target takes what it knows, silently")
}

func TestContentIsReadOnceAndOnlyWhereNeeded(t *testing.T) {
	texts := map[string]string{"one": "# one\n", "two": "# two", "skill": "---\n", "prompt": "p\n"}
	origin := func(id string, of deployment.ModuleType, file, name string) target.Module {
		m := module(id, of, file, texts[name])
		m.Tree[0].Content.Data, m.Tree[0].Content.Origin = nil, name
		return m
	}
	s := with([]target.Module{
		origin("instructions:one", deployment.ModuleInstructions, "AGENTS.md", "one"), origin("instructions:two", deployment.ModuleInstructions, "AGENTS.md", "two"),
		origin("prompt:p", deployment.ModulePrompt, "p.md", "prompt"), origin("skill:s", deployment.ModuleSkill, "SKILL.md", "skill"),
	}, target.TargetNames()...)
	reads := map[string]int{}
	s.Read = func(c deployment.Content) ([]byte, error) {
		reads[c.Origin]++
		return []byte(texts[c.Origin]), nil
	}
	out := s.render(t)
	assert.Equal(t, map[string]int{"one": 1, "two": 1, "prompt": 1}, reads, "the prompt is rewritten for Gemini CLI; the skill is not read at all")
	for _, f := range out.Files {
		if strings.HasSuffix(f.Path, "/s/SKILL.md") {
			assert.Equal(t, "skill", f.Content.Origin)
		}
	}
	single := with([]target.Module{origin("instructions:one", deployment.ModuleInstructions, "AGENTS.md", "one")}, "codex", "zed")
	single.render(t) // whose Read fails

	broken := errors.New("disk on fire")
	for _, m := range []target.Module{origin("mcp:m", deployment.ModuleMCP, "x.json", "prompt"), s.Modules[0], s.Modules[2]} {
		s := with([]target.Module{m}, "cursor", "gemini_cli")
		s.Read = func(deployment.Content) ([]byte, error) { return nil, broken }
		_, err := target.Render(s.Input)
		require.ErrorIs(t, err, broken, m.ID)
		require.NotErrorIs(t, err, deployment.ErrConfig, "a disk is no configuration")
	}
}

func TestEqualContentOfSeveralModulesIsTheirsTogether(t *testing.T) {
	out := with([]target.Module{
		module("prompt:a", deployment.ModulePrompt, "same.md", "x\n"), module("prompt:b", deployment.ModulePrompt, "same.md", "x\n"),
		module("skill:s", deployment.ModuleSkill, "SKILL.md", "x\n", "run", "y\n"), module("team:s", deployment.ModuleSkill, "SKILL.md", "x\n", "!run", "y\n"),
	}).set("codex", deployment.ScopeUser).render(t)
	require.Equal(t, []string{"/h/.agents/skills/s/SKILL.md", "/h/.agents/skills/s/run", "/h/.agents/skills/same/SKILL.md"}, paths(out))
	assert.Equal(t, []string{"prompt:a", "prompt:b"}, out.Files[2].Modules)
	assert.Equal(t, []string{"skill:s", "team:s"}, out.Files[0].Modules)
	assert.Equal(t, deployment.ExecutableMode, out.Files[1].Mode, "who needs it executable gets it")

	s := with(everything()).set("codex", deployment.ScopeBoth, "codex_home", "/w/app", "skills_dir", "codex")
	assert.Equal(t, 1, strings.Count(strings.Join(paths(s.render(t)), "\n"), "AGENTS.md"), "the two are one when their directories are")
	assert.Equal(t, []string{"/w/app", "/w/app/.codex", "/w/app/.codex/skills *", "/w/app/skills *"}, roots(s.render(t)))

	shared := with([]target.Module{module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "x\n")}).set("codex", deployment.ScopeProject).set("opencode", deployment.ScopeProject).render(t)
	assert.Equal(t, []string{"/w/app/AGENTS.md", "/w/app/AGENTS.md"}, paths(shared), "two targets may want the same")
}

func TestRootsThatMeet(t *testing.T) {
	s := with([]target.Module{module("skill:s", deployment.ModuleSkill, "SKILL.md", "x"), module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "x")}).
		set("codex", deployment.ScopeBoth, "skills_dir", "codex", "codex_home", "/w/app/.codex/skills", "write_user_prompts", false, "write_user_skills", false)
	assert.Equal(t, []string{"/w/app", "/w/app/.codex/skills *"}, roots(s.render(t)), "one root, looked through as long as somebody wants that")

	m := module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "x")
	m.Targets = []string{"codex"}
	s = with([]target.Module{m, module("skill:s", deployment.ModuleSkill, "SKILL.md", "x")}).
		set("codex", deployment.ScopeUser, "codex_home", "/w/skills/s", "write_user_skills", false, "write_user_prompts", false).
		set("export_dir", deployment.ScopeUser, "root", "/w")
	out := s.render(t)
	assert.Equal(t, []string{"/w/skills/s/AGENTS.md", "/w/skills/s/SKILL.md"}, paths(out))
	assert.Equal(t, []string{"/w/skills/s", "/w"}, []string{out.Files[0].Root, out.Files[1].Root}, "each of its own target")
}

func TestConflicts(t *testing.T) {
	instructions := func(id string, targets ...string) target.Module {
		m := module(id, deployment.ModuleInstructions, "AGENTS.md", "# "+id+"\n")
		m.Targets = targets
		return m
	}
	server := func(id, text string) target.Module { return module(id, deployment.ModuleMCP, "x.json", text) }
	for name, c := range map[string]struct {
		sample sample
		path   string
		says   []string
	}{
		"two modules": {with([]target.Module{module("prompt:a", deployment.ModulePrompt, "p.md", "a"), module("prompt:b", deployment.ModulePrompt, "p.md", "b")}).set("export_dir", deployment.ScopeUser),
			"/out/prompts/p.md", []string{"prompt:a", "prompt:b", deployment.SumOf([]byte("a")).String(), deployment.SumOf([]byte("b")).String()}},
		"a command and a prompt": {with([]target.Module{module("command:a", deployment.ModuleCommand, "p.md", "a"), module("prompt:b", deployment.ModulePrompt, "p.md", "b")}).set("opencode", deployment.ScopeUser),
			"/h/.config/opencode/commands/p.md", []string{"command:a", "prompt:b"}},
		"two targets": {with([]target.Module{server("mcp:a", `{"command":"a"}`), server("mcp:b", `{"command":"b"}`)}, "claude_code", "vscode").only("mcp:a", "claude_code").only("mcp:b", "vscode").set("claude_code", deployment.ScopeProject).set("vscode", deployment.ScopeProject),
			"/w/app/.mcp.json", []string{"target claude_code", "target vscode", "mcp:a", "mcp:b"}},
		"whole and part": {with([]target.Module{instructions("instructions:a")}, "codex").set("opencode", deployment.ScopeBoth, "instructions_mode", "section"),
			"/w/app/AGENTS.md", []string{"a part of it", "target codex", "target opencode"}},
		"one key, two values": {with([]target.Module{server("mcp:a", `{"command":"a"}`), server("mcp:b", `{"command":"b"}`)}).set("cursor", deployment.ScopeProject),
			"/w/app/.cursor/mcp.json", []string{"mcpServers.x", "mcp:a", "mcp:b"}},
		"a key within another": {with([]target.Module{server("mcp:a", `{"command":"a"}`), module("settings:s", deployment.ModuleSettings, "opencode.json", `{"mcp":{}}`)}).set("opencode", deployment.ScopeProject),
			"/w/app/opencode.json", []string{"mcp.x", "overlap", "mcp:a", "settings:s"}},
		"a file where a directory is": {with([]target.Module{module("skill:s", deployment.ModuleSkill, "SKILL.md", "x", "a", "file"), module("team:s", deployment.ModuleSkill, "SKILL.md", "x", "a/b", "y")}).set("codex", deployment.ScopeUser),
			"/h/.agents/skills/s/a", []string{"another needs a directory there for /h/.agents/skills/s/a/b", "skill:s", "team:s"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := target.Render(c.sample.Input)
			require.ErrorIs(t, err, deployment.ErrDesired)
			for _, part := range append(c.says, c.path) {
				assert.ErrorContains(t, err, part)
			}
			details := fault.From(err).Details.(deployment.Details)
			assert.Equal(t, c.path, details["path"])
			assert.Equal(t, "desired_state_conflict", details["reason_code"])
			assert.Equal(t, []string{"resolve_desired_state_conflict", "retry_command"}, details["next_actions"])
			for _, key := range []string{"target", "existing", "new"} {
				assert.NotEmpty(t, details[key], key)
			}
		})
	}
	agree := with([]target.Module{server("mcp:a", `{"command":"a","args":[]}`), server("mcp:b", `{ "args": [], "command": "a" }`)}).set("cursor", deployment.ScopeProject).render(t)
	require.Len(t, agree.Files, 1)
	assert.Len(t, agree.Files[0].Part.Keys, 1, "equal values are no conflict, however they are written")
	assert.Equal(t, []string{"mcp:a", "mcp:b"}, agree.Files[0].Modules)
}

func TestBadConfigurationAndModules(t *testing.T) {
	skill := func(id string) sample {
		return with([]target.Module{module(id, deployment.ModuleSkill, "SKILL.md", "x")}).set("codex", deployment.ScopeUser)
	}
	one := func(m target.Module, name string) sample { return with([]target.Module{m}, name) }
	cases := map[string]struct {
		sample sample
		want   *fault.Error
		says   string
	}{
		"user scope for a project agent": {with(nil).set("ai_assistant", deployment.ScopeUser), deployment.ErrConfig, "ai_assistant"},
		"no scope":                       {with(nil).set("codex", ""), deployment.ErrConfig, "codex"},
		"unknown choice":                 {with(nil).set("codex", deployment.ScopeUser, "skills_dir", "elsewhere"), deployment.ErrConfig, "elsewhere"},
		"unknown mode":                   {with(nil).set("zed", deployment.ScopeBoth, "instructions_mode", "block"), deployment.ErrConfig, "instructions_mode"},
		"relative codex home":            {with(nil).set("codex", deployment.ScopeUser, "codex_home", "codex"), deployment.ErrConfig, "codex_home"},
		"somebody's home":                {with(nil).set("codex", deployment.ScopeUser, "codex_home", "~root/.codex"), deployment.ErrConfig, "codex_home"},
		"no export root":                 {with(nil).set("export_dir", deployment.ScopeUser, "root", " "), deployment.ErrConfig, "root"},
		"several lines in a glob":        {with(everything()).set("cursor", deployment.ScopeBoth, "globs", "a\nalwaysApply: true"), deployment.ErrConfig, "cursor"},
		"prompt of two files":            {one(module("prompt:p", deployment.ModulePrompt, "a.md", "", "b.md", ""), "codex"), deployment.ErrConfig, "prompt:p"},
		"instructions without the file":  {one(module("instructions:p", deployment.ModuleInstructions, "README.md", ""), "codex"), deployment.ErrConfig, "AGENTS.md"},
		"server that is no JSON":         {one(module("mcp:p", deployment.ModuleMCP, "a.json", "a"), "cursor"), deployment.ErrConfig, "a.json"},
		"server without a way to it":     {one(module("mcp:p", deployment.ModuleMCP, "a.json", "{}"), "cursor"), deployment.ErrConfig, "command or a url"},
		"null for TOML":                  {one(module("settings:p", deployment.ModuleSettings, "codex.json", `{"a":{"b":null}}`), "codex"), deployment.ErrConfig, "null"},
		"prompt that is no text":         {one(module("prompt:p", deployment.ModulePrompt, "a.md", "\xff"), "gemini_cli"), deployment.ErrConfig, "UTF-8"},
		"path out of a skill":            {one(module("skill:s", deployment.ModuleSkill, "SKILL.md", "", "../../x", ""), "codex"), deployment.ErrPath, "../../x"},
	}
	for _, id := range []string{"skill:../../x", "skill:..", "skill:", "skill:a/b", `skill:a\b`, "skill:.git", "skill:a\x00b"} {
		cases["skill "+id] = struct {
			sample sample
			want   *fault.Error
			says   string
		}{skill(id), deployment.ErrConfig, "not a valid directory name"}
	}
	for name, c := range cases {
		_, err := target.Render(c.sample.Input)
		if assert.ErrorIs(t, err, c.want, name) {
			assert.ErrorContains(t, err, c.says, name)
		}
	}
	assert.Equal(t, []string{"/h/.agents/skills/my_skill/SKILL.md"}, paths(skill("my skill").render(t)), "an id without a colon is made safe")
	assert.Equal(t, []string{"/h/.agents/skills/a:b/SKILL.md"}, paths(skill("skill:a:b").render(t)))

	s := with(nil, "codex")
	s.Chosen = []string{"cursor"}
	_, err := target.Render(s.Input)
	require.ErrorIs(t, err, deployment.ErrConfig)
	s.Chosen = []string{"emacs"}
	_, err = target.Render(s.Input)
	require.ErrorIs(t, err, deployment.ErrTarget)
}

func TestOutsideAProjectNothingIsPlannedIntoTheDirectory(t *testing.T) {
	instructions := []target.Module{module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "x\n")}
	for _, root := range []string{"/h", "/", "/h/app", "/tmp/x"} {
		s := with(instructions, "codex")
		s.Place.Marked, s.Place.ProjectRoot = false, root
		out := s.render(t)
		assert.Equal(t, []string{"/h/.codex/AGENTS.md"}, paths(out), "the user's own files alone")
		for _, r := range out.Roots {
			assert.True(t, strings.HasPrefix(r.Path, "/h/.codex") || strings.HasPrefix(r.Path, "/h/.agents"), r.Path)
		}
		require.Len(t, out.Warnings, 1)
		assert.Contains(t, out.Warnings[0], root+" is not a git worktree")
		assert.Contains(t, out.Warnings[0], "--project-root", "the way out")
		s.Place.Marked = true
		assert.Len(t, s.render(t).Files, 2)
		prompts := with([]target.Module{module("prompt:a", deployment.ModulePrompt, "a.md", "x\n")}, "codex")
		prompts.Place = s.Place
		prompts.Place.Marked = false
		assert.Empty(t, prompts.render(t).Warnings, "nothing is for a project")
	}
	s := with(instructions).set("export_dir", deployment.ScopeUser, "root", "out")
	s.Place.Marked = false
	assert.Empty(t, s.render(t).Files, "a relative export is the project's")
	s = with(instructions, "codex")
	s.Place.Marked, s.Place.Only = false, deployment.ScopeProject
	_, err := target.Render(s.Input)
	require.ErrorIs(t, err, deployment.ErrProject, "it was asked for")
	assert.ErrorContains(t, err, "--scope user", "the way out")
}

func TestScopes(t *testing.T) {
	user, project := module("instructions:mine", deployment.ModuleInstructions, "AGENTS.md", "mine\n"), module("instructions:ours", deployment.ModuleInstructions, "AGENTS.md", "ours\n")
	user.Scope, project.Scope = deployment.ScopeUser, deployment.ScopeProject
	both := module("skill:s", deployment.ModuleSkill, "SKILL.md", "laid over\n")
	both.UserTree = module("skill:s", deployment.ModuleSkill, "SKILL.md", "plain\n").Tree
	s := with([]target.Module{user, project, both}, "codex")
	text := func(out target.Output) map[string]string {
		all := map[string]string{}
		for _, f := range out.Files {
			all[f.Path] = string(f.Content.Data)
		}
		return all
	}
	want := map[string]string{"/h/.codex/AGENTS.md": "mine\n", "/h/.agents/skills/s/SKILL.md": "plain\n", "/w/app/AGENTS.md": "ours\n", "/w/app/.agents/skills/s/SKILL.md": "laid over\n"}
	assert.Equal(t, want, text(s.render(t)))

	// What import found in a project is for that project only, even if an earlier version wrote no scope.
	here, there := module("prompt:here", deployment.ModulePrompt, "p.md", "p"), module("command:there", deployment.ModuleCommand, "there.md", "c")
	imported := module("skill:found", deployment.ModuleSkill, "SKILL.md", "found\n")
	here.Tags, there.Tags, imported.Tags = []string{"project-x"}, []string{"project-0123456789abcdef"}, []string{"imported", "project", "project-" + s.Place.ProjectID}
	there.Scope = deployment.ScopeProject
	tagged := with([]target.Module{here, there, imported}, "codex", "opencode")
	tagged.Place.ProjectID = "fedcba9876543210"
	imported.Tags[2] = "project-fedcba9876543210"
	assert.Equal(t, []string{"/h/.agents/skills/p/SKILL.md", "/w/app/.agents/skills/found/SKILL.md", "/h/.config/opencode/commands/p.md", "/w/app/.opencode/commands/p.md", "/w/app/.opencode/skills/found/SKILL.md"}, paths(tagged.render(t)))

	s.Place.Only = deployment.ScopeProject
	out := s.render(t)
	assert.Equal(t, map[string]string{"/w/app/AGENTS.md": "ours\n", "/w/app/.agents/skills/s/SKILL.md": "laid over\n"}, text(out))
	for _, r := range out.Roots {
		assert.True(t, strings.HasPrefix(r.Path, "/w/app"), "what is not asked for is not looked at: %s", r.Path)
	}
	s.Place.Only = deployment.ScopeUser
	assert.Equal(t, map[string]string{"/h/.codex/AGENTS.md": "mine\n", "/h/.agents/skills/s/SKILL.md": "plain\n"}, text(s.render(t)))
}

func TestWindowsPaths(t *testing.T) {
	s := with(everything(), "codex", "vscode", "export_dir").set("export_dir", deployment.ScopeBoth, "root", `D:/out\x`)
	s.Sep = '\\'
	s.Place.UserHome, s.Place.ProjectRoot, s.Place.CodexHome = `C:\Users\u`, `C:\w\app`, ""
	out := s.render(t)
	assert.Contains(t, paths(out), `C:\Users\u\.agents\skills\review\bin\run.sh`)
	assert.Contains(t, paths(out), `C:\w\app\.github\skills\hello\SKILL.md`)
	assert.Contains(t, paths(out), `D:\out\x\project\prompts\hello.md`)
	for _, f := range out.Files {
		assert.True(t, deployment.IsBelow(f.Root, f.Path, '\\'), "%s below %s", f.Path, f.Root)
	}
	s.Modules = []target.Module{module("skill:s", deployment.ModuleSkill, "SKILL.md", "x", `..\..\evil`, "x")}
	_, err := target.Render(s.Input)
	require.ErrorIs(t, err, deployment.ErrPath)
	s.Modules = []target.Module{module("skill:a:b", deployment.ModuleSkill, "SKILL.md", "x")}
	_, err = target.Render(s.Input)
	require.ErrorIs(t, err, deployment.ErrConfig, "a colon is a stream or a drive there")
}

func TestMarksInAModuleAreWarnedOf(t *testing.T) {
	marked := module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "x\n<!-- /agentpack -->\n")
	other := module("instructions:b", deployment.ModuleInstructions, "AGENTS.md", "y\n")
	assert.Empty(t, with([]target.Module{marked}, "codex").render(t).Warnings)
	out := with([]target.Module{marked, other}, "codex", "zed").render(t)
	require.Len(t, out.Warnings, 1, "once, not once a target")
	assert.Contains(t, out.Warnings[0], "instructions:a")
}

func TestServersThatATargetCannotUseAreWarnedOf(t *testing.T) {
	out := with([]target.Module{module("mcp:a", deployment.ModuleMCP, "old.json", `{"type":"sse","url":"https://x"}`, "new.json", `{"url":"https://x"}`)}).set("codex", deployment.ScopeUser).render(t)
	require.Len(t, out.Warnings, 1)
	assert.Contains(t, out.Warnings[0], "old")
	require.Len(t, out.Files, 1)
	assert.Equal(t, [][]string{{"mcp_servers", "new"}}, [][]string{out.Files[0].Part.Keys[0].Path})
}

// TestPromptsAreSkillsWhereNothingElseIsRead: a prompt is a skill that users call, under a name that no skill and no other prompt has.
func TestPromptsAreSkillsWhereNothingElseIsRead(t *testing.T) {
	out := with([]target.Module{
		module("prompt:a", deployment.ModulePrompt, "Draft PR.md", "---\ndescription: Drafts\n---\n\nDraft it.\n"),
		module("prompt:b", deployment.ModulePrompt, "draft-pr.md", "b\n"),
		module("prompt:c", deployment.ModulePrompt, "review.md", "c\n"),
		module("prompt:d", deployment.ModulePrompt, "\u00e9.md", "d\n"),
		module("skill:Review", deployment.ModuleSkill, "SKILL.md", "---\nname: Review\n---\n"),
	}).set("codex", deployment.ScopeUser).render(t)
	assert.Equal(t, []string{"/h/.agents/skills/Review/SKILL.md", "/h/.agents/skills/draft-pr-prompt/SKILL.md", "/h/.agents/skills/draft-pr/SKILL.md",
		"/h/.agents/skills/prompt/SKILL.md", "/h/.agents/skills/review-prompt/SKILL.md"}, paths(out))
	assert.Equal(t, "---\nname: draft-pr\ndescription: \"Drafts\"\ndisable-model-invocation: true\n---\n\nDraft it.\n", string(out.Files[2].Content.Data))
}

// TestFilesThatAreTakenAsTheyAre: files in the form of their hosts are deployed there byte for byte, traced back byte for byte, and go nowhere else.
func TestFilesThatAreTakenAsTheyAre(t *testing.T) {
	asIs := func(m target.Module, targets ...string) target.Module {
		m.AsIs, m.Targets = true, targets
		return m
	}
	s := with([]target.Module{
		asIs(module("command:bare", deployment.ModuleCommand, "bare.md", "Look at it.\n"), "cursor", "claude_code", "gemini_cli"),
		asIs(module("command:say", deployment.ModuleCommand, "say.toml", "prompt = \"\"\"\nSay {{args}}\n\"\"\" # mine\n"), "gemini_cli", "claude_code"),
		asIs(module("agent:plan", deployment.ModuleAgent, "plan.md", "---\nmode: subagent\ndescription: 'Plans'\n---\nPlan.\n"), "opencode"),
		asIs(module("agent:deep", deployment.ModuleAgent, "deep.toml", "name = 'deep'\nmodel = 'x'\n"), "codex"),
	}).set("cursor", deployment.ScopeUser, "write_commands", true).set("claude_code", deployment.ScopeUser).set("gemini_cli", deployment.ScopeUser).set("opencode", deployment.ScopeUser).set("codex", deployment.ScopeUser)
	out := s.render(t)
	assert.Equal(t, []string{"/h/.claude/commands/bare.md", "/h/.codex/agents/deep.toml", "/h/.cursor/commands/bare.md", "/h/.gemini/commands/say.toml", "/h/.config/opencode/agents/plan.md"}, paths(out))
	for _, f := range out.Files {
		m := s.module(f.Modules[0])
		assert.Equal(t, m.Tree[0].Content.Sum, f.Content.Sum, f.Path)
		assert.Equal(t, []target.ModuleEdit{{Module: m.ID, Path: m.Tree[0].Path, Data: []byte("# edited\n")}}, s.invert(t, f, []byte("# edited\n")).Edits)
	}
	assert.Contains(t, strings.Join(out.Warnings, "\n"), "target gemini_cli does not get command:bare, which is copied unchanged to its targets: bare.md is in the format of another host")
	assert.Contains(t, strings.Join(out.Warnings, "\n"), "target claude_code does not get command:say")
}

// TestModulesWithGlobsAreRules: instructions that Claude Code reads only for some files are a rule, and not in the file that it always reads.
func TestModulesWithGlobsAreRules(t *testing.T) {
	modules := map[string]any{"instructions:two": map[string]any{"globs": "src/**/*.{ts,tsx}, *.md"}}
	s := with(everything()).set("claude_code", deployment.ScopeProject, "write_instructions", true, "modules", modules)
	out := s.render(t)
	assert.Equal(t, "# one\n", string(fileOf(t, out, "/w/app/CLAUDE.md").Content.Data))
	rule := fileOf(t, out, "/w/app/.claude/rules/instructions_two--315524c426.md")
	assert.Equal(t, "---\npaths:\n  - \"src/**/*.{ts,tsx}\"\n  - \"*.md\"\n---\n\n# two\n", string(rule.Content.Data))
	got := s.invert(t, rule, []byte(string(rule.Content.Data)+"more\n"))
	assert.Equal(t, []target.ModuleEdit{{Module: "instructions:two", Path: "AGENTS.md", Data: []byte("# two\nmore\n")}}, got.Edits)
}

// TestReferencesAreEachAgentsOwn: a module refers to the environment in one form, and each agent gets the form that it expands. If it has none,
// Countersign resolves the references in a local server's environment when the server starts; any other server is omitted. The plan says so: neither
// the text nor a value is ever written instead.
func TestReferencesAreEachAgentsOwn(t *testing.T) {
	servers := module("mcp:s", deployment.ModuleMCP,
		"local.json", `{"command": "srv", "env": {"TOKEN": "${TOKEN}", "MODE": "fast"}}`,
		"remote.json", `{"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Key": "${KEY}"}}`,
		"renamed.json", `{"command": "srv", "args": ["-x"], "env": {"API": "v1 ${TOKEN:-none}", "MODE": "fast"}}`,
		"argument.json", `{"command": "srv", "args": ["--key=${KEY:-}"]}`)
	const resolved = `["with-secrets","--env","API=v1 @{TOKEN:-none}","--","srv","-x"]`
	const filled = `["with-secrets","--args","--","srv","--key=@{KEY:-}"]`
	for name, want := range map[string][]string{
		"claude_code": {`"TOKEN":"${TOKEN}"`, `"Bearer ${TOKEN}"`, `"API":"v1 ${TOKEN:-none}"`, `--key=${KEY:-}`},
		"cursor":      {`"TOKEN":"${env:TOKEN}"`, `"Bearer ${env:TOKEN}"`, resolved + `,"command":"countersign","env":{"MODE":"fast"}`, filled, "process list"},
		"opencode":    {`"environment":{"MODE":"fast","TOKEN":"{env:TOKEN}"}`, `"Bearer {env:TOKEN}"`, `"command":["countersign",` + resolved[1:] + `,"environment":{"MODE":"fast"}`, filled[1:], "process list"},
		"codex":       {`"env":{"MODE":"fast"},"env_vars":["TOKEN"]`, `"bearer_token_env_var":"TOKEN","env_http_headers":{"X-Key":"KEY"}`, resolved + `,"command":"countersign","env":{"MODE":"fast"},"env_vars":["TOKEN"]`, filled + `,"command":"countersign","env_vars":["KEY"]`, "process list"},
		"zed":         {`["with-secrets","--env","TOKEN=@{TOKEN}","--","srv"],"command":"countersign","env":{"MODE":"fast"}`, "", resolved, filled, "use a local server that connects to it"},
	} {
		out := with([]target.Module{servers}).set(name, deployment.ScopeProject).render(t)
		text := describe(out)
		for i, server := range []string{"local", "remote", "renamed", "argument"} {
			assert.Equal(t, want[i] != "", strings.Contains(text, " > "+server+" = "), "%s %s", name, server)
			assert.Contains(t, text, want[i], "%s %s", name, server)
		}
		if len(want) > 4 {
			require.NotEmpty(t, out.Warnings, name)
			said := strings.Join(out.Warnings, "\n")
			assert.Contains(t, said, want[4], name)
			assert.Contains(t, said, "does not resolve references for the server renamed of module mcp:s: countersign with-secrets starts it there, and takes TOKEN from its environment or the keychain", name)
			assert.NotContains(t, text, "${TOKEN:-none}", name)
		}
	}
}

// TestServersThatTheLauncherStarts: edits of one are traced back to its module, and one that is found is translated to the neutral description.
func TestServersThatTheLauncherStarts(t *testing.T) {
	const text = `{"args":["-x","--of=${KEY}"],"command":"srv","env":{"API":"v1 ${TOKEN:-none}","KEY":"${KEY}","MODE":"fast"}}`
	for _, name := range []string{"zed", "codex", "cursor", "opencode"} {
		s := with([]target.Module{module("mcp:s", deployment.ModuleMCP, "s.json", text)}).set(name, deployment.ScopeProject)
		f := s.render(t).Files[0]
		k := f.Part.Keys[0]
		require.Contains(t, string(k.Value), `"KEY=@{KEY}","--","srv","-x","--of=@{KEY}"]`, name)
		back, err := target.InvertKey(s.Input, f, k, json.RawMessage(strings.Replace(string(k.Value), `"-x"`, `"-y"`, 1)))
		require.NoError(t, err)
		if name != "codex" { // its references by name are not traced back
			assert.Equal(t, []deployment.Key{{Path: []string{"args"}, Value: json.RawMessage(`["-y","--of=${KEY}"]`)}}, back.Set, name)
			assert.Empty(t, back.Remove, name)
		}
		a, _ := target.FindAgent(name)
		l, err := a.Servers(target.ResolveContext{Place: s.Place, Paths: target.Paths{Sep: '/'}}, deployment.ScopeProject)
		require.NoError(t, err)
		value, err := target.ParseObject(k.Value)
		require.NoError(t, err)
		described, err := l.Dialect.Described(value)
		require.NoError(t, err, name)
		got, err := target.EncodeValue(described)
		require.NoError(t, err)
		assert.Equal(t, text, string(got), name)
	}
	for _, text := range []string{
		`{"command": "srv", "env": {"A": "@{B} ${C}"}}`, `{"command": "${SRV}", "env": {"A": "${C}"}}`, `{"command": "srv", "cwd": "${C}"}`, `{"command": "srv", "env": {"A=B": "${C}"}}`,
		`{"command": "srv", "args": ["@{B}", "${C}"]}`,
	} {
		out := with([]target.Module{module("mcp:s", deployment.ModuleMCP, "s.json", text)}).set("zed", deployment.ScopeProject).render(t)
		assert.Empty(t, out.Files, text)
		assert.Contains(t, strings.Join(out.Warnings, "\n"), "do not support references", text)
	}
}

// TestAgentsThatReadOneFileShareIt: what several targets want in one file of instructions, or as keys of one document, is there for all of them, and
// the plan says which agent reads what is not meant for it.
func TestAgentsThatReadOneFileShareIt(t *testing.T) {
	modules := everything()
	s := with(append(modules, module("mcp:more", deployment.ModuleMCP, "more.json", `{"command": "m"}`)), "codex", "zed", "claude_code", "vscode").
		only("instructions:two", "codex").only("mcp:tools", "claude_code").only("mcp:more", "vscode")
	out := s.render(t)
	for _, f := range out.Files {
		switch f.Path {
		case "/w/app/AGENTS.md":
			assert.Equal(t, []string{"instructions:one", "instructions:two"}, f.Modules, f.Target)
		case "/h/.config/zed/AGENTS.md":
			assert.Equal(t, []string{"instructions:one"}, f.Modules)
		case "/w/app/.mcp.json":
			assert.Len(t, f.Part.Keys, map[string]int{"claude_code": 2, "vscode": 1}[f.Target], f.Target)
		}
	}
	alone := s
	alone.Chosen = []string{"zed"}
	assert.Equal(t, []string{"instructions:one", "instructions:two"}, fileOf(t, alone.render(t), "/w/app/AGENTS.md").Modules, "one target alone takes nothing away from the others")
	assert.Contains(t, out.Warnings, "module instructions:two does not have zed as a target, but it is read there: it is in /w/app/AGENTS.md, for codex")
}
