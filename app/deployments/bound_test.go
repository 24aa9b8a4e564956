package deployments_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// commands is a config repository that deploys one command into the home directory, and rules into the project.
const commands = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  claude_code: {mode: files, scope: both, options: {write_instructions: true}}
modules:
  - {id: "command:look", type: command, tags: [base], source: {local_path: {path: look.md}}}
  - {id: "instructions:base", type: instructions, tags: [base], source: {local_path: {path: rules}}}
`

// powers adds a server, a setting, and a command that runs something.
const powers = commands + `  - {id: "mcp:team", type: mcp, tags: [base], source: {local_path: {path: servers}}}
  - {id: "command:run", type: command, tags: [base], source: {local_path: {path: run.md}}}
`

// commanded returns a directory with that config repository, a home and a project.
func commanded(t *testing.T, manifest string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{
		"pack/repo/agentpack.yaml": manifest, "pack/repo/look.md": "---\ndescription: look\n---\nLook.\n", "pack/repo/rules/AGENTS.md": "# Rules\n", "project/.agentpack-project": "",
		"pack/repo/servers/team.json": `{"command": "npx", "args": ["-y", "tickets"]}`, "pack/repo/run.md": "---\ndescription: run\nallowed-tools: Bash(git status:*)\n---\n!`git status`\n",
		"home/.claude/commands/mine.md": "mine", "elsewhere/commands/mine.md": "mine",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// swap replaces a directory by a link to one with the same content.
func swap(t *testing.T, dir string, name string) {
	t.Helper()
	require.NoError(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".was")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, name)))
}

// TestAParentSwappedForALink: a directory that becomes a link after the plan is noticed, also in the user's scope, and nothing is written through it:
// by the token, and again right before writing.
func TestAParentSwappedForALink(t *testing.T) {
	var c clock.Fake
	dir := commanded(t, commands)
	door := sampleDoorOver(t, dir, &c)
	call := func(name tool.Name, args string, token confirm.Token) tool.Outcome {
		return door.Call(context.Background(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: name, Args: json.RawMessage(args), Token: token})
	}
	o := call("deploy", `{}`, confirm.Token{})
	require.NoError(t, o.Err)
	require.NotNil(t, o.Request)
	swap(t, dir, "home/.claude")
	require.ErrorIs(t, call("deploy_apply", `{"yes":true}`, o.Request.Token).Err, confirm.ErrMismatch)
	assert.NoFileExists(t, filepath.Join(dir, "elsewhere/commands/look.md"))

	again := call("deploy", `{}`, confirm.Token{}) // a new plan shows where the link leads, and may be approved
	require.NoError(t, again.Err)
	assert.Contains(t, string(again.Value), "these directories are reached through symbolic links")
	require.NoError(t, call("deploy_apply", `{"yes":true}`, again.Request.Token).Err)
	assert.FileExists(t, filepath.Join(dir, "elsewhere/commands/look.md"))
}

// TestAParentSwappedAfterThePlanWasMadeAgain checks that such a plan is stale.
func TestAParentSwappedAfterThePlanWasMadeAgain(t *testing.T) {
	for name, at := range map[string]string{"of the user": "home/.claude", "of the user, one above": "home", "of the project": "project"} {
		t.Run(name, func(t *testing.T) {
			var c clock.Fake
			dir := commanded(t, commands)
			apply := prepared(t, dir, &c)
			swap(t, dir, at)
			require.ErrorIs(t, apply(), deployment.ErrStale)
			for _, name := range []string{"elsewhere/commands/look.md", "elsewhere/CLAUDE.md", "elsewhere/.claude", "home/.claude/commands/look.md"} {
				assert.NoFileExists(t, filepath.Join(dir, name))
			}
		})
	}
}

// TestPowerHandedOn: a server, a setting or a command that runs programs makes a deployment high risk, so that it is never auto-approved, and the
// plan says what it cannot cover. Commands that are only read do not.
func TestPowerHandedOn(t *testing.T) {
	var c clock.Fake
	for manifest, high := range map[string]bool{commands: false, powers: true} {
		dir := commanded(t, manifest)
		door := sampleDoorOver(t, dir, &c)
		o := door.Call(context.Background(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: "deploy", Args: json.RawMessage(`{}`)})
		require.NoError(t, o.Err)
		require.NotNil(t, o.Request)
		assert.Equal(t, high, o.Request.Risk == "high")
		assert.Equal(t, !high, o.Request.AllowsSessionGrant())
		if high {
			for _, want := range []string{"this gives agents programs or permissions", "MCP servers", ".mcp.json", "a command that runs programs", "run.md"} {
				assert.Contains(t, string(o.Request.Plan), want)
			}
			assert.NotContains(t, string(o.Value), "look.md (")
		} else {
			assert.NotContains(t, string(o.Request.Plan), "this gives agents programs or permissions")
		}
	}
}

// TestNothingToDeployAsksNobody: deploy returns its token as always, and deploy_apply with it succeeds at once, one time; no approval request stays
// pending.
func TestNothingToDeployAsksNobody(t *testing.T) {
	for _, who := range []policy.Approval{policy.ApprovalCaller, policy.ApprovalHuman} {
		var c clock.Fake
		dir := commanded(t, commands)
		require.NoError(t, prepared(t, dir, &c)())
		door := sampleDoorOver(t, dir, &c, who)
		call := func(name tool.Name, token confirm.Token) tool.Outcome {
			return door.Call(t.Context(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: name, Args: json.RawMessage(map[tool.Name]string{"deploy": `{}`, "deploy_apply": `{"yes":true}`}[name]), Token: token})
		}
		offered := call("deploy", confirm.Token{})
		require.NotNil(t, offered.Request, "%v", offered.Err)
		require.Error(t, call("deploy_apply", confirm.Token{}).Err, "without its token it is refused, whatever there is to do")
		done := call("deploy_apply", offered.Request.Token)
		require.NoError(t, done.Err)
		assert.Contains(t, string(done.Value), "no_changes")
		assert.Error(t, call("deploy_apply", offered.Request.Token).Err, "a token is good once")
		waiting, err := door.Confirmations(t.Context(), "")
		require.NoError(t, err)
		assert.Empty(t, waiting)
	}
}

// prepared returns a planned deployment, ready to be applied.
func prepared(t *testing.T, dir string, c *clock.Fake) func() error {
	t.Helper()
	wired := wiredOver(dir, c)
	entries := deployments.Capability(deployments.Deps{Compiler: wired.Compiler, Planner: wired.Planner, Recovery: wired.Machine, Differ: docedit.Differ{},
		History: wired.Git, Remote: wired.Git, Clock: c, Version: "test"}).Entries
	at := slices.IndexFunc(entries, func(e tool.Entry) bool { return e.Spec.Name == "deploy_apply" })
	i, err := entries[at].Handler.Decode(json.RawMessage(`{"yes":true}`))
	require.NoError(t, err)
	sc := tool.Scope{Progress: func(tool.Progress) {}}
	p, err := i.Prepare(t.Context(), sc)
	require.NoError(t, err)
	return func() error {
		_, err := i.Commit(t.Context(), sc, p)
		return err
	}
}

func wiredOver(dir string, c *clock.Fake) deployrig.Wired {
	wired := deployrig.Wire(deployrig.Wiring{Dir: filepath.Join(dir, "project"), Index: filepath.Join(dir, "index"), Clock: c,
		Env: map[string]string{"HOME": filepath.Join(dir, "home"), "AGENTPACK_HOME": filepath.Join(dir, "pack"), "AGENTPACK_MACHINE_ID": "workbench"}})
	wired.Compiler.Offline = true
	return wired
}
