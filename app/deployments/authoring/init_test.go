package authoring_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/deployport"
)

func TestInit(t *testing.T) {
	w := newWorld(t)
	w.Quiet("agents_init", args{"dry_run": true})
	assert.NoDirExists(t, w.repo)
	w.Golden("init", "agents_init", yes())
	golden.Text(t, "init_manifest", w.Text(w.in("agentpack.yaml")))
	for _, file := range []string{"modules/instructions/base/AGENTS.md", "modules/prompts/draftpr.md", "modules/claude-commands/ap-plan.md"} {
		assert.FileExists(t, w.in(file))
	}
	assert.NoDirExists(t, w.in(".git"))
	w.Quiet("agents_init", yes())

	config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
	require.NoError(t, err)
	assert.Empty(t, config.Warnings)
	assert.Empty(t, config.Manifest.Modules)
}

// TestInitIsDeployable adds what init made and compiles it for every agent.
func TestInitIsDeployable(t *testing.T) {
	w := newWorld(t)
	w.Call("agents_init", yes())
	for kind, source := range map[string]string{"instructions": "local:modules/instructions/base", "prompt": "local:modules/prompts/draftpr.md",
		"command": "local:modules/claude-commands/ap-plan.md"} {
		out := w.Call("agents_add", yes("module_type", kind, "source", source, "tags", []string{"base"}))
		assert.Empty(t, out.Warnings, kind)
	}
	state, err := w.deps.Compiler.Compile(t.Context(), planner.Request{Profile: "default", Target: "all"})
	require.NoError(t, err)
	assert.Empty(t, state.Warnings)
	require.Len(t, state.Output.Unset, 1, "what claude_code does not get is said, with the line to set")
	assert.Contains(t, state.Output.Unset[0], "set write_instructions: true in the options of claude_code")
	assert.Len(t, state.Modules, 3)
	assert.Len(t, state.Output.Files, 5, "AGENTS.md and the command at home and in the project, the prompt at home")
}

func TestInitKeepsWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.Write(w.in("agentpack.yaml"), "version: 1 # mine\n")
	require.NoError(t, os.MkdirAll(w.in("modules/prompts"), 0o755))
	require.NoError(t, os.Symlink("nowhere", w.in("modules/prompts/draftpr.md")))
	w.Call("agents_init", yes())
	assert.Equal(t, "version: 1 # mine\n", w.Text(w.in("agentpack.yaml")))
	to, err := os.Readlink(w.in("modules/prompts/draftpr.md"))
	assert.Equal(t, "nowhere", to)
	assert.NoError(t, err)
	assert.FileExists(t, w.in("modules/instructions/base/AGENTS.md"))
}

func TestInitGit(t *testing.T) {
	w := newWorld(t)
	w.Write(w.in(".gitignore"), "*.log\n.DS_Store")
	w.Golden("init_git", "agents_init", yes("git", true))
	assert.DirExists(t, w.in(".git"))
	assert.Equal(t, "*.log\n.DS_Store\n.agentpack.manifest*.json\n", w.Text(w.in(".gitignore")))
	out := w.Quiet("agents_init", yes("git", true))
	assert.Contains(t, string(out.Data), `"gitignore_updated":false`)
}

func TestInitGitKeepsALink(t *testing.T) {
	w := newWorld(t)
	w.Write(w.in("ignored"), "*.log\n")
	require.NoError(t, os.Symlink("ignored", w.in(".gitignore")))
	out := w.Call("agents_init", yes("git", true))
	assert.Contains(t, string(out.Data), `"gitignore_updated":false`)
	require.Len(t, out.Warnings, 1)
	assert.Equal(t, "*.log\n", w.Text(w.in("ignored")))
}

func TestInitGuided(t *testing.T) {
	w := newWorld(t)
	w.Refused(deployment.ErrTarget, "agents_init", yes("targets", []string{"codex", "emacs"}))
	assert.NoDirExists(t, w.repo)
	w.Golden("init_guided", "agents_init", yes("targets", []string{"zed", "codex"}, "scope", "user"))
	golden.Text(t, "init_guided_manifest", w.Text(w.in("agentpack.yaml")))
	details := w.Refused(deployment.ErrConfig, "agents_init", yes("targets", []string{"codex"}))
	assert.Equal(t, "/w/user/.agentpack/repo/agentpack.yaml", details["path"])
	assert.NotEmpty(t, details["hint"])
}

// TestInitGuidedForEveryAgent proves that the manifest for all agents at once is one.
func TestInitGuidedForEveryAgent(t *testing.T) {
	for _, scope := range []string{"user", "project", "both"} {
		w := newWorld(t)
		w.Call("agents_init", yes("targets", target.TargetNames(), "scope", scope))
		config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
		require.NoError(t, err, scope)
		assert.Empty(t, config.Warnings)
		assert.Len(t, config.Manifest.Targets, len(target.TargetNames()))
	}
}

func TestInitBootstrap(t *testing.T) {
	w := newWorld(t)
	w.Refused(tool.ErrArguments, "agents_init", yes("bootstrap", true))
	assert.NoDirExists(t, w.repo)
	w.deps.Bootstrap = func(_ context.Context, c authoring.AssetRequest, at deployment.Locations) ([]deployment.Write, *authoring.BootstrapData, error) {
		assert.Equal(t, deployment.ScopeProject, c.Scope)
		assert.Equal(t, w.repo, at.ProjectRoot)
		assert.True(t, at.Marked)
		file := filepath.Join(at.Repo, ".claude", "commands", "ap-plan.md")
		return []deployment.Write{*planner.FileWrite(at.Repo, file, deployment.Seen{}, []byte("asset\n"))}, &authoring.BootstrapData{Applied: true}, nil
	}
	out := w.Call("agents_init", yes("bootstrap", true))
	var data map[string]any
	require.NoError(t, json.Unmarshal(out.Data, &data))
	assert.Subset(t, data["bootstrap"], map[string]any{"applied": true})
	assert.Equal(t, "asset\n", w.Text(w.in(".claude/commands/ap-plan.md")))
}

func TestYesComesFirst(t *testing.T) {
	w := newWorld(t) // there is no config repository: nobody gets to see that
	for _, name := range []string{"agents_init", "agents_add", "agents_remove", "agents_lock", "agents_fetch", "agents_remote_set", "agents_sync", "agents_import_apply"} {
		w.Refused(deployment.ErrYes, name, args{})
		w.Refused(deployment.ErrYes, name, args{"yes": false})
	}
	for _, name := range []string{"agents_lock", "agents_fetch", "agents_update", "agents_import_apply"} {
		w.Refused(deployment.ErrConfigMissing, name, yes())
	}
	w.Refused(deployment.ErrConfigMissing, "agents_import", args{})
}

func TestWhatIsRequired(t *testing.T) {
	w := newWorld(t)
	for _, a := range []args{yes(), {"dry_run": true}} {
		w.Refused(tool.ErrArguments, "agents_add", a)
		w.Refused(tool.ErrArguments, "agents_remove", a)
		w.Refused(tool.ErrArguments, "agents_remote_set", a)
	}
	w.Refused(tool.ErrArguments, "agents_remove", yes("module_id", ""))
	w.Refused(tool.ErrArguments, "agents_remote_set", yes("url", " "))
}

// TestInitFrom clones a config repository, whole or not at all, with its remote, at the commit that was shown.
func TestInitFrom(t *testing.T) {
	w, r := newWorld(t), gitfixture.New(t, "team\n-- agentpack.yaml --\nversion: 1\nprofiles: {default: {}}\n-- modules/a.md --\na\n")
	w.Quiet("agents_init", args{"dry_run": true, "from": r.Remote})
	assert.NoDirExists(t, w.repo)
	w.Refused(tool.ErrArguments, "agents_init", yes("from", r.Remote, "git", true))
	w.Refused(deployment.ErrConfig, "agents_init", yes("from", r.Remote+"#subdir=modules"))
	var data authoring.InitData
	w.Decode(w.Call("agents_init", yes("from", r.Remote)), &data)
	assert.Equal(t, authoring.InitData{Commit: r.Head(), From: r.Remote, Ref: "main", Repo: "/w/user/.agentpack/repo", RepoPosix: "/w/user/.agentpack/repo"}, data)
	assert.Equal(t, "a\n", w.Text(w.in("modules/a.md")))
	state, err := w.deps.Remote.State(t.Context(), w.repo)
	require.NoError(t, err)
	assert.Equal(t, deployport.RepoState{Branch: "main", Remotes: []string{"origin"}}, state)
	w.Refused(deployment.ErrConfig, "agents_init", yes("from", r.Remote)) // it is there

	other := gitfixture.New(t, "no config\n-- README.md --\nx\n")
	elsewhere := filepath.Join(w.Top, "other")
	w.Refused(deployment.ErrConfigMissing, "agents_init", yes("from", other.Remote, "repo", elsewhere))
	assert.NoDirExists(t, elsewhere)
	begun, err := w.Begin("agents_init", yes("from", r.Remote, "repo", elsewhere))
	require.NoError(t, err)
	r.Write("-- modules/b.md --\nb\n")
	r.Commit("more")
	r.Git("push", "origin", "main")
	_, err = begun.Commit()
	require.ErrorIs(t, err, deployment.ErrStale, "it is another commit than was shown")
	left, err := os.ReadDir(w.Top)
	require.NoError(t, err)
	for _, e := range left {
		assert.NotContains(t, e.Name(), "clone")
	}
}

// TestNamesThatDifferInCaseAlone are told: elsewhere they are one file.
func TestNamesThatDifferInCaseAlone(t *testing.T) {
	w := newWorld(t)
	w.manifest("  - {id: 'skill:Review', type: skill, tags: [base], source: {local_path: {path: a}}}\n  - {id: 'skill:review', type: skill, tags: [base], source: {local_path: {path: a}}}\n")
	w.Write(w.in("a/SKILL.md"), "---\nname: review\ndescription: x\n---\nx\n")
	state, err := w.deps.Compiler.Compile(t.Context(), asks(w))
	require.NoError(t, err)
	assert.Contains(t, strings.Join(state.Warnings, "\n"), "differ in upper and lower case alone")
}
