package projectcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// group is the commands over one shell.
type group struct{ Runner }

// Commands returns every command about projects.
func Commands(s *command.Shell) []*cobra.Command {
	d := NewRunner(s)
	g := group{d}
	tasks := g.tasks() // project tasks, for those who look for it here
	tasks.Hidden = true
	return []*cobra.Command{tasks, g.project(), g.gitCommand(), g.run(), g.processes(), g.logs(), g.stop(), g.services(), g.webhooks(), WorkflowCommand(d), TemplateCommand(d), ActionCommand(d)}
}

func (g group) project() *cobra.Command {
	c := command.Group("project", "Register and show projects", g.add(), g.list(), g.show(), g.set(), g.remove(), g.scripts(), g.tasks(), g.members(), g.status(), g.diff(), g.worktrees())
	c.Long = "Register and show projects. Agents see only registered projects, and nothing outside their directories.\n\n" +
		"Without [PROJECT] (a name, ID or directory), commands use the project of the working directory."
	c.Example = `  countersign project add
  countersign project add ~/work/shop --name shop
  countersign run test`
	return c
}

// detail is a project as get_project answers it.
type detail struct {
	Project
	Description    string            `json:"description"`
	Remote         string            `json:"gitRemote"`
	Branch         string            `json:"currentBranch"`
	Manager        string            `json:"packageManager"`
	ManagerVersion string            `json:"packageManagerVersion"`
	Scripts        map[string]string `json:"scripts"`
	Type           string            `json:"projectType"`
	Masked         []struct {
		Name    string `json:"name"`
		Command string `json:"command"`
	} `json:"maskedScripts"` // in place of those that a map hides
	Node         string `json:"nodeVersion"`
	Monorepo     bool   `json:"isMonorepo"`
	MonorepoTool string `json:"monorepoTool"`
	Workflows    []struct {
		Name string `json:"name"`
	} `json:"workflows"`
	Warnings []string `json:"warnings"`
}

// kind returns what sort of project it is, in a few words.
func (p detail) kind() string {
	words := []string{}
	for _, w := range []string{p.Type, strings.TrimSpace(p.Manager + " " + p.ManagerVersion)} {
		if w != "" {
			words = append(words, w)
		}
	}
	if p.Monorepo {
		words = append(words, strings.TrimSpace("monorepo "+p.MonorepoTool))
	}
	switch n := len(p.Scripts); {
	case n == 1:
		words = append(words, "1 script")
	case n > 1:
		words = append(words, strconv.Itoa(n)+" scripts")
	}
	return strings.Join(words, ", ")
}

func (g group) add() *cobra.Command {
	var name, description string
	c := &cobra.Command{Use: "add [DIR]", Short: "Register a directory as a project", Args: command.Args(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}}
	c.Flags().StringVar(&name, "name", "", "name (default: the directory's name)")
	c.Flags().StringVar(&description, "description", "", "description, in one sentence")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := filepath.Abs(command.First(args))
		if err != nil {
			return command.ErrUsage.WithMessage("not a directory: %q: %v", command.First(args), err)
		}
		call := command.Arguments{"path": dir}.Set("name", name).Set("description", description)
		return command.CallAndShow(cmd.Context(), g.Runner, "project_add", call, func(p Project) { g.added(cmd.Context(), p) })
	}
	return c
}

// added says what was registered, as far as it can be told what that is.
func (g group) added(ctx context.Context, p Project) {
	var found detail
	line := "registered " + p.Name
	if g.Quietly(ctx, "get_project", command.Arguments{"path": p.Path}, &found) && found.kind() != "" {
		line += " (" + found.kind() + ")"
	}
	g.Line("%s: %s", command.Plain(line), command.Plain(p.Path))
	for _, w := range found.Warnings {
		g.Note("warning: %s", command.Plain(w))
	}
	var all taskList
	if len(found.Scripts) > 0 {
		g.Note("next: countersign run SCRIPT in that directory")
	} else if g.Quietly(ctx, "list_project_tasks", command.Arguments{"project_path": p.Path}, &all) && len(all.Tasks) > 0 {
		g.Note("next: countersign run TASK in that directory; countersign project tasks lists what it can run")
	}
	g.agents(ctx)
}

// agents says, of every host that is connected to this program, whether its agent is served projects, and the command that has it served.
func (g group) agents(ctx context.Context) {
	if g.JSON {
		return
	}
	var answer struct {
		Data struct {
			Hosts []struct {
				Host     string   `json:"host"`
				Title    string   `json:"title"`
				State    string   `json:"state"`
				Toolsets []string `json:"toolsets"`
			} `json:"hosts"`
		} `json:"data"`
	}
	o, err := g.Call(ctx, "list_hosts", struct{}{})
	if err != nil || json.Unmarshal(o.Value, &answer) != nil {
		return // the project is registered all the same
	}
	connected := false
	for _, h := range answer.Data.Hosts {
		if h.State != "connected" || len(h.Toolsets) == 0 {
			continue
		}
		connected = true
		if slices.Contains(h.Toolsets, "projects") || slices.Contains(h.Toolsets, "all") {
			g.Note("%s has the toolsets: %s", h.Title, command.Plain(strings.Join(h.Toolsets, ", ")))
			continue
		}
		g.Note("%s has only the toolsets %s; to add projects: countersign connect %s --toolsets %s,projects", h.Title, command.Plain(strings.Join(h.Toolsets, ", ")),
			h.Host, command.Plain(strings.Join(h.Toolsets, ",")))
	}
	if !connected {
		g.Note("for an agent: countersign connect HOST --toolsets packs,deployments,projects")
	}
}

func (g group) list() *cobra.Command {
	return &cobra.Command{Use: "list [QUERY]", Short: "List the registered projects", Args: command.Args(0, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			type item struct {
				Name      string `json:"name"`
				Path      string `json:"path"`
				Type      string `json:"projectType"`
				Manager   string `json:"packageManager"`
				Branch    string `json:"currentBranch"`
				Workflows int    `json:"workflowCount"`
			}
			call := command.Arguments{}.Set("query", command.First(args))
			return command.CallAndShow(cmd.Context(), g.Runner, "list_projects", call, func(found struct {
				Projects []item `json:"projects"`
			}) {
				if len(found.Projects) == 0 {
					g.Note("no projects; register one with: countersign project add DIR")
					return
				}
				var rows [][]string
				for _, p := range found.Projects {
					if _, err := os.Stat(p.Path); errors.Is(err, fs.ErrNotExist) {
						p.Path += "  (gone)"
					}
					rows = append(rows, []string{p.Name, p.Type, p.Manager, p.Branch, strconv.Itoa(p.Workflows), p.Path})
				}
				g.Table([]string{"name", "type", "manager", "branch", "workflows", "path"}, rows, "workflows", "manager", "type")
			})
		}}
}

// settings is what is stored of a project.
type settings struct {
	Settings struct {
		EnvPass  []string `json:"envPass"`
		Loopback bool     `json:"webhookAllowLoopback"`
		Hosts    []string `json:"webhookAllowHosts"`
	} `json:"settings"`
}

func (s settings) pairs() []command.Pair {
	loopback := ""
	if s.Settings.Loopback {
		loopback = "allowed, at the hosts above"
	}
	return []command.Pair{{Name: "variables passed on", Value: strings.Join(s.Settings.EnvPass, ", ")}, {Name: "webhook hosts", Value: strings.Join(s.Settings.Hosts, ", ")},
		{Name: "webhooks to this machine", Value: loopback}}
}

func (g group) show() *cobra.Command {
	return &cobra.Command{Use: "show [PROJECT]", Short: "Show a project: type, scripts, git and settings", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			dir, err := g.Dir(ctx, command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(ctx, g.Runner, "get_project", command.Arguments{"path": dir}, func(p detail) { g.drawProject(ctx, p) })
		}}
}

func (g group) drawProject(ctx context.Context, p detail) {
	flows := make([]string, 0, len(p.Workflows))
	for _, w := range p.Workflows {
		flows = append(flows, w.Name)
	}
	pairs := []command.Pair{{Name: "name", Value: p.Name}, {Name: "id", Value: p.ID}, {Name: "path", Value: p.Path}, {Name: "description", Value: p.Description},
		{Name: "what", Value: p.kind()}, {Name: "node", Value: p.Node}, {Name: "branch", Value: p.Branch}, {Name: "remote", Value: p.Remote},
		{Name: "workflows", Value: strings.Join(flows, ", ")}}
	var stored settings
	if g.Quietly(ctx, "project_settings", command.Arguments{"project": p.ID}, &stored) {
		pairs = append(pairs, stored.pairs()...)
	}
	g.Pairs(pairs...)
	for _, s := range p.Masked {
		p.Scripts[s.Name] = s.Command
	}
	if len(p.Scripts) > 0 {
		g.Line("")
		g.drawScripts(p.Scripts)
	}
	for _, w := range p.Warnings {
		g.Note("warning: %s", command.Plain(w))
	}
}

func (g group) set() *cobra.Command {
	var name, description string
	var pass, hosts []string
	var loopback bool
	c := &cobra.Command{Use: "set PROJECT", Short: "Change a project's name, description or permissions", Args: command.Args(1, 1), ValidArgsFunction: g.completeOne,
		Example: `  countersign project set shop --env-pass DATABASE_URL,NODE_OPTIONS
  countersign project set shop --webhook-host localhost:8080 --webhook-loopback
  countersign project set shop --webhook-host ""          none any more`}
	c.Flags().StringVar(&name, "name", "", "name")
	c.Flags().StringVar(&description, "description", "", "description, in one sentence")
	c.Flags().StringSliceVar(&pass, "env-pass", nil, "additional environment variables for its processes; replaces the list")
	c.Flags().StringArrayVar(&hosts, "webhook-host", nil, "HOST:PORT that its webhooks can reach without TLS, on a private address or another port (repeatable)")
	c.Flags().BoolVar(&loopback, "webhook-loopback", false, "let its webhooks reach this machine at these hosts")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{}
		for flag, entry := range map[string]struct {
			argument string
			value    any
		}{"name": {"name", name}, "description": {"description", description}, "env-pass": {"env_pass", told(pass)},
			"webhook-host": {"webhook_allow_hosts", told(hosts)}, "webhook-loopback": {"webhook_allow_loopback", loopback}} {
			if cmd.Flags().Changed(flag) {
				call[entry.argument] = entry.value
			}
		}
		if len(call) == 0 {
			return command.Usage(cmd, "nothing to change; give a flag")
		}
		var err error
		if call["project"], err = g.Stored(cmd.Context(), args[0]); err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "project_change", call, func(now struct {
			Project
			settings
		}) {
			g.Line("changed %s", command.Plain(now.Name))
			g.Pairs(now.pairs()...)
		})
	}
	return c
}

// told returns the values of a list that are some: an empty one empties the list.
func told(given []string) []string {
	out := []string{}
	for _, v := range given {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func (g group) remove() *cobra.Command {
	return &cobra.Command{Use: "remove PROJECT", Short: "Unregister a project and delete its actions; keep its directory", Args: command.Args(1, 1), ValidArgsFunction: g.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			word, err := g.Stored(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "project_remove", command.Arguments{"project": word}, func(p Project) {
				g.Line("unregistered %s; its directory was not changed", command.Plain(p.Name))
			})
		}}
}

func (g group) completeOne(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.CompleteProject(cmd, args, begun)
}
