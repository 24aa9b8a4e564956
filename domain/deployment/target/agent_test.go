package target_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestEveryTableIsFoundByItsName(t *testing.T) {
	require.Len(t, target.TargetNames(), len(target.AllAgents()))
	for i, a := range target.AllAgents() {
		assert.Equal(t, a.Name, target.TargetNames()[i])
		found, ok := target.FindAgent(a.Name)
		assert.True(t, ok, a.Name)
		assert.Equal(t, a, found)
	}
	_, ok := target.FindAgent("nobody")
	assert.False(t, ok)
}

// TestTables holds every line of every table to what the rest relies on, for each scope and on both kinds of systems.
func TestTables(t *testing.T) {
	places := map[byte]deployment.Place{'/': {UserHome: "/h", ProjectRoot: "/w/app"}, '\\': {UserHome: `C:\Users\u`, ProjectRoot: `D:\w\app`}}
	seen := map[string]bool{}
	for _, a := range target.AllAgents() {
		assert.False(t, seen[a.Name], "%s is there twice", a.Name)
		seen[a.Name] = true
		found, ok := target.FindAgent(a.Name)
		assert.True(t, ok)
		assert.Equal(t, a, found)
		for sep, place := range places {
			n := target.Paths{Sep: sep}
			for _, scope := range a.Scopes {
				lines, err := a.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: scope, Options: options()}, Place: place, Paths: n})
				require.NoError(t, err)
				require.NotEmpty(t, lines)
				for _, l := range lines {
					assert.Equal(t, a.Name, l.Agent)
					assert.True(t, n.Absolute(l.Dir) && n.Clean(l.Dir) == l.Dir, l.Dir)
					assert.NotContains(t, l.Dir, "{")
					assert.Equal(t, strings.HasPrefix(l.Dir, place.ProjectRoot), l.Project, l.Dir)
					assert.Equal(t, l.Shape == target.ShapeKeys, l.Format != "", l.Path)
					assert.Equal(t, l.Shape == target.ShapeKeys && l.Of == deployment.ModuleMCP, l.At != "" && l.Dialect.URL != "", l.Path)
					assert.Equal(t, l.Shape == target.ShapeDirectory, strings.HasSuffix(l.Path, "{skill}"), l.Path)
					assert.Equal(t, l.Shape == target.ShapeDirectory, l.Of == deployment.ModuleSkill, l.Path)
				}
			}
		}
	}
	_, ok := target.FindAgent("emacs")
	assert.False(t, ok)
}

// options switch everything on.
func options() deployment.Options {
	o := deployment.Options{"root": "~/out"}
	for _, name := range []string{"write_skills", "write_commands", "write_instructions", "write_user_skills", "write_repo_skills", "instructions_files"} {
		o[name] = true
	}
	return o
}

func TestWithoutHomeOrProject(t *testing.T) {
	for name, c := range map[string]struct {
		agent string
		scope deployment.Scope
		place deployment.Place
		want  error
		says  string
	}{
		"home":                 {"claude_code", deployment.ScopeUser, deployment.Place{ProjectRoot: "/w"}, deployment.ErrPath, "HOME"},
		"home of a default":    {"codex", deployment.ScopeUser, deployment.Place{ProjectRoot: "/w"}, deployment.ErrPath, "HOME"},
		"relative $CODEX_HOME": {"codex", deployment.ScopeUser, deployment.Place{UserHome: "/h", CodexHome: "relative"}, deployment.ErrConfig, "codex_home"},
		"project":              {"zed", deployment.ScopeProject, deployment.Place{UserHome: "/h"}, deployment.ErrPath, "project root"},
	} {
		a, _ := target.FindAgent(c.agent)
		_, err := a.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: c.scope}, Place: c.place, Paths: target.Paths{Sep: '/'}})
		require.ErrorIs(t, err, c.want, name)
		assert.ErrorContains(t, err, c.says, name)
	}
}
