package deployments_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ownersRepo and ownersMine are two config repositories, each with files of its own, and some files and keys in common.
const ownersRepo = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  claude_code: {mode: files, scope: both, options: {write_user_skills: true, write_repo_skills: true}}
modules:
  - {id: "command:team", type: command, tags: [base], source: {local_path: {path: team.md}}}
  - {id: "command:both", type: command, tags: [base], source: {local_path: {path: both.md}}}
  - {id: "skill:here", type: skill, tags: [base], scope: project, source: {local_path: {path: here}}}
  - {id: "mcp:team", type: mcp, tags: [base], scope: project, source: {local_path: {path: servers}}}
-- team.md --
---
description: team
---
Team.
-- both.md --
---
description: both
---
As the team says.
-- here/SKILL.md --
---
name: here
description: here
---
-- servers/tickets.json --
{"command": "tickets"}
`

var ownersMine = map[string]string{
	"agentpack.yaml": `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  claude_code: {mode: files, scope: both}
modules:
  - {id: "command:mine", type: command, tags: [base], source: {local_path: {path: mine.md}}}
  - {id: "mcp:mine", type: mcp, tags: [base], scope: project, source: {local_path: {path: servers}}}
`,
	"mine.md":            "---\ndescription: mine\n---\nMine.\n",
	"both.md":            "---\ndescription: both\n---\nAs I say.\n",
	"servers/notes.json": `{"command": "notes"}`,
}

const wantsBoth = "  - {id: \"command:both\", type: command, tags: [base], source: {local_path: {path: both.md}}}\n"

// owners is a rig whose repository is the team's, with one of the user's own beside it.
type owners struct {
	*deployrig.Rig
	mine string
}

func newOwners(t *testing.T) *owners {
	o := &owners{Rig: deployrig.New(t, ownersRepo)}
	o.mine = filepath.Join(filepath.Dir(o.UserHome), "mine")
	for name, text := range ownersMine {
		o.Write(o.mine, name, text)
	}
	o.Use()
	return o
}

// Use makes the tools for the rig's present project.
func (o *owners) Use() {
	d := deployments.Deps{Compiler: o.Compiler, Planner: o.Planner, Recovery: o.Machine, Differ: docedit.Differ{}, History: o.Git, Remote: o.Git, Clock: o.Clock}
	o.Entries = append(append(deployments.Capability(d).Entries, deployments.UneditedEntries(d)...), deployments.MaintenanceEntries(deployments.MaintenanceDeps{Compiler: o.Compiler, Machine: o.Machine, Snapshots: o.Machine,
		Recovery: o.Machine, Registry: o.Machine, Events: configrepo.NewEvents(), Clock: o.Clock, Doctor: deployments.DoctorQuery(d)})...)
}

// At changes to another project.
func (o *owners) At(dir string) {
	require.NoError(o.T, os.MkdirAll(dir, 0o755))
	o.Write(dir, configrepo.MarkerFile, "")
	o.In(dir)
	o.Use()
}

// deploys deploys a repository; more are additional arguments.
func (o *owners) deploys(repo, more string) string {
	o.T.Helper()
	return o.Must("deploy_apply", fmt.Sprintf(`{"repo":%q,"yes":true%s}`, repo, more))
}

func (o *owners) plans(repo string) string {
	o.T.Helper()
	return o.Must("plan", fmt.Sprintf(`{"repo":%q}`, repo))
}

func (o *owners) back(repo, to string) string {
	o.T.Helper()
	return o.Must("rollback", fmt.Sprintf(`{"repo":%q,"yes":true,"to":%q}`, repo, to))
}

// everything returns what a user sees of the home and the project.
func (o *owners) everything() map[string]string {
	o.T.Helper()
	all := o.Tree(o.Project)
	for name, text := range o.Tree(o.UserHome) {
		if !strings.HasPrefix(name, ".agentpack/") && !strings.HasPrefix(name, ".cache/") {
			all["~/"+name] = text
		}
	}
	return all
}

const nothing = `"summary":{"create":0,"delete":0,"update":0}`

func TestTwoRepositoriesServeOneProject(t *testing.T) {
	o := newOwners(t)
	before := o.everything()
	o.deploys(o.Repo.Dir, "")
	team := o.everything()
	for name := range team {
		assert.NotContains(t, name, "manifest", "who owns what is not written beside people's files")
	}
	assert.Contains(t, o.plans(o.mine), `"summary":{"create":2,"delete":0,"update":1}`, "nothing of the team's is a leftover of mine")
	o.deploys(o.mine, "")
	assert.Contains(t, o.Must("agents_snapshots_prune", `{"dry_run":true,"keep":1}`), `"kept":2`, "the last deployment of each of them is needed")
	both := o.everything()
	assert.Contains(t, both[".mcp.json"], "tickets")
	assert.Contains(t, both[".mcp.json"], "notes", "keys of two owners stand side by side")
	assert.Contains(t, o.plans(o.Repo.Dir), nothing)
	assert.Contains(t, o.plans(o.mine), nothing)
	assert.NotContains(t, o.Must("status", fmt.Sprintf(`{"repo":%q}`, o.mine)), `"kind":"extra"`, "what another repository owns is nobody's leftover")

	// Both want one file: the first to deploy it keeps it, until the other one adopts it.
	o.Write(o.mine, "agentpack.yaml", ownersMine["agentpack.yaml"]+wantsBoth)
	said := o.plans(o.mine)
	assert.Contains(t, said, `"reason":"belongs to the config repository /repo"`)
	assert.Contains(t, said, "the config repository /repo deployed /home/.claude/commands/both.md")
	refused := o.Fails("deploy_apply", fmt.Sprintf(`{"repo":%q,"yes":true}`, o.mine), deployment.ErrAdopt)
	assert.Equal(t, 2, refused.Details.(deployment.Details)["adopt_updates"])
	assert.Equal(t, both, o.everything())
	o.deploys(o.mine, `,"adopt":true`)
	adopted := o.everything()
	assert.Contains(t, adopted["~/.claude/commands/both.md"], "As I say.")
	assert.Contains(t, o.plans(o.Repo.Dir), "belongs to the config repository "+o.Plain(o.mine), "now it is the other one that would have to adopt it")

	// A rollback affects one owner.
	said = o.back(o.Repo.Dir, "initial")
	assert.Contains(t, said, "not included: ")
	left := o.everything()
	assert.Contains(t, left["~/.claude/commands/both.md"], "As I say.")
	assert.Contains(t, left[".mcp.json"], "notes")
	assert.NotContains(t, left[".mcp.json"], "tickets")
	assert.NotContains(t, left, "~/.claude/commands/team.md")
	assert.Contains(t, o.plans(o.mine), nothing, "nothing of mine is missing")
	o.back(o.mine, "initial")
	assert.Equal(t, before, o.everything())
}

func TestTwoRepositoriesShareWhatTheyAgreeOn(t *testing.T) {
	o := newOwners(t)
	o.Write(o.mine, "agentpack.yaml", ownersMine["agentpack.yaml"]+wantsBoth)
	o.Write(o.mine, "both.md", "---\ndescription: both\n---\nAs the team says.\n")
	o.deploys(o.Repo.Dir, "")
	o.deploys(o.mine, "")
	o.back(o.Repo.Dir, "initial")
	assert.Contains(t, o.everything(), "~/.claude/commands/both.md", "the other one has it still")
	o.back(o.mine, "initial")
	assert.NotContains(t, o.everything(), "~/.claude/commands/both.md")
}

func TestTwoProjectsOfOneRepository(t *testing.T) {
	o := newOwners(t)
	other := filepath.Join(filepath.Dir(o.Project), "other")
	o.deploys(o.Repo.Dir, "")
	first := o.everything()
	o.At(other)
	assert.Contains(t, o.plans(o.Repo.Dir), `"summary":{"create":4,"delete":0,"update":0}`, "what is the user's is there already")
	o.deploys(o.Repo.Dir, "")
	assert.Equal(t, first, o.everything(), "the first project is as it was")
	assert.Contains(t, o.back(o.Repo.Dir, "initial"), "/home/.claude/commands stays as it is: the project /project deploys there too; it goes when that one goes back")
	assert.Equal(t, first, o.everything())
	assert.Equal(t, []string{configrepo.MarkerFile}, slicesOf(o.Tree(other)))
}

func slicesOf(tree map[string]string) (names []string) {
	for name := range maps.Keys(tree) {
		names = append(names, name)
	}
	return names
}

func TestManifestsOfEarlierVersionsAreTakenOver(t *testing.T) {
	o := newOwners(t)
	o.deploys(o.Repo.Dir, "")
	want := o.everything()
	state := filepath.Join(o.UserHome, ".agentpack", "state")
	earlier := func() map[string]string { // as an earlier version left it: manifests beside the files, nothing in the home
		out := o.Must("agents_manifests_write", `{"yes":true}`)
		assert.Contains(t, out, `"written":true`)
		require.NoError(t, os.RemoveAll(filepath.Join(state, "owned")))
		return o.everything()
	}
	with := earlier()
	require.Len(t, with, len(want)+4, "one in each root that has files")
	assert.Contains(t, with[".claude/skills/.agentpack.manifest.claude_code.json"], `"path": "here/SKILL.md"`)
	assert.NotContains(t, with[".claude/skills/.agentpack.manifest.claude_code.json"], "repo")

	planned := o.plans(o.Repo.Dir)
	assert.Contains(t, planned, nothing)
	assert.Contains(t, planned, "these ownership manifests are moved to COUNTERSIGN_HOME")
	assert.Contains(t, planned, "/project/.claude/skills/.agentpack.manifest.claude_code.json")
	assert.Contains(t, o.plans(o.mine), `"delete":0`, "they are whose deployments wrote there, and not of whoever comes by")
	o.deploys(o.Repo.Dir, "")
	assert.Equal(t, want, o.everything(), "and nothing else changed")
	assert.NotContains(t, o.plans(o.Repo.Dir), "taken over")

	// A file that has left the repository is found through the manifest, and an edited one is not deleted without adopt.
	earlier()
	o.Write(o.Repo.Dir, "agentpack.yaml", strings.NewReplacer("  - {id: \"command:team\"", "  - {enabled: false, id: \"command:team\"",
		"  - {id: \"skill:here\"", "  - {enabled: false, id: \"skill:here\"").Replace(o.Read(o.Repo.Dir, "agentpack.yaml")))
	o.Write(o.UserHome, ".claude/commands/team.md", "edited\n")
	o.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
	assert.Contains(t, o.plans(o.Repo.Dir), `"delete_kind":"drifted_delete"`)
	o.deploys(o.Repo.Dir, `,"adopt":true`)
	assert.NotContains(t, o.everything(), ".claude/skills/here/SKILL.md")
}

func TestAForgedRecordDeletesNothingThatWasNotDeployed(t *testing.T) {
	o := newOwners(t)
	o.deploys(o.Repo.Dir, "")
	o.Write(o.UserHome, ".claude/commands/diary.md", "dear diary\n")
	records, err := filepath.Glob(filepath.Join(o.UserHome, ".agentpack", "state", "owned", "*.json"))
	require.NoError(t, err)
	forged := 0
	for _, file := range records {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, path := range []string{"diary.md", "../diary.md", "/etc/hosts"} {
			entry := fmt.Sprintf(`"managed_files": [{"path":%q,"sha256":"%s"},`, path, deployment.SumOf([]byte("something else")))
			if more := strings.Replace(string(text), `"managed_files": [`, entry, 1); strings.Contains(more, "team.md") && strings.Contains(more, "home/.claude") {
				forged++
				require.NoError(t, os.WriteFile(file, []byte(more), 0o600))
				o.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
				require.NoError(t, os.WriteFile(file, text, 0o600))
			}
			break
		}
	}
	assert.Equal(t, 1, forged)
	require.FileExists(t, filepath.Join(o.UserHome, ".claude/commands/diary.md"))
}

func TestAMovedRepositoryKeepsWhatItOwns(t *testing.T) {
	o := newOwners(t)
	o.deploys(o.Repo.Dir, "")
	moved := filepath.Join(filepath.Dir(o.UserHome), "moved")
	require.NoError(t, os.Rename(o.Repo.Dir, moved))
	assert.Contains(t, o.plans(moved), nothing)
	o.Write(moved, "team.md", "---\ndescription: team\n---\nTeam, moved.\n")
	assert.Contains(t, o.plans(moved), `"update_kind":"managed_update"`)
	o.deploys(moved, "")
	assert.Contains(t, o.plans(moved), nothing)
	o.back(moved, "initial")
	assert.NotContains(t, o.everything(), "~/.claude/commands/team.md")
}

func TestTwoProcessesAtOnceLoseNothing(t *testing.T) {
	o := newOwners(t)
	var all []string
	for n := range 6 {
		repo := fmt.Sprintf("%s-%d", o.mine, n)
		o.Write(repo, "agentpack.yaml", fmt.Sprintf(`version: 1
profiles: {default: {include_tags: [base]}}
targets: {claude_code: {mode: files, scope: user}}
modules: [{id: "command:c%d", type: command, tags: [base], source: {local_path: {path: c%d.md}}}]
`, n, n))
		o.Write(repo, fmt.Sprintf("c%d.md", n), "---\ndescription: c\n---\nC.\n")
		all = append(all, repo)
	}
	failed := make(chan error, len(all))
	for _, repo := range all {
		w := deployrig.Wire(deployrig.Wiring{Dir: o.Project, Clock: o.Clock, Env: map[string]string{"HOME": o.UserHome, "AGENTPACK_MACHINE_ID": "ada"}})
		go func() {
			s, err := w.Compiler.Compile(t.Context(), planner.Selected(planner.Selection{Repo: repo}).Request())
			if err == nil {
				var r planner.Result
				if r, err = w.Planner.Deploy(t.Context(), s); err == nil {
					_, err = w.Machine.Apply(t.Context(), r.Plan.Transaction(s.Place, deployment.KindDeploy, s.Config.LockSum), nil)
				}
			}
			failed <- err
		}()
	}
	for range all {
		require.NoError(t, <-failed)
	}
	for n, repo := range all {
		assert.Contains(t, o.plans(repo), nothing)
		assert.FileExists(t, filepath.Join(o.UserHome, fmt.Sprintf(".claude/commands/c%d.md", n)))
	}
	for _, repo := range all {
		o.back(repo, "initial")
	}
	assert.NoDirExists(t, filepath.Join(o.UserHome, ".claude"))
}

func TestAProjectsOverlayIsForThatProjectAlone(t *testing.T) {
	o := newOwners(t)
	at, err := o.Compiler.Places.Resolve(t.Context(), deployport.Selection{Repo: o.Repo.Dir})
	require.NoError(t, err)
	o.Write(o.Repo.Dir, at.OverlayParent(deployment.ProjectScope)+"/"+deployment.ModuleKey("command:team")+"/team.md", "---\ndescription: team\n---\nHere otherwise.\n")
	o.deploys(o.Repo.Dir, "")
	first := o.everything()
	assert.Contains(t, first[".claude/commands/team.md"], "Here otherwise.")
	assert.Contains(t, first["~/.claude/commands/team.md"], "Team.")
	o.At(filepath.Join(filepath.Dir(o.Project), "other"))
	o.deploys(o.Repo.Dir, "")
	assert.Equal(t, first, o.everything())
	assert.Contains(t, o.Read(filepath.Join(filepath.Dir(o.Project), "other"), ".claude/commands/team.md"), "Team.")
}

// TestTwoRepositoriesInOneAgentsFile: each has a block of its own, in the order of deployment, and the user's text stays around them.
func TestTwoRepositoriesInOneAgentsFile(t *testing.T) {
	o := newOwners(t)
	config := `version: 1
profiles: {default: {include_tags: [base]}}
targets: {codex: {mode: files, scope: project, options: {instructions_mode: section}}}
modules: [{id: "instructions:x", type: instructions, tags: [base], source: {local_path: {path: rules}}}]
`
	for repo, rules := range map[string]string{o.Repo.Dir: "# Team rules\n", o.mine: "# My rules\n"} {
		o.Write(repo, "agentpack.yaml", config)
		o.Write(repo, "rules/AGENTS.md", rules)
	}
	o.Write(o.Project, "AGENTS.md", "# The project's own") // without a final line feed
	before := o.everything()
	o.deploys(o.Repo.Dir, "")
	assert.Contains(t, o.plans(o.mine), `"update_kind":"merge_update"`)
	o.deploys(o.mine, "")
	text := o.Read(o.Project, "AGENTS.md")
	assert.Regexp(t, `(?s)^# The project's own\n\n.*# Team rules\n.*# My rules\n`, text)
	o.Write(o.Repo.Dir, "rules/AGENTS.md", "# Team rules, changed\n")
	assert.Contains(t, o.plans(o.Repo.Dir), `"update_kind":"managed_update"`, "the other one's block is none of its business")
	o.deploys(o.Repo.Dir, "")
	assert.Regexp(t, `(?s)^# The project's own\n\n.*# Team rules, changed\n.*# My rules\n`, o.Read(o.Project, "AGENTS.md"))
	assert.Contains(t, o.plans(o.mine), nothing)
	o.back(o.Repo.Dir, "initial")
	assert.NotContains(t, o.Read(o.Project, "AGENTS.md"), "Team rules")
	assert.Contains(t, o.plans(o.mine), nothing)
	o.back(o.mine, "initial")
	assert.Equal(t, before, o.everything())
}
