package authoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

const (
	skillText   = "---\nname: x\ndescription: Does x\n---\nText\n"
	commandText = "---\ndescription: Does y\n---\nText\n"
)

// imports returns a world with one of everything that can be imported, and whatever can be wrong with it.
func imports(t *testing.T) *world {
	w := newWorld(t)
	w.manifest("  - {id: 'prompt:known', type: prompt, source: {local_path: {path: known.md}}}\n")
	home := func(file, text string) { w.Write(filepath.Join(w.user, filepath.FromSlash(file)), text) }
	project := func(file, text string) { w.Write(filepath.Join(w.project, filepath.FromSlash(file)), text) }
	home(".codex/prompts/Draft PR.md", "draft\n")
	home(".codex/prompts/draft_pr.md", "other id\n")
	home(".codex/prompts/draft-pr.md", "same id\n")
	home(".codex/prompts/known.md", "known\n")
	home(".codex/prompts/notes.txt", "no prompt\n")
	home(".codex/prompts/dir.md/x", "no file\n")
	home(".codex/skills/review/SKILL.md", skillText)
	home(".codex/skills/review/bin/run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(w.user, ".codex/skills/review/bin/run.sh"), 0o755))
	home(".codex/skills/broken/README.md", "no SKILL.md\n")
	home("elsewhere/linked/SKILL.md", skillText)
	require.NoError(t, os.Symlink("../../elsewhere/linked", filepath.Join(w.user, ".codex/skills/linked")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(w.user, ".codex/skills/gone")))
	home(".claude/commands/go.md", commandText)
	home(".claude/commands/bad.md", "no front matter\n")
	home(".claude/CLAUDE.md", "mine\n")
	home(".claude/workflows/a.md", "of no kind that is imported\n")
	project("AGENTS.md", "# Project\n")
	project(".mcp.json", "{}")
	project(".claude/commands/ship.md", commandText)
	project(".codex/skills/local/SKILL.md", skillText)
	return w
}

func TestImport(t *testing.T) {
	w := imports(t)
	dry := w.Quiet("agents_import", args{})
	golden.JSON(t, "import", dry)
	assert.JSONEq(t, string(dry.Data), string(w.Quiet("agents_import_apply", args{"dry_run": true}).Data))
	manifest := w.Text(w.in("agentpack.yaml"))

	w.Golden("import_apply", "agents_import_apply", yes())
	got := map[string]string{}
	for path, text := range w.Shape() {
		if rel, err := filepath.Rel(w.in("modules"), path); err == nil && filepath.IsLocal(rel) {
			got[filepath.ToSlash(rel)] = text
		}
	}
	const pid = "ae2752b5775071e2"
	assert.Equal(t, map[string]string{
		"prompts/imported/Draft PR.md": "draft\n", "prompts/imported/draft_pr.md": "other id\n",
		"skills/imported/review/SKILL.md": skillText, "skills/imported/review/bin/run.sh": "#!/bin/sh\n", "skills/imported/linked/SKILL.md": skillText,
		"claude-commands/imported/user/go.md": commandText, "claude-commands/imported/user/bad.md": "no front matter\n", "claude-commands/imported/project-" + pid + "/ship.md": commandText,
		"instructions/imported/" + pid + "/AGENTS.md": "# Project\n", "instructions/imported/claude_code/AGENTS.md": "mine\n", "skills/imported/project-" + pid + "-local/SKILL.md": skillText,
	}, got)
	info, err := os.Stat(w.in("modules/skills/imported/review/bin/run.sh"))
	require.NoError(t, err)
	assert.Equal(t, deployment.ExecutableMode, deployment.ModeOf(info.Mode()))
	assert.NotEqual(t, manifest, w.Text(w.in("agentpack.yaml")))
	assert.Contains(t, w.Text(w.in("agentpack.yaml")), "# kept\n")

	config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
	require.NoError(t, err)
	assert.Equal(t, []string{"base", "project-" + pid}, config.Manifest.Profiles["project-"+pid].IncludeTags)
	m, err := config.Manifest.Module("instructions:project-" + pid)
	require.NoError(t, err)
	assert.Equal(t, []string{"codex"}, m.Targets)
	assert.Equal(t, deployment.ScopeProject, m.Scope)
	state, err := w.deps.Compiler.Compile(t.Context(), planner.Request{Profile: "project-" + pid, Target: "all"})
	require.NoError(t, err)
	var deployed []string
	for _, m := range state.Modules {
		deployed = append(deployed, m.ID)
	}
	assert.Equal(t, []string{"command:bad", "command:go", "command:project-" + pid + "-ship", "instructions:claude_code", "instructions:project-" + pid, "skill:linked",
		"skill:project-" + pid + "-local", "skill:review"}, deployed, "what was imported is deployed, but prompts, which Codex does not read any more")

	again := w.Quiet("agents_import_apply", yes())
	golden.JSON(t, "import_again", again)
}

func TestImportConflict(t *testing.T) {
	w := imports(t)
	w.Write(w.in("modules/skills/imported/review/mine.md"), "mine\n")
	w.Write(w.in("modules/claude-commands/imported/user/go.md"), "mine\n")
	dry := w.Quiet("agents_import", args{})
	var data struct {
		Conflicts []map[string]any
		Plan      []map[string]any
	}
	require.NoError(t, json.Unmarshal(dry.Data, &data))
	golden.JSON(t, "import_conflicts", data.Conflicts)
	exists := 0
	for _, i := range data.Plan {
		if i["dest_exists"] == true {
			exists++
		}
	}
	assert.Equal(t, 2, exists)
	before := w.Shape()
	details := w.Refused(deployment.ErrImportConflict, "agents_import_apply", yes())
	golden.JSON(t, "import_conflict_details", details)
	assert.Equal(t, before, w.Shape())
	w.Quiet("agents_import_apply", args{"dry_run": true})
}

// TestImportIsWhole changes a source between looking and writing.
func TestImportIsWhole(t *testing.T) {
	w := imports(t)
	b, err := w.Begin("agents_import_apply", yes())
	require.NoError(t, err)
	w.Write(filepath.Join(w.user, ".codex/prompts/Draft PR.md"), "edited\n")
	before := w.Shape()
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrStale)
	after := w.Shape()
	for path := range after {
		if filepath.Base(filepath.Dir(path)) == "state" {
			delete(after, path)
		}
	}
	assert.Equal(t, before, after)
}

func TestImportNothing(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	out := w.Golden("import_nothing", "agents_import_apply", yes())
	assert.Empty(t, out.Warnings)
	assert.Contains(t, string(w.Quiet("agents_import", args{}).Data), `"reason":"dry_run"`)
}

func TestImportHomeRoot(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	w.Write(filepath.Join(w.Top, "other", ".codex", "prompts", "p.md"), "p\n")
	out := w.Call("agents_import", args{"home_root": w.Top + "/other/../other/"})
	assert.Contains(t, string(out.Data), `"home_root":"/w/other"`)
	assert.Contains(t, string(out.Data), `"module_id":"prompt:p"`)
	w.Write(filepath.Join(w.user, "nested", ".codex", "prompts", "q.md"), "q\n")
	assert.Contains(t, string(w.Call("agents_import", args{"home_root": "~/nested"}).Data), `"module_id":"prompt:q"`)
	w.Refused(tool.ErrArguments, "agents_import", args{"home_root": "other"})
}

// TestImportElsewhere looks where codex is told to live, and does not take the home directory for a project besides.
func TestImportElsewhere(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	env := map[string]string{"HOME": w.user, "HOSTNAME": "box", "CODEX_HOME": filepath.Join(w.Top, "codex"), "AGENTPACK_PROJECT_ROOT": w.user}
	w.deps.Compiler.Places = configrepo.NewPlaces(func(name string) string { return env[name] }, w.user)
	w.Write(filepath.Join(w.Top, "codex", "prompts", "p.md"), "p\n")
	w.Write(filepath.Join(w.user, ".codex", "prompts", "q.md"), "q\n")
	w.Write(filepath.Join(w.user, ".claude", "commands", "go.md"), commandText)
	w.Write(filepath.Join(w.user, "AGENTS.md"), "# Mine\n")
	var data struct {
		Plan []struct {
			ID string `json:"module_id"`
		}
		Next []string `json:"next_actions"`
	}
	require.NoError(t, json.Unmarshal(w.Call("agents_import", args{"repo": w.repo}).Data, &data))
	require.Len(t, data.Plan, 2)
	assert.Equal(t, "command:go", data.Plan[0].ID)
	assert.Equal(t, "prompt:p", data.Plan[1].ID)
	assert.Equal(t, []string{"countersign agents --repo /w/user/.agentpack/repo preview --diff --json", "countersign agents --repo /w/user/.agentpack/repo deploy --apply --yes --json"}, data.Next)
}

// TestImportLeavesDeployedFilesAlone: what came from a module becomes none.
func TestImportLeavesDeployedFilesAlone(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	prompts := filepath.Join(w.user, ".codex", "prompts")
	w.Write(filepath.Join(prompts, "ours.md"), "ours\n")
	w.Write(filepath.Join(prompts, "mine.md"), "mine\n")
	w.Write(filepath.Join(prompts, ".agentpack.manifest.codex.json"), fmt.Sprintf(`{"schema_version":1,"generated_at":"2026-03-01T10:00:00Z","tool":"codex",
		"managed_files":[{"path":"ours.md","sha256":%q,"module_ids":["prompt:from-a-module"]}]}`, deployment.SumOf([]byte("ours\n"))))
	out := w.Call("agents_import", args{})
	assert.NotContains(t, string(out.Data), "prompt:ours")
	assert.Contains(t, string(out.Data), "prompt:mine")
	assert.Equal(t, []string{"sources left out because a deployment wrote them: 1"}, out.Warnings)
}

// TestImportReadsNoSecretsThroughLinks: a skill's own links do not lead out of it.
func TestImportReadsNoSecretsThroughLinks(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	w.Write(filepath.Join(w.user, ".ssh", "id"), "secret\n")
	w.Write(filepath.Join(w.user, ".codex/skills/evil/SKILL.md"), skillText)
	require.NoError(t, os.Symlink("../../../.ssh/id", filepath.Join(w.user, ".codex/skills/evil/notes.md")))
	out := w.Call("agents_import", args{})
	assert.Contains(t, string(out.Data), `"skip_reason":"invalid_module_source"`)
	require.Len(t, out.Warnings, 1)
	assert.Contains(t, out.Warnings[0], "evil was left out: ")
}

func TestImportIsBounded(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	for i := range 200 {
		w.Write(filepath.Join(w.user, ".codex", "prompts", fmt.Sprintf("p%03d.md", i)), "p\n")
	}
	e := w.Entry("agents_import")
	invocation, err := e.Handler.Decode(json.RawMessage(`{}`))
	require.NoError(t, err)
	scope := w.Scope()
	scope.MaxOutput = 64 << 10
	out, err := invocation.Commit(t.Context(), scope, nil)
	require.NoError(t, err)
	text, err := json.Marshal(out)
	require.NoError(t, err)
	assert.Less(t, len(text), scope.MaxOutput)
	var data struct {
		Plan    []any
		Omitted int `json:"plan_omitted"`
		Summary struct{ Candidates, Create int }
	}
	require.NoError(t, json.Unmarshal(w.Answer(out).Data, &data))
	assert.Equal(t, 200, len(data.Plan)+data.Omitted)
	assert.Positive(t, data.Omitted)
	assert.Equal(t, 200, data.Summary.Create)
}

// TestImportSwitchesOffWhatWouldChange: what the targets' options keep from being deployed where it was found is taken and switched off, with the reason;
// what a module of the same name says otherwise is told, as is a module that would be written into a file beside what was imported.
func TestImportSwitchesOffWhatWouldChange(t *testing.T) {
	w := newWorld(t)
	w.Write(w.in("agentpack.yaml"), `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both, options: {skills_dir: agents}}
  claude_code: {mode: files, scope: both, options: {write_instructions: false}}
  gemini_cli: {mode: files, scope: project}
modules:
  - {id: 'command:ship', type: command, tags: [base], source: {local_path: {path: ship.md}}}
  - {id: 'instructions:house', type: instructions, tags: [base], targets: [codex], scope: user, source: {local_path: {path: house}}}
`)
	w.Write(w.in("ship.md"), commandText)
	w.Write(w.in("house/AGENTS.md"), "# House\n")
	home := func(file, text string) { w.Write(filepath.Join(w.user, filepath.FromSlash(file)), text) }
	home(".claude/CLAUDE.md", "mine, for Claude\n")
	home(".claude/commands/ship.md", commandText+"Mine.\n")
	home(".gemini/GEMINI.md", "mine, for Gemini\n")
	home(".codex/AGENTS.md", "mine\n")
	home(".codex/skills/old/SKILL.md", skillText)
	home(".gemini/commands/odd.toml", "prompt = \"Say \\\"it\\\"\" # mine\n")
	home(".claude/commands/token.md", commandText+"ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789\n")
	home(".claude.json", `{"mcpServers":{"bad":{"command":"x","args":["ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"]}}}`)

	home(".config/opencode/AGENTS.md", "mine\n")
	home(".config/opencode/command/tidy.md", commandText+"Tidy.\n")
	home(".qwen/QWEN.md", "mine, for Gemini\n")

	out := w.Call("agents_import_apply", yes())
	assert.NotContains(t, string(out.Data), "ghp_")
	assert.Contains(t, out.Warnings, "/w/user/.gemini/GEMINI.md is the same as what is taken for qwen, and is not deployed for gemini_cli: scope of target")
	var data struct {
		Plan []struct {
			ID     string `json:"module_id"`
			Aside  string `json:"aside_reason"`
			Reason string `json:"skip_reason"`
		}
		Left      []struct{ Key, Reason string } `json:"left_out"`
		Conflicts []struct {
			Kind  string
			Paths []string `json:"sample_paths"`
		}
	}
	require.NoError(t, json.Unmarshal(out.Data, &data))
	got := map[string]string{}
	for _, i := range data.Plan {
		got[i.ID] = i.Aside + i.Reason
	}
	assert.Equal(t, map[string]string{"command:ship": "module_id_already_exists", "command:token": "literal_secret", "instructions:claude_code": "switched_off", "instructions:codex": "",
		"command:tidy": "other_place_chosen", "instructions:gemini_cli": "", "prompt:odd": "scope_of_target", "skill:old": "other_place_chosen"}, got)
	assert.Equal(t, []struct{ Key, Reason string }{{"mcpServers.bad", "literal_secret"}}, data.Left)
	require.Len(t, data.Conflicts, 2)
	assert.Equal(t, "differs_from_module", data.Conflicts[0].Kind)
	assert.Equal(t, []string{"/w/user/.claude/commands/ship.md"}, data.Conflicts[0].Paths)
	assert.Equal(t, "file_shared_with_module", data.Conflicts[1].Kind)
	assert.Equal(t, []string{"/w/user/.codex/AGENTS.md"}, data.Conflicts[1].Paths)
	config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
	require.NoError(t, err)
	for id, enabled := range map[string]bool{"instructions:codex": true, "instructions:claude_code": false, "skill:old": false} {
		m, err := config.Manifest.Module(id)
		require.NoError(t, err)
		assert.Equal(t, enabled, m.Enabled, id)
	}
}

// TestImportWritesNoSecrets: what stands behind a flag, in a query, in a header or, of a server that is switched off, in the environment becomes a reference,
// and its value is nowhere in the config repository or the answer; what is none stays.
func TestImportWritesNoSecrets(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	w.Write(filepath.Join(w.user, ".claude.json"), `{"mcpServers":{
		"flags":{"command":"x","args":["--verbose","--password","hunter2-a","--api-key=hunter2-b","-y","--token-file","/run/token","--max-tokens","4096","--token","${KEPT}","--key","/k/x.pem"]},
		"nested":{"command":"docker","args":["run","-e","GITHUB_TOKEN=hunter2-c","-e","LEVEL=2","img","--header","Authorization: Bearer hunter2-d","--header","X-Team: me"]},
		"far":{"type":"http","url":"https://u:hunter2-e@x.example/mcp?key=hunter2-f&page=2&token=${T}#top"},
		"twice":{"command":"x","args":["--token","hunter2-g","--token","hunter2-h"]},
		"off":{"command":"x","disabled":true,"env":{"WORD":"hunter2-i","LEVEL":"debug","N":"7","HOME_DIR":"${HOME}"}},
		"also":{"command":"x","env":{"MY_TOKEN":"hunter2-j","WORD":"hunter2-k"}},
		"plain":{"command":"x","env":{"WORD":"open"}},
		"line":{"command":"x --password hunter2-l"}}}`)
	out := w.Call("agents_import_apply", yes())
	assert.NotContains(t, string(out.Data), "hunter2")
	var data struct {
		Plan []struct {
			ID    string `json:"module_id"`
			Aside string `json:"aside_reason"`
		}
		Left []struct{ Key, Reason string } `json:"left_out"`
	}
	require.NoError(t, json.Unmarshal(out.Data, &data))
	got := map[string]string{}
	for _, i := range data.Plan {
		name := i.ID[len("mcp:"):]
		text := w.Text(w.in("modules/mcp/imported/" + name + "/" + name + ".json"))
		assert.NotContains(t, text, "hunter2", name)
		got[name] = i.Aside + " " + text
	}
	const aside = "holds_references_to_set "
	assert.Equal(t, map[string]string{
		"flags":  aside + `{"args":["--verbose","--password","${FLAGS_PASSWORD}","--api-key=${FLAGS_API_KEY}","-y","--token-file","/run/token","--max-tokens","4096","--token","${KEPT}","--key","/k/x.pem"],"command":"x"}` + "\n",
		"nested": aside + `{"args":["run","-e","GITHUB_TOKEN=${GITHUB_TOKEN}","-e","LEVEL=2","img","--header","Authorization: Bearer ${NESTED_TOKEN}","--header","X-Team: me"],"command":"docker"}` + "\n",
		"far":    aside + `{"url":"https://u:${FAR_PASSWORD}@x.example/mcp?key=${FAR_KEY}&page=2&token=${T}#top"}` + "\n",
		"twice":  aside + `{"args":["--token","${TWICE_TOKEN}","--token","${TWICE_TOKEN_2}"],"command":"x"}` + "\n",
		"off":    aside + `{"command":"x","disabled":true,"env":{"HOME_DIR":"${HOME}","LEVEL":"debug","N":"7","WORD":"${WORD}"}}` + "\n",
		"also":   aside + `{"command":"x","env":{"MY_TOKEN":"${MY_TOKEN}","WORD":"${WORD}"}}` + "\n",
		"plain":  ` {"command":"x","env":{"WORD":"open"}}` + "\n",
	}, got)
	assert.Equal(t, []struct{ Key, Reason string }{{"mcpServers.line", "literal_secret"}}, data.Left)
}

// TestImportTellsOfLinksThatLeadOut: what stands outside of the home directory, or for a project outside of it, is not taken through a link, and the link is told
// of, once; a link to somewhere else within is followed.
func TestImportTellsOfLinksThatLeadOut(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	out := filepath.Join(filepath.Dir(w.user), "elsewhere")
	link := func(to, at string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.Symlink(to, at))
	}
	w.Write(filepath.Join(out, "skill/SKILL.md"), skillText)
	w.Write(filepath.Join(out, "commands/a.md"), commandText)
	w.Write(filepath.Join(out, "commands/b.md"), commandText)
	w.Write(filepath.Join(out, "secret.md"), "theirs\n")
	w.Write(filepath.Join(out, "mcp.json"), `{"mcpServers":{"x":{"command":"theirs"}}}`)
	w.Write(filepath.Join(w.user, "dotfiles/go.md"), commandText)
	w.Write(filepath.Join(w.user, ".config/opencode/opencode.json"), `{"$schema":"https://opencode.ai/config.json","theme":"dark"}`)
	link(filepath.Join(out, "skill"), filepath.Join(w.user, ".claude/skills/far"))
	link(filepath.Join(out, "commands"), filepath.Join(w.user, ".claude/commands"))
	link(filepath.Join(out, "secret.md"), filepath.Join(w.user, ".codex/AGENTS.md"))
	link(filepath.Join(out, "mcp.json"), filepath.Join(w.user, ".cursor/mcp.json"))
	link(filepath.Join(w.user, "dotfiles/go.md"), filepath.Join(w.user, ".cursor/commands/go.md"))
	link(filepath.Join(w.user, "dotfiles/go.md"), filepath.Join(w.project, "AGENTS.md"))
	answer := w.Call("agents_import_apply", yes())
	assert.NotContains(t, string(answer.Data), "theirs")
	var data struct {
		Plan []struct {
			ID string `json:"module_id"`
		}
		Left []struct {
			Key, Reason string
			Source      string `json:"source_path"`
		} `json:"left_out"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &data))
	var ids, left []string
	for _, i := range data.Plan {
		ids = append(ids, i.ID)
	}
	for _, l := range data.Left {
		left = append(left, strings.TrimSpace(l.Reason+" "+l.Source+" "+l.Key))
	}
	assert.Equal(t, []string{"command:go", "settings:opencode"}, ids)
	assert.ElementsMatch(t, []string{"link_out_of_home /w/user/.claude/commands", "link_out_of_home /w/user/.claude/skills/far", "link_out_of_home /w/user/.codex/AGENTS.md",
		"link_out_of_home /w/user/.cursor/mcp.json", "link_out_of_project /w/project/AGENTS.md", "stays_in_the_document /w/user/.config/opencode/opencode.json $schema"}, left)
}
