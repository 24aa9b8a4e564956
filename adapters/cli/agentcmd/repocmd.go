// Package repocmd is the commands of the group agents that make and change a config repository: init, add, remove, lock, fetch, update,
// import, bootstrap, remote, sync, overlay and evolve.
//
// It refuses to know how any of it is done: every command is a call of a tool.
package agentcmd

import (
	"github.com/spf13/cobra"

)

// author is the commands at one desk.
type author struct{ Desk }

// Commands is the commands.
func RepoCommands(d Desk) []*cobra.Command {
	g := author{d}
	return []*cobra.Command{g.initialise(), g.addModule(), g.removeModule(), g.lock(), g.fetch(), g.update(), g.importing(), g.bootstrap(), g.remote(), g.sync(),
		g.overlay(), g.evolve()}
}
