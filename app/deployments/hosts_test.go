package deployments_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// hostsArchive is a typical config repository.
const hostsArchive = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: user}
  cursor:
    mode: files
    scope: project
    options:
      description: House rules
      modules:
        "instructions:go":
          globs: ["**/*.go", "go.mod"]
          description: Go
  vscode:
    mode: files
    scope: project
    options:
      instructions_files: true
      modules:
        "instructions:go": {globs: "**/*.go, go.mod", description: Go}
  claude_code:
    mode: files
    scope: project
    options:
      write_instructions: true
      modules: {"instructions:go": {globs: ["**/*.go"]}}
modules:
  - {id: "instructions:all", type: instructions, tags: [base], source: {local_path: {path: modules/all}}}
  - {id: "instructions:go", type: instructions, tags: [base], source: {local_path: {path: modules/go}}}
  - {id: "prompt:hello", type: prompt, tags: [base], targets: [codex], source: {local_path: {path: modules/hello.md}}}
-- modules/all/AGENTS.md --
# All
-- modules/go/AGENTS.md --
# Go
-- modules/hello.md --
Say hello.
`

// TestOptionsOfModulesWorkFromYAML: options of a module in a manifest, as users write them, affect its deployed files.
func TestOptionsOfModulesWorkFromYAML(t *testing.T) {
	w := &world{Rig: deployrig.New(t, hostsArchive)}
	w.version("1.2.3")
	w.Must("deploy_apply", `{"yes":true}`)
	assert.Equal(t, "---\ndescription: \"Go\"\nglobs: **/*.go,go.mod\nalwaysApply: false\n---\n\n# Go\n", w.Read(w.Project, ".cursor/rules/"+deployment.ModuleKey("instructions:go")+".mdc"))
	assert.Equal(t, "---\ndescription: \"House rules\"\nglobs: []\nalwaysApply: true\n---\n\n# All\n", w.Read(w.Project, ".cursor/rules/"+deployment.ModuleKey("instructions:all")+".mdc"))
	assert.Equal(t, "---\ndescription: \"Go\"\napplyTo: \"**/*.go,go.mod\"\n---\n\n# Go\n", w.Read(w.Project, ".github/instructions/"+deployment.ModuleKey("instructions:go")+".instructions.md"))
	assert.Equal(t, "---\npaths:\n  - \"**/*.go\"\n---\n\n# Go\n", w.Read(w.Project, ".claude/rules/"+deployment.ModuleKey("instructions:go")+".md"))
	assert.Equal(t, "# All\n", w.Read(w.Project, "CLAUDE.md"))
}

// TestWhatHostsNoLongerReadIsTakenBack: a prompt that an earlier deployment wrote for an old version of Codex is deleted by the plan that writes it
// where Codex reads now; unmanaged files beside it stay.
func TestWhatHostsNoLongerReadIsTakenBack(t *testing.T) {
	w := &world{Rig: deployrig.New(t, hostsArchive)}
	w.version("1.2.3")
	at, err := w.Compiler.Places.Resolve(t.Context(), planner.Selection{Repo: w.Repo.Dir}.Asked())
	require.NoError(t, err)
	old := deployment.Root{Target: "codex", Path: filepath.Join(w.UserHome, ".codex", "prompts")}
	path := filepath.Join(old.Path, "hello.md")
	put := planner.FileWrite(old.Path, path, deployment.Seen{}, []byte("Say hello.\n"))
	put.Target = "codex"
	_, err = w.Machine.Apply(t.Context(), deployment.Transaction{Kind: deployment.KindDeploy, Place: at, Profile: "default", Targets: []string{"codex"}, Repo: at.Repo, Roots: []deployment.Root{old},
		Writes: []deployment.Write{*put}, Claim: true, Owned: []deployment.Owned{{Target: "codex", Root: old.Path, Path: path, Sum: put.Data.Sum, Mode: deployment.PlainMode, Modules: []string{"prompt:hello"}}}}, nil)
	require.NoError(t, err)
	w.Write(w.UserHome, ".codex/prompts/mine.md", "mine\n")

	plan := w.Must("deploy", `{}`)
	assert.Contains(t, plan, `"op":"delete","path":"/home/.codex/prompts/hello.md"`)
	assert.Contains(t, plan, `"op":"create","path":"/home/.agents/skills/hello/SKILL.md"`)
	w.Must("deploy_apply", `{"yes":true}`)
	assert.NoFileExists(t, path)
	assert.Equal(t, "mine\n", w.Read(w.UserHome, ".codex/prompts/mine.md"))
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)
}

// TestListsOfSettingsAreTheUsersToo: in a list that is a set, a module's values are added to the user's and only they are removed; values that are
// added later are not drift, and a value that was there before stays.
func TestListsOfSettingsAreTheUsersToo(t *testing.T) {
	const settings = ".claude/settings.json"
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}, none: {include_tags: [none]}}
targets:
  claude_code: {mode: files, scope: user}
modules:
  - {id: "settings:mine", type: settings, tags: [base], source: {local_path: {path: modules/settings}}}
-- modules/settings/claude_code.json --
{"permissions": {"allow": ["Bash(ls:*)", "Read(./docs/**)"], "defaultMode": "plan"},
 "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]}}
`)}
	w.version("1.2.3")
	before := "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(git:*)\",\n      \"Bash(ls:*)\"\n    ]\n  },\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n"
	w.Write(w.UserHome, settings, before)
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
	after := w.Read(w.UserHome, settings)
	assert.Contains(t, after, "      \"Bash(git:*)\",\n      \"Bash(ls:*)\",\n      \"Read(./docs/**)\"\n")
	assert.Contains(t, after, `"command": "mine"}]}, {"hooks":[{"command":"notify","type":"command"}]}]`)
	assert.Contains(t, after, `"defaultMode": "plan"`)
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)

	w.Write(w.UserHome, settings, strings.Replace(after, `"Bash(git:*)",`, `"Bash(git:*)", "Bash(make:*)",`, 1))
	assert.Contains(t, w.Must("status", `{}`), `"drift":[]`)
	w.Must("deploy_apply", `{"yes":true,"profile":"none"}`)
	assert.Equal(t, strings.Replace(before, `"Bash(git:*)",`, `"Bash(git:*)", "Bash(make:*)",`, 1), w.Read(w.UserHome, settings))
}

// TestValuesOfOneListAreToldApart: an edit that the config repository also has is recognised each time, with several values of one list.
func TestValuesOfOneListAreToldApart(t *testing.T) {
	const settings, module = ".claude/settings.json", "modules/settings/claude_code.json"
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  claude_code: {mode: files, scope: user}
modules:
  - {id: "settings:mine", type: settings, tags: [base], source: {local_path: {path: modules/settings}}}
-- modules/settings/claude_code.json --
{"permissions": {"allow": ["Bash(ls:*)", "Read(./docs/**)", "Edit(./src/**)"], "defaultMode": "plan"}}
`)}
	w.version("1.2.3")
	w.Must("deploy_apply", `{"yes":true}`)
	w.Write(w.UserHome, settings, strings.Replace(w.Read(w.UserHome, settings), `"plan"`, `"acceptEdits"`, 1))
	w.Write(w.Repo.Dir, module, strings.NewReplacer(`"plan"`, `"acceptEdits"`, `"Edit(./src/**)"`, `"Edit(./src/**)", "Edit(./web/**)"`).Replace(w.Read(w.Repo.Dir, module)))
	for range 30 {
		assert.NotContains(t, w.Must("preview", `{}`), `"state":"conflict"`)
	}
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
	assert.Contains(t, w.Read(w.UserHome, settings), "Edit(./web/**)")
}

// TestWhatWasThereBeforeIsNotDeletedUnsaid: a file of the user that was adopted unchanged is deleted by a profile that does not have it, and the plan
// says so.
func TestWhatWasThereBeforeIsNotDeletedUnsaid(t *testing.T) {
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [none]}, work: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: project}
modules:
  - {id: "instructions:mine", type: instructions, tags: [base], source: {local_path: {path: modules/mine}}}
-- modules/mine/AGENTS.md --
# Mine
`)}
	w.version("1.2.3")
	w.Write(w.Project, "AGENTS.md", "# Mine\n")
	w.Must("deploy_apply", `{"yes":true,"profile":"work","adopt":true}`)
	assert.Equal(t, "# Mine\n", w.Read(w.Project, "AGENTS.md"))
	assert.Contains(t, w.Must("deploy", `{}`), "a deployment deletes what was there before any deployment: /project/AGENTS.md; the profile default does not have it")
	assert.NotContains(t, w.Must("deploy", `{"profile":"work"}`), "before any deployment")
}

// TestTheDocumentThatIsThereDecides: opencode's document has two possible names and two shapes; a deployment uses the existing one.
func TestTheDocumentThatIsThereDecides(t *testing.T) {
	const repo = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  opencode: {mode: files, scope: project}
modules:
  - {id: "mcp:tools", type: mcp, tags: [base], source: {local_path: {path: modules/mcp}}}
-- modules/mcp/srv.json --
{"command": "srv", "env": {"TOKEN": "${TOKEN}"}}
`
	for name, c := range map[string]struct{ file, before, want string }{
		"none":              {"opencode.json", "", `"mcp": {`},
		"the other name":    {"opencode.jsonc", "{\n  // mine\n  \"mcp\": {}\n}\n", `"mcp": {"srv": {`},
		"the newer shape":   {"opencode.json", "{\n  \"mcp\": {\"servers\": {}}\n}\n", `"mcp": {"servers": {"srv": {`},
		"other newer names": {"opencode.jsonc", "{\n  \"permissions\": []\n}\n", `"servers": {`},
	} {
		w := &world{Rig: deployrig.New(t, repo)}
		w.version("1.2.3")
		if c.before != "" {
			w.Write(w.Project, c.file, c.before)
		}
		w.Must("deploy_apply", `{"yes":true}`)
		after := w.Read(w.Project, c.file)
		assert.Contains(t, strings.ReplaceAll(strings.Join(strings.Fields(after), " "), "{ ", "{"), strings.ReplaceAll(c.want, "{ ", "{"), name)
		assert.Contains(t, after, "{env:TOKEN}", name)
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`, name)
		for _, other := range []string{"opencode.json", "opencode.jsonc"} {
			assert.Equal(t, other == c.file, w.Tree(w.Project)[other] != "", "%s %s", name, other)
		}
	}
}

// TestPermissionsStandBesideAPersons: a module's permissions are added to opencode's document in its shape, and lists of Codex's settings keep the
// user's values; only a module's values are removed.
func TestPermissionsStandBesideAPersons(t *testing.T) {
	const repo = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}, none: {include_tags: [none]}}
targets:
  opencode: {mode: files, scope: project}
  codex: {mode: files, scope: user}
modules:
  - {id: "permissions:team", type: permissions, tags: [base], targets: [opencode], source: {local_path: {path: modules/permissions}}}
  - {id: "settings:team", type: settings, tags: [base], targets: [codex], source: {local_path: {path: modules/settings}}}
-- modules/permissions/team.json --
{"allow": ["Bash(make:*)"], "deny": ["Read(./.env)"]}
-- modules/settings/codex.json --
{"project_doc_fallback_filenames": ["CLAUDE.md", "TEAM.md"], "sandbox_workspace_write": {"writable_roots": ["/team"], "network_access": false}}
`
	const config = "# mine\nproject_doc_fallback_filenames = [\n  \"README.md\", # first\n  'CLAUDE.md',\n]\n\n[sandbox_workspace_write]\nwritable_roots = [\"/mine\"]\n"
	for name, c := range map[string]struct{ before, want string }{
		"the older shape": {"{\n  // mine\n  \"permission\": {\"bash\": {\"*\": \"ask\"}, \"webfetch\": \"deny\"}\n}\n",
			`"permission":{"bash":{"*":"ask","make*":"allow"},"webfetch":"deny","read":{".env":"deny",".env/*":"deny"}}`},
		"the newer shape": {"{\n  \"permissions\": [\n    {\"action\": \"*\", \"resource\": \"*\", \"effect\": \"ask\"}\n  ]\n}\n",
			`"effect":"ask"},{"action":"read","effect":"deny","resource":".env"},{"action":"read","effect":"deny","resource":".env/*"},{"action":"shell","effect":"allow","resource":"make*"}]`},
	} {
		w := &world{Rig: deployrig.New(t, repo)}
		w.version("1.2.3")
		w.Write(w.Project, "opencode.json", c.before)
		w.Write(w.UserHome, ".codex/config.toml", config)
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
		assert.Contains(t, strings.Join(strings.Fields(w.Read(w.Project, "opencode.json")), ""), c.want, name)
		assert.Equal(t, strings.NewReplacer("'CLAUDE.md',", "'CLAUDE.md',\n  \"TEAM.md\",", `["/mine"]`, `["/mine", "/team"]`+"\nnetwork_access = false").Replace(config), w.Read(w.UserHome, ".codex/config.toml"), name)
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`, name)
		assert.Contains(t, w.Must("status", `{}`), `"drift":[]`, name)
		w.Must("deploy_apply", `{"yes":true,"profile":"none"}`)
		assert.Equal(t, c.before, w.Read(w.Project, "opencode.json"), name)
		assert.Equal(t, config, w.Read(w.UserHome, ".codex/config.toml"), name)
	}
}

// TestAgentsHooksPermissionsAndStyles: each is written where its host reads it, in the host's syntax and beside existing values; the plan says what a
// host does not support. An edit of an agent's text is traced back to its module.
func TestAgentsHooksPermissionsAndStyles(t *testing.T) {
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}, none: {include_tags: [none]}}
targets:
  claude_code: {mode: files, scope: project}
  codex: {mode: files, scope: project}
  cursor: {mode: files, scope: project}
  opencode: {mode: files, scope: project}
  zed: {mode: files, scope: project}
modules:
  - {id: "agent:reviewer", type: agent, tags: [base], source: {local_path: {path: modules/reviewer.md}}}
  - {id: "hooks:guard", type: hooks, tags: [base], targets: [claude_code, codex, cursor], source: {local_path: {path: modules/hooks}}}
  - {id: "permissions:team", type: permissions, tags: [base], targets: [claude_code, cursor, zed], source: {local_path: {path: modules/permissions}}}
  - {id: "output_style:terse", type: output_style, tags: [base], targets: [claude_code, zed], source: {local_path: {path: modules/terse.md}}}
  - {id: "plugins:acme", type: plugins, tags: [base], targets: [claude_code, codex], source: {local_path: {path: modules/plugins}}}
-- modules/plugins/acme.json --
{"marketplace": "acme", "source": "acme/plugins", "ref": "v1", "plugins": ["formatter"]}
-- modules/plugins/own.json --
{"marketplace": "own", "source": "https://git.example/own.git", "plugins": ["a", "b"]}
-- modules/reviewer.md --
---
name: reviewer
description: "Reviews: diffs"
tools: Read, Grep
model: sonnet
cursor: {readonly: true, tools: null}
codex: {tools: null}
---

Look twice.
-- modules/hooks/guard.json --
{"event": "pre_tool", "matcher": "Bash", "matchers": {"cursor": "Shell"}, "command": "./guard.sh", "timeout": 10}
-- modules/hooks/done.json --
{"event": "stop", "command": "notify"}
-- modules/permissions/team.json --
{"allow": ["Bash(make:*)", "Read(docs/**)"], "deny": ["Edit(.env)"]}
-- modules/terse.md --
---
name: Terse
---
Be brief.
`)}
	w.version("1.2.3")
	w.Write(w.Project, ".cursor/hooks.json", "{\n  \"version\": 1,\n  \"hooks\": {\"stop\": [{\"command\": \"mine\"}]}\n}\n")
	state, err := w.Compiler.Compile(t.Context(), planner.Request{Asked: planner.Selection{Repo: w.Repo.Dir}.Asked(), Profile: "default", Target: "all"})
	require.NoError(t, err)
	said := strings.Join(state.Warnings, "\n")
	for _, part := range []string{
		"target codex gets the agent of module agent:reviewer without model",
		"target opencode does not get the agent of module agent:reviewer: it is restricted by tools",
		"target zed does not support agents; module agent:reviewer was omitted",
		"target zed does not support permissions", "target zed does not support output styles",
		"target codex does not support plugins; module plugins:acme was omitted",
		"target codex cannot use of the hooks what is in guard of module hooks:guard: it is for the tools Bash",
	} {
		assert.Contains(t, said, part)
	}
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
	assert.Contains(t, w.Read(w.Project, ".claude/agents/reviewer.md"), "tools: Read, Grep")
	assert.Equal(t, "---\nname: \"reviewer\"\ndescription: \"Reviews: diffs\"\nreadonly: true\ntools: null\n---\n\nLook twice.\n", w.Read(w.Project, ".cursor/agents/reviewer.md"))
	assert.Equal(t, "name = \"reviewer\"\ndescription = \"Reviews: diffs\"\ndeveloper_instructions = '''\nLook twice.\n'''\n", w.Read(w.Project, ".codex/agents/reviewer.toml"))
	assert.NoFileExists(t, filepath.Join(w.Project, ".opencode/agents/reviewer.md"))
	claude := strings.Join(strings.Fields(w.Read(w.Project, ".claude/settings.json")), "")
	for _, part := range []string{`"PreToolUse":[{"hooks":[{"command":"./guard.sh","timeout":10,"type":"command"}],"matcher":"Bash"}]`, `"allow":["Bash(make:*)","Read(docs/**)"]`, `"deny":["Edit(.env)"]`,
		`"enabledPlugins":{"a@own":true,"b@own":true,"formatter@acme":true}`, `"acme":{"source":{"ref":"v1","repo":"acme/plugins","source":"github"}}`,
		`"own":{"source":{"source":"git","url":"https://git.example/own.git"}}`} {
		assert.Contains(t, claude, part)
	}
	assert.Contains(t, strings.Join(strings.Fields(w.Read(w.Project, ".codex/hooks.json")), ""), `{"hooks":{"Stop":[{"hooks":[{"command":"notify","type":"command"}]}]}}`)
	cursor := strings.Join(strings.Fields(w.Read(w.Project, ".cursor/hooks.json")), "")
	assert.Contains(t, cursor, `"stop":[{"command":"mine"},{"command":"notify"}],"preToolUse":[{"command":"./guard.sh","matcher":"Shell","timeout":10}]`)
	assert.Contains(t, strings.Join(strings.Fields(w.Read(w.Project, ".cursor/cli.json")), ""), `{"permissions":{"allow":["Read(docs/**)","Shell(make)"],"deny":["Write(.env)"]}}`)
	assert.Contains(t, w.Read(w.Project, ".claude/output-styles/terse.md"), "Be brief.")
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)

	for _, c := range []struct{ target, file, was, is string }{
		{"cursor", ".cursor/agents/reviewer.md", "Look twice.", "Look three times."}, {"codex", ".codex/agents/reviewer.toml", "Look twice.", "Look again."},
	} {
		in := w.Compiler.Input(t.Context(), state)
		for _, f := range state.Output.Files {
			if f.Target == c.target && f.Path == filepath.Join(w.Project, c.file) {
				back, err := target.Invert(target.DriftedFile{Input: in, File: f, Actual: []byte(strings.Replace(string(f.Content.Data), c.was, c.is, 1))})
				require.NoError(t, err)
				require.Len(t, back.Edits, 1, back.Message)
				assert.Equal(t, strings.Replace(w.Read(w.Repo.Dir, "modules/reviewer.md"), c.was, c.is, 1), string(back.Edits[0].Data))
			}
		}
	}

	w.Must("deploy_apply", `{"yes":true,"profile":"none"}`)
	assert.Equal(t, "{\n  \"version\": 1,\n  \"hooks\": {\"stop\": [{\"command\": \"mine\"}]}\n}\n", w.Read(w.Project, ".cursor/hooks.json"))
	assert.NoFileExists(t, filepath.Join(w.Project, ".claude/settings.json"))
}

// TestTargetsThatShareADocument: each target has its own keys in a document that several hosts read; a target that is deployed alone, or removed,
// leaves those of the others, and what was made for all is removed with the last.
func TestTargetsThatShareADocument(t *testing.T) {
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}, none: {include_tags: [none]}}
targets:
  claude_code: {mode: files, scope: project}
  vscode: {mode: files, scope: project, options: {write_instructions: false}}
  codex: {mode: files, scope: project}
  zed: {mode: files, scope: project}
modules:
  - {id: "mcp:a", type: mcp, tags: [base], targets: [claude_code], source: {local_path: {path: modules/a}}}
  - {id: "mcp:b", type: mcp, tags: [base], targets: [vscode], source: {local_path: {path: modules/b}}}
  - {id: "mcp:c", type: mcp, tags: [base], targets: [claude_code, vscode], source: {local_path: {path: modules/c}}}
  - {id: "instructions:codex", type: instructions, tags: [base], targets: [codex], source: {local_path: {path: modules/i}}}
  - {id: "instructions:zed", type: instructions, tags: [base], targets: [zed], source: {local_path: {path: modules/j}}}
  - {id: "skill:s", type: skill, tags: [base], targets: [codex], source: {local_path: {path: modules/s}}}
-- modules/a/a.json --
{"command": "a"}
-- modules/b/b.json --
{"command": "b"}
-- modules/c/c.json --
{"command": "c"}
-- modules/i/AGENTS.md --
# Codex
-- modules/j/AGENTS.md --
# Zed
-- modules/s/SKILL.md --
---
name: s
description: d
---
`)}
	w.version("1.2.3")
	servers := func(want ...string) {
		t.Helper()
		text := w.Read(w.Project, ".mcp.json")
		for _, name := range []string{"a", "b", "c"} {
			assert.Equal(t, slices.Contains(want, name), strings.Contains(text, `"command": "`+name+`"`), "%s in %s", name, text)
		}
	}
	calm := func(args string) {
		t.Helper()
		assert.Contains(t, w.Must("deploy_apply", args), `"reason":"no_changes"`)
	}
	w.Must("deploy_apply", `{"yes":true}`)
	servers("a", "b", "c")
	assert.Contains(t, w.Read(w.Project, "AGENTS.md"), "# Codex")
	assert.Contains(t, w.Read(w.Project, "AGENTS.md"), "# Zed")
	for _, args := range []string{`{"yes":true}`, `{"yes":true,"target":"claude_code"}`, `{"yes":true,"target":"zed"}`, `{"yes":true,"target":"codex"}`} {
		calm(args)
	}
	status := w.Must("status", `{}`)
	assert.Contains(t, status, `"drift":[]`)

	manifest := w.Read(w.Repo.Dir, "agentpack.yaml")
	w.Write(w.Repo.Dir, "agentpack.yaml", strings.Replace(manifest, "targets: [claude_code, vscode]", "targets: [vscode]", 1))
	w.Must("deploy_apply", `{"yes":true}`)
	servers("a", "b", "c")
	calm(`{"yes":true}`)
	w.Must("deploy_apply", `{"yes":true,"target":"claude_code","profile":"none"}`)
	servers("b", "c")
	w.Must("deploy_apply", `{"yes":true}`)
	servers("a", "b", "c")
	w.Must("deploy_apply", `{"yes":true,"profile":"none"}`)
	assert.NoFileExists(t, filepath.Join(w.Project, ".mcp.json"))
	assert.NoFileExists(t, filepath.Join(w.Project, "AGENTS.md"))
}

// TestAHostOfOnesOwn: a host that a config repository describes itself is deployed to like any other; errors in a description are reported rule by
// rule.
func TestAHostOfOnesOwn(t *testing.T) {
	w := &world{Rig: deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  x_robot:
    mode: files
    scope: both
    host:
      title: The robot
      rules:
        - {type: instructions, scope: project, root: "{project}", path: ROBOT.md, form: aggregate}
        - {type: skill, scope: user, root: "~/.robot/skills", path: "{skill}", form: tree}
        - {type: prompt, scope: user, root: "~/.robot/skills", path: "{skill}/SKILL.md", form: prompt-skill}
        - {type: mcp, scope: project, root: "{project}/.robot", path: mcp.json, form: keys, format: json, at: tools/servers, references: "${env:}"}
modules:
  - {id: "instructions:all", type: instructions, tags: [base], targets: [x_robot], source: {local_path: {path: modules/all}}}
  - {id: "skill:s", type: skill, tags: [base], source: {local_path: {path: modules/s}}}
  - {id: "prompt:hello", type: prompt, tags: [base], source: {local_path: {path: modules/hello.md}}}
  - {id: "mcp:m", type: mcp, tags: [base], source: {local_path: {path: modules/m}}}
-- modules/all/AGENTS.md --
# All
-- modules/s/SKILL.md --
---
name: s
description: d
---
-- modules/hello.md --
Hello.
-- modules/m/m.json --
{"command": "m", "env": {"K": "${K}"}}
`)}
	w.version("1.2.3")
	assert.Contains(t, w.Must("deploy", `{"target":"x_robot"}`), "a path that the config repository chose, and that no known agent reads: ")
	w.Must("deploy_apply", `{"yes":true,"target":"x_robot"}`)
	assert.Equal(t, "# All\n", w.Read(w.Project, "ROBOT.md"))
	assert.FileExists(t, filepath.Join(w.UserHome, ".robot/skills/s/SKILL.md"))
	assert.Contains(t, w.Read(w.UserHome, ".robot/skills/hello/SKILL.md"), "Hello.")
	assert.Contains(t, strings.Join(strings.Fields(w.Read(w.Project, ".robot/mcp.json")), ""), `{"tools":{"servers":{"m":{"command":"m","env":{"K":"${env:K}"}}}}}`)
	assert.Contains(t, w.Must("status", `{}`), `"drift":[]`)
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)

	good := w.Read(w.Repo.Dir, "agentpack.yaml")
	for was, c := range map[string]struct{ is, says string }{
		"x_robot":                           {"robot", "use x_robot"},
		"form: tree":                        {"form: aggregate", "rule 2: form \"aggregate\" is not supported for skill; use one of tree"},
		`root: "{project}", path`:           {`root: "/etc", path`, "rule 1: invalid root \"/etc\"; it must begin with ~/ or {project}"},
		"path: ROBOT.md":                    {"path: ../ROBOT.md", "leads out of its root"},
		`root: "{project}", path: ROBOT.md`: {`root: "{project}/.git", path: config`, `rule 1: root "{project}/.git" with path "config" is not a directory for an agent`},
		`root: "~/.robot/skills", path: "{skill}", form`:       {`root: "~/.ssh", path: "{skill}", form`, `rule 2: root "~/.ssh" with path "{skill}" is not a directory for an agent`},
		`root: "~/.robot/skills", path: "{skill}", form: tree`: {`root: "~", path: "{skill}", form: tree`, `rule 2: root "~" with path`},
		"path: mcp.json":                  {"path: robot.json", "rule 4: unsupported document path \"robot.json\""},
		`at: tools/servers, `:             {"", "rule 4: at is missing"},
		"type: prompt, scope: user":       {"type: poem, scope: user", "rule 3: type \"poem\" is not supported for a custom host"},
		"scope: user, root: \"~/.robot/s": {"scope: project, root: \"~/.robot/s", "does not match the scope project"},
	} {
		w.Write(w.Repo.Dir, "agentpack.yaml", strings.ReplaceAll(good, was, c.is))
		assert.Contains(t, w.Fails("deploy", `{}`, deployment.ErrConfig).Message, c.says, was)
	}
	w.Write(w.Repo.Dir, "agentpack.yaml", good)
	w.Fails("deploy", `{"target":"x_other"}`, deployment.ErrTarget)
}
