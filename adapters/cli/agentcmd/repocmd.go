package agentcmd

import (
	"github.com/spf13/cobra"
)

// author is the commands at one desk.
type author struct{ Runner }

// repoCommands is the commands.
func repoCommands(d Runner) []*cobra.Command {
	g := author{d}
	return []*cobra.Command{g.initialise(), g.addModule(), g.check(), g.removeModule(), g.lock(), g.fetch(), g.update(), g.importing(), g.bootstrap(), g.remote(), g.sync(),
		g.overlay(), g.evolve()}
}
