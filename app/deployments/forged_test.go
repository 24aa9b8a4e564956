package deployments_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// audited returns a rig whose audit log knows what was deployed.
func audited(t *testing.T) *owners {
	o := newOwners(t)
	o.Audit = deployrig.NewAudit()
	o.In(o.Project)
	o.Use()
	return o
}

// state returns a file of the home's records.
func (o *owners) state(name string) string {
	return filepath.Join(o.UserHome, ".agentpack", "state", name)
}

// record returns the record of the user's directory of commands.
func (o *owners) record() string {
	o.T.Helper()
	records, err := filepath.Glob(o.state("owned/*.json"))
	require.NoError(o.T, err)
	for _, file := range records {
		if text := o.Read("/", file); strings.Contains(text, `"team.md"`) && strings.Contains(text, "home/.claude") {
			return file
		}
	}
	require.Fail(o.T, "nothing is recorded")
	return ""
}

// lists adds a file to a record, with the sum of a text.
func (o *owners) lists(record, path, text string) {
	o.T.Helper()
	was := o.Read("/", record)
	now := strings.Replace(was, `"managed_files": [`, fmt.Sprintf(`"managed_files": [{"path":%q,"sha256":"%s"},`, path, deployment.SumOf([]byte(text))), 1)
	require.NotEqual(o.T, was, now)
	require.NoError(o.T, os.WriteFile(record, []byte(now), 0o600))
}

// risk returns the risk of a tool's plan.
func (o *owners) risk(name tool.Name, args string) policy.Risk {
	o.T.Helper()
	return o.Prepare(o.Entries, name, args).(interface{ Assessment() policy.Assessment }).Assessment().Risk
}

// TestAForgedRecordIsNoReasonToDelete: a file that a program added to the home's records, with the right sum, is not deleted, and the plan says so.
func TestAForgedRecordIsNoReasonToDelete(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	assert.Contains(t, o.plans(o.Repo.Dir), nothing)
	record := o.record()
	kept := o.Read("/", record)
	o.Write(o.UserHome, ".claude/commands/diary.md", "dear diary\n")
	o.lists(record, "diary.md", "dear diary\n")

	said := o.plans(o.Repo.Dir)
	assert.Contains(t, said, `"delete":0`)
	assert.Contains(t, said, "the audit log does not confirm that these were deployed, so they are kept and are now unmanaged: /home/.claude/commands/diary.md")
	assert.NotContains(t, o.status(o.Repo.Dir), `"state":"changed_upstream"`)
	back, err := json.Marshal(o.Prepare(o.Entries, "rollback", `{"yes":true,"to":"initial"}`))
	require.NoError(t, err)
	assert.Contains(t, o.Plain(string(back)), `"path":"/project/.claude/commands/team.md"`)
	assert.NotContains(t, o.Plain(string(back)), `"path":"/home`, "what cannot be told apart stays")

	// The next deployment records it again without approval: nothing is overwritten.
	o.deploys(o.Repo.Dir, "")
	assert.NotContains(t, o.plans(o.Repo.Dir), "audit")
	o.back(o.Repo.Dir, "initial")
	assert.NoFileExists(t, filepath.Join(o.UserHome, ".claude/commands/team.md"))
	require.FileExists(t, filepath.Join(o.UserHome, ".claude/commands/diary.md"))

	// A record from another day does not count, although it once did.
	o.deploys(o.Repo.Dir, "")
	require.NoError(t, os.WriteFile(o.record(), []byte(kept), 0o600))
	assert.Contains(t, o.plans(o.Repo.Dir), "the audit log does not match the ownership record")
}

// TestAForgedRecordIsNoReasonToRead: a private file at a path that a config repository wants is not treated as an edit of what was deployed, and not
// proposed.
func TestAForgedRecordIsNoReasonToRead(t *testing.T) {
	for name, forge := range map[string]func(o *owners, text string){
		"in the home": func(o *owners, text string) { o.lists(o.record(), "mine.md", text) },
		"beside the files": func(o *owners, text string) {
			o.Write(o.UserHome, ".claude/commands/.agentpack.manifest.claude_code.json", fmt.Sprintf(
				`{"schema_version":1,"generated_at":"2026-01-01T00:00:00Z","tool":"claude_code","managed_files":[{"path":"mine.md","sha256":%q,"module_ids":["command:mine"]}]}`, deployment.SumOf([]byte(text))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := audited(t)
			o.deploys(o.Repo.Dir, "")
			o.Write(o.UserHome, ".claude/commands/mine.md", "---\ndescription: mine\n---\nprivate\n")
			text := "---\ndescription: mine\n---\nMine.\n"
			o.Write(o.Repo.Dir, "mine.md", text)
			o.Write(o.Repo.Dir, "agentpack.yaml", o.Read(o.Repo.Dir, "agentpack.yaml")+"  - {id: \"command:mine\", type: command, tags: [base], source: {local_path: {path: mine.md}}}\n")
			forge(o, text)
			said := o.proposes(o.Repo.Dir)
			assert.NotContains(t, said, "private")
			assert.NotContains(t, said, "candidates")
			o.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
		})
	}
}

// TestAManifestBesideTheFilesDeletesNothingUnasked: it may have come with a cloned project.
func TestAManifestBesideTheFilesDeletesNothingUnasked(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	o.Write(o.UserHome, ".claude/commands/.agentpack.manifest.claude_code.json", fmt.Sprintf(
		`{"schema_version":1,"generated_at":"2026-01-01T00:00:00Z","tool":"claude_code","managed_files":[{"path":"diary.md","sha256":%q}]}`, deployment.SumOf([]byte("dear diary\n"))))
	o.Write(o.UserHome, ".claude/commands/diary.md", "dear diary\n")
	said := o.plans(o.Repo.Dir)
	assert.Contains(t, said, `"delete_kind":"drifted_delete"`)
	assert.Contains(t, said, "not deployed according to the audit log: only the ownership manifest lists it")
	assert.Contains(t, said, "review each: /home/.claude/commands/diary.md")
	assert.NotContains(t, said, `"state":"changed_upstream"`)
	assert.Equal(t, policy.RiskHigh, o.risk("deploy_apply", `{"yes":true}`))
	o.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt)
}

// TestAForgedOriginalIsCalledOne: an original that only a file of the home records is restored with a note that says so, and is high risk.
func TestAForgedOriginalIsCalledOne(t *testing.T) {
	o := audited(t)
	o.Write(o.UserHome, ".claude/commands/both.md", "as it was\n")
	o.deploys(o.Repo.Dir, `,"adopt":true`)
	said := o.Must("rollback", fmt.Sprintf(`{"repo":%q,"yes":true,"to":"initial"}`, o.Repo.Dir))
	assert.Contains(t, said, `"reason":"original restored"`)
	o.deploys(o.Repo.Dir, `,"adopt":true`)

	var all []map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.Read("/", o.state("originals.json"))), &all))
	for _, entry := range all { // the content is in the blob store: it was deployed
		if strings.HasSuffix(entry["path"].(string), "both.md") {
			entry["sha256"] = deployment.SumOf([]byte("---\ndescription: team\n---\nTeam.\n")).String()
		}
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(o.state("originals.json"), text, 0o600))
	back := fmt.Sprintf(`{"repo":%q,"yes":true,"to":"initial"}`, o.Repo.Dir)
	assert.Equal(t, policy.RiskHigh, o.risk("rollback", back))

	// Other entries stay unchanged, however often operations write the list.
	o.Write(o.UserHome, ".claude/commands/mine.md", "another original\n")
	o.deploys(o.mine, `,"adopt":true`)
	said = o.Must("rollback", back)
	assert.Contains(t, said, `"reason":"previous content, known only from a file"`)
	assert.Contains(t, said, "the audit log does not confirm that these were deployed or what they replaced")
	assert.NotContains(t, said, "original restored")
}

// TestAForgedSnapshotIsOfHighRisk: a rollback to a state that was never deployed says so.
func TestAForgedSnapshotIsOfHighRisk(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	all, err := filepath.Glob(o.state("snapshots/*.json"))
	require.NoError(t, err)
	require.Len(t, all, 1)
	id := strings.TrimSuffix(filepath.Base(all[0]), ".json")
	back := fmt.Sprintf(`{"yes":true,"to":%q}`, id)
	o.Write(o.UserHome, ".claude/commands/team.md", "edited\n")
	assert.NotEqual(t, policy.RiskHigh, o.risk("rollback", back), "one that a deployment wrote is like any plan")
	text := o.Read("/", all[0])
	require.NoError(t, os.WriteFile(all[0], []byte(strings.Replace(text, "team.md", "else.md", 1)), 0o600))
	assert.Equal(t, policy.RiskHigh, o.risk("rollback", back))
	assert.Contains(t, o.Must("rollback", back), "the audit does not know this record of a snapshot")
}

// TestAForgedListMakesNobodyAnHeir: the identity of config repositories is recorded in the audit log, too.
func TestAForgedListMakesNobodyAnHeir(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	o.deploys(o.mine, "")
	id := o.Read("/", o.state("repositories.json"))
	require.Contains(t, id, o.mine)
	require.NoError(t, os.WriteFile(o.state("repositories.json"), []byte(fmt.Sprintf(`[{"id":%q,"path":%q}]`, o.Repo.Dir, o.mine)), 0o600))
	assert.Contains(t, o.plans(o.mine), nothing, "mine does not delete what the team deployed")
	assert.Contains(t, o.plans(o.Repo.Dir), nothing)
}

// TestRecordsAreKnownAfterACrash: after an operation is undone the records are known as before it, after it is finished as it left them.
func TestRecordsAreKnownAfterACrash(t *testing.T) {
	o := audited(t)
	o.deploys(o.Repo.Dir, "")
	for n, at := range [][2]string{{"listed", "undo"}, {"listed", "resume"}, {"recorded", "undo"}} { // sums.json is listed last; the audit log knows it before the snapshot is recorded
		o.Write(o.Repo.Dir, "team.md", fmt.Sprintf("---\ndescription: team\n---\nChanged %d.\n", n))
		type died struct{}
		o.Step = func(step, path string) {
			if step == at[0] && (step != "listed" || strings.HasSuffix(path, "sums.json")) {
				panic(died{})
			}
		}
		o.In(o.Project)
		o.Use()
		assert.PanicsWithValue(t, died{}, func() { o.deploys(o.Repo.Dir, "") })
		o.Step = nil
		o.In(o.Project)
		o.Use()
		o.Must("agents_recover", fmt.Sprintf(`{"yes":true,"kind":%q}`, at[1]))
		said := o.plans(o.Repo.Dir)
		assert.NotContains(t, said, "audit")
		if at[1] == "undo" {
			assert.Contains(t, said, `"update_kind":"managed_update"`)
		} else {
			assert.Contains(t, said, nothing)
		}
	}
}
