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
		Long: "Clone a repository if it is not there yet, and run its server. A start that was interrupted goes on where it was. The server works in the clone and in all\n" +
			"sandboxes without isolation. With NAME, a sandbox isolated by landlock or bubblewrap, it is a server in that sandbox alone, isolated likewise: with a port and a\n" +
			"password of its own, and without your settings, logins and keys; variables that OPENCODE_PASS_ENV names are passed on.\n\n" +
			"Exit code 4: the repository's host does not know the key yet; the key is printed, and the same command goes on once it is registered.",
		Example: `  countersign sandbox start git@github.com:acme/shop.git
  countersign sandbox start https://github.com/acme/shop
  countersign sandbox start ~/src/shop
  countersign sandbox start acme-shop fix-login
  countersign sandbox start git@example.com:acme/shop.git --ssh-key ~/.ssh/id_ed25519`}
	c.Flags().StringVar(&key, "ssh-key", "", "private key to reach the repository with (default: a deploy key that is made for it)")
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
				return command.ErrUsage.WithMessage("--ssh-key %q is no path: %v", key, err)
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
		Long: "Clone a repository as a project, so that sandboxes can be made of it. No agent server is started, and none needs to be installed; countersign sandbox start\n" +
			"does that, with the gateway in front of it.\n\n" +
			"Exit code 4: the repository's host does not know the key yet; the key is printed, and the same command goes on once it is registered.",
		Example: "  countersign sandbox clone git@github.com:acme/shop.git\n  countersign sandbox clone ~/src/shop"}
	c.Flags().StringVar(&key, "ssh-key", "", "private key to reach the repository with (default: a deploy key that is made for it)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		url, err := g.URL(ctx, args[0])
		if err != nil {
			return err
		}
		if key != "" && !strings.HasPrefix(key, "~") {
			if key, err = filepath.Abs(key); err != nil {
				return command.ErrUsage.WithMessage("--ssh-key %q is no path: %v", key, err)
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
	g.Note("no agent server: countersign sandbox start %s runs one, with the gateway in front of it", command.Plain(s.Project))
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
		verb = "runs already"
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
const exposure = "the server listens on more than this machine (OPENCODE_HOSTNAME); whoever reaches it needs only the password"

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
	g.Step("%s waits for a key: its repository cannot be read with this one yet", command.Plain(s.Project))
	if s.ErrorDetail != "" {
		g.Note("why: %s", command.Plain(s.ErrorDetail))
	}
	g.Line("%s", command.Plain(s.PublicKey))
	g.Note("the key is in %s", command.Plain(s.PublicKeyPath))
	var k keyed
	if strings.HasSuffix(s.PublicKeyPath, deployKey) && g.reread(ctx, s.URL, &k) && known(k.Register) != "" {
		g.Note("if that is because the host does not know the key: register it at %s (with write access if agents push), then repeat this command", command.Plain(*k.Register))
		return
	}
	g.Note("if that is because the host does not know the key: register it at the repository's host, then repeat this command")
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
		Long: "Print a repository's public deploy key, made when there is none: alone on the output, so that it can be piped to where it belongs. The repository\n" +
			"need not have been cloned; its host needs the key before countersign sandbox start can.",
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
	c := &cobra.Command{Use: "stop [URL] [NAME]", Short: "Stop a project's server; files, key and sandboxes stay", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long:    "Stop a project's server, and those that its isolated sandboxes have of their own. With NAME it is the server of that sandbox alone.",
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
	c := &cobra.Command{Use: "restart [URL] [NAME]", Short: "Restart a project's server; sandboxes stay", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long:    "Restart a project's server; those that isolated sandboxes have of their own run on. With NAME it is the server of that sandbox.",
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
	c := &cobra.Command{Use: "destroy URL", Short: "Delete a project's clone and all its sandboxes; remote and key stay", Args: command.Args(1, 1), ValidArgsFunction: g.CompleteURL,
		Long: "Stop a project's server and delete its clone and all its sandboxes from this machine. The remote is untouched, and the key stays.\n" +
			"While work is nowhere else, this is refused with the list of it. --force says that it may be lost: then the list is shown again, and the project's\n" +
			"name has to be typed (or given with --type); --yes does not answer that.",
		Example: "  countersign sandbox destroy acme-shop\n  countersign sandbox destroy acme-shop --force --type acme-shop"}
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
		return fmt.Sprintf("running at port %d", known(b.Port))
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
