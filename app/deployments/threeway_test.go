package deployments_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// teamRepo is a config repository of whole files, of a file of two modules, of a managed block, of a server and of settings.
const teamRepo = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: user}
  opencode: {mode: files, scope: user, options: {write_instructions: false, write_skills: false, write_mcp: false, write_settings: false}}
  claude_code: {mode: files, scope: user, options: {write_instructions: true, instructions_mode: section, write_mcp: true, write_settings: true}}
modules:
  - {id: "instructions:rules", type: instructions, tags: [base], source: {local_path: {path: rules}}}
  - {id: "instructions:style", type: instructions, tags: [base], source: {local_path: {path: style}}}
  - {id: "prompt:review", type: prompt, tags: [base], source: {local_path: {path: review.md}}, targets: [opencode]}
  - {id: "mcp:team", type: mcp, tags: [base], source: {local_path: {path: servers}}, targets: [claude_code]}
  - {id: "settings:team", type: settings, tags: [base], source: {local_path: {path: settings}}, targets: [claude_code]}
-- rules/AGENTS.md --
# Rules
Ask before you push.

Read the tests first.

Small commits.
-- style/AGENTS.md --
# Style
Plain words.
-- review.md --
Review the change.

Look at the tests.

Look at the names.
-- servers/tickets.json --
{
  "command": "npx",
  "args": ["-y", "tickets"],
  "env": {"LEVEL": "info"}
}
-- settings/claude_code.json --
{
  "model": "large",
  "cleanupPeriodDays": 30
}
`

// team returns that repository, deployed.
func team(t *testing.T) *deployrig.Rig {
	t.Helper()
	r := deployrig.New(t, teamRepo)
	r.Entries = deployments.Capability(deployments.Deps{Compiler: r.Compiler, Planner: r.Planner, Recovery: r.Machine, Differ: docedit.Differ{}, History: r.Git, Remote: r.Git, Clock: r.Clock}).Entries
	r.Repo.Git("config", "user.name", "A")
	r.Repo.Git("config", "user.email", "a@example.com")
	r.Must("deploy_apply", `{"yes":true}`)
	return r
}

// replace edits one file in place.
func replace(r *deployrig.Rig, dir, name, old, now string) {
	r.T.Helper()
	text := r.Read(dir, name)
	require.Contains(r.T, text, old)
	r.Write(dir, name, strings.Replace(text, old, now, 1))
}

// upstream edits a module and commits it, as a colleague does.
func upstream(r *deployrig.Rig, name, old, now string) {
	r.T.Helper()
	replace(r, r.Repo.Dir, name, old, now)
	r.Repo.Git("commit", "-qam", "a colleague's change")
}

type statusSeen struct {
	Data struct {
		Drift []struct {
			Kind, State, Path string
		}
		Next   []string       `json:"next_actions"`
		States map[string]int `json:"summary_by_state"`
	}
}

// states returns the states of what differs by the last part of its path, and the advice.
func states(r *deployrig.Rig) (map[string]string, string) {
	r.T.Helper()
	var s statusSeen
	require.NoError(r.T, json.Unmarshal([]byte(r.Must("status", `{}`)), &s))
	out := map[string]string{}
	for _, d := range s.Data.Drift {
		out[filepath.Base(d.Path)] = d.Kind + " " + d.State
	}
	return out, strings.Join(s.Data.Next, "\n")
}

type proposed struct {
	Data struct {
		Created    bool
		Branch     string
		Reason     string
		Files      []string `json:"files_posix"`
		Candidates []struct {
			ModuleID string `json:"module_id"`
			Path     string
			State    string
			Unified  string
			Keys     [][]string
		}
		Skipped []struct {
			Path    string
			Reason  string `json:"reason_code"`
			State   string
			Message string   `json:"reason_message"`
			Modules []string `json:"module_ids"`
			Module  string   `json:"module_id"`
		}
	}
	Warnings []string
}

// propose proposes, and merges the branch as its reviewer would.
func propose(r *deployrig.Rig, args string) (p proposed) {
	r.T.Helper()
	require.NoError(r.T, json.Unmarshal([]byte(r.Must("evolve_propose", args)), &p))
	if p.Data.Created {
		r.Repo.Git("merge", "-q", "--no-edit", p.Data.Branch)
	}
	return p
}

// overlays returns the overlay files of the config repository by the last part of their paths.
func overlays(r *deployrig.Rig) map[string]string {
	r.T.Helper()
	out := map[string]string{}
	for name := range strings.FieldsSeq(r.Repo.Git("ls-files", "overlays")) {
		out[filepath.Base(name)] = r.Repo.Git("show", "HEAD:"+name)
	}
	return out
}

type planSeen struct {
	Data struct {
		Changes []struct {
			Op, Path, State string
			Kind            string `json:"update_kind"`
			Deletes         string `json:"delete_kind"`
		}
	}
	Warnings []string
}

func plan(r *deployrig.Rig) (p planSeen) {
	r.T.Helper()
	require.NoError(r.T, json.Unmarshal([]byte(r.Must("plan", `{}`)), &p))
	return p
}

// TestBothEditsFlow: a colleague changes one line upstream while the user changes another one of the same deployed file. Only the user's line is
// proposed, and after its merge a plain deployment writes the colleague's, overwriting nothing.
func TestBothEditsFlow(t *testing.T) {
	r := team(t)
	prompt := filepath.Join(".config", "opencode", "commands", "review.md")
	upstream(r, "review.md", "Review the change.", "Review the whole change.")
	now, next := states(r)
	assert.Equal(t, map[string]string{"review.md": "modified changed_upstream"}, now)
	assert.Contains(t, next, "deploy --apply")
	assert.NotContains(t, next, "evolve propose", "there is nothing to propose")
	assert.Equal(t, "no_drift", propose(r, `{"dry_run":true}`).Data.Reason, "what is new upstream is not proposed back")

	replace(r, r.UserHome, prompt, "Look at the names.", "Look at the names, too.")
	now, next = states(r)
	assert.Equal(t, map[string]string{"review.md": "modified conflict"}, now)
	assert.NotContains(t, next, "deploy", "it would undo the edit")
	assert.Contains(t, next, "evolve propose")
	p := plan(r)
	require.Len(t, p.Data.Changes, 1)
	assert.Equal(t, "drifted_update conflict", p.Data.Changes[0].Kind+" "+p.Data.Changes[0].State)
	assert.Contains(t, p.Warnings[0], "edits made here")
	assert.Contains(t, p.Warnings[0], "evolve propose")
	_, err := r.Call(r.Entries, "deploy_apply", `{"yes":true}`)
	require.NotNil(t, err)
	assert.Contains(t, err.Details.(deployment.Details)["hint"], "evolve propose")

	made := propose(r, `{"yes":true}`)
	require.True(t, made.Data.Created)
	const both = "Review the whole change.\n\nLook at the tests.\n\nLook at the names, too.\n"
	assert.Equal(t, both, overlays(r)["review.md"]+"\n")
	now, next = states(r)
	assert.Equal(t, map[string]string{"review.md": "modified changed_upstream"}, now, "the edit is upstream now")
	assert.Contains(t, next, "deploy --apply")
	r.Must("deploy_apply", `{"yes":true}`)
	assert.Equal(t, both, r.Read(r.UserHome, prompt))
	now, _ = states(r)
	assert.Empty(t, now)
	assert.Equal(t, "no_drift", propose(r, `{"yes":true}`).Data.Reason)
}

// TestAProposalThatWaits: while all edits are on an unmerged branch, status does not advise to propose them again, and a new proposal reports the
// branch. With one more edit it is different.
func TestAProposalThatWaits(t *testing.T) {
	for _, scope := range []string{"global", "machine"} {
		r := team(t)
		prompt := filepath.Join(".config", "opencode", "commands", "review.md")
		replace(r, r.UserHome, prompt, "Look at the names.", "Look at the names, too.")
		_, next := states(r)
		assert.Contains(t, next, "evolve propose")
		r.Must("evolve_propose", `{"yes":true,"scope":"`+scope+`","branch":"mine"}`)
		now, next := states(r)
		assert.Equal(t, map[string]string{"review.md": "modified edited_here"}, now)
		assert.NotContains(t, next, "evolve propose")
		assert.NotContains(t, next, "deploy", "it would undo the edit")
		const waits = "the edits made here are proposed on the branch mine already, which is not merged: git -C /repo merge mine takes them over"
		assert.Contains(t, r.Must("status", `{}`), waits)
		assert.Contains(t, r.Must("evolve_propose", `{"dry_run":true,"scope":"`+scope+`"}`), waits)

		replace(r, r.UserHome, prompt, "Look at the tests.", "Look at the tests, slowly.")
		_, next = states(r)
		assert.Contains(t, next, "evolve propose")
		replace(r, r.UserHome, prompt, "Look at the tests, slowly.", "Look at the tests.")
		r.Repo.Git("merge", "-q", "mine")
		now, next = states(r)
		assert.Empty(t, now)
		assert.NotContains(t, next, "evolve propose")
		assert.NotContains(t, r.Must("status", `{}`), "not merged")
	}
}

// TestSettingsComeBackAsTheyWere: a document with the user's own keys, in an unusual layout, is restored to the byte by a rollback; if the user has
// written to it since, only the managed keys are removed.
func TestSettingsComeBackAsTheyWere(t *testing.T) {
	r := team(t)
	r.Must("rollback", `{"yes":true,"to":"initial"}`)
	r.Write(r.Repo.Dir, "settings/claude_code.json", `{"model": "large", "cleanupPeriodDays": 30, "permissions": {"allow": ["Bash(make:*)"]}}`)
	for _, was := range []string{
		"{\n      \"theme\":\"dark\"  ,\n\t\"permissions\" : { \"allow\": [ \"Read\",\"Bash(ls:*)\" ] , \"deny\": []},\n\n  \"cleanupPeriodDays\":   20}",
		`{"theme": "dark", "permissions": {"allow": ["Read"]}, "cleanupPeriodDays": 20}`,
	} {
		for _, mine := range []string{`"theme"`, `"mine": 1, "theme"`} {
			r.Write(r.UserHome, ".claude/settings.json", was)
			r.Clock.Advance(time.Second)
			r.Must("deploy_apply", `{"yes":true,"adopt":true}`)
			deployed := r.Read(r.UserHome, ".claude/settings.json")
			assert.Contains(t, deployed, "Bash(make:*)")
			r.Write(r.UserHome, ".claude/settings.json", strings.Replace(deployed, `"theme"`, mine, 1))
			r.Clock.Advance(time.Second)
			r.Must("rollback", `{"yes":true,"to":"initial"}`)
			assert.Equal(t, strings.Replace(was, `"theme"`, mine, 1), r.Read(r.UserHome, ".claude/settings.json"))
		}
	}
}

// TestAConflictStaysOne: until it is resolved it is reported, and never proposed in part or reverted.
func TestAConflictStaysOne(t *testing.T) {
	r := team(t)
	prompt := filepath.Join(".config", "opencode", "commands", "review.md")
	upstream(r, "review.md", "Look at the tests.", "Look at all tests.")
	replace(r, r.UserHome, prompt, "Look at the tests.", "Look at the tests, slowly.")
	for range 2 {
		p := propose(r, `{"yes":true}`)
		assert.Equal(t, "no_proposeable_drift", p.Data.Reason)
		require.Len(t, p.Data.Skipped, 1)
		assert.Equal(t, "conflict conflict prompt:review", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].State+" "+p.Data.Skipped[0].Module)
	}
	replace(r, r.UserHome, prompt, "Look at the tests, slowly.", "Look at all tests.\nSlowly.") // the user takes the colleague's line over
	require.True(t, propose(r, `{"yes":true}`).Data.Created)
	assert.Contains(t, overlays(r)["review.md"], "Look at all tests.\nSlowly.")
	now, _ := states(r)
	assert.Empty(t, now)
}

// TestTextBehindTheLastMark: text appended to a file of several modules belongs to none of them. The skip says where to write it, and that works.
func TestTextBehindTheLastMark(t *testing.T) {
	r := team(t)
	agents := filepath.Join(".codex", "AGENTS.md")
	deployed := r.Read(r.UserHome, agents)
	where := ". What a module is to say stands in /home/.codex/AGENTS.md behind <!-- agentpack:module=instructions:rules --> or <!-- agentpack:module=instructions:style -->" +
		" and before the next <!-- /agentpack -->, each of them on a line of its own: write it there, then repeat countersign agents --repo /repo evolve propose"
	for added, says := range map[string]string{
		"Be kind.\n": "the marks between the modules were changed, so that the edit cannot be assigned to a module: line 15 has other text after <!-- /agentpack -->," +
			" which ends section \"instructions:style\"; put the mark on a separate line",
		"\nBe kind.\n": "only text that belongs to no module was changed",
	} {
		r.Write(r.UserHome, agents, deployed+added)
		p := propose(r, `{"yes":true}`)
		assert.Equal(t, "no_proposeable_drift", p.Data.Reason)
		require.Len(t, p.Data.Skipped, 1)
		assert.Equal(t, "multi_module_output", p.Data.Skipped[0].Reason)
		assert.Equal(t, says+where, p.Data.Skipped[0].Message)
	}
	r.Write(r.UserHome, agents, strings.Replace(deployed, "Plain words.\n", "Plain words.\nBe kind.\n", 1))
	assert.True(t, propose(r, `{"yes":true}`).Data.Created)
}

// TestModulesComeAndGo: in a file of several modules each one's text is merged separately. Upstream's removal of a module is never reverted by a
// proposal, and an edit of the removed text is reported.
func TestModulesComeAndGo(t *testing.T) {
	r := team(t)
	agents := filepath.Join(".codex", "AGENTS.md")
	upstream(r, "agentpack.yaml", `"instructions:style", type: instructions, tags: [base]`, `"instructions:style", type: instructions, tags: [later]`)
	upstream(r, "rules/AGENTS.md", "# Rules", "# Our rules")
	now, _ := states(r)
	assert.Equal(t, "modified changed_upstream", now["AGENTS.md"])
	assert.Equal(t, "modified changed_upstream", now["CLAUDE.md"])
	assert.Equal(t, "no_drift", propose(r, `{"dry_run":true}`).Data.Reason)

	replace(r, r.UserHome, agents, "Small commits.", "Small commits only.")
	replace(r, r.UserHome, filepath.Join(".claude", "CLAUDE.md"), "Read the tests first.", "Read the tests and the names first.")
	replace(r, r.UserHome, filepath.Join(".claude", "CLAUDE.md"), "Plain words.", "Plain words always.")
	made := propose(r, `{"dry_run":true}`)
	require.Len(t, made.Data.Candidates, 1, "%+v", made)
	made = propose(r, `{"yes":true}`)
	require.True(t, made.Data.Created)
	assert.Equal(t, "# Our rules\nAsk before you push.\n\nRead the tests and the names first.\n\nSmall commits only.", overlays(r)["AGENTS.md"],
		"both edits of one module, on top of the colleague's")
	p := propose(r, `{"dry_run":true}`)
	assert.Equal(t, "no_proposeable_drift", p.Data.Reason)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "removed_upstream instructions:style", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].Module)
	assert.Contains(t, p.Data.Skipped[0].Path, "CLAUDE.md")
	now, _ = states(r)
	assert.Equal(t, "modified changed_upstream", now["AGENTS.md"], "all that was edited there is upstream")
	assert.Equal(t, "modified conflict", now["CLAUDE.md"])
}

// TestWhatWentHereOrUpstream: a file that the user deleted is missing and not proposed; one that was removed upstream is not proposed again, and one
// that was also edited is reported and needs adopt.
func TestWhatWentHereOrUpstream(t *testing.T) {
	r := team(t)
	prompt := filepath.Join(".config", "opencode", "commands", "review.md")
	require.NoError(t, os.Remove(filepath.Join(r.UserHome, prompt)))
	now, next := states(r)
	assert.Equal(t, map[string]string{"review.md": "missing missing"}, now)
	assert.Contains(t, next, "deploy --apply")
	p := propose(r, `{"yes":true}`)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "missing missing", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].State)
	r.Must("evolve_restore", `{"yes":true}`)

	upstream(r, "agentpack.yaml", `"prompt:review", type: prompt, tags: [base]`, `"prompt:review", type: prompt, tags: [later]`)
	now, _ = states(r)
	assert.Equal(t, map[string]string{"review.md": "extra changed_upstream"}, now)
	assert.Equal(t, "no_drift", propose(r, `{"yes":true}`).Data.Reason)
	replace(r, r.UserHome, prompt, "Review", "Please review")
	now, next = states(r)
	assert.Equal(t, map[string]string{"review.md": "extra conflict"}, now)
	assert.NotContains(t, next, "deploy")
	p = propose(r, `{"yes":true}`)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "removed_upstream conflict", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].State)
	change := plan(r).Data.Changes
	require.Len(t, change, 1)
	assert.Equal(t, "drifted_delete conflict", change[0].Deletes+" "+change[0].State)
}

// TestWhatNoDeploymentWrote: it is not an edit, so it is not proposed, and no deployment that overwrites it is advised.
func TestWhatNoDeploymentWrote(t *testing.T) {
	r := team(t)
	r.Write(r.Repo.Dir, "extra.md", "Ours.\n")
	replace(r, r.Repo.Dir, "agentpack.yaml", "modules:\n", "modules:\n  - {id: \"prompt:extra\", type: prompt, tags: [base], source: {local_path: {path: extra.md}}, targets: [opencode]}\n")
	r.Repo.Git("add", "-A")
	r.Repo.Git("commit", "-qm", "one more")
	now, next := states(r)
	assert.Equal(t, map[string]string{"extra.md": "missing not_deployed"}, now)
	assert.Contains(t, next, "deploy --apply")
	r.Write(r.UserHome, ".config/opencode/commands/extra.md", "Mine.\n")
	now, next = states(r)
	assert.Equal(t, map[string]string{"extra.md": "modified not_deployed"}, now)
	assert.NotContains(t, next, "deploy")
	p := propose(r, `{"yes":true}`)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "not_deployed not_deployed", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].State)
}

// TestSingleKeysFlow: a setting and a server that were edited in their documents are proposed as exactly these members of their modules' files, on
// top of a colleague's change of another one; the user's own keys stay the user's.
func TestSingleKeysFlow(t *testing.T) {
	r := team(t)
	settings, servers := filepath.Join(".claude", "settings.json"), ".claude.json"
	upstream(r, "settings/claude_code.json", `"cleanupPeriodDays": 30`, `"cleanupPeriodDays": 60`)
	upstream(r, "servers/tickets.json", `"-y", "tickets"`, `"-y", "tickets@2"`)
	now, _ := states(r)
	assert.Equal(t, map[string]string{"settings.json": "modified changed_upstream", ".claude.json": "modified changed_upstream"}, now)
	assert.Equal(t, "no_drift", propose(r, `{"dry_run":true}`).Data.Reason)

	replace(r, r.UserHome, settings, `"large"`, `"small"`)
	replace(r, r.UserHome, settings, `{`, `{"mine": 1, `)
	replace(r, r.UserHome, servers, `info`, `debug`)
	now, next := states(r)
	assert.Equal(t, map[string]string{"settings.json": "modified conflict", ".claude.json": "modified conflict"}, now)
	assert.NotContains(t, next, "deploy")
	dry := propose(r, `{"dry_run":true}`)
	assert.Contains(t, dry.Data.Candidates[1].Unified, "-  \"model\": \"large\",\n+  \"model\": \"small\",\n")
	require.Len(t, dry.Data.Candidates, 2)
	assert.Equal(t, [][]string{{"mcpServers", "tickets"}}, dry.Data.Candidates[0].Keys)
	assert.Equal(t, [][]string{{"model"}}, dry.Data.Candidates[1].Keys)
	require.True(t, propose(r, `{"yes":true}`).Data.Created)
	shown := overlays(r)
	assert.Equal(t, "{\n  \"model\": \"small\",\n  \"cleanupPeriodDays\": 60\n}", shown["claude_code.json"])
	assert.JSONEq(t, `{"command": "npx", "args": ["-y", "tickets@2"], "env": {"LEVEL": "debug"}}`, shown["tickets.json"])
	r.Must("deploy_apply", `{"yes":true}`)
	assert.JSONEq(t, `{"mine": 1, "model": "small", "cleanupPeriodDays": 60}`, r.Read(r.UserHome, settings))
	now, _ = states(r)
	assert.Empty(t, now)
}

// TestKeysThatConflict: a key that both changed is a conflict, a deleted one is missing, and a secret that was typed into a document is not proposed.
func TestKeysThatConflict(t *testing.T) {
	r := team(t)
	settings, servers := filepath.Join(".claude", "settings.json"), ".claude.json"
	upstream(r, "settings/claude_code.json", `"large"`, `"huge"`)
	replace(r, r.UserHome, settings, `"large"`, `"small"`)
	replace(r, r.UserHome, settings, `30`, `7`)
	replace(r, r.UserHome, servers, `"LEVEL": "info"`, `"LEVEL": "info", "GITHUB_TOKEN": "ghp_`+strings.Repeat("a1B2", 9)+`"`)
	p := propose(r, `{"dry_run":true}`)
	require.Len(t, p.Data.Candidates, 1, "%+v", p)
	assert.Equal(t, [][]string{{"cleanupPeriodDays"}}, p.Data.Candidates[0].Keys)
	made := propose(r, `{"dry_run":true,"module_id":"mcp:team"}`)
	require.Len(t, made.Data.Skipped, 1)
	assert.Equal(t, "secret edited_here", made.Data.Skipped[0].Reason+" "+made.Data.Skipped[0].State)
	made = propose(r, `{"yes":true}`)
	require.True(t, made.Data.Created)
	assert.Len(t, made.Data.Skipped, 2, "what was left out is told beside what was proposed")
	made = propose(r, `{"dry_run":true,"module_id":"settings:team"}`)
	require.Len(t, made.Data.Skipped, 1)
	assert.Equal(t, "conflict conflict", made.Data.Skipped[0].Reason+" "+made.Data.Skipped[0].State)
	assert.Contains(t, made.Data.Skipped[0].Message, "model")
}

// TestAKeyThatBothAdded: the user's own value of a key that is new upstream is only overwritten with adopt.
func TestAKeyThatBothAdded(t *testing.T) {
	r := team(t)
	settings := filepath.Join(".claude", "settings.json")
	replace(r, r.UserHome, settings, `{`, `{"theme": "dark", `)
	now, _ := states(r)
	assert.Empty(t, now, "what is not managed is the user's")
	upstream(r, "settings/claude_code.json", `{`, `{"theme": "light",`)
	now, next := states(r)
	assert.Equal(t, map[string]string{"settings.json": "modified conflict"}, now)
	assert.NotContains(t, next, "deploy")
	change := plan(r).Data.Changes
	require.Len(t, change, 1)
	assert.Equal(t, "adopt_update conflict", change[0].Kind+" "+change[0].State)
	p := propose(r, `{"yes":true}`)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "not_deployed", p.Data.Skipped[0].Reason)
	assert.Contains(t, p.Data.Skipped[0].Message, "theme")
	replace(r, r.UserHome, settings, `"dark"`, `"light"`)
	change = plan(r).Data.Changes
	assert.Empty(t, change, "they agree")
}

// TestWhatWasDeployedOutlivesItsSnapshot: an edit can be merged with what was deployed after the snapshot of that deployment was pruned.
func TestWhatWasDeployedOutlivesItsSnapshot(t *testing.T) {
	r := team(t)
	prompt := filepath.Join(".config", "opencode", "commands", "review.md")
	r.Clock.Advance(time.Second)
	upstream(r, "style/AGENTS.md", "Plain words.", "Plain, short words.")
	r.Must("deploy_apply", `{"yes":true,"target":"claude_code"}`)
	maintenance := deployments.MaintenanceEntries(deployments.MaintenanceDeps{Compiler: r.Compiler, Machine: r.Machine, Snapshots: r.Machine, Recovery: r.Machine, Clock: r.Clock})
	out, err := r.Call(maintenance, "agents_snapshots_prune", `{"yes":true,"keep":1}`)
	require.Nil(t, err, "%v", err)
	require.NotContains(t, out, `"pruned":[]`)
	upstream(r, "review.md", "Review the change.", "Review the whole change.")
	replace(r, r.UserHome, prompt, "Look at the names.", "Look at the names, too.")
	require.True(t, propose(r, `{"yes":true}`).Data.Created)
	assert.Equal(t, "Review the whole change.\n\nLook at the tests.\n\nLook at the names, too.", overlays(r)["review.md"])
}

// TestWhatIsKeptNowhere: if the deployed content is lost, the edit is unknown, unless the config repository still has that content. Nothing is
// guessed.
func TestWhatIsKeptNowhere(t *testing.T) {
	r := team(t)
	prompt := filepath.Join(".config", "opencode", "commands", "review.md")
	require.NoError(t, os.RemoveAll(filepath.Join(r.UserHome, ".agentpack", "state", "vault")))
	replace(r, r.UserHome, prompt, "Look at the names.", "Look at the names, too.")
	require.Len(t, propose(r, `{"dry_run":true}`).Data.Candidates, 1, "the config repository says what was deployed")
	upstream(r, "review.md", "Review the change.", "Review the whole change.")
	p := propose(r, `{"dry_run":true}`)
	assert.Empty(t, p.Data.Candidates)
	require.Len(t, p.Data.Skipped, 1)
	assert.Equal(t, "base_unknown conflict", p.Data.Skipped[0].Reason+" "+p.Data.Skipped[0].State)
}

// TestAFileOfTwoTargetsIsCountedOnce: status counts files, as a plan does; and files that are no longer wanted are distinguished from changed ones.
func TestAFileOfTwoTargetsIsCountedOnce(t *testing.T) {
	r := deployrig.New(t, `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: project}
  opencode: {mode: files, scope: project}
modules:
  - {id: "instructions:all", type: instructions, tags: [base], source: {local_path: {path: modules/all}}}
  - {id: "prompt:hello", type: prompt, tags: [base], targets: [opencode], source: {local_path: {path: modules/hello.md}}}
-- modules/all/AGENTS.md --
# All
-- modules/hello.md --
Say hello.
`)
	r.Entries = deployments.Capability(deployments.Deps{Compiler: r.Compiler, Planner: r.Planner, Recovery: r.Machine, Differ: docedit.Differ{}, History: r.Git, Remote: r.Git, Clock: r.Clock}).Entries
	r.Must("deploy_apply", `{"yes":true}`)
	counts := func() map[string]int {
		var s statusSeen
		require.NoError(t, json.Unmarshal([]byte(r.Must("status", `{}`)), &s))
		maps.DeleteFunc(s.Data.States, func(_ string, n int) bool { return n == 0 })
		return s.Data.States
	}
	assert.Equal(t, map[string]int{"up_to_date": 2}, counts(), "AGENTS.md is one")
	replace(r, r.Repo.Dir, "agentpack.yaml", "targets: [opencode]", "enabled: false")
	assert.Equal(t, map[string]int{"up_to_date": 1, "changed_upstream": 1, "not_wanted": 1}, counts())
	replace(r, r.Project, "AGENTS.md", "All", "Mine")
	assert.Equal(t, map[string]int{"edited_here": 1, "changed_upstream": 1, "not_wanted": 1}, counts())
	assert.Contains(t, r.Fails("deploy_apply", `{"yes":true}`, deployment.ErrAdopt).Message, "AGENTS.md was not written by a deployment, or was edited since")
}
