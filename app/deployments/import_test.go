package deployments_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// laptopArchive is a config repository with nothing in it.
const laptopArchive = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets: {}
modules: []
`

// tokenOnLaptop is a secret in documents of the laptop.
const tokenOnLaptop = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"

// laptop returns the files of a user: five agents, the user's and of two projects. Files that end in a slash and an arrow are links.
func laptop() map[string]string {
	const skill = "---\nname: review\ndescription: Reviews a change\n---\nLook at it.\n"
	return map[string]string{
		// Claude Code
		"home/.claude/CLAUDE.md":              "# Me\nShort answers.",
		"home/.claude/rules/style.md":         "Tabs.\n",
		"home/.claude/rules/web/react.md":     "---\npaths: [\"**/*.tsx\"] # mine\n---\n\nHooks first.\n",
		"home/.claude/skills/review/SKILL.md": skill,
		"home/.claude/skills/review/run.sh":   "#!/bin/sh\n",
		"home/.claude/commands/ship.md":       "---\ndescription: Ships\n---\nShip $ARGUMENTS\n",
		"home/.claude/commands/bare.md":       "Look at $1.\n",
		"home/.claude/commands/git/tidy.md":   "---\ndescription: Tidies\n---\nTidy up.\n",
		"home/.claude/settings.json":          "{\n  // no comment\n  \"model\": \"opus\", \"permissions\": {\"allow\": [\"Bash(ls:*)\", \"Read\"], \"deny\": []},\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}]},\n  \"env\": {\"GITHUB_TOKEN\": \"" + tokenOnLaptop + "\"}\n}\n",
		"home/.claude/agents/reviewer.md":     "---\nname: reviewer\ndescription: Reviews\n---\nx\n",
		"home/.claude/output-styles/terse.md": "---\nname: terse\n---\nBe terse.\n",
		"home/.claude/.credentials.json":      "{}",
		"home/.claude/projects/a/1.jsonl":     "{}",
		"home/.claude.json":                   `{"userID": "x", "mcpServers": {"github": {"command": "gh-mcp", "args": ["--stdio"], "env": {"GITHUB_TOKEN": "` + tokenOnLaptop + `", "LEVEL": "2"}}, "docs": {"type": "http", "url": "https://docs.example"}}}`,
		// Codex
		"home/.codex/AGENTS.md":             "# All agents\n",
		"home/.codex/config.toml":           "model = \"gpt\" # mine\n\n[mcp_servers.docs]\ncommand = \"docs\"\nenv_vars = [\"DOCS_TOKEN\"]\nstartup_timeout_sec = 20\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
		"home/.codex/prompts/old.md":        "Old.\n",
		"home/.codex/agents/deep.toml":      "name = \"deep\"\ndescription = 'Thinks'\nmodel_reasoning_effort = \"high\"\ndeveloper_instructions = \"Think.\"\n",
		"home/.codex/auth.json":             "{}",
		"home/.agents/skills/plan/SKILL.md": strings.ReplaceAll(skill, "review", "plan"),
		"home/.agents/skills/review ->":     "../../.claude/skills/review",
		// opencode
		"home/.config/opencode/AGENTS.md":       "# All agents\n",
		"home/.config/opencode/opencode.json":   "{\"$schema\": \"https://opencode.ai/config.json\", \"theme\": \"dark\", \"mcp\": {\"search\": {\"type\": \"local\", \"command\": [\"search\", \"-x\"], \"environment\": {\"KEY\": \"{env:SEARCH}\"}, \"enabled\": true}}}\n",
		"home/.config/opencode/commands/fix.md": "Fix $ARGUMENTS\n",
		// Gemini CLI
		"home/.gemini/GEMINI.md":         "# Gemini\n",
		"home/.gemini/settings.json":     "{\"theme\": \"x\", \"mcpServers\": {\"far\": {\"httpUrl\": \"https://far.example\", \"headers\": {\"Authorization\": \"Bearer ${FAR}\"}}}}\n",
		"home/.gemini/commands/say.toml": "description = \"Says\"\nprompt = '''\nSay {{args}}\n'''\n",
		"home/.gemini/oauth_creds.json":  "{}",
		// Cursor
		"home/.cursor/mcp.json":         "{\"mcpServers\": {\"db\": {\"command\": \"db\", \"env\": {\"DB\": \"${env:DB}\"}}}}\n",
		"home/.cursor/agents/critic.md": "---\nname: critic\ndescription: 'Criticises'\nreadonly: true\n---\nBe strict.\n",
		"home/.cursor/hooks.json":       "{\"version\": 1, \"hooks\": {}}\n",
		"home/.cursor/commands/run.md":  "---\ndescription: Runs\n---\nRun it.\n",
		// a project
		"one/.git/HEAD":                                  "ref: refs/heads/main\n",
		"one/.git/config":                                "[remote \"origin\"]\n\turl = https://example.org/one.git\n",
		"one/AGENTS.md":                                  "# One\n",
		"one/CLAUDE.md ->":                               "AGENTS.md",
		"one/web/AGENTS.md":                              "# Web\n",
		"one/node_modules/x/AGENTS.md":                   "# Theirs\n",
		"one/CLAUDE.local.md":                            "mine\n",
		"one/.cursor/rules/go.mdc":                       "---\ndescription: Go\nglobs: **/*.go\nalwaysApply: false\n---\nGofmt.\n",
		"one/.cursorrules":                               "old\n",
		"one/.mcp.json":                                  "{\"mcpServers\": {\"ci\": {\"command\": \"ci\"}}}\n",
		"one/.github/copilot-instructions.md":            "# Copilot\n",
		"one/.github/instructions/tests.instructions.md": "---\napplyTo: '**/*_test.go'\n---\nTable tests.\n",
		"one/.claude/skills/local/SKILL.md":              strings.ReplaceAll(skill, "review", "local"),
		"one/.claude/settings.local.json":                "{}",
		// another one
		"two/.git/HEAD":              "ref: refs/heads/main\n",
		"two/.git/config":            "[remote \"origin\"]\n\turl = https://example.org/two.git\n",
		"two/AGENTS.md":              "# Two\n",
		"two/CLAUDE.md":              "@AGENTS.md\n",
		"two/.gemini/settings.json":  "{\"mcpServers\": {\"ci\": {\"command\": \"ci-two\"}}}\n",
		"two/.cursor/rules/all.mdc":  "---\nalwaysApply: true\n---\nAll.\n",
		"two/.claude/rules/local.md": "Local.\n",
	}
}

// stand returns everything below dir except Countersign's own files: kind, mode and bytes, by path.
func stand(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		require.NoError(t, relErr)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (rel == filepath.Join("home", ".agentpack") || rel == filepath.Join("home", ".cache")):
			return filepath.SkipDir
		}
		info, err := e.Info()
		require.NoError(t, err)
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			out[rel] = "-> " + to
		case e.IsDir():
			out[rel] = info.Mode().String()
		default:
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			out[rel] = info.Mode().String() + "\n" + string(data)
		}
		return nil
	}))
	return out
}

// imported is the result of an import.
type imported struct {
	LeftOut []struct {
		Key, Reason string
		Source      string `json:"source_path"`
	} `json:"left_out"`
	Plan []struct {
		Aside      string   `json:"aside_reason"`
		Also       []string `json:"also_at"`
		Key        string
		ModuleID   string `json:"module_id"`
		Op         string
		References []authoring.ImportReference
		Scope      string
		Skip       string `json:"skip_reason"`
		Source     string `json:"source_path"`
		Targets    []string
	}
}

// TestImportTakesALaptopOver: everything of five agents, the user's and of two projects, is imported or explained, and deploying the result changes
// no byte.
func TestImportTakesALaptopOver(t *testing.T) {
	w := &world{Rig: deployrig.New(t, laptopArchive)}
	top := filepath.Dir(w.UserHome)
	for path, text := range laptop() {
		if link, ok := strings.CutSuffix(path, " ->"); ok {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, link)), 0o755))
			require.NoError(t, os.Symlink(text, filepath.Join(top, link)))
			continue
		}
		w.Write(top, path, text)
	}
	require.NoError(t, os.Chmod(filepath.Join(w.UserHome, ".claude/skills/review/run.sh"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(w.UserHome, ".claude.json"), 0o600))
	before := stand(t, top)

	got := map[string]string{} // by source and key: what became of it
	for _, project := range []string{"one", "two"} {
		w.In(filepath.Join(top, project))
		w.version("1.2.3")
		w.Entries = append(w.Entries, authoring.ConfigRepoEntries(authoring.ConfigRepoDeps{Compiler: w.Compiler, Machine: w.Machine, Remote: w.Git,
			Scanner: configrepo.NewScanner(w.Files), Clock: w.Clock, Documents: w.Planner.Documents})...)
		text := w.Must("agents_import_apply", `{"yes":true}`)
		assert.NotContains(t, text, tokenOnLaptop)
		var answer struct{ Data imported }
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		for _, i := range answer.Data.Plan {
			if i.Op == "skip_existing_module" {
				continue
			}
			what := i.Op + " " + i.ModuleID + " for " + strings.Join(i.Targets, ",")
			if i.Skip != "" {
				what = i.Skip
			}
			if i.Aside != "" {
				what += " aside: " + i.Aside
			}
			for _, r := range i.References {
				what += " " + r.At + "=${" + r.Variable + "}"
			}
			for _, path := range append(i.Also, i.Source) {
				got[strings.TrimSpace(strings.ReplaceAll(path, top, "")+" "+i.Key)] = what
			}
		}
		for _, l := range answer.Data.LeftOut {
			got[strings.TrimSpace(strings.ReplaceAll(l.Source, top, "")+" "+l.Key)] = "left: " + l.Reason
		}
		profile := "project-" + deployment.ProjectID("https://example.org/"+project+".git", "")
		plan := w.Must("deploy", `{"profile":"`+profile+`"}`)
		assert.Contains(t, plan, `"changes":[]`, project)
		w.Must("deploy_apply", `{"profile":"`+profile+`","adopt":true,"yes":true}`)
		assert.Equal(t, before, stand(t, top), "nothing changed on disk")
	}
	text, err := json.MarshalIndent(got, "", " ")
	require.NoError(t, err)
	golden.JSON(t, "import_laptop", text)
	for path, content := range w.Tree(w.Repo.Dir) {
		assert.NotContains(t, content, tokenOnLaptop, path)
	}
}
