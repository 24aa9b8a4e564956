package cli

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/admincmd"
	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// mcpName is the command that hosts start.
const mcpName = "mcp"

// mcpCommand returns the command mcp.
func mcpCommand(p Program, s *command.Shell) *cobra.Command {
	var list bool
	c := &cobra.Command{Use: mcpName, Short: "Serve MCP on stdin and stdout, started by an agent host", Args: command.Args(0, 0), Version: p.Version,
		Long: "Serve MCP on stdin and stdout. An agent host starts this command. Every flag has an environment variable (--max-mode is COUNTERSIGN_MAX_MODE).\n" +
			"An unknown toolset, tool or mode is a startup error.",
		Example: `  claude mcp add countersign -- countersign mcp
  countersign mcp --toolsets packs --read-only
  countersign mcp --list-tools`}
	c.Flags().BoolVar(&list, listTools, false, "print the tools that these flags enable, and exit")
	admincmd.HostFlag(c)
	admincmd.AddServerFlags(c, "packs,deployments if they have tools")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		admincmd.ApplyServerFlags(cmd, s)
		if list {
			return admincmd.PrintTools(cmd.Context(), s)
		}
		if s.Lookup("COUNTERSIGN_LOG") == "" && s.Lookup("CONTEXT_PACK_LOG") == "" {
			s.Set("COUNTERSIGN_LOG", "info")
		}
		signal.Ignore(syscall.SIGPIPE) // a host that died must not take calls in flight along; writing fails instead
		core, err := s.Opened()
		if err != nil {
			return err
		}
		if s.Interactive() {
			s.Note("serving MCP on this terminal's input and output; an agent host should start this command. Press Ctrl-D to stop.")
		}
		onReady := p.onReady
		if onReady == nil {
			onReady = func() {}
		}
		return p.ServeMCP(cmd.Context(), core, s.Terminal, s.Lookup, onReady)
	}
	return c
}
