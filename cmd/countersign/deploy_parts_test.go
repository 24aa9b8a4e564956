package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// partsConfig puts a server and a setting into the documents of four agents, and house rules into a section of AGENTS.md.
const partsConfig = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both, options: {instructions_mode: section, write_agents_global: false}}
  claude_code: {mode: files, scope: both}
  cursor: {mode: files, scope: project}
  vscode: {mode: files, scope: project, options: {write_instructions: false, write_mcp_json: false}}
modules:
  - {id: "instructions:base", type: instructions, tags: [base], targets: [codex], source: {local_path: {path: modules/instructions/base}}}
  - {id: "mcp:team", type: mcp, tags: [base], source: {local_path: {path: modules/mcp/team}}}
  - {id: "settings:team", type: settings, tags: [base], source: {local_path: {path: modules/settings}}}
`

// usersDocuments are files that a user wrote by hand, each in a style of its own.
func usersDocuments() map[string]string {
	return map[string]string{
		"work/shop/.mcp.json":          "{\n\t\"mcpServers\": {\n\t\t\"mine\": {\"command\": \"mine\", \"args\": []}\n\t}\n}",
		"work/shop/.vscode/mcp.json":   "{\r\n  // what I use every day\r\n  \"servers\": {\r\n    \"mine\": { \"type\": \"stdio\", \"command\": \"mine\" }, // keep\r\n  },\r\n  \"inputs\": [],\r\n}\r\n",
		"home/.codex/config.toml":      "# my own settings\nmodel = \"small\"   # cheap\n\n[mcp_servers.mine]\ncommand = \"mine\"\nargs = [ \"a\",\n  \"b\", # two\n]\n\n[[profiles]]\nname = 'x'\n",
		"work/shop/.codex/config.toml": "",
		"home/.claude.json":            "{\"numStartups\":12345678901234567890,\"tips\":{\"a\":1.50}}\n",
		"work/shop/AGENTS.md":          "# Mine\n\nwritten by hand, no final newline",
	}
}

func newParts(t *testing.T) *site {
	s := newSite(t)
	s.partsConfig()
	for name, text := range usersDocuments() {
		write(t, filepath.Join(s.base, name), text)
	}
	return s
}

// partsConfig gives the site the configuration with its modules.
func (s *site) partsConfig() {
	t := s.t
	s.manifest(partsConfig)
	write(t, s.inRepo("modules/mcp/team/tickets.json"), `{"command": "npx", "args": ["-y", "tickets"], "env": {"REGION": "eu"}}`)
	write(t, s.inRepo("modules/mcp/team/search.json"), `{"url": "https://search.example.com/mcp"}`)
	write(t, s.inRepo("modules/settings/codex.json"), `{"approval_policy": "on-request"}`)
	write(t, s.inRepo("modules/settings/vscode.json"), `{"editor.rulers": [100, 120]}`)
}

// applies plans and applies without adopt.
func (a *agent) applies() answer {
	a.t.Helper()
	return a.does("deploy_apply", args{"yes": true, "confirm_token": a.does("deploy", nil).Token})
}

// TestPartsComeAndGo: keys and a section are put into a user's documents without adopt, and going back to the beginning leaves every byte
// as it was, and no file that was not there.
func TestPartsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newParts(t)
	before := s.deployed()
	a := s.agent()
	planned := a.does("plan", nil)
	assert.Equal(t, "merge_update", planned.at(t, s.inProject(".mcp.json")).UpdateKind)
	assert.Equal(t, "create", planned.at(t, s.inProject(".cursor/mcp.json")).Op)
	a.applies()
	for name, wants := range map[string][]string{
		"work/shop/.mcp.json":             {"\t\t\"mine\": {\"command\": \"mine\", \"args\": []}", `"tickets"`, `"search"`, `"REGION"`},
		"work/shop/.vscode/mcp.json":      {"  // what I use every day\r\n", "}, // keep\r\n", `"tickets"`, "\"inputs\": [],\r\n}\r\n"},
		"work/shop/.vscode/settings.json": {`"editor.rulers"`},
		"home/.codex/config.toml":         {"model = \"small\"   # cheap\n", "args = [ \"a\",\n  \"b\", # two\n]\n", "[mcp_servers.tickets]", `approval_policy = "on-request"`},
		"work/shop/.codex/config.toml":    {"[mcp_servers.tickets]"},
		"home/.claude.json":               {`"numStartups":12345678901234567890`, `1.50`, `"tickets"`},
		"work/shop/.cursor/mcp.json":      {`"mcpServers"`, `"https://search.example.com/mcp"`},
		"work/shop/AGENTS.md":             {"# Mine\n\nwritten by hand, no final newline\n", "<!-- agentpack:begin", "# House rules\n", "<!-- agentpack:end -->"},
	} {
		for _, want := range wants {
			assert.Contains(t, read(t, filepath.Join(s.base, name)), want, name)
		}
	}
	assert.Empty(t, a.does("plan", nil).Changes)
	assert.Empty(t, a.does("status", nil).Drift)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, files(before), files(s.deployed()))
	for name, text := range usersDocuments() {
		assert.Equal(t, text, read(t, filepath.Join(s.base, name)), name)
	}
}

// usersEdits are what a user does to those documents after a deployment: old text, new text.
func usersEdits() map[string][2]string {
	return map[string][2]string{
		"work/shop/.mcp.json":          {`"command": "mine"`, `"command": "mine2"`},
		"work/shop/.vscode/mcp.json":   {"// what I use every day", "// what I use at night"},
		"home/.codex/config.toml":      {"# my own settings\n", "# my own settings\n# since today\nverbose = true\n"},
		"work/shop/.codex/config.toml": {"", "# nothing of mine yet\n"},
		"home/.claude.json":            {`"tips":{`, `"tips":{"new":true,`},
		"work/shop/AGENTS.md":          {"# Mine\n", "# Mine alone\n"},
	}
}

// TestEditsAroundPartsSurvive: what the user changes around our keys and our section is nobody's drift, stays through the next deployment
// and through going back; only what is ours comes and goes.
func TestEditsAroundPartsSurvive(t *testing.T) {
	t.Parallel()
	s := newParts(t)
	a := s.agent()
	a.applies()
	want := usersDocuments()
	for name, change := range usersEdits() {
		edit(t, filepath.Join(s.base, name), change[0], change[1]) // an empty text stands at the beginning
		want[name] = strings.Replace(want[name], change[0], change[1], 1)
	}
	assert.Empty(t, a.does("status", nil).Drift, "nothing of ours was touched")
	assert.Empty(t, a.does("plan", nil).Changes)
	write(t, s.inRepo("modules/mcp/team/tickets.json"), `{"command": "tickets-mcp"}`)
	require.NoError(t, os.Remove(s.inRepo("modules/mcp/team/search.json")))
	edit(t, s.inRepo("modules/instructions/base/AGENTS.md"), "# House rules", "# House rules 2")
	a.applies()
	for _, name := range []string{"work/shop/.mcp.json", "work/shop/.vscode/mcp.json", "home/.codex/config.toml", "work/shop/.codex/config.toml", "home/.claude.json", "work/shop/.cursor/mcp.json"} {
		text := read(t, filepath.Join(s.base, name))
		assert.Contains(t, text, "tickets-mcp", name)
		assert.NotContains(t, text, "search", name)
		assert.NotContains(t, text, "REGION", name)
	}
	assert.Contains(t, read(t, s.inProject("AGENTS.md")), "# House rules 2\n")
	a.does("rollback", args{"to": "initial", "yes": true})
	for name, text := range want {
		assert.Equal(t, text, read(t, filepath.Join(s.base, name)), name)
	}
	assert.NoFileExists(t, s.inProject(".cursor/mcp.json"))
	assert.NoFileExists(t, s.inProject(".vscode/settings.json"))
}

// TestEditsOfPartsAreGated: a key or a section that is ours and was edited is told apart, and overwritten with adopt alone.
func TestEditsOfPartsAreGated(t *testing.T) {
	t.Parallel()
	s := newParts(t)
	a := s.agent()
	first := a.applies().Snapshot
	edits := map[string][2]string{
		s.inProject(".cursor/mcp.json"): {`"eu"`, `"us"`},
		s.inHome(".codex/config.toml"):  {`"on-request"`, `"never"`},
		s.inProject("AGENTS.md"):        {"# House rules", "# My house rules"},
		s.inProject(".vscode/mcp.json"): {`"npx"`, `"bunx"`},
	}
	for path, change := range edits {
		edit(t, path, change[0], change[1])
	}
	offer := a.does("deploy", nil)
	require.Len(t, offer.Changes, len(edits))
	status := a.does("status", nil)
	for path := range edits {
		assert.Equal(t, "drifted_update", offer.at(t, path).UpdateKind, path)
		assert.Equal(t, "modified", status.at(t, path).Kind, path)
	}
	a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	edit(t, s.inRepo("agentpack.yaml"), "write_agents_global: false", "write_agents_global: false, write_mcp: false")
	gone := a.does("plan", nil)
	assert.Equal(t, "managed_update", gone.at(t, s.inProject(".codex/config.toml")).UpdateKind, "keys that are no longer wanted are taken out")
	assert.True(t, *a.deploys(nil).Applied)
	assert.Equal(t, "approval_policy = \"on-request\"\n", read(t, s.inProject(".codex/config.toml")))
	a.does("rollback", args{"to": first, "yes": true})
	for path, change := range edits {
		assert.Contains(t, read(t, path), change[0], path)
	}
}

// TestDocumentsThatCannotBeEdited: a user's document that is broken is refused by name, and nothing anywhere is written.
func TestDocumentsThatCannotBeEdited(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"work/shop/.mcp.json": "{ broken", "home/.codex/config.toml": "= 1", "work/shop/AGENTS.md": "<!-- agentpack:begin -->\nno end\n",
		"work/shop/.vscode/mcp.json": `{"servers": []}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParts(t)
			path := filepath.Join(s.base, name)
			write(t, path, text)
			before := s.deployed()
			a := s.agent()
			for _, tool := range []string{"plan", "deploy", "status"} {
				p := a.refuses("E_CONFIG_INVALID", tool, nil)
				assert.Equal(t, path, p.Details["path"])
				assert.Contains(t, p.Message, path)
			}
			assert.Equal(t, before, s.deployed())
		})
	}
}
