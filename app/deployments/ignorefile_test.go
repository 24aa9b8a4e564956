package deployments_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// TestWhatIsDeployedIsIgnoredByGit: with the option, a section of the project's .gitignore lists the files of the targets; it is updated by
// deployments, leaves every other line alone, and is removed by a rollback and without the option.
func TestWhatIsDeployedIsIgnoredByGit(t *testing.T) {
	r := deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both, options: {gitignore: true}}
  claude_code: {mode: files, scope: both, options: {gitignore: true}}
  cursor: {mode: files, scope: project}
modules:
  - {id: "instructions:all", type: instructions, tags: [base], source: {local_path: {path: modules/all}}}
  - {id: "command:go", type: command, tags: [base], targets: [claude_code, cursor], source: {local_path: {path: modules/go.md}}}
  - {id: "command:stop", type: command, tags: [base], targets: [claude_code], source: {local_path: {path: modules/stop.md}}}
-- modules/stop.md --
---
description: Stops
---
Stop.
-- modules/all/AGENTS.md --
# All
-- modules/go.md --
---
description: Goes
---
Go.
`)
	r.Entries = deployments.Capability(deployments.Deps{Compiler: r.Compiler, Planner: r.Planner, Recovery: r.Machine, Differ: docedit.Differ{}, History: r.Git, Remote: r.Git, Clock: r.Clock}).Entries
	before := "bin/"
	r.Write(r.Project, ".gitignore", before)
	ignored := func() string {
		text, err := os.ReadFile(filepath.Join(r.Project, ".gitignore"))
		require.NoError(t, err)
		return string(text)
	}
	assert.Contains(t, r.Plain(r.Must("plan", `{}`)), `"path":"/project/.gitignore","path_posix":"/project/.gitignore","reason":"managed part missing"`)
	r.Must("deploy_apply", `{"yes":true}`)
	const head = "bin/\n# agentpack:begin no-newline\n"
	assert.Equal(t, head+"/.claude/commands/go.md\n/.claude/commands/stop.md\n/AGENTS.md\n# agentpack:end\n", ignored(), "of both targets; not of the third")
	assert.Contains(t, r.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)
	assert.Contains(t, r.Must("deploy_apply", `{"yes":true,"target":"codex"}`), `"reason":"no_changes"`)

	r.Write(r.Project, ".gitignore", "dist/\n"+ignored()+"tmp/\n")
	assert.Contains(t, r.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`, "the rest is the user's")
	replace(r, r.Project, ".gitignore", "dist/\n", "")
	replace(r, r.Project, ".gitignore", "tmp/\n", "")

	replace(r, r.Repo.Dir, "agentpack.yaml", "codex: {mode: files, scope: both, options: {gitignore: true}}", "codex: {mode: files, scope: both}")
	r.Must("deploy_apply", `{"yes":true}`)
	assert.Equal(t, head+"/.claude/commands/go.md\n/.claude/commands/stop.md\n# agentpack:end\n", ignored())
	replace(r, r.Project, ".gitignore", "/.claude/commands/go.md\n", "/.claude/commands/go.md\n/mine\n")
	assert.Contains(t, r.Must("evolve_propose", `{"yes":true}`), `"no_drift"`, "a line of the user's own there is no edit of ours")
	replace(r, r.Project, ".gitignore", "/.claude/commands/go.md\n", "")
	assert.Contains(t, r.Must("evolve_propose", `{"yes":true}`), `"reason_code":"generated"`)
	replace(r, r.Project, ".gitignore", "/mine\n", "/.claude/commands/go.md\n")

	r.Must("rollback", `{"to":"initial","yes":true}`)
	assert.Equal(t, before, ignored(), "to the byte")
	require.NoError(t, os.Remove(filepath.Join(r.Project, ".gitignore")))
	r.Must("deploy_apply", `{"yes":true}`)
	assert.Equal(t, "# agentpack:begin\n/.claude/commands/go.md\n/.claude/commands/stop.md\n# agentpack:end\n", ignored())
	replace(r, r.Repo.Dir, "agentpack.yaml", "options: {gitignore: true}", "options: {}")
	r.Must("deploy_apply", `{"yes":true}`)
	assert.NoFileExists(t, filepath.Join(r.Project, ".gitignore"), "what a deployment made goes with its last line")
}
