package deployments_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const archive = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both}
  claude_code: {mode: files, scope: both}
  cursor: {mode: files, scope: project}
modules:
  - {id: "skill:tool", type: skill, tags: [base], source: {local_path: {path: modules/tool}}}
  - {id: "command:hello", type: command, tags: [base], source: {local_path: {path: modules/hello.md}}}
-- modules/tool/SKILL.md --
---
name: tool
description: does it
---
-- modules/hello.md --
---
description: says hello
---
hello
`

const (
	bootstrap = tool.Name("agents_bootstrap")
	operator  = "skills/agentpack-operator/SKILL.md"
)

type world struct{ *deployrig.Rig }

func newWorld(t *testing.T, change ...string) *world {
	t.Helper()
	w := &world{Rig: deployrig.New(t, strings.NewReplacer(change...).Replace(archive))}
	w.version("1.2.3")
	return w
}

// version sets the version of the product.
func (w *world) version(v string) {
	w.Entries = append(deployments.BootstrapEntries(deployments.BootstrapDeps{Compiler: w.Compiler, Machine: w.Machine, Snapshots: w.Machine, Registry: w.Machine, Version: v}),
		deployments.Capability(deployments.Deps{Compiler: w.Compiler, Planner: w.Planner, Recovery: w.Machine, Differ: docedit.Differ{}, History: w.Git, Remote: w.Git,
			Clock: w.Clock, Version: v}).Entries...)
}

// steady returns the data without the snapshot's name and the sums of the files, whose goldens are those of package assets.
func steady(out string) []byte {
	out = regexp.MustCompile(`"snapshot_id":"\d+"`).ReplaceAllString(out, `"snapshot_id":"<id>"`)
	return []byte(regexp.MustCompile(`"[0-9a-f]{64}"`).ReplaceAllString(out, `"<sum>"`))
}

func TestData(t *testing.T) {
	w := newWorld(t)
	golden.JSON(t, "dry_run", steady(w.Must(bootstrap, `{"dry_run":true}`)))
	assert.NoDirExists(t, filepath.Join(w.Project, ".claude"), "a dry run writes nothing")
	w.Fails(bootstrap, `{}`, deployment.ErrYes)
	golden.JSON(t, "project", steady(w.Must(bootstrap, `{"scope":"project","target":"codex","yes":true}`)))
	w.Must(bootstrap, `{"yes":true}`)
	golden.JSON(t, "no_changes", []byte(w.Must(bootstrap, `{}`)))
	golden.JSON(t, "no_assets", []byte(w.Must(bootstrap, `{"target":"cursor"}`)))
}

// TestDeployAndBootstrapLeaveEachOtherAlone: after alternating any number of times, each has nothing to do (agentpack contract §10.1).
func TestDeployAndBootstrapLeaveEachOtherAlone(t *testing.T) {
	w := newWorld(t)
	w.Must(bootstrap, `{"yes":true}`)
	first := w.Tree(filepath.Join(w.UserHome, ".agents"))
	assert.Contains(t, first, operator)
	assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
	for range 2 {
		assert.Contains(t, w.Must(bootstrap, `{}`), `"reason":"no_changes"`)
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)
	}
	for name, text := range first {
		if !strings.Contains(name, "manifest") {
			assert.Equal(t, text, w.Read(w.UserHome, ".agents/"+name))
		}
	}
	assert.FileExists(t, filepath.Join(w.UserHome, ".agents/skills/tool/SKILL.md"))
	status := w.Must("status", `{}`)
	assert.Contains(t, status, `"drift":[]`)
	assert.NotContains(t, status, "operator assets")

	w.Write(w.Repo.Dir, "agentpack.yaml", strings.Replace(w.Read(w.Repo.Dir, "agentpack.yaml"), "include_tags: [base]", "include_tags: [none]", 1))
	w.Must("deploy_apply", `{"yes":true}`)
	assert.NoFileExists(t, filepath.Join(w.UserHome, ".agents/skills/tool/SKILL.md"))
	assert.FileExists(t, filepath.Join(w.UserHome, ".agents", operator), "a deployment deletes nothing of a bootstrap")
	assert.Contains(t, w.Must(bootstrap, `{}`), `"reason":"no_changes"`)
}

func TestAUsersOwnFileNeedsAdopt(t *testing.T) {
	w := newWorld(t)
	w.Write(w.Project, ".claude/commands/ap-plan.md", "my own\n")
	f := w.Fails(bootstrap, `{"yes":true}`, deployment.ErrAdopt)
	details := f.Details.(deployment.Details)
	assert.Equal(t, 1, details["adopt_updates"])
	assert.Equal(t, []string{filepath.Join(w.Project, ".claude/commands/ap-plan.md")}, details["sample_paths"])
	assert.Equal(t, "my own\n", w.Read(w.Project, ".claude/commands/ap-plan.md"))
	assert.NoFileExists(t, filepath.Join(w.Project, ".claude/commands/ap-deploy.md"), "all or nothing")
	assert.Contains(t, w.Must(bootstrap, `{"dry_run":true}`), `"update_kind":"adopt_update"`, "a dry run shows it")

	assert.Contains(t, w.Must(bootstrap, `{"yes":true,"adopt":true}`), `"applied":true`)
	w.Write(w.Project, ".claude/commands/ap-plan.md", "edited\n")
	w.Fails(bootstrap, `{"yes":true}`, deployment.ErrAdopt)
}

// TestAModuleOfTheSameName: a file belongs to a module that wants or owns it, and neither operation overwrites the other's files without adopt.
func TestAModuleOfTheSameName(t *testing.T) {
	const same = ".claude/commands/ap-plan.md"
	for _, bootstrapFirst := range []bool{true, false} {
		w := newWorld(t, "command:hello", "command:ap-plan", "modules/hello.md", "modules/ap-plan.md")
		if bootstrapFirst {
			manifest := w.Read(w.Repo.Dir, "agentpack.yaml")
			w.Write(w.Repo.Dir, "agentpack.yaml", strings.Replace(manifest, "include_tags: [base]", "include_tags: [none]", 1))
			w.Must(bootstrap, `{"yes":true}`)
			w.Write(w.Repo.Dir, "agentpack.yaml", manifest)
			assert.NotContains(t, w.Must("status", `{}`), "operator assets")
			assert.Contains(t, w.Must(bootstrap, `{}`), `"reason":"no_changes"`)
			w.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
			w.Must("deploy_apply", `{"yes":true,"adopt":true}`)
			w.Must(bootstrap, `{"yes":true}`)
		} else {
			w.Must("deploy_apply", `{"yes":true}`)
			assert.NotContains(t, w.Must("status", `{}`), "outdated")
			assert.Contains(t, w.Must(bootstrap, `{"yes":true}`), `"summary":{"create":18,"delete":0,"update":0}`)
		}
		for _, tool := range []tool.Name{bootstrap, "deploy_apply"} {
			assert.Contains(t, w.Must(tool, `{"yes":true}`), `"reason":"no_changes"`)
		}
		status := w.Must("status", `{}`)
		assert.NotContains(t, status, "operator assets")
		assert.Contains(t, status, `"drift":[]`)
		w.Must(bootstrap, `{"yes":true,"remove":true}`)
		for _, top := range []string{w.UserHome, w.Project} {
			assert.Contains(t, w.Read(top, same), "says hello", "removing takes away operator assets alone")
			assert.NoFileExists(t, filepath.Join(top, ".claude/commands/ap-diff.md"))
		}
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)
	}
}

// TestABootstrapBesideABrokenModule: what would stop a deployment does not prevent operator assets.
func TestABootstrapBesideABrokenModule(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(filepath.Join(w.Repo.Dir, "modules/hello.md")))
	assert.Contains(t, w.Must(bootstrap, `{"yes":true}`), `"applied":true`)
}

func TestANewVersionUpdatesItsOwn(t *testing.T) {
	w := newWorld(t)
	w.Must(bootstrap, `{"yes":true}`)
	w.version("1.3.0")
	out := w.Must(bootstrap, `{"yes":true}`)
	assert.Contains(t, out, `"summary":{"create":0,"delete":0,"update":20}`)
	assert.NotContains(t, out, "adopt_update")
	assert.Contains(t, w.Read(w.UserHome, ".agents/"+operator), `agentpack_version: "1.3.0"`)
}

func TestTheSkillFollowsItsOption(t *testing.T) {
	w := newWorld(t, "claude_code: {mode: files, scope: both}", "claude_code: {mode: files, scope: both, options: {write_user_skills: true}}")
	w.Must(bootstrap, `{"yes":true}`)
	assert.FileExists(t, filepath.Join(w.UserHome, ".claude", operator))
	assert.NoFileExists(t, filepath.Join(w.Project, ".claude", operator), "that is another option")
	w.Must("deploy_apply", `{"yes":true}`)
	w.Write(w.Repo.Dir, "agentpack.yaml", strings.Replace(w.Read(w.Repo.Dir, "agentpack.yaml"), "write_user_skills: true", "write_user_skills: false", 1))
	out := w.Must(bootstrap, `{"yes":true}`)
	assert.Contains(t, out, `"op":"delete"`)
	assert.NoFileExists(t, filepath.Join(w.UserHome, ".claude", operator))
}

func TestScopes(t *testing.T) {
	w := newWorld(t, "codex: {mode: files, scope: both}", "codex: {mode: files, scope: user}")
	w.Must(bootstrap, `{"yes":true,"scope":"user"}`)
	assert.NoDirExists(t, filepath.Join(w.Project, ".agents"))
	w.Must(bootstrap, `{"yes":true,"scope":"project"}`)
	assert.FileExists(t, filepath.Join(w.Project, ".agents", operator), "the target's own scope is not asked")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, "  cursor: {mode: files, scope: project}\n", "")
	for args, as := range map[string]*fault.Error{
		`{"yes":true,"repo":"/none"}`:       deployment.ErrConfigMissing,
		`{"yes":true,"target":"cursor"}`:    deployment.ErrConfig,
		`{"yes":true,"target":"notepad"}`:   deployment.ErrTarget,
		`{"yes":true,"scope":"everywhere"}`: tool.ErrArguments,
		`{"scope":"user"}`:                  deployment.ErrYes,
	} {
		w.Fails(bootstrap, args, as)
	}
	w.In(w.UserHome)
	w.version("1")
	w.Fails(bootstrap, `{"yes":true}`, deployment.ErrProject)
	w.Must(bootstrap, `{"yes":true,"scope":"user"}`)
	w.Write(w.Repo.Dir, "agentpack.yaml", strings.Replace(w.Read(w.Repo.Dir, "agentpack.yaml"), "include_tags: [base]", "include_tags: [none]", 1))
	assert.NotContains(t, w.Must("status", `{}`), "/project)", "home is no project that lacks something")
}

func TestStatusAsksForABootstrap(t *testing.T) {
	w := newWorld(t)
	answer := func(args string) (warnings, actions []string) {
		var report struct {
			Warnings []string
			Data     struct {
				Next []string `json:"next_actions"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(w.Must("status", args)), &report))
		for _, text := range report.Warnings {
			if strings.Contains(text, "operator assets") {
				warnings = append(warnings, text)
			}
		}
		for _, text := range report.Data.Next {
			if strings.Contains(text, "bootstrap") {
				actions = append(actions, text)
			}
		}
		return warnings, actions
	}
	warnings, actions := answer(`{}`)
	require.Len(t, warnings, 4)
	assert.Contains(t, warnings[2], "operator assets missing (codex/user)")
	assert.Equal(t, []string{
		"countersign agents --repo /repo --target claude_code bootstrap --scope project --yes --json", "countersign agents --repo /repo --target claude_code bootstrap --scope user --yes --json",
		"countersign agents --repo /repo --target codex bootstrap --scope project --yes --json", "countersign agents --repo /repo --target codex bootstrap --scope user --yes --json"}, actions)

	w.Must(bootstrap, `{"yes":true}`)
	warnings, actions = answer(`{}`)
	assert.Empty(t, warnings)
	assert.Empty(t, actions)

	w.Write(w.UserHome, ".agents/"+operator, "no version here\n")
	w.Write(w.Project, ".claude/commands/ap-plan.md", "<!-- agentpack_version: 0.1 -->\n")
	require.NoError(t, os.Remove(filepath.Join(w.Project, ".claude/commands/ap-diff.md")))
	w.Write(w.UserHome, ".claude/commands/ap-plan.md", "# same\n<!-- agentpack_version: '1.2.3' -->\n")
	warnings, actions = answer(`{"machine":"box"}`)
	require.Len(t, warnings, 3, "%v", warnings)
	assert.Contains(t, warnings[0], "operator assets missing (claude_code/project): ap-diff.md;")
	assert.Contains(t, warnings[1], "operator assets outdated (claude_code/project): ap-plan.md;")
	assert.Contains(t, warnings[2], "operator assets outdated (codex/user)")
	assert.Equal(t, []string{"countersign agents --repo /repo --target claude_code --machine box bootstrap --scope project --yes --json",
		"countersign agents --repo /repo --target codex --machine box bootstrap --scope user --yes --json"}, actions)
}

func TestABootstrapCanBeRolledBack(t *testing.T) {
	w := newWorld(t)
	w.Must(bootstrap, `{"yes":true,"target":"codex","scope":"user"}`)
	first := w.Tree(filepath.Join(w.UserHome, ".agents"))
	snapshots, _, err := w.Machine.List(t.Context(), filepath.Join(w.UserHome, ".agentpack"))
	require.NoError(t, err)
	w.Clock.Advance(1e9)
	w.version("2")
	w.Must(bootstrap, `{"yes":true,"target":"codex","scope":"user"}`)
	w.Must("rollback", `{"yes":true,"to":"`+snapshots[0].ID+`"}`)
	assert.Equal(t, first[operator], w.Read(w.UserHome, ".agents/"+operator))
}

// TestRemove: files that a bootstrap wrote are deleted, files that it overwrote are restored, and nothing else is touched; afterwards everything is
// the user's.
func TestRemove(t *testing.T) {
	w := newWorld(t)
	const mine, edited = ".claude/commands/ap-plan.md", ".claude/commands/ap-diff.md"
	w.Must("deploy_apply", `{"yes":true}`)
	w.Write(w.UserHome, mine, "my own\n")
	require.NoError(t, os.Chmod(filepath.Join(w.UserHome, mine), 0o600))
	trees := func() map[string]string {
		all := w.Tree(w.UserHome)
		for path, text := range w.Tree(w.Project) {
			all["project/"+path] = text
		}
		for path := range all {
			if strings.HasPrefix(path, ".agentpack/") || strings.HasPrefix(path, ".cache/") || strings.Contains(path, "manifest") {
				delete(all, path)
			}
		}
		return all
	}
	before := trees()
	assert.Contains(t, w.Must(bootstrap, `{"remove":true}`), `"reason":"no_changes"`)
	for range 2 {
		w.Clock.Advance(1e9)
		w.Must(bootstrap, `{"yes":true,"adopt":true}`)
		with := trees()
		assert.NotEqual(t, before[mine], with[mine])
		assert.Contains(t, w.Must(bootstrap, `{"remove":true,"dry_run":true}`), `"reason":"dry_run"`)
		w.Fails(bootstrap, `{"remove":true}`, deployment.ErrYes)
		assert.Equal(t, with, trees())

		w.Write(w.UserHome, edited, "edited\n")
		w.Fails(bootstrap, `{"remove":true,"yes":true}`, deployment.ErrAdopt)
		require.NoError(t, os.Remove(filepath.Join(w.UserHome, edited)))
		w.Clock.Advance(1e9)
		assert.Contains(t, w.Must(bootstrap, `{"remove":true,"yes":true}`), `"applied":true`)
		assert.Equal(t, before, trees())
		info, err := os.Stat(filepath.Join(w.UserHome, mine))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		assert.Contains(t, w.Must(bootstrap, `{"remove":true}`), `"reason":"no_changes"`)
		assert.Contains(t, w.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)
		before[mine] = "my own, and better\n" // the present content is what the next removal restores
		w.Write(w.UserHome, mine, before[mine])
	}
}

// TestRemoveInOneScope: the other scope stays unchanged, and so do files that the user deleted or a deployment overwrote.
func TestRemoveInOneScope(t *testing.T) {
	w := newWorld(t)
	w.Write(w.UserHome, ".agents/skills/tool/SKILL.md", "overwritten by deploying\n")
	w.Write(w.UserHome, ".agents/"+operator, "my own\n")
	w.Must("deploy_apply", `{"yes":true,"adopt":true}`)
	w.Must(bootstrap, `{"yes":true,"adopt":true}`)
	require.NoError(t, os.Remove(filepath.Join(w.UserHome, ".agents/skills/tool/SKILL.md")))
	require.NoError(t, os.Remove(filepath.Join(w.UserHome, ".agents", operator)))
	w.Clock.Advance(1e9)
	project := w.Tree(w.Project)
	w.Must(bootstrap, `{"remove":true,"yes":true,"scope":"user"}`)
	assert.Equal(t, project, w.Tree(w.Project))
	assert.NoFileExists(t, filepath.Join(w.UserHome, ".agents/skills/tool/SKILL.md"), "that is for rollback")
	assert.Equal(t, "my own\n", w.Read(w.UserHome, ".agents/"+operator))
	assert.NoFileExists(t, filepath.Join(w.UserHome, ".claude/commands/ap-plan.md"))
}

// TestStarting: for init, which has no manifest yet.
func TestStarting(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(filepath.Join(w.Repo.Dir, "agentpack.yaml")))
	at, err := w.Compiler.Places.Resolve(t.Context(), deployport.Selection{Repo: w.Repo.Dir})
	require.NoError(t, err)
	at.ProjectRoot, at.Marked = w.Repo.Dir, true
	w.Write(w.Repo.Dir, ".claude/commands/ap-plan.md", "my own\n")
	start := deployments.InitialAssets(deployments.BootstrapDeps{Compiler: w.Compiler, Machine: w.Machine, Snapshots: w.Machine, Registry: w.Machine, Version: "1.2.3"})
	writes, shown, err := start(t.Context(), authoring.AssetRequest{Scope: deployment.ScopeProject, DryRun: true}, at)
	require.NoError(t, err)
	require.Len(t, writes, 9, "eight commands and a skill; what is somebody's own stays")
	for _, write := range writes {
		assert.True(t, strings.HasPrefix(write.Path, w.Repo.Dir), write.Path)
	}
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"applied":false`)
	assert.Contains(t, string(text), `"reason":"dry_run"`)

	writes, _, err = start(t.Context(), authoring.AssetRequest{Scope: deployment.ScopeProject, Targets: []string{"codex", "zed"}}, at)
	require.NoError(t, err)
	require.Len(t, writes, 1)
	assert.True(t, slices.ContainsFunc(strings.Split(writes[0].Path, "/"), func(p string) bool { return p == ".agents" }))
}
