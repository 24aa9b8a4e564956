package deployments_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// leaves deploys what was not edited, and returns the data and the warnings.
func (o *owners) leaves(repo string) (d deployments.UneditedData, text string) {
	o.T.Helper()
	text = o.Must("agents_deploy_unedited", fmt.Sprintf(`{"repo":%q,"yes":true}`, repo))
	var answer struct {
		Data deployments.UneditedData `json:"data"`
	}
	require.NoError(o.T, json.Unmarshal([]byte(text), &answer))
	return answer.Data, text
}

// TestTheRestIsDeployed: edited files, files of the user's own and those of another config repository stay as they are, and everything else is
// deployed.
func TestTheRestIsDeployed(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	commands := filepath.Join(o.UserHome, ".claude/commands")
	o.Write(o.mine, "agentpack.yaml", ownersMine["agentpack.yaml"]+wantsBoth)
	o.Write(commands, "mine.md", "the user's own\n")

	d, said := o.leaves(o.mine) // user: mine.md is there, both.md is the team's; project: both.md is, mine.md is not there
	assert.True(t, *d.Applied)
	assert.Len(t, d.Left, 3)
	assert.Contains(t, said, "not written by a deployment, and left as they are: /home/.claude/commands/mine.md;")
	assert.Contains(t, said, "owned by the config repository /repo, and left as they are: /home/.claude/commands/both.md, /project/.claude/commands/both.md;")
	assert.Equal(t, "the user's own\n", o.Read(commands, "mine.md"))
	assert.Contains(t, o.Read(commands, "both.md"), "As the team says.")
	assert.Contains(t, o.Read(o.Project, ".claude/commands/mine.md"), "Mine.")
	assert.Contains(t, o.Read(o.Project, ".mcp.json"), "notes")
	assert.NotContains(t, o.status(o.mine), `"edited_here":1`)

	// An edit stays an edit: it is still proposed, and a later deployment still needs adopt. Deploying the rest again does nothing.
	o.Write(commands, "team.md", "---\ndescription: team\n---\nTeam, edited.\n")
	o.Write(o.Repo.Dir, "team.md", "---\ndescription: team\n---\nTeam upstream.\n")
	o.Write(o.Repo.Dir, "here/SKILL.md", "---\nname: here\ndescription: changed\n---\n")
	d, said = o.leaves(o.Repo.Dir)
	assert.Contains(t, said, "edited here, and left as they are: /home/.claude/commands/team.md; countersign agents evolve propose")
	assert.Equal(t, deployment.Summary{Update: 2}, d.Summary, "the skill, and the command in the project")
	assert.Contains(t, o.Read(commands, "team.md"), "Team, edited.")
	assert.Contains(t, o.Read(o.Project, ".claude/commands/team.md"), "Team upstream.")
	assert.Contains(t, o.status(o.Repo.Dir), `"state":"conflict"`)
	d, _ = o.leaves(o.Repo.Dir)
	assert.False(t, *d.Applied)
	assert.Equal(t, "no_changes", d.Reason)
	refused := o.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
	assert.Contains(t, refused.Details.(deployment.Details)["hint"], "--leave-edited deploys the rest")

	o.back(o.Repo.Dir, "initial")
	assert.NoFileExists(t, filepath.Join(commands, "team.md"), "a way back is about all that was deployed")
}

// TestAChangedModeIsSetBack: a deployment restores the mode that the config repository gives a file, and the plan says that only the mode changes.
func TestAChangedModeIsSetBack(t *testing.T) {
	o := audited(t)
	script := filepath.Join(o.Project, ".claude/skills/here/run.sh")
	o.Write(o.Repo.Dir, "here/run.sh", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(o.Repo.Dir, "here/run.sh"), 0o755))
	o.deploys(o.Repo.Dir, "")
	require.NoError(t, os.Chmod(script, 0o644))
	said := o.plans(o.Repo.Dir)
	assert.Contains(t, said, `"reason":"mode differs"`)
	assert.Contains(t, said, `"update_kind":"managed_update"`)
	assert.Contains(t, o.proposes(o.Repo.Dir), `"reason_code":"mode_only"`)
	o.deploys(o.Repo.Dir, "")
	info, err := os.Stat(script)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}
