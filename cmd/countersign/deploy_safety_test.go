package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every test here is of one defect that agentpack contract §10.1 lists, by its number there.

// projectOnly is a configuration without anything in the home directory.
const projectOnly = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: project}
  cursor: {mode: files, scope: project}
modules:
  - {id: "instructions:base", type: instructions, tags: [base], source: {local_path: {path: modules/instructions/base}}}
  - {id: "skill:release-notes", type: skill, tags: [base], source: {local_path: {path: modules/skills/release-notes}}}
`

// TestDefect1OtherProjectsAreLeftAlone: a second project neither plans nor carries out anything against the first one's files.
func TestDefect1OtherProjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.manifest(projectOnly)
	other := filepath.Join(s.base, "work/neighbour/second")
	s.newProject(other, "https://example.com/second.git")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(other)) })
	first, second := s.agent(), s.agentIn(other)
	first.deploys(nil)
	deployed := s.deployed()

	planned := second.does("plan", nil)
	assert.Zero(t, planned.Summary["delete"]+planned.Summary["update"], "%+v", planned.Changes)
	for _, c := range planned.Changes {
		assert.True(t, strings.HasPrefix(c.Path, other+"/"), c.Path)
	}
	assert.Empty(t, second.does("status", args{"only": []string{"extra"}}).Drift)
	snapshot := second.deploys(nil).Snapshot
	assert.FileExists(t, filepath.Join(other, "AGENTS.md"))
	assert.Equal(t, deployed, s.deployed())
	second.does("rollback", args{"to": "initial", "yes": true})
	assert.NoFileExists(t, filepath.Join(other, "AGENTS.md"))
	assert.Equal(t, deployed, s.deployed(), "nor does going back in the second one")
	first.does("rollback", args{"to": snapshot, "yes": true})
	assert.Equal(t, deployed, s.deployed(), "not even to the second one's snapshot, from the first")
}

// TestDefect4AdoptedOriginalsComeBack: going back to a snapshot restores what the user had before a later deployment adopted it; edits
// made since are kept in the rollback's own record.
func TestDefect4AdoptedOriginalsComeBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	quiet := a.deploys(args{"profile": "quiet"}).Snapshot
	mine, ours := s.inHome(".agents/skills/review/SKILL.md"), s.inHome(".codex/AGENTS.md")
	write(t, mine, "my own prompt\n")
	require.NoError(t, os.Chmod(mine, 0o640))
	before := s.deployed()
	a.deploys(nil)
	edit(t, ours, "# Style", "# Style, as I like it")
	back := a.does("rollback", args{"to": quiet, "yes": true})
	assert.Equal(t, "drifted_update", back.at(t, ours).UpdateKind)
	assert.Equal(t, contents(before), contents(s.deployed()))
	record := read(t, filepath.Join(s.state, "state/snapshots", back.Event+".json"))
	assert.Contains(t, record, back.at(t, ours).Before, "the edit that was overwritten is on record")
	assert.Contains(t, record, back.at(t, mine).Before)
}

// TestDefect4RollbackKeepsToItsTargets: going back to a snapshot of one target touches no other target's files.
func TestDefect4RollbackKeepsToItsTargets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	codex := a.deploys(args{"target": "codex"}).Snapshot
	a.deploys(nil)
	before := s.deployed()
	back := a.does("rollback", args{"to": codex, "yes": true})
	assert.Empty(t, back.Changes)
	assert.Equal(t, contents(before), contents(s.deployed()))
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.NoFileExists(t, s.inProject("AGENTS.md"))
	assert.NoFileExists(t, s.inProject(".cursor/rules/instructions_base--d39861fff1.mdc"), "all targets go back to the beginning")
}

// TestDefect5DeletingAnEditedFileIsGated: a file that left the configuration and was edited since needs adopt to be deleted, and can be
// had back.
func TestDefect5DeletingAnEditedFileIsGated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	full := a.deploys(nil).Snapshot
	edited, clean := s.inProject(".claude/commands/tidy.md"), s.inHome(".claude/commands/tidy.md")
	edit(t, edited, "one line a file", "one line for every file")
	edit(t, s.inRepo("agentpack.yaml"), "targets: [claude_code]", "enabled: false")
	offer := a.does("deploy", nil)
	assert.Equal(t, "drifted_delete", offer.at(t, edited).DeleteKind)
	assert.Equal(t, "delete", offer.at(t, clean).Op)
	assert.Empty(t, offer.at(t, clean).DeleteKind)
	p := a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.EqualValues(t, 1, p.Details["drifted_deletes"])
	assert.FileExists(t, edited)
	assert.FileExists(t, clean, "all or nothing")
	a.does("deploy_apply", args{"yes": true, "confirm_token": offer.Token, "adopt": true})
	assert.NoFileExists(t, edited)
	a.does("rollback", args{"to": full, "yes": true})
	assert.FileExists(t, edited)
}

// TestDefect6OverwritingAnEditIsGated: an update is told apart by whether the user edited the file since.
func TestDefect6OverwritingAnEditIsGated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	a.deploys(nil)
	edited, clean := s.inProject("AGENTS.md"), s.inHome(".codex/AGENTS.md")
	edit(t, edited, "# House rules", "# Our house rules")
	edit(t, s.inRepo("modules/instructions/base/AGENTS.md"), "# House rules", "# House rules 2")
	offer := a.does("deploy", nil)
	assert.Equal(t, "drifted_update", offer.at(t, edited).UpdateKind)
	assert.Equal(t, "managed_update", offer.at(t, clean).UpdateKind)
	p := a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.EqualValues(t, 1, p.Details["drifted_updates"])
	assert.Contains(t, read(t, edited), "# Our house rules")
	assert.NotContains(t, read(t, clean), "# House rules 2")
	a.does("deploy_apply", args{"yes": true, "confirm_token": offer.Token, "adopt": true})
	assert.Contains(t, read(t, edited), "# House rules 2")
}

// TestDefect9ModesAreKept: a script stays executable, losing that is drift, and everything else is readable as usual.
func TestDefect9ModesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	assert.Equal(t, "0755", a.does("plan", nil).at(t, s.inHome(".agents/skills/release-notes/scripts/collect.sh")).Mode)
	a.deploys(nil)
	script, plain := s.inHome(".agents/skills/release-notes/scripts/collect.sh"), s.inHome(".agents/skills/review/SKILL.md")
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	assert.Equal(t, os.FileMode(0o755), mode(script))
	assert.Equal(t, os.FileMode(0o644), mode(plain))
	require.NoError(t, os.Chmod(script, 0o644))
	assert.Equal(t, "modified", a.does("status", nil).at(t, script).Kind)
	assert.Equal(t, "mode differs", a.does("plan", nil).at(t, script).Reason)
	snapshot := a.deploys(nil).Snapshot
	assert.Equal(t, os.FileMode(0o755), mode(script))
	require.NoError(t, os.Remove(script))
	a.does("evolve_restore", args{"yes": true})
	assert.Equal(t, os.FileMode(0o755), mode(script), "restored")
	require.NoError(t, os.Chmod(script, 0o600))
	a.does("rollback", args{"to": snapshot, "yes": true})
	assert.Equal(t, os.FileMode(0o700), mode(script), "rolled back: executable again, and as private as it was made")
}

// TestDefect11NothingIsOrphaned: removing a target, moving codex_home and switching an option off each delete what was deployed there.
func TestDefect11NothingIsOrphaned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, changed, gone, stays string }{
		"target removed":      {"  cursor:\n    mode: files\n    scope: project\n", "", "work/shop/.cursor/rules/instructions_base--d39861fff1.mdc", "home/.codex/AGENTS.md"},
		"codex_home changed":  {"scope: both\n  claude_code", "scope: both\n    options: {codex_home: ~/elsewhere}\n  claude_code", "home/.codex/AGENTS.md", "home/elsewhere/AGENTS.md"},
		"option switched off": {"write_user_skills: true", "write_user_skills: false", "home/.claude/skills/release-notes/SKILL.md", "home/.claude/commands/tidy.md"},
		"scope narrowed":      {"  codex:\n    mode: files\n    scope: both", "  codex:\n    mode: files\n    scope: project", "home/.agents/skills/review/SKILL.md", "work/shop/AGENTS.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			a := s.agent()
			before := s.deployed()
			full := a.deploys(nil).Snapshot
			deployed := s.deployed()
			gone, stays := filepath.Join(s.base, c.gone), filepath.Join(s.base, c.stays)
			edit(t, s.inRepo("agentpack.yaml"), c.old, c.changed)
			assert.Equal(t, "extra", a.does("status", nil).at(t, gone).Kind)
			assert.Equal(t, "delete", a.does("plan", nil).at(t, gone).Op)
			a.deploys(nil)
			assert.NoFileExists(t, gone)
			assert.FileExists(t, stays)
			assert.Empty(t, a.does("plan", nil).Changes)
			a.does("rollback", args{"to": full, "yes": true})
			now := contents(s.deployed())
			for path, want := range contents(deployed) { // roots that the snapshot knows nothing of stay as they are
				assert.Equal(t, want, now[path], path)
			}
			a.does("rollback", args{"to": "initial", "yes": true})
			assert.Equal(t, files(before), files(s.deployed()), "the beginning is the beginning")
		})
	}
}

// TestDefect12HomeIsNoProject: run in the home directory, nothing is deployed into it as if it were a project, unless it is marked as one.
func TestDefect12HomeIsNoProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := tree(t, s.home)
	a := s.agentIn(s.home)
	for dir, a := range map[string]*agent{s.home: a, s.base: s.agentIn(s.base), s.outside: s.agentIn(s.outside)} {
		planned := a.ask("plan", nil)
		require.True(t, planned.OK)
		assert.Contains(t, strings.Join(planned.Warnings, "\n"), dir+" is not a git worktree, so nothing is planned for it")
		changes := a.does("plan", nil).Changes
		require.NotEmpty(t, changes, "the user's own files are")
		for _, c := range changes {
			assert.Regexp(t, `^`+regexp.QuoteMeta(s.home)+`/\.(codex|agents|claude)/`, c.Path)
		}
	}
	assert.True(t, a.ask("doctor", nil).OK, "doctor says what is wrong instead of failing")
	assert.Equal(t, before, tree(t, s.home))
	write(t, filepath.Join(s.countersign, "plain/.agentpack-project"), "")
	for _, c := range s.agentIn(filepath.Join(s.countersign, "plain")).does("plan", args{"target": "cursor"}).Changes {
		assert.True(t, strings.HasPrefix(c.Path, filepath.Join(s.countersign, "plain")+"/.cursor/"), c.Path)
	}
}

// TestDefect2BootstrapAndDeployLeaveEachOtherAlone: each of them keeps its own files, however often the other runs.
func TestDefect2BootstrapAndDeployLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	a.deploys(nil)
	assets := s.tool("agents_bootstrap", args{"yes": true}).answer(t)
	require.NotEmpty(t, assets.Changes)
	both := s.deployed()
	assert.Empty(t, a.does("plan", nil).Changes, "a deployment wants nothing of them")
	assert.Empty(t, a.does("status", nil).Drift)
	edit(t, s.inRepo("modules/instructions/base/AGENTS.md"), "# House rules", "# House rules 2")
	a.deploys(nil)
	assert.Equal(t, "no_changes", s.tool("agents_bootstrap", args{"yes": true}).answer(t).Reason)
	for _, c := range assets.Changes {
		assert.Equal(t, both[c.Path], stood(t, c.Path), c.Path)
	}
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.NoFileExists(t, s.inProject("AGENTS.md"))
	for _, c := range assets.Changes {
		assert.FileExists(t, c.Path, "going back before the first deployment is not about them")
	}
}

// TestDefect3BootstrapIsGated: a user's own file where an asset goes is overwritten with adopt alone, and kept.
func TestDefect3BootstrapIsGated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := s.tool("agents_bootstrap", args{"dry_run": true}).answer(t).Changes[0].Path
	write(t, path, "my own\n")
	before := s.deployed()
	s.tool("agents_bootstrap", args{"yes": true}).refusal(t, "E_ADOPT_CONFIRM_REQUIRED")
	assert.Equal(t, before, s.deployed())
	assert.True(t, s.tool("agents_bootstrap", args{"yes": true, "adopt": true}).OK)
	assert.NotEqual(t, "my own\n", read(t, path))
}
