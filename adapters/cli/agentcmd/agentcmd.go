// Package agentcmd is the command group agents: deployments for people, from a config repository into every coding agent. Every command
// is a call of a tool, so a person and an agent get the same answers and the same refusals.
//
// Under --json stdout is one envelope of the agentpack contract, whatever goes wrong. The exit code is 0 for success, 1 for a failure and
// 2 for a command line that is not understood; plan, diff and preview with --detailed-exitcode exit with 2 for changes and 1 for any
// failure.
//
// It refuses to know how deployments work.
package agentcmd

import (
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// group is the commands at one desk.
type group struct{ Desk }

// Commands is the command group agents. version is the product's, for envelopes of what no tool answered.
func Commands(s *command.Shell, version string) *cobra.Command {
	g := group{New(s, version)}
	root := g.Parent("agents", "Deploy one config repository into every coding agent", RepoCommands(g.Desk)...)
	root.Long = "Deploy one config repository into every coding agent: instructions, skills, prompts and commands, planned, shown, applied exactly as\n" +
		"shown, and rolled back to the byte.\n\n" +
		"Exit codes: 0 done, 1 failed, 2 the command line is wrong. With --detailed-exitcode, plan, diff and preview exit with 0 for no\n" +
		"changes, 2 for changes and 1 for any failure. What waits for a person ends with 6."
	root.Example = `  countersign agents init --guided
  countersign agents preview --diff
  countersign agents deploy --apply
  countersign agents rollback initial`
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return g.Misused(cmd, "%v", err) })
	root.SetHelpFunc(g.help)
	g.Flags(root.PersistentFlags())
	root.AddCommand(g.plan(), g.diff(), g.preview(), g.deploy(), g.status(), g.rollback(), g.explain(), g.doctor(), g.snapshots(), g.record(), g.score(),
		g.policy(), g.recovery(), g.schema(), g.helpCommand())
	g.completions(root)
	return root
}
