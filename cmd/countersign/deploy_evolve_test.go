package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commitRepo makes the config repository a git repository with everything committed.
func (s *site) commitRepo() {
	s.t.Helper()
	s.git(s.repo, "init", "-q", "-b", "main")
	s.git(s.repo, "config", "user.name", "A")
	s.git(s.repo, "config", "user.email", "a@example.com")
	s.git(s.repo, "add", "-A")
	s.git(s.repo, "commit", "-q", "-m", "config")
}

// TestDefect10ProposalsHoldGood: what evolve_propose commits is an overlay in the form its module has, so that once merged the edited
// files are what is wanted: for rules with a generated header, renamed prompts, patches and files of several modules.
func TestDefect10ProposalsHoldGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, old, changed string
		scope              string
		overlay            string // a file of the proposal
	}{
		"rules of cursor":  {"work/shop/.cursor/rules/instructions_base--d39861fff1.mdc", "Ask before", "Always ask before", "global", "overlays/instructions_base--d39861fff1/AGENTS.md"},
		"renamed prompt":   {"work/shop/.github/prompts/review.prompt.md", "not yet", "better not yet", "global", "overlays/prompt_review--f892914c82/review.md"},
		"patch overlay":    {"work/shop/.cursor/rules/instructions_style--e4b8195334.mdc", "not what", "never what", "machine", "overlays/machines/workbench/instructions_style--e4b8195334/.agentpack/patches/AGENTS.md.patch"},
		"several modules":  {"home/.codex/AGENTS.md", "Ask before", "Always ask before", "project", "projects/ae2752b5775071e2/overlays/instructions_base--d39861fff1/AGENTS.md"},
		"skill with modes": {"home/.claude/skills/release-notes/scripts/collect.sh", "oldest first", "oldest of all first", "project", "projects/ae2752b5775071e2/overlays/skill_release-notes--b6764ea44b/scripts/collect.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.commitRepo()
			a := s.agent()
			a.deploys(nil)
			edited := filepath.Join(s.base, c.file)
			edit(t, edited, c.old, c.changed)
			before := tree(t, s.repo)
			dry := a.ask("evolve_propose", args{"scope": c.scope, "dry_run": true})
			require.True(t, dry.OK)
			assert.Contains(t, string(dry.Data), `"reason":"dry_run"`)
			var made struct {
				Created, Committed bool
				Branch             string
				Files              []string `json:"files_posix"`
			}
			a.refuses("E_CONFIRM_REQUIRED", "evolve_propose", args{"scope": c.scope})
			proposed := a.ask("evolve_propose", args{"scope": c.scope, "yes": true})
			require.True(t, proposed.OK, "%+v", proposed.Errors)
			require.NoError(t, json.Unmarshal(proposed.Data, &made))
			assert.True(t, made.Created && made.Committed)
			assert.Contains(t, made.Files, c.overlay)
			for path, what := range tree(t, s.repo) {
				if !strings.Contains(path, "/.git/") && path != filepath.Join(s.repo, ".git") {
					assert.Equal(t, before[path], what, "the work tree is left alone: %s", path)
				}
			}
			assert.Equal(t, "main", s.git(s.repo, "branch", "--show-current"))
			s.git(s.repo, "merge", "-q", "--ff-only", made.Branch)
			planned := a.does("plan", nil)
			for _, change := range planned.Changes {
				assert.NotEqual(t, edited, change.Path, "the edit is what the configuration wants now: %+v", change)
			}
			a.deploys(nil)
			assert.Contains(t, read(t, edited), c.changed)
			assert.Empty(t, a.does("plan", nil).Changes)
		})
	}
}

// TestProposalBelowALayerIsSkipped: an edit of what a higher layer made would be hidden or broken by that layer if it were proposed below
// it, so it is not.
func TestProposalBelowALayerIsSkipped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, old, above string }{
		"patched above":  {"work/shop/.cursor/rules/instructions_style--e4b8195334.mdc", "not what", "machine"},
		"replaced above": {"home/.claude/skills/release-notes/reference/groups.md", "One line each", "project"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.commitRepo()
			a := s.agent()
			a.deploys(nil)
			edit(t, filepath.Join(s.base, c.file), c.old, "changed by hand")
			var data struct {
				Created bool
				Reason  string
				Skipped []struct {
					Path    string
					Reason  string `json:"reason_code"`
					Message string `json:"reason_message"`
				}
			}
			require.NoError(t, json.Unmarshal(a.ask("evolve_propose", args{"yes": true}).Data, &data))
			assert.False(t, data.Created)
			assert.Equal(t, "no_proposeable_drift", data.Reason)
			require.Len(t, data.Skipped, 1)
			assert.Equal(t, "overlaid_above", data.Skipped[0].Reason)
			assert.Contains(t, data.Skipped[0].Message, "scope "+c.above)
			assert.True(t, a.ask("evolve_propose", args{"yes": true, "scope": c.above}).OK)
		})
	}
}

// TestProposeRefusals: a proposal needs a clean git repository of the configuration's own.
func TestProposeRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	a.deploys(nil)
	nothing := a.ask("evolve_propose", nil)
	assert.Contains(t, string(nothing.Data), `"reason":"no_drift"`, "with nothing to propose, not even yes is needed")
	edit(t, s.inProject("AGENTS.md"), "Ask before", "Always ask before")
	a.refuses("E_CONFIRM_REQUIRED", "evolve_propose", nil)
	a.refuses("E_GIT_REPO_REQUIRED", "evolve_propose", args{"yes": true})
	s.commitRepo()
	write(t, s.inRepo("draft.md"), "not committed\n")
	a.refuses("E_GIT_WORKTREE_DIRTY", "evolve_propose", args{"yes": true})
	require.NoError(t, os.Remove(s.inRepo("draft.md")))
	a.does("evolve_propose", args{"yes": true, "module_id": "instructions:base", "branch": "mine"})
	assert.Contains(t, s.git(s.repo, "branch", "--list", "mine"), "mine")
}

// TestRestoreTouchesNothingElse: only what is missing is made, whatever else drifted.
func TestRestoreTouchesNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	a.deploys(nil)
	before := s.deployed()
	edited, missing := s.inProject("AGENTS.md"), s.inHome(".codex/prompts/review.md")
	edit(t, edited, "Ask before", "Always ask before")
	before[edited] = stood(t, edited)
	require.NoError(t, os.Remove(missing))
	a.refuses("E_CONFIRM_REQUIRED", "evolve_restore", nil)
	assert.Contains(t, string(a.ask("evolve_restore", args{"dry_run": true}).Data), `"reason":"dry_run"`)
	assert.NoFileExists(t, missing)
	assert.Contains(t, string(a.ask("evolve_restore", args{"yes": true}).Data), `"restored":1`)
	assert.Equal(t, before, s.deployed())
	assert.Contains(t, string(a.ask("evolve_restore", nil).Data), `"reason":"no_missing"`)
}
