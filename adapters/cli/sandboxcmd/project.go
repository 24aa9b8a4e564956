package sandboxcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Statuses of an answer (opencode contract §13).
const (
	statusWaiting  = "waiting_for_key"
	statusRunning  = "already_running"
	statusNotFound = "not_found"
)

// started is a project whose server runs, or what is still missing.
type started struct{ sandboxes.ProjectStarted }

// Verdict is exit code 4 of a start that waits for a key: the server does not run.
func (s started) Verdict() error {
	if s.Status == statusWaiting {
		return command.Exit(present.ExitCode(fault.State))
	}
	return nil
}

func (g group) start() *cobra.Command {
	var key string
	c := &cobra.Command{Use: "start [URL] [NAME]", Short: "Clone a repository if needed, and run its server", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Clone a repository if needed, and run its server. An interrupted start continues where it stopped. The server works in the clone and in all\n" +
			"sandboxes without isolation. With NAME, a sandbox isolated by landlock or bubblewrap, the server is for that sandbox only and isolated like it, with a separate port and\n" +
			"password, and without your settings, logins and keys; only the variables in OPENCODE_PASS_ENV are passed on.\n\n" +
			"Exit code 4: the repository's host does not accept the key yet; register the printed key, then repeat the command.",
		Example: `  countersign sandbox start git@github.com:acme/shop.git
  countersign sandbox start https://github.com/acme/shop
  countersign sandbox start ~/src/shop
  countersign sandbox start acme-shop fix-login
  countersign sandbox start git@example.com:acme/shop.git --ssh-key ~/.ssh/id_ed25519`}
	c.Flags().StringVar(&key, "ssh-key", "", "private key for the repository (default: a new deploy key)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		args, err := g.apart(ctx, args)
		if err != nil {
			return err
		}
		url, err := g.URL(ctx, command.First(args))
		if err != nil {
			return err
		}
		if key != "" && !strings.HasPrefix(key, "~") {
			if key, err = filepath.Abs(key); err != nil {
				return command.ErrUsage.WithMessage("invalid --ssh-key %q: %v", key, err)
			}
		}
		return command.CallAndShow(ctx, g.Runner, sandboxes.ProjectStart.Name, command.Arguments{"git_url": url}.Set("user_ssh_key", key).Set("sandbox", second(args)), func(s started) {
			g.drawStarted(ctx, s)
		})
	}
	return c
}

// clone makes the clone of a repository that no project has yet, and reports whether there is one now.
func (d Runner) clone(ctx context.Context, url, key string, shown func(started)) error {
	return command.CallAndShow(ctx, d, sandboxes.ProjectClone.Name, command.Arguments{"git_url": url}.Set("user_ssh_key", key), shown)
}

func (g group) clone() *cobra.Command {
	var key string
	c := &cobra.Command{Use: "clone URL", Short: "Clone a repository as a project, without an agent server", Args: command.Args(1, 1), ValidArgsFunction: g.CompleteURL,
		Long: "Clone a repository as a project, so that you can create sandboxes. No agent server is started or needed; countersign sandbox start\n" +
			"starts one, with the gateway.\n\n" +
			"Exit code 4: the repository's host does not accept the key yet; register the printed key, then repeat the command.",
		Example: "  countersign sandbox clone git@github.com:acme/shop.git\n  countersign sandbox clone ~/src/shop"}
	c.Flags().StringVar(&key, "ssh-key", "", "private key for the repository (default: a new deploy key)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		url, err := g.URL(ctx, args[0])
		if err != nil {
			return err
		}
		if key != "" && !strings.HasPrefix(key, "~") {
			if key, err = filepath.Abs(key); err != nil {
				return command.ErrUsage.WithMessage("invalid --ssh-key %q: %v", key, err)
			}
		}
		return g.Runner.clone(ctx, url, key, func(s started) { g.drawCloned(ctx, s) })
	}
	return c
}

func (g group) drawCloned(ctx context.Context, s started) {
	for _, w := range s.Warnings {
		g.Note("warning: %s", command.Plain(w))
	}
	if s.Status == statusWaiting {
		g.drawWaiting(ctx, s)
		return
	}
	g.Line("cloned %s: %s", command.Plain(s.Project), command.Plain(s.BaseDir))
	g.Note("no agent server; to start one with the gateway: countersign sandbox start %s", command.Plain(s.Project))
}

func (g group) drawStarted(ctx context.Context, s started) {
	for _, w := range s.Warnings {
		g.Note("warning: %s", command.Plain(w))
	}
	if s.Status == statusWaiting {
		g.drawWaiting(ctx, s)
		return
	}
	verb := "runs"
	if s.Status == statusRunning {
		verb = "is already running"
	}
	what := s.Project
	if s.Sandbox != "" {
		what = "the server of sandbox " + s.Sandbox + " of " + s.Project
	}
	g.Line("%s %s: %s", command.Plain(what), verb, command.Plain(s.ServerURL))
	pairs := []command.Pair{{Name: "isolation", Value: s.Isolation}, {Name: "directory", Value: s.BaseDir}, {Name: "version", Value: s.Version}, {Name: "pid", Value: number(s.PID)}, {Name: "gateway", Value: port(s.GatewayPort)}}
	g.Pairs(pairs...)
	if s.GatewayError != "" {
		g.Note("warning: the gateway is not running: %s", command.Plain(s.GatewayError))
	}
	if s.Exposed {
		g.Note("warning: %s", exposure)
	}
	if s.Sandbox == "" {
		g.Note("next: countersign sandbox create %s NAME", command.Plain(s.Project))
	}
}

// second returns the second argument, if there is one.
func second(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

// exposure is what is said about a server that others can reach.
const exposure = "other machines can reach the server (OPENCODE_HOSTNAME); it is protected only by its password"

// number returns a figure that zero says nothing about.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// port returns a port of this machine.
func port(n int) string {
	if n == 0 {
		return ""
	}
	return "port " + strconv.Itoa(n)
}

// drawWaiting shows the key that the host has to know: alone on the output, so that it can be piped to where it belongs.
func (g group) drawWaiting(ctx context.Context, s started) {
	g.Step("%s needs its key registered: the repository cannot be read with it yet", command.Plain(s.Project))
	if s.ErrorDetail != "" {
		g.Note("reason: %s", command.Plain(s.ErrorDetail))
	}
	g.Line("%s", command.Plain(s.PublicKey))
	g.Note("the key is in %s", command.Plain(s.PublicKeyPath))
	var k keyed
	if strings.HasSuffix(s.PublicKeyPath, deployKey) && g.reread(ctx, s.URL, &k) && known(k.Register) != "" {
		g.Note("if the host does not accept the key, register it at %s (with write access if agents push), then repeat this command", command.Plain(*k.Register))
		return
	}
	g.Note("if the host does not accept the key, register it there, then repeat this command")
}

// deployKey ends the name of the file of a key that was made for a project; asking for where to register it makes no other.
const deployKey = "-deploy.pub"

func (g group) reread(ctx context.Context, url string, k *keyed) bool {
	o, err := g.Send(ctx, "opencode_get_deploy_key", command.Arguments{"git_url": url}, nil)
	return err == nil && command.DecodeAnswer(o, k) == nil
}

// keyed is a project's deploy key.
type keyed struct {
	Project  string  `json:"project"`
	Public   string  `json:"public_key"`
	Path     string  `json:"public_key_path"`
	Register *string `json:"register_url"`
}

func (g group) key() *cobra.Command {
	c := &cobra.Command{Use: "key [URL]", Short: "Print a repository's public deploy key; create it if there is none",
		Long: "Print a repository's public deploy key, and create it if there is none. Only the key is printed on stdout. The repository\n" +
			"does not have to be cloned; register the key at its host before countersign sandbox start.",
		Example: "  countersign sandbox key git@github.com:acme/shop.git\n  countersign sandbox key acme-shop > shop.pub"}
	return ProjectCommand(g.Runner, c, "opencode_get_deploy_key", func(k keyed) {
		g.Line("%s", command.Plain(k.Public))
		g.Note("the deploy key of %s, in %s", command.Plain(k.Project), command.Plain(k.Path))
		if at := known(k.Register); at != "" {
			g.Note("register it at %s (with write access if agents push)", command.Plain(at))
		}
	})
}

// said is an answer of which users need its message alone.
type said struct {
	Status  string   `json:"status"`
	Project string   `json:"project"`
	Message string   `json:"message"`
	Deleted []string `json:"deleted"`
}

func (g group) stop() *cobra.Command {
	c := &cobra.Command{Use: "stop [URL] [NAME]", Short: "Stop a project's server; keep files, key and sandboxes", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long:    "Stop a project's server and the servers of its isolated sandboxes. With NAME, only the server of that sandbox.",
		Example: "  countersign sandbox stop acme-shop\n  countersign sandbox stop acme-shop fix-login"}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := g.apart(cmd.Context(), args)
		if err != nil {
			return err
		}
		url, err := g.URL(cmd.Context(), command.First(args))
		if err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.ProjectStop.Name, command.Arguments{"git_url": url}.Set("sandbox", second(args)), g.drawSaid)
	}
	return c
}

func (g group) drawSaid(s said) {
	g.Line("%s", command.Plain(strings.TrimPrefix(s.Project+": "+s.Message, ": ")))
}

func (g group) restart() *cobra.Command {
	c := &cobra.Command{Use: "restart [URL] [NAME]", Short: "Restart a project's server; keep its sandboxes", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long:    "Restart a project's server; the servers of isolated sandboxes keep running. With NAME, the server of that sandbox.",
		Example: "  countersign sandbox restart acme-shop\n  countersign sandbox restart acme-shop fix-login"}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		args, err := g.apart(ctx, args)
		if err != nil {
			return err
		}
		url, err := g.URL(ctx, command.First(args))
		if err != nil {
			return err
		}
		return command.CallAndShow(ctx, g.Runner, sandboxes.ProjectRestart.Name, command.Arguments{"git_url": url}.Set("sandbox", second(args)), func(s started) { g.drawStarted(ctx, s) })
	}
	return c
}

func (g group) destroy() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "destroy URL", Short: "Delete a project's clone and all its sandboxes; keep remote and key", Args: command.Args(1, 1), ValidArgsFunction: g.CompleteURL,
		Long: "Stop a project's server and delete its clone and all its sandboxes from this machine. The remote and the key are kept.\n" +
			"Denied while there is unsaved work, with a list of it. --force allows its loss: the list is shown again, and the project's\n" +
			"name must be typed (or given with --confirm-name); --yes cannot approve this.",
		Example: "  countersign sandbox destroy acme-shop\n  countersign sandbox destroy acme-shop --force --confirm-name acme-shop"}
	c.Flags().BoolVarP(&force, "force", "f", false, "unsaved work may be lost")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, err := g.URL(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url}
		if force {
			call["force"] = true
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.ProjectDestroy.Name, call, func(s said) {
			g.drawSaid(s)
			for _, path := range s.Deleted {
				g.Note("deleted %s", command.Plain(path))
			}
		})
	}
	return c
}

// gatewayWords returns the gateway in a few words.
func gatewayWords(b sandboxes.GatewayBrief) string {
	if b.Running {
		return fmt.Sprintf("running on port %d", known(b.Port))
	}
	return b.Status
}

func (g group) list() *cobra.Command {
	boxes := sandboxGroup(g).list()
	return &cobra.Command{Use: "list [PROJECT]", Short: "List the projects, or one project's sandboxes", Args: command.Args(0, 1), ValidArgsFunction: g.CompleteURL, Example: "  countersign sandbox list\n  countersign sandbox list acme-shop\n  countersign sandbox list --json",
		Long: "List the projects: each with its server, how many sandboxes it has, its URL and its directory. With PROJECT, list its sandboxes, as countersign sandbox ls does.", RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return boxes.RunE(cmd, args)
			}
			return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.ProjectList.Name, command.Arguments{}, func(found sandboxes.ProjectListing) {
				if len(found.Projects) == 0 {
					g.Note("%s", noProjects)
					return
				}
				var rows [][]string
				for _, p := range found.Projects {
					server := "stopped"
					if p.Running {
						server = strings.TrimSpace("running " + port(known(p.Port)))
					}
					rows = append(rows, []string{p.Name, server, strconv.Itoa(p.Worktrees), p.URL, p.BaseDir})
				}
				g.Table([]string{"project", "server", "sandboxes", "url", "directory"}, rows)
				if found.Gateway != nil {
					g.Note("gateway: %s", gatewayWords(*found.Gateway))
				}
			})
		}}
}

const noProjects = "no projects; start one with: countersign sandbox start URL"
