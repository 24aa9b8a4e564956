package admincmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrHome is returned if the home cannot be created.
var ErrHome = fault.New(fault.Unavailable, "home_unusable", "cannot create Countersign's home directory")

// logVariable sets what a server logs.
const logVariable = "COUNTERSIGN_LOG"

// UpCommand returns the command up: serve, with setup for new users.
func UpCommand(s *command.Shell, web Machine) *cobra.Command {
	g := connectCommand{s, web}
	served := web
	served.Serve = func(ctx context.Context, o ServeOptions, ready func(ServeAddress) error) error {
		return web.Serve(ctx, o, func(at ServeAddress) error {
			if err := ready(at); err != nil {
				return err
			}
			return g.invite(ctx)
		})
	}
	c := ServeCommand(s, served)
	c.Use, c.Short = "up", "Set Countersign up, serve the console, and open it"
	c.Long = "Create Countersign's home (~/.countersign, or COUNTERSIGN_HOME), serve the console, the API and MCP over HTTP on this machine, open the\n" +
		"console in the browser with a one-time link, and print how to connect each agent host. Ctrl-C stops it. If a server is already running, its console is\n" +
		"opened; with a flag for a different server, the command fails. It takes every flag of serve."
	c.Example = `  countersign up
  countersign up --no-open
  countersign up --addr 127.0.0.1:0`
	serve := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if list, _ := cmd.Flags().GetBool("list-tools"); list {
			return serve(cmd, args)
		}
		core, err := g.core(cmd)
		if err != nil {
			return err
		}
		if at, ok := RunningServer(core, web); ok {
			if err := overruled(cmd, at); err != nil {
				return err
			}
			return g.again(cmd, at)
		}
		if err := g.settle(core.Home); err != nil {
			return err
		}
		return serve(cmd, args)
	}
	return c
}

// core returns the core to serve, configured by the flags.
func (g connectCommand) core(cmd *cobra.Command) (command.Core, error) {
	ApplyServerFlags(cmd, g.Shell)
	if g.Lookup(logVariable) == "" {
		g.Set(logVariable, "warn")
	}
	g.Open = g.web.Open
	return g.Opened()
}

// overruled fails if a flag asks for another server than the one that is already running: such a flag would do nothing.
func overruled(cmd *cobra.Command, at Server) error {
	var without []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		browser := f.Name == "open" || f.Name == "no-open"
		if f.Changed && !browser && (f.Name != "addr" || f.Value.String() != at.Address) {
			without = append(without, "--"+f.Name+" "+strings.Trim(f.Value.String(), "[]"))
		}
	})
	if len(without) == 0 {
		return nil
	}
	return ErrRunning.WithMessage("a server is already running at %s (process %d), without %s", ConsoleURL(at.URL), at.PID, strings.Join(without, ", ")).
		WithDetails(command.Hint("stop it with Ctrl-C where it was started, or omit the flags to open its console"))
}

// again opens the console of the server that is already running.
func (g connectCommand) again(cmd *cobra.Command, at Server) error {
	if !g.JSON {
		g.Line("Countersign is already running at %s (process %d)", ConsoleURL(at.URL), at.PID)
	}
	login := LoginCommand(g.Shell, g.web)
	open, _ := cmd.Flags().GetBool("open")
	silent, _ := cmd.Flags().GetBool("no-open")
	if silent || !open && !g.Drawn() {
		if err := login.Flags().Set("print", "true"); err != nil {
			return err
		}
	}
	return login.RunE(cmd, nil)
}

// settle creates Countersign's home, readable only by its owner. If others can read an existing one, it prints a warning and changes nothing.
func (g connectCommand) settle(home string) error {
	info, err := os.Stat(home)
	switch {
	case err != nil:
		if err := os.MkdirAll(home, 0o700); err != nil {
			return ErrHome.WithMessage("cannot create %s: %v", home, errors.Unwrap(err)).WithDetails(command.Hint("set COUNTERSIGN_HOME to another directory")).WithCause(err)
		}
		g.Note("created %s for Countersign's data", command.Plain(home))
	case info.IsDir() && info.Mode().Perm()&0o077 != 0:
		g.Note("warning: other users of this machine can read %s; to prevent this: chmod 700", command.Plain(home))
	}
	return nil
}

// invite prints, for every host, how it is connected.
func (g connectCommand) invite(ctx context.Context) error {
	if g.JSON {
		return nil
	}
	o, err := g.Call(ctx, mcpclients.ListHosts.Name, asked{})
	if err != nil {
		g.Note("to list the hosts: countersign connect")
		return nil // the server still works
	}
	hosts, err := g.hosts(o)
	if err != nil {
		return err
	}
	g.Line("")
	g.Line("To connect your agents (each command shows its changes and asks):")
	for _, h := range hosts {
		g.Line("  %-32s  %s%s", fmt.Sprintf("countersign connect %s", h.Host), h.Title, standing(h))
	}
	g.Unasked(ctx)
	g.findable()
	return nil
}

// findable prints how to put the commands on the PATH if they are not.
func (g connectCommand) findable() {
	if _, err := exec.LookPath("countersign"); err == nil {
		return
	}
	self, err := os.Executable()
	switch {
	case err != nil:
	case strings.Contains(self, "go-build"): // from go run: it is deleted when that ends
		g.Note("countersign is not on your PATH; go install ./cmd/countersign installs it into $(go env GOPATH)/bin")
	default:
		g.Note("countersign is not on your PATH; this program is %s", command.Plain(filepath.Clean(self)))
	}
}

// standing returns the status of a host, in a few words.
func standing(h mcpclients.HostStatus) string {
	switch {
	case h.State == "connected":
		return ": connected"
	case h.State == "unreadable":
		return ": cannot read its configuration"
	case len(h.Servers) > 0:
		return ": " + state(h)
	case h.Installed:
		return ": installed"
	}
	return ""
}
