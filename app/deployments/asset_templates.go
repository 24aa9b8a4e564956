package deployments

import (
	"fmt"
	"slices"
	"strings"
)

// skillName is the name of the operator skill and of its directory.
const skillName = "agentpack-operator"

// command is one of the Claude Code commands.
type command struct {
	name        string // after /ap-
	description string
	run         string   // run at once, after countersign agents
	offers      []string // run after the user agreed
	tools       string   // the equivalent MCP tools
	mutating    bool     // only the user may invoke it
	then        string   // what to do with the result
}

// commands returns the nine commands, in the order of their listing (agentpack contract §5.12).
func commands() []command {
	return []command{
		{name: "doctor", description: "Check the config repository and every directory it deploys to", run: "doctor", tools: "`doctor`",
			then: "Report each root that has issues, with the suggestion that stands beside it. Change nothing."},
		{name: "update", description: "Lock the modules of the config repository where needed, and fetch them", run: "update --yes", tools: "`agents_update`", mutating: true,
			then: "Say which steps ran and how many git modules were fetched. Nothing is deployed by this; propose /ap-preview next."},
		{name: "preview", description: "Show what a deployment would change, with the difference of every file", run: "preview --diff", tools: "`preview` with `diff: true`",
			then: "Summarise the differences file by file. Point out every `adopt_update`, `drifted_update` and `drifted_delete`: they would overwrite or delete what somebody wrote by hand."},
		{name: "plan", description: "Show which files a deployment would create, update or delete", run: "plan", tools: "`plan`",
			then: "Give the summary and the list of changes. Change nothing."},
		{name: "deploy", description: "Deploy the config repository into the coding agents, once the plan is agreed to", run: "deploy", offers: []string{"deploy --apply --yes"},
			tools: "`deploy`, then `deploy_apply` with its `confirm_token` and `yes: true`", mutating: true,
			then: "Show the plan and ask whether to apply exactly this. Only after a clear yes, apply it. If the answer is E_ADOPT_CONFIRM_REQUIRED, show the files it names and stop: a person decides whether they may be overwritten. Afterwards give the snapshot_id, which is what a rollback goes back to."},
		{name: "status", description: "Show deployed files that are missing, modified or not ours", run: "status", tools: "`status`",
			then: "Group the drift by root, and list `next_actions` as they are."},
		{name: "diff", description: "Compare what should be deployed with what is", run: "diff", tools: "`diff`",
			then: "Give the changes, those that need adopting first. Change nothing."},
		{name: "explain", description: "Say which module and overlay each planned change comes from", run: "explain plan", tools: "`explain` with `kind: plan`",
			then: "For each file name the module and the layer it comes from, and where in the config repository to edit it."},
		{name: "evolve", description: "Turn edits of deployed files into a proposal on a branch of the config repository", run: "evolve propose --dry-run", offers: []string{"evolve propose --yes"},
			tools: "`evolve_propose`, first with `dry_run: true`, then with `yes: true`", mutating: true,
			then: "List the candidates, and what was skipped and why. Ask before you propose them for real; then name the branch that was made."},
	}
}

// line returns a command line, with --json.
func line(args string) string { return "countersign agents " + args + " --json" }

// document returns the command's file.
func (c command) document(version string) string {
	var allowed strings.Builder
	for _, args := range slices.Concat([]string{c.run}, c.offers) {
		fmt.Fprintf(&allowed, "  - Bash(%q)\n", line(args))
	}
	locked := ""
	if c.mutating {
		locked = "disable-model-invocation: true\n"
	}
	offers := ""
	for _, args := range c.offers {
		offers += "Once the user has agreed: `" + line(args) + "`\n\n"
	}
	return fmt.Sprintf(`---
description: %q
agentpack_version: %q
allowed-tools:
%s%s---

Where the MCP tools of Countersign are connected, use them and run nothing here: %s. Otherwise:

!bash
%s

%s%s
`, c.description, version, allowed.String(), locked, c.tools, line(c.run), offers, c.then)
}

// skill returns the operator skill's file.
func skill(version string) string {
	return fmt.Sprintf(`---
name: %s
description: Plan, preview, deploy, check and roll back the configuration of coding agents from one config repository (agentpack.yaml) with Countersign. Use it when the user wants to change, inspect or restore deployed instructions, skills, prompts or commands.
agentpack_version: %q
metadata:
  short-description: Operate agent configuration with Countersign
---

# Operating the configuration of coding agents

One config repository says which instructions, skills, prompts and commands every coding agent gets. Files that it deployed are not
edited in place: the change belongs in the repository, or in an overlay of the module, and is deployed from there.

## How to call it

Prefer the MCP tools of Countersign where they are connected: plan, preview, deploy, deploy_apply, status, rollback. Otherwise run the
command line, always with --json, and read ok, data and errors[0].code from its answer.

| to | MCP tool | command line |
|---|---|---|
| see what would change | plan, preview | countersign agents plan --json, countersign agents preview --diff --json |
| deploy | deploy, then deploy_apply | countersign agents deploy --apply --yes --json |
| see what drifted | status | countersign agents status --json |
| find the source of a file | explain | countersign agents explain plan --json |
| keep edits of deployed files | evolve_propose | countersign agents evolve propose --dry-run --json |
| bring missing files back | evolve_restore | countersign agents evolve restore --dry-run --json |
| go back | rollback | countersign agents rollback --to <snapshot_id> --yes --json |

## Rules

1. Look first: show the plan or the preview before anything is changed.
2. Ask before you change. yes, --yes and a confirm_token stand for what the user said about this very plan.
3. E_ADOPT_CONFIRM_REQUIRED means that somebody's own work would be overwritten. Show the paths; adopt only when the user says so.
4. After an error read errors[0].details: reason_code and next_actions say what can be done. Repeat nothing blindly.
5. After a deployment tell the user its snapshot_id.
`, skillName, version)
}
