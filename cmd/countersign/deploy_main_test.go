package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeployedSchemas: what tools/list shows of the eleven tools is literally what seed 000 says.
func TestDeployedSchemas(t *testing.T) {
	t.Parallel()
	a := newSite(t).agent()
	var listed struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage
			Annotations struct{ ReadOnlyHint, DestructiveHint *bool }
		}
	}
	require.NoError(t, json.Unmarshal(a.Request("tools/list", nil).Result, &listed))
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(read(t, "testdata/deploy/schemas.json")), &want))
	changing := map[string]bool{"deploy_apply": true, "rollback": true, "evolve_propose": true, "evolve_restore": true}
	for _, tool := range listed.Tools {
		schema, ours := want[tool.Name]
		if !ours {
			continue
		}
		delete(want, tool.Name)
		assert.JSONEq(t, string(schema), string(withoutMoreTargets(t, schema, tool.InputSchema)), tool.Name)
		require.NotNil(t, tool.Annotations.ReadOnlyHint, tool.Name)
		assert.Equal(t, !changing[tool.Name], *tool.Annotations.ReadOnlyHint, tool.Name)
	}
	assert.Empty(t, want, "tools that are not served")
}

// withoutMoreTargets is a schema whose targets are those of the published one, which its own have to begin with: more hosts may follow, and nothing else.
func withoutMoreTargets(t *testing.T, published, ours []byte) []byte {
	t.Helper()
	list := regexp.MustCompile(`"enum":\s*\[\s*"all",[^\]]*\]`)
	var want, have struct {
		Enum []string `json:"enum"`
	}
	of := func(doc []byte, into any) {
		if found := list.Find(doc); found != nil {
			require.NoError(t, json.Unmarshal([]byte("{"+string(found)+"}"), into))
		}
	}
	of(published, &want)
	of(ours, &have)
	require.GreaterOrEqual(t, len(have.Enum), len(want.Enum))
	assert.Equal(t, want.Enum, have.Enum[:len(want.Enum)])
	return list.ReplaceAll(ours, list.Find(published))
}

// userFiles puts work of the user's own where deployments will write: a private file, a link and an executable.
func (s *site) userFiles() {
	s.t.Helper()
	write(s.t, s.inHome(".codex/AGENTS.md"), "my own rules\n")
	require.NoError(s.t, os.Chmod(s.inHome(".codex/AGENTS.md"), 0o600))
	write(s.t, s.inHome("dotfiles/tidy.md"), "my own command\n")
	require.NoError(s.t, os.MkdirAll(s.inHome(".claude/commands"), 0o700))
	require.NoError(s.t, os.Symlink("../../dotfiles/tidy.md", s.inHome(".claude/commands/tidy.md")))
	script := s.inProject(".agents/skills/release-notes/scripts/collect.sh")
	write(s.t, script, "#!/bin/sh\nexit 0\n")
	require.NoError(s.t, os.Chmod(script, 0o750))
}

// TestDeploymentMainJob is the capability's one job, over MCP: doctor, plan, preview, deploy, deploy_apply, status and rollback, into a
// home and a project with a user's own files, and back to every byte, mode, link and absence.
func TestDeploymentMainJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.userFiles()
	before := s.deployed()
	a := s.agent()

	planned := a.does("plan", nil)
	assert.Equal(t, map[string]int{"create": 21, "delete": 0, "update": 3}, planned.Summary)
	for _, name := range []string{s.inHome(".codex/AGENTS.md"), s.inHome(".claude/commands/tidy.md"), s.inProject(".agents/skills/release-notes/scripts/collect.sh")} {
		assert.Equal(t, "adopt_update", planned.at(t, name).UpdateKind, name)
	}
	preview := a.unified(t, args{"diff": true})
	assert.Contains(t, preview[s.inHome(".codex/AGENTS.md")], "-my own rules\n+<!-- agentpack:module=instructions:base -->\n+# House rules\n")
	assert.Contains(t, preview[s.inProject("AGENTS.md")], "+- Wrap lines at 120 columns", "the machine's patch is in it")
	assert.Equal(t, before, s.deployed(), "looking changes nothing")

	offer := a.does("deploy", nil)
	assert.Equal(t, planned.Changes, offer.Changes)
	assert.Regexp(t, `^[0-9a-f]{64}$`, offer.Hash)
	a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.Equal(t, before, s.deployed(), "a refusal changes nothing")
	applied := a.does("deploy_apply", args{"yes": true, "confirm_token": offer.Token, "adopt": true})
	assert.True(t, *applied.Applied)
	assert.Equal(t, planned.Changes, applied.Changes)

	s.lookAround()
	assert.Empty(t, a.does("plan", nil).Changes, "a plan after an apply is empty")
	assert.Empty(t, a.does("status", nil).Drift)
	edit(t, s.inHome(".agents/skills/review/SKILL.md"), "merge it", "ship it")
	assert.Equal(t, "modified", a.does("status", nil).at(t, s.inHome(".agents/skills/review/SKILL.md")).Kind)

	back := a.does("rollback", args{"to": "initial", "yes": true})
	assert.NotEmpty(t, back.Event)
	after := s.deployed()
	assert.Equal(t, files(before), files(after), "rollback to the beginning gives every byte, mode and link back")
	assert.Equal(t, before, after, "and every directory that a deployment made is gone")
	assert.Contains(t, a.does("plan", nil).Summary, "create")
	assert.Equal(t, planned.Changes, a.does("plan", nil).Changes, "as if nothing had been deployed")
	again := a.refuses("E_SNAPSHOT_DAMAGED", "rollback", args{"to": back.Event, "yes": true})
	assert.Equal(t, "initial", again.Details["rolled_back_to"], "the record of a rollback is no place to go back to")
}

// unified is the diffs of a preview by absolute path.
func (a *agent) unified(t *testing.T, in args) map[string]string {
	t.Helper()
	var data struct {
		Diff struct {
			Files []struct{ Root, Path, Unified string }
		}
	}
	require.NoError(t, json.Unmarshal(a.ask("preview", in).Data, &data))
	out := map[string]string{}
	for _, f := range data.Diff.Files {
		out[filepath.Join(f.Root, f.Path)] = f.Unified
	}
	return out
}

// lookAround holds what was deployed to where the four agents look for it.
func (s *site) lookAround() {
	t := s.t
	t.Helper()
	for path, want := range map[string]string{
		s.inHome(".codex/AGENTS.md"):                                    "120 columns: the screen of this machine",
		s.inProject("AGENTS.md"):                                        "<!-- agentpack:module=instructions:style -->\n# Style\n",
		s.inHome(".agents/skills/review/SKILL.md"):                      "merge it, or not yet.",
		s.inHome(".agents/skills/release-notes/SKILL.md"):               "name: release-notes",
		s.inProject(".agents/skills/release-notes/reference/groups.md"): "Removed, Security.",
		s.inHome(".claude/commands/tidy.md"):                            "description: Format what changed",
		s.inProject(".claude/commands/tidy.md"):                         "description: Format what changed",
		s.inHome(".claude/skills/release-notes/reference/groups.md"):    "Removed. One line", // without what this project lays over it
		s.inProject(".cursor/rules/instructions_base--d39861fff1.mdc"):  "alwaysApply: true\n---\n\n# House rules\n",
		s.inProject(".github/copilot-instructions.md"):                  "# House rules",
		s.inProject(".github/skills/review/SKILL.md"):                   "merge it, or not yet.",
		s.inHome("dotfiles/tidy.md"):                                    "my own command\n",
		filepath.Join(s.base, "work/neighbour/AGENTS.md"):               "canary",
	} {
		assert.Contains(t, read(t, path), want, path)
	}
	for path := range s.deployed() {
		assert.NotContains(t, path, ".agentpack.manifest", "who owns what is recorded in the home")
	}
	for _, root := range []string{s.inHome(".agents/skills"), s.inHome(".claude/skills"), s.inProject(".agents/skills"), s.inProject(".claude/skills")} {
		info, err := os.Stat(filepath.Join(root, "release-notes/scripts/collect.sh"))
		require.NoError(t, err)
		assert.NotZero(t, info.Mode().Perm()&0o100, "a script of a module stays executable: %s", root)
	}
	info, err := os.Lstat(s.inHome(".codex/AGENTS.md"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "what was private stays private")
	info, err = os.Lstat(s.inHome(".claude/commands/tidy.md"))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "the link was replaced, not written through")
}
