package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// gatewayName is the command that sandboxes start their gateway with.
const gatewayName = "gateway"

// GatewayOptions are what the gateway serves, and where. Its bearer token is in the environment (MCP_BEARER_TOKEN), never on the command line, which
// every user of the machine can read.
type GatewayOptions struct {
	Port    int    // of the loopback address
	Servers string // path of the table of servers (opencode contract §9.2)
}

// serveGateway serves the gateway until ctx ends. It opens no core; it reads only the table of servers.
type serveGateway func(ctx context.Context, streams *command.Terminal, env func(string) string, o GatewayOptions) error

// gatewayCommand returns the command gateway, which users do not need: it starts with the first project.
func gatewayCommand(p Program, s *command.Shell) *cobra.Command {
	var o GatewayOptions
	c := &cobra.Command{Use: gatewayName, Short: "Serve MCP over HTTP in front of all projects' servers", Args: command.Args(0, 0), Hidden: true,
		Long: "Serve MCP over HTTP on a loopback port as the gateway of the servers in a table, which is read again when it changes. Clients need the token\n" +
			"in MCP_BEARER_TOKEN. countersign sandbox start runs this command; countersign sandbox gateway manages it.",
		Example: `  MCP_BEARER_TOKEN=… countersign gateway --port 5100 --servers-config ~/.memory/opencode-mcp-tool-servers.json`}
	c.Flags().IntVar(&o.Port, "port", 0, "loopback port to listen on")
	c.Flags().StringVar(&o.Servers, "servers-config", "", "file with the table of servers")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case o.Port < 1 || o.Port > 65535:
			return command.Usage(cmd, "invalid --port; use 1 to 65535")
		case o.Servers == "":
			return command.Usage(cmd, "--servers-config is required")
		case p.ServeGateway == nil:
			return fault.ErrInternal.WithMessage("cannot start the gateway")
		}
		return p.ServeGateway(cmd.Context(), s.Terminal, s.Lookup, o)
	}
	return c
}
