package agentcmd

import (
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// group is the commands at one desk.
type group struct{ Runner }

// AgentsCommand is the command group agents. version is the product's, for envelopes of what no tool answered.
func AgentsCommand(s *command.Shell, version string) *cobra.Command {
	g := group{NewRunner(s, version)}
	root := g.Parent("agents", "Deploy one config repository into every coding agent", repoCommands(g.Runner)...)
	root.Long = "Deploy one config repository into every coding agent: instructions, skills, prompts and commands, planned, shown, applied exactly as\n" +
		"shown, and rolled back exactly.\n\n" +
		"Exit codes: 0 done, 1 failed, 2 the command line is wrong. With --detailed-exitcode, plan, diff and preview exit with 0 for no\n" +
		"changes, 2 for changes and 1 for any failure. A command that needs your approval ends with 6."
	root.Example = `  countersign agents init --guided
  countersign agents preview --diff
  countersign agents deploy --apply
  countersign agents rollback initial`
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return g.Misused(cmd, "%v", err) })
	root.SetHelpFunc(g.help)
	g.Flags(root.PersistentFlags())
	root.AddCommand(g.plan(), g.diff(), g.preview(), g.deploy(), g.watch(), g.status(), g.rollback(), g.explain(), g.doctor(), g.snapshots(), g.record(), g.score(),
		g.policy(), g.recovery(), g.manifests(), g.schema(), g.helpCommand())
	g.completions(root)
	return root
}
