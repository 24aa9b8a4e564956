package deployments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// rules makes a repository write its rules into AGENTS.md of the project, for a host.
func (o *owners) rules(repo, host, text string) {
	o.T.Helper()
	o.Write(repo, "agentpack.yaml", fmt.Sprintf(`version: 1
profiles: {default: {include_tags: [base]}}
targets: {%s: {mode: files, scope: project}}
modules: [{id: "instructions:x", type: instructions, tags: [base], source: {local_path: {path: rules}}}]
`, host))
	o.Write(repo, "rules/AGENTS.md", text)
}

func (o *owners) status(repo string) string {
	o.T.Helper()
	return o.Must("status", fmt.Sprintf(`{"repo":%q}`, repo))
}

func (o *owners) proposes(repo string) string {
	o.T.Helper()
	return o.Must("evolve_propose", fmt.Sprintf(`{"repo":%q,"dry_run":true}`, repo))
}

// TestAFileOfTwoHostsChangesHands: the team writes AGENTS.md for one host and the user's own repository writes it for another. It belongs to one of
// them.
func TestAFileOfTwoHostsChangesHands(t *testing.T) {
	for _, hosts := range [][2]string{{"codex", "codex"}, {"codex", "zed"}, {"zed", "codex"}} {
		t.Run(strings.Join(hosts[:], " and "), func(t *testing.T) {
			o := newOwners(t)
			o.rules(o.Repo.Dir, hosts[0], "# Team rules\n")
			o.rules(o.mine, hosts[1], "# My rules\n")
			o.Write(o.Project, "AGENTS.md", "# As it was\n")
			before := o.everything()
			o.deploys(o.Repo.Dir, `,"adopt":true`)

			for range 2 { // there and back, any number of times
				for _, turn := range [][3]string{{o.mine, o.Repo.Dir, "# My rules\n"}, {o.Repo.Dir, o.mine, "# Team rules\n"}} {
					winner, loser, text := turn[0], turn[1], turn[2]
					refused := o.Fails("deploy_apply", fmt.Sprintf(`{"repo":%q,"yes":true}`, winner), deployment.ErrAdopt)
					assert.Contains(t, refused.Message, "AGENTS.md belongs to the config repository "+loser)
					o.deploys(winner, `,"adopt":true`)
					assert.Equal(t, text, o.Read(o.Project, "AGENTS.md"))
					assert.Contains(t, o.plans(winner), nothing)

					// The other one reports it: there are no edits, nothing to propose, and no deployment is advised.
					said := o.status(loser)
					assert.Contains(t, said, `"state":"not_deployed"`)
					assert.Contains(t, said, fmt.Sprintf(`"owned_by":%q`, o.Plain(winner)))
					assert.NotContains(t, said, "deploy --apply")
					assert.NotContains(t, said, "evolve propose")
					said = o.proposes(loser)
					assert.Contains(t, said, `"reason_code":"owned_by_another"`)
					assert.NotContains(t, said, "candidates")
					said = o.plans(loser)
					assert.Contains(t, said, "belongs to the config repository "+o.Plain(winner))
					assert.NotContains(t, said, "edits made here")
				}
			}

			// A repository that no longer wants the file releases it, and can continue.
			o.Write(o.mine, "agentpack.yaml", strings.Replace(o.Read(o.mine, "agentpack.yaml"), "tags: [base]", "tags: [none]", 1))
			o.deploys(o.mine, "")
			assert.Contains(t, o.plans(o.mine), nothing)
			assert.Equal(t, "# Team rules\n", o.Read(o.Project, "AGENTS.md"))
			o.back(o.mine, "initial")
			assert.Equal(t, "# Team rules\n", o.Read(o.Project, "AGENTS.md"))
			o.back(o.Repo.Dir, "initial")
			assert.Equal(t, before, o.everything(), "what the user had before either of them is what comes back")
		})
	}
}

// TestAFileThatTwoAgreeOnIsLetGoOf: both wrote the same, for two hosts; one of them no longer does, and can still be deployed.
func TestAFileThatTwoAgreeOnIsLetGoOf(t *testing.T) {
	o := newOwners(t)
	o.rules(o.Repo.Dir, "codex", "# Rules\n")
	o.rules(o.mine, "zed", "# Rules\n")
	o.Write(o.Project, "AGENTS.md", "# As it was\n")
	before := o.everything()
	o.deploys(o.Repo.Dir, `,"adopt":true`)
	o.deploys(o.mine, "")

	o.Write(o.Project, "AGENTS.md", "# Rules\nand an edit\n")
	assert.Contains(t, o.proposes(o.mine), `+and an edit`, "what both deployed may be edited for both")
	assert.Contains(t, o.status(o.mine), `"state":"edited_here"`)
	o.Write(o.Project, "AGENTS.md", "# Rules\n")

	o.Write(o.mine, "agentpack.yaml", strings.Replace(o.Read(o.mine, "agentpack.yaml"), "tags: [base]", "tags: [none]", 1))
	o.deploys(o.mine, "")
	assert.Contains(t, o.plans(o.mine), nothing)
	assert.Contains(t, o.plans(o.Repo.Dir), nothing)
	o.rules(o.mine, "zed", "# Rules\n")
	o.deploys(o.mine, "")
	o.back(o.Repo.Dir, "initial")
	assert.Equal(t, "# Rules\n", o.Read(o.Project, "AGENTS.md"), "the other one has it still")
	o.back(o.mine, "initial")
	assert.Equal(t, before, o.everything())
}

// TestATargetLeavesAFileToAnotherOne: one repository writes a file for two hosts; one of them is deployed alone, and no longer wants it.
func TestATargetLeavesAFileToAnotherOne(t *testing.T) {
	o := newOwners(t)
	config := `version: 1
profiles: {default: {include_tags: [base]}}
targets: {codex: {mode: files, scope: project}, zed: {mode: files, scope: project}}
modules: [{id: "instructions:x", type: instructions, tags: [base], source: {local_path: {path: rules}}%s}]
`
	o.Write(o.mine, "agentpack.yaml", fmt.Sprintf(config, ""))
	o.Write(o.mine, "rules/AGENTS.md", "# Rules\n")
	o.deploys(o.mine, "")
	o.Write(o.mine, "agentpack.yaml", fmt.Sprintf(config, ", targets: [codex]"))
	o.deploys(o.mine, `,"target":"zed"`)
	assert.Equal(t, "# Rules\n", o.Read(o.Project, "AGENTS.md"))
	assert.Contains(t, o.plans(o.mine), nothing)
	o.Write(o.mine, "agentpack.yaml", fmt.Sprintf(config, ", targets: [zed]"))
	o.deploys(o.mine, "")
	o.back(o.mine, "initial")
	assert.NotContains(t, o.everything(), "AGENTS.md")
}

// TestAKeyChangesHands: in one document each has keys of its own, and both want one key.
func TestAKeyChangesHands(t *testing.T) {
	o := newOwners(t)
	keys := func(repo, host, name, command string) {
		o.Write(repo, "agentpack.yaml", fmt.Sprintf(`version: 1
profiles: {default: {include_tags: [base]}}
targets: {%s: {mode: files, scope: project}}
modules: [{id: "mcp:x", type: mcp, tags: [base], source: {local_path: {path: servers}}}]
`, host))
		o.Write(repo, "servers/both.json", fmt.Sprintf(`{"command":  %q}`, command))
		o.Write(repo, "servers/"+name+".json", fmt.Sprintf(`{"command":  %q}`, name))
	}
	for _, host := range []string{"claude_code", "copilot_cli"} { // both read .mcp.json
		t.Run(host, func(t *testing.T) {
			keys(o.Repo.Dir, "claude_code", "team", "theirs")
			keys(o.mine, host, "own", "mine")
			before := o.everything()
			o.deploys(o.Repo.Dir, "")
			o.Fails("deploy_apply", fmt.Sprintf(`{"repo":%q,"yes":true}`, o.mine), deployment.ErrAdopt)
			o.deploys(o.mine, `,"adopt":true`)
			text := o.Read(o.Project, ".mcp.json")
			for _, word := range []string{`"mine"`, `"own"`, `"team"`} {
				assert.Contains(t, text, word)
			}
			assert.NotContains(t, text, "theirs")

			said := o.status(o.Repo.Dir)
			assert.Contains(t, said, fmt.Sprintf(`"owned_by":%q`, o.Plain(o.mine)))
			assert.NotContains(t, said, "edited_here\",")
			assert.NotContains(t, said, "conflict\",")
			said = o.proposes(o.Repo.Dir)
			assert.NotContains(t, said, "candidates")
			assert.Contains(t, said, `"reason_code":"owned_by_another"`)

			// An edit of a key that stayed is an edit, and is proposed; the other one's is not.
			o.Write(o.Project, ".mcp.json", strings.Replace(text, `"team"`+"\n", `"edited"`+"\n", 1))
			require.NotEqual(t, text, o.Read(o.Project, ".mcp.json"))
			said = o.proposes(o.Repo.Dir)
			assert.Contains(t, said, `"keys":[["mcpServers","team"]]`)
			assert.Contains(t, said, "+{\\\"command\\\":  \\\"edited\\\"}")
			assert.NotContains(t, said, "mine\\\"")
			assert.Contains(t, o.status(o.Repo.Dir), `"state":"conflict"`)
			o.Write(o.Project, ".mcp.json", text)

			// The repository that lost the key rolls back without it, and the one that has it removes what the other had made.
			o.back(o.Repo.Dir, "initial")
			text = o.Read(o.Project, ".mcp.json")
			assert.Contains(t, text, `"mine"`)
			assert.NotContains(t, text, `"team"`)
			assert.Contains(t, o.plans(o.mine), nothing)
			o.back(o.mine, "initial")
			assert.Equal(t, before, o.everything())
		})
	}
}

func TestValuesOfOneListStandSideBySide(t *testing.T) {
	item := func(path, value string, item bool) *deployment.Part {
		return &deployment.Part{Format: deployment.FormatJSON, Keys: []deployment.Key{{Path: strings.Split(path, "."), Value: []byte(value), Item: item}}}
	}
	assert.False(t, deployment.Contends(item("a.b", `"x"`, true), item("a.b", `"y"`, true)))
	assert.False(t, deployment.Contends(item("a", `{"x": 1}`, false), item("a", `{"x":1}`, false)), "spaces are no difference")
	assert.True(t, deployment.Contends(item("a.b", `"x"`, true), item("a.b", `["y"]`, false)))
	assert.True(t, deployment.Contends(item("a", `{}`, false), item("a.b", `1`, false)))
}
