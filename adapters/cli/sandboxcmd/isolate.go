package sandboxcmd

import (
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
)

func (g sandboxGroup) isolate() *cobra.Command {
	c := &cobra.Command{Use: "isolate [[URL] NAME] ISOLATION", Short: "Set the isolation of a sandbox", Args: command.Args(1, 3),
		Long: "Set the isolation of a sandbox: landlock, bubblewrap, container or container:IMAGE, any of these with -offline, or none, as for\n" +
			"countersign sandbox create --isolate. It applies to programs that start later; running programs keep their isolation. You approve the\n" +
			"change; removing or replacing an isolation is high risk. Agents cannot do this.",
		Example: "  countersign sandbox isolate acme-shop fix-login landlock\n  countersign sandbox isolate acme-shop fix-login none"}
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 2 {
			return isolations()(cmd, args, begun)
		}
		return g.CompleteSandbox(cmd, args, begun)
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		last := len(args) - 1
		url, name, err := g.Subject(cmd.Context(), args[:last])
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name, "isolate": args[last]}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxIsolate.Name, call, func(d sandboxes.SandboxIsolated) {
			g.Line("isolation of sandbox %s of %s: %s", command.Plain(d.Name), command.Plain(d.Project), command.Plain(d.Isolation))
			g.Note("%s", command.Plain(d.Message))
		})
	}
	return c
}
