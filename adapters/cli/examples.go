package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are command lines for the help of commands that bring none of their own; each belongs to the command that it calls.
const examples = `
countersign action disable deploy
countersign action enable deploy
countersign action list --enabled
countersign action remove deploy
countersign action rules
countersign action run hello -- --verbose
countersign action save script hello -- ./hello.sh
countersign action save webhook deploy --url https://example.com/deploy
countersign action save workflow nightly release
countersign action show deploy
countersign action trigger deploy --var version=1.2.0
countersign agents bootstrap --scope project
countersign agents check
countersign agents deploy
countersign agents deploy --apply
countersign agents diff --target codex
countersign agents doctor
countersign agents doctor --fix
countersign agents evolve propose
countersign agents evolve propose --module-id skill:review
countersign agents evolve restore
countersign agents explain plan
countersign agents explain diff
countersign agents explain status
countersign agents fetch
countersign agents help
countersign agents help deploy
countersign agents import
countersign agents import --apply
countersign agents init
countersign agents init --from ~/.claude
countersign agents lock
countersign agents manifests
countersign agents overlay edit skill:review --scope project
countersign agents overlay path skill:review
countersign agents overlay rebase skill:review
countersign agents plan
countersign agents plan --target claude_code --all
countersign agents policy audit
countersign agents policy lint
countersign agents policy lock
countersign agents preview --diff
countersign agents record
countersign agents recover
countersign agents recover --undo
countersign agents remote set git@github.com:acme/agents.git
countersign agents remove skill:review
countersign agents schema --json
countersign agents score
countersign agents snapshots list
countersign agents snapshots prune --keep 20
countersign agents snapshots show 1700000000-1
countersign agents status
countersign agents sync --rebase
countersign agents update --latest
countersign approvals
countersign approvals list
countersign approve cf_4f7dkmqa2x
countersign approve cf_4f7dkmqa2x --always
countersign audit list --tool run_script
countersign audit verify
countersign audit accept --reason "restored from the backup of Monday"
countersign audit anchor add file /media/stick/countersign.heads
countersign audit anchor list
countersign audit anchor remove journal
countersign audit export --since 24h
countersign audit key new
countersign audit list --since 1h
countersign audit list --tool run_script --json
countersign audit status
countersign completion bash
countersign completion fish
countersign completion powershell
countersign completion zsh
countersign deny cf_4f7dkmqa2x --reason "not on a Friday"
countersign git branch feature/login --from main
countersign git changes
countersign git commit -m "Check the token"
countersign git pull
countersign git push
countersign git stash push -m "half done"
countersign git stash apply
countersign git stash drop stash@{1}
countersign git stash pop
countersign git switch main
countersign grants list
countersign grants revoke gr_7b2c
countersign keys add
countersign keys list
countersign keys remove key_7b2c
countersign notify list
countersign notify test desktop
countersign owners list
countersign owners forget ow_7b2c
countersign pack diff login-bug
countersign pack doctor
countersign pack finalize login-bug
countersign pack list --status draft
countersign pack reanchor login-bug
countersign pack reopen login-bug
countersign pack delete login-bug
countersign pack show login-bug
countersign pack show --max-tokens 8000
countersign policy allow list_projects
countersign policy approval human
countersign policy auto-approve add list_projects
countersign policy auto-approve off
countersign policy auto-approve on
countersign policy auto-approve remove list_projects
countersign policy block git_push
countersign policy confirm run_script
countersign policy max-mode plan
countersign policy require passkey for high
countersign policy reset run_script
countersign policy set read_only
countersign policy show
countersign project add
countersign project add ~/src/shop --name shop
countersign project diff shop
countersign project list
countersign project list --jq '.projects[].name'
countersign project members shop
countersign project remove shop
countersign project scripts shop
countersign project show shop
countersign project status shop
countersign project tasks shop
countersign project worktrees shop
countersign ps
countersign calls list --tool run_script --status failed
countersign calls show call_mec6iivhzyey34nc
countersign sandbox gateway status
countersign services down web
countersign services logs web --follow
countersign services list
countersign services restart web
countersign status
countersign stop dev
countersign template add lint --command "{pm} run lint"
countersign template list
countersign template remove lint
countersign token create ci --toolsets packs
countersign token list
countersign token revoke ci
countersign tools list
countersign tools show run_script
countersign tour
countersign version
countersign webhooks serve
countersign workflow add-workflow release notify "Tell the team"
countersign workflow create release
countersign workflow history release
countersign workflow list
countersign workflow move-step release test 1
countersign workflow remove release
countersign workflow remove-input release version
countersign workflow remove-step release 2
countersign workflow rename release publish
countersign workflow show release
`

// addExamples gives commands without an example those that call them, and a group without one the first of each of its commands. It is called before help is shown, because
// other commands do not need it.
func addExamples(root *cobra.Command) {
	bare := map[*cobra.Command]bool{}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		bare[c] = c.Example == ""
		for _, below := range c.Commands() {
			look(below)
		}
	}
	look(root)
	given := map[*cobra.Command]bool{}
	add := func(c *cobra.Command, line string) {
		if bare[c] {
			c.Example = strings.TrimPrefix(c.Example+"\n  "+line, "\n")
		}
	}
	for line := range strings.Lines(strings.TrimSpace(examples)) {
		line = strings.TrimSpace(line)
		c, _, err := root.Find(strings.Fields(line)[1:])
		if err != nil || c == root {
			continue
		}
		add(c, line)
		if group := c.Parent(); !given[c] && group != root && !c.Hidden {
			add(group, line)
		}
		given[c] = true
	}
}
