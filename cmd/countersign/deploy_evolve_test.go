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
		"renamed prompt":   {"work/shop/.github/skills/review/SKILL.md", "not yet", "better not yet", "global", "overlays/prompt_review--f892914c82/review.md"},
		"patch overlay":    {"work/shop/.cursor/rules/instructions_style--e4b8195334.mdc", "not what", "never what", "machine", "overlays/machines/workbench/instructions_style--e4b8195334/.agentpack/patches/AGENTS.md.patch"},
		"several modules":  {"work/shop/AGENTS.md", "Ask before", "Always ask before", "project", "projects/ae2752b5775071e2/overlays/instructions_base--d39861fff1/AGENTS.md"},
		"skill with modes": {"work/shop/.claude/skills/release-notes/scripts/collect.sh", "oldest first", "oldest of all first", "project", "projects/ae2752b5775071e2/overlays/skill_release-notes--b6764ea44b/scripts/collect.sh"},
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
					assert.Equal(t, before[path], what, "the work tree is skipped: %s", path)
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
	edited, missing := s.inProject("AGENTS.md"), s.inHome(".agents/skills/review/SKILL.md")
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

// TestEvolvePassesOverWhatCannotBeRead: a file that cannot be inspected or read is a warning and counted; everything else is restored and
// proposed.
func TestEvolvePassesOverWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken string
		by     func(t *testing.T, path string)
		said   string // in every warning
		lost   int    // files whose state nobody can tell
		folder bool   // something is there, it is no file
	}{
		"a loop of links above it": {broken: "home/.agents/skills/release-notes", by: loop, said: "release-notes", lost: 3},
		"a root that is a loop":    {broken: "work/shop/.claude", by: loop, said: ".claude", lost: 4},
		"a directory in its place": {broken: "home/.agents/skills/review/SKILL.md", by: folder, said: "review/SKILL.md", folder: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.commitRepo()
			a := s.agent()
			a.deploys(nil)
			missing := s.inHome(".claude/commands/tidy.md")
			require.NoError(t, os.Remove(missing))
			edit(t, s.inProject("AGENTS.md"), "Ask before", "Always ask before")
			c.by(t, filepath.Join(s.base, c.broken))
			before := stood(t, filepath.Join(s.base, c.broken))

			var back struct{ Summary map[string]int }
			restored := a.ask("evolve_restore", args{"yes": true})
			require.True(t, restored.OK, "%+v", restored.Errors)
			require.NoError(t, json.Unmarshal(restored.Data, &back))
			assert.Equal(t, map[string]int{"missing": 1, "restored": 1, "skipped_existing": 23 - c.lost, "skipped_read_error": c.lost}, back.Summary)
			assert.FileExists(t, missing)
			told(t, restored.Warnings, c.said, c.lost)

			var made struct {
				Created bool
				Reason  string
				Summary map[string]int
			}
			proposed := a.ask("evolve_propose", args{"dry_run": true})
			require.True(t, proposed.OK, "%+v", proposed.Errors)
			require.NoError(t, json.Unmarshal(proposed.Data, &made))
			assert.Equal(t, "dry_run", made.Reason)
			unread := c.lost
			if c.folder {
				unread++
			}
			assert.Equal(t, unread, made.Summary["skipped_read_error"])
			assert.Equal(t, 1, made.Summary["drifted_proposeable"])
			assert.Zero(t, made.Summary["drifted_skipped"])
			told(t, proposed.Warnings, c.said, unread)
			assert.Contains(t, string(a.ask("evolve_propose", args{"yes": true}).Data), `"created":true`)
			assert.Equal(t, before, stood(t, filepath.Join(s.base, c.broken)))
		})
	}
}

// TestEvolvePassesOverDocumentsThatCannotBeRead: nor does a document stop anything that the user broke, or that something else took the
// place of.
func TestEvolvePassesOverDocumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"broken": func(t *testing.T, path string) { write(t, path, "[mcp_servers\n") },
		"folder": folder,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParts(t)
			a := s.agent()
			a.deploys(nil)
			change(t, s.inHome(".codex/config.toml"))
			require.NoError(t, os.Remove(s.inProject(".vscode/settings.json")))
			before := stood(t, s.inHome(".codex/config.toml"))
			proposed := a.ask("evolve_propose", args{"dry_run": true})
			require.True(t, proposed.OK, "%+v", proposed.Errors)
			assert.Contains(t, string(proposed.Data), `"skipped_read_error":1`)
			told(t, proposed.Warnings, "config.toml", 1)
			restored := a.ask("evolve_restore", args{"yes": true})
			require.True(t, restored.OK, "%+v", restored.Errors)
			assert.Contains(t, string(restored.Data), `"restored":1,`)
			assert.FileExists(t, s.inProject(".vscode/settings.json"))
			assert.Equal(t, before, stood(t, s.inHome(".codex/config.toml")))
		})
	}
}

// told holds warnings to naming so many files of one kind that cannot be read.
func told(t *testing.T, warnings []string, of string, files int) {
	t.Helper()
	n := 0
	for _, w := range warnings {
		if strings.Contains(w, "cannot be read: ") && !strings.HasPrefix(w, "the manifest ") {
			assert.Contains(t, w, of)
			n++
		}
	}
	assert.Equal(t, files, n, "%q", warnings)
}

// loop puts a symbolic link to itself where something is.
func loop(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, os.Symlink(filepath.Base(path), path))
}

// folder puts a directory where a file is.
func folder(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o755))
}
