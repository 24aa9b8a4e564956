package deployments_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// input returns both agents, with skills for Claude Code.
func input() deployments.AssetOptions {
	return deployments.AssetOptions{Place: deployment.Locations{UserHome: "/home/ada", ProjectRoot: "/work/project", Marked: true}, Chosen: []string{"codex", "claude_code", "zed"},
		Targets: map[string]deployment.TargetConfig{"codex": {Scope: deployment.ScopeUser},
			"claude_code": {Scope: deployment.ScopeBoth, Options: deployment.Options{"write_user_skills": true, "write_repo_commands": false}}},
		Version: "1.2.3", Sep: '/'}
}

func TestWhereTheyGo(t *testing.T) {
	in := input()
	in.Scope = deployment.ScopeBoth
	set, err := deployments.AssetFiles(in)
	require.NoError(t, err)
	assert.Equal(t, []string{"claude_code", "codex"}, set.Targets)
	var text strings.Builder
	for _, f := range set.Files {
		text.WriteString(f.Target + " " + f.Path + " " + strings.Join(f.Modules, ",") + "\n")
		assert.True(t, strings.HasPrefix(f.Path, f.Root+"/"), f.Path)
	}
	golden.Text(t, "files", text.String())
	assert.Contains(t, set.Roots, deployment.Root{Target: "claude_code", Path: "/work/project/.claude/skills", ScanExtras: true}, "files of earlier bootstraps may be there")
	assert.Contains(t, set.Roots, deployment.Root{Target: "codex", Path: "/home/ada/.codex/skills", ScanExtras: true}, "likewise")

	in.Scope = ""
	own, err := deployments.AssetFiles(in)
	require.NoError(t, err)
	for _, f := range own.Files {
		assert.False(t, f.Target == "codex" && strings.HasPrefix(f.Path, "/work"), "its own scope is user")
	}
	in.Targets["codex"] = deployment.TargetConfig{Scope: deployment.ScopeUser, Options: deployment.Options{"skills_dir": "codex"}}
	moved, err := deployments.AssetFiles(in)
	require.NoError(t, err)
	assert.Equal(t, "/home/ada/.codex/skills/agentpack-operator/SKILL.md", moved.Files[len(moved.Files)-1].Path)
}

func TestHomeIsNoProject(t *testing.T) {
	in := input()
	in.Place.ProjectRoot, in.Place.Marked = "/home", false
	_, err := deployments.AssetFiles(in)
	require.ErrorIs(t, err, deployment.ErrProject)
	in.Scope = deployment.ScopeUser
	_, err = deployments.AssetFiles(in)
	require.NoError(t, err)
}

func TestOptionsThatCannotBe(t *testing.T) {
	in := input()
	in.Targets["codex"] = deployment.TargetConfig{Scope: deployment.ScopeUser, Options: deployment.Options{"codex_home": "relative"}}
	_, err := deployments.AssetFiles(in)
	require.ErrorIs(t, err, deployment.ErrConfig)
	_, _, err = deployments.CheckAssets(in, nil, nil)
	require.ErrorIs(t, err, deployment.ErrConfig)
}

// TestTheFilesKeepTheirOwnRules: each file is a module that could be deployed, runs only what it may, and has its version.
func TestTheFilesKeepTheirOwnRules(t *testing.T) {
	set, err := deployments.AssetFiles(input())
	require.NoError(t, err)
	read := func(c deployment.Content) ([]byte, error) { return c.Data, nil }
	seen := map[string]bool{}
	for _, f := range set.Files {
		text, name := string(f.Content.Data), path.Base(f.Path)
		if seen[f.Modules[0]] {
			continue
		}
		seen[f.Modules[0]] = true
		golden.Text(t, strings.ReplaceAll(f.Modules[0], ":", "-"), text)
		kind, id, _ := strings.Cut(f.Modules[0], ":")
		require.NoError(t, deployment.ValidateModule(deployment.Module{ID: f.Modules[0], Type: deployment.ModuleType(kind)},
			deployment.Tree{{Path: name, Mode: deployment.PlainMode, Content: f.Content}}, read, configrepo.Frontmatter), name)
		fields, _, err := configrepo.Frontmatter(f.Content.Data)
		require.NoError(t, err)
		assert.Equal(t, "1.2.3", fields["agentpack_version"])
		if kind == "skill" {
			assert.Equal(t, "agentpack-operator", fields["name"])
			assert.Equal(t, map[string]any{"short-description": "Operate agent configuration with Countersign"}, fields["metadata"])
			continue
		}
		mutating := id == "ap-update" || id == "ap-deploy" || id == "ap-evolve"
		assert.Equal(t, mutating, fields["disable-model-invocation"] == true, id)
		_, script, found := strings.Cut(text, "\n!bash\n")
		require.True(t, found, id)
		run, _, _ := strings.Cut(script, "\n")
		allowed := fields["allowed-tools"].([]any)
		assert.Contains(t, allowed, `Bash("`+run+`")`)
		for _, one := range allowed {
			said := strings.TrimSuffix(strings.TrimPrefix(one.(string), `Bash("`), `")`)
			assert.Contains(t, script, said, "what is allowed is offered")
			assert.True(t, strings.HasPrefix(said, "countersign agents ") && strings.HasSuffix(said, " --json"), said)
		}
	}
	assert.Len(t, seen, 10)
}
