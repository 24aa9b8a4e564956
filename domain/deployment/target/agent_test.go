package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func TestEveryTableIsFoundByItsName(t *testing.T) {
	require.Empty(t, target.CheckTables(), "every line of the tables can be read")
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

// TestTables checks what the rest relies on for every line of every table, for each scope and on both kinds of systems.
func TestTables(t *testing.T) {
	places := map[byte]deployment.Locations{'/': {UserHome: "/h", ProjectRoot: "/w/app"}, '\\': {UserHome: `C:\Users\u`, ProjectRoot: `D:\w\app`}}
	seen := map[string]bool{}
	for _, a := range target.AllAgents() {
		assert.False(t, seen[a.Name], "%s is listed twice", a.Name)
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
					for _, name := range l.Names {
						assert.True(t, l.Shape != target.ShapeKeys || deployment.HandoverOf(deployment.PosixPath(l.Dir)+"/"+name, 0) != "", "%s/%s hands power on, and plans have to say so", l.Dir, name)
					}
					assert.Equal(t, l.Shape == target.ShapeKeys && l.Of == deployment.ModuleMCP, len(l.At) > 0 && l.Dialect.URL != "", l.Path)
					assert.Equal(t, l.Shape == target.ShapeDirectory, strings.HasSuffix(l.Path, "{skill}"), l.Path)
					assert.Equal(t, l.Shape == target.ShapeDirectory, l.Of == deployment.ModuleSkill, l.Path)
				}
			}
		}
	}
	_, ok := target.FindAgent("emacs")
	assert.False(t, ok)
}

// options enables everything.
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
		place deployment.Locations
		want  error
		says  string
	}{
		"home":                 {"claude_code", deployment.ScopeUser, deployment.Locations{ProjectRoot: "/w"}, deployment.ErrPath, "HOME"},
		"home of a default":    {"codex", deployment.ScopeUser, deployment.Locations{ProjectRoot: "/w"}, deployment.ErrPath, "HOME"},
		"relative $CODEX_HOME": {"codex", deployment.ScopeUser, deployment.Locations{UserHome: "/h", CodexHome: "relative"}, deployment.ErrConfig, "codex_home"},
		"project":              {"zed", deployment.ScopeProject, deployment.Locations{UserHome: "/h"}, deployment.ErrPath, "project root"},
	} {
		a, _ := target.FindAgent(c.agent)
		_, err := a.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: c.scope}, Place: c.place, Paths: target.Paths{Sep: '/'}})
		require.ErrorIs(t, err, c.want, name)
		assert.ErrorContains(t, err, c.says, name)
	}
}

// TestTheEnvironmentMovesDirectories: each variable that an agent uses moves what is below it, a relative one moves nothing, and Windows has
// directories of its own.
func TestTheEnvironmentMovesDirectories(t *testing.T) {
	assert.Equal(t, []string{"APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "XDG_CONFIG_HOME"}, target.Variables())
	for name, c := range map[string]struct {
		agent string
		env   map[string]string
		sep   byte
		want  string
	}{
		"claude":           {"claude_code", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, '/', "/c/commands"},
		"claude, relative": {"claude_code", map[string]string{"CLAUDE_CONFIG_DIR": "c"}, '/', "/h/.claude/commands"},
		"opencode":         {"opencode", map[string]string{"XDG_CONFIG_HOME": "/x/"}, '/', "/x/opencode"},
		"gemini":           {"gemini_cli", map[string]string{"GEMINI_CLI_HOME": "/g"}, '/', "/g/.gemini"},
		"zed":              {"zed", nil, '/', "/h/.config/zed"},
		"zed, windows":     {"zed", map[string]string{"APPDATA": `C:\Users\u\AppData\Roaming`, "XDG_CONFIG_HOME": `C:\x`}, '\\', `C:\Users\u\AppData\Roaming\Zed`},
		"copilot":          {"vscode", map[string]string{"COPILOT_HOME": "/p"}, '/', "/p"},
	} {
		a, _ := target.FindAgent(c.agent)
		place := deployment.Locations{UserHome: "/h", Env: c.env}
		if c.sep != '/' {
			place.UserHome = `C:\Users\u`
		}
		lines, err := a.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: deployment.ScopeUser}, Place: place, Paths: target.Paths{Sep: c.sep}})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, lines[0].Dir, name)
	}
}

// TestWhereHostsRead shows every rule of every host, with everything enabled, on one machine.
func TestWhereHostsRead(t *testing.T) {
	var b strings.Builder
	for _, a := range target.AllAgents() {
		fmt.Fprintf(&b, "%s (%s)\n", a.Name, a.Title)
		lines, err := a.Lines(target.ResolveContext{Config: deployment.TargetConfig{Scope: deployment.ScopeBoth, Options: options()}, Place: place(), Paths: target.Paths{Sep: '/'}})
		require.NoError(t, err)
		for _, l := range lines {
			fmt.Fprintf(&b, "  %-13s %s/%s", l.Of, l.Dir, strings.Join(l.Names, "|"))
			if len(l.At) > 0 {
				fmt.Fprintf(&b, " at %s", strings.Join(l.At, " > "))
			}
			if l.Of == deployment.ModuleMCP {
				fmt.Fprintf(&b, ", references %s", l.Dialect.References)
			}
			b.WriteByte('\n')
		}
	}
	golden.Text(t, "hosts", b.String())
}
