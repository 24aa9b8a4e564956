package cli

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/operator"
	"github.com/countersign-dev/countersign/adapters/cli/shell"
)

// mcpName is the command that hosts start.
const mcpName = "mcp"

// option is a flag that stands for an environment variable.
type option struct {
	flag, variable, usage string
	bare                  bool // needs no value
}

var serverOptions = []option{
	{flag: "toolsets", variable: "COUNTERSIGN_TOOLSETS", usage: "toolsets to serve, separated by commas, or all (default packs,deployments as far as there are tools; control is always served)"},
	{flag: "tools", variable: "COUNTERSIGN_TOOLS", usage: "single tools to serve, alone or besides --toolsets"},
	{flag: "exclude-tools", variable: "COUNTERSIGN_EXCLUDE_TOOLS", usage: "tools not to serve, whatever else says"},
	{flag: "read-only", variable: "COUNTERSIGN_READ_ONLY", usage: "serve nothing that changes anything", bare: true},
	{flag: "mode", variable: "COUNTERSIGN_MODE", usage: "mode to start in: ask, plan or execute (default: each toolset's own)"},
	{flag: "max-mode", variable: "COUNTERSIGN_MAX_MODE", usage: "highest mode anybody can set: ask, plan or execute"},
	{flag: "approval", variable: "COUNTERSIGN_APPROVAL", usage: "who confirms: host (the client, or the caller with a token) or human (never the caller)"},
	{flag: "confirm-ttl", variable: "COUNTERSIGN_CONFIRM_TTL", usage: "how long a confirmation may be answered: 1m to 10m (default 5m)"},
	{flag: "confirm-wait", variable: "COUNTERSIGN_CONFIRM_WAIT", usage: "how long a call waits for a person under --approval human: 0s to 10m (default 45s)"},
	{flag: "permission-level", variable: "COUNTERSIGN_PERMISSION_LEVEL", usage: "read_only, execute_with_confirm or full_access"},
}

// mcpCommand is the command mcp.
func mcpCommand(p Program, s *shell.Shell) *cobra.Command {
	var list bool
	c := &cobra.Command{Use: mcpName, Short: "Serve MCP on stdin and stdout, for an agent host to start", Args: shell.Args(0, 0), Version: p.Version,
		Long: "Serve MCP on stdin and stdout, for an agent host to start. Every flag has an environment variable (--max-mode is COUNTERSIGN_MAX_MODE);\n" +
			"an unknown toolset, tool or mode stops the start.",
		Example: `  claude mcp add countersign -- countersign mcp
  countersign mcp --toolsets packs --read-only
  countersign mcp --list-tools`}
	c.Flags().BoolVar(&list, listTools, false, "print the tools these flags would serve, and end")
	for _, o := range serverOptions {
		if o.bare {
			c.Flags().Bool(o.flag, false, o.usage)
		} else {
			c.Flags().String(o.flag, "", o.usage)
		}
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		s.Forget()
		for _, o := range serverOptions {
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Name == o.flag {
					s.Set(o.variable, f.Value.String())
				}
			})
		}
		if list {
			return operator.List(cmd.Context(), s)
		}
		if s.Lookup("COUNTERSIGN_LOG") == "" && s.Lookup("CONTEXT_PACK_LOG") == "" {
			s.Set("COUNTERSIGN_LOG", "info")
		}
		signal.Ignore(syscall.SIGPIPE) // a host that died must not take calls in flight along; writing fails instead
		door, err := s.Opened()
		if err != nil {
			return err
		}
		if s.Interactive() {
			s.Note("serving MCP on this terminal's input and output; it is meant to be started by an agent host. Ctrl-D ends it.")
		}
		heed := p.heed
		if heed == nil {
			heed = func() {}
		}
		return p.ServeMCP(cmd.Context(), door, s.Terminal, s.Lookup, heed)
	}
	return c
}
