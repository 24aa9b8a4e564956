package projectcmd

import (
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// defaultHooks is where requests are taken when nobody says otherwise (packageflow contract §1.9).
const defaultHooks = "127.0.0.1:9876"

// webhooks returns the command group webhooks.
func (g group) webhooks() *cobra.Command {
	var addr string
	serve := &cobra.Command{Use: "serve", Short: "Let signed requests start workflows with an incoming webhook", Args: command.Args(0, 0),
		Long: "Accept POST /webhook/WORKFLOW on a loopback address until Ctrl-C. Only workflows that were enabled with countersign workflow incoming are\n" +
			"started, only in the version that was enabled, and high-risk workflows wait for countersign approve.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			door, err := g.Opened()
			if err != nil {
				return err
			}
			if door.ServeHooks == nil {
				return fault.ErrInternal.WithMessage("cannot accept requests")
			}
			return door.ServeHooks(cmd.Context(), addr, func(line string) { g.Line("%s", line) })
		}}
	serve.Flags().StringVar(&addr, "addr", defaultHooks, "loopback address and port")
	return command.Group("webhooks", "Accept HTTP requests that start workflows", serve)
}
