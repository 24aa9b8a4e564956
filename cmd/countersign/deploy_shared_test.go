package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestProjectsThatShareAHome: what two projects deployed into the home directory stays there until the last of them goes back.
func TestProjectsThatShareAHome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := filepath.Join(t.TempDir(), "other")
	s.newProject(other, sampleRemote)
	before := s.deployed()
	first, second := s.agent(), s.agentIn(other)
	first.deploys(nil)
	alone := withoutManifests(s.deployed())
	second.deploys(nil)
	e := second.ask("rollback", args{"to": "initial", "yes": true})
	e.answer(t)
	assert.Regexp(t, `stays as it is: the project \S+ deploys there too`, fmt.Sprint(e.Warnings))
	assert.Equal(t, alone, withoutManifests(s.deployed()), "the first project and the home are as if there had been no second")
	assert.NoFileExists(t, filepath.Join(other, "AGENTS.md"))
	first.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
}

func withoutManifests(tree map[string]string) map[string]string {
	maps.DeleteFunc(tree, func(path, _ string) bool { return strings.Contains(path, ".agentpack.manifest.") })
	return tree
}

// TestAFileOfTwoTargets: it stays while one of them has it, and goes, for what was there before, when neither does.
func TestAFileOfTwoTargets(t *testing.T) {
	t.Parallel()
	for name, mine := range map[string]string{"nothing": "", "something of the user's": "mine\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			config := func(targets string) string {
				return "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets: {" + targets + "}\nmodules:\n" +
					"  - {id: \"instructions:base\", type: instructions, tags: [base], source: {local_path: {path: modules/instructions/base}}}\n"
			}
			const codex, opencode = "codex: {mode: files, scope: project}", "opencode: {mode: files, scope: project}"
			s.manifest(config(codex + ", " + opencode))
			if mine != "" {
				write(t, s.inProject("AGENTS.md"), mine)
			}
			before := s.deployed()
			a := s.agent()
			a.deploys(nil)
			deployed := read(t, s.inProject("AGENTS.md"))
			s.manifest(config(opencode))
			a.deploys(nil)
			assert.Equal(t, deployed, read(t, s.inProject("AGENTS.md")), "the other one has it still")
			s.manifest(config(codex + ", " + opencode))
			a.deploys(nil)
			a.does("rollback", args{"to": "initial", "yes": true})
			assert.Equal(t, before, s.deployed())
		})
	}
}
