package sandboxcmd

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// gatewayStatus is the gateway as its own tools show it.
type gatewayStatus struct {
	Status     string    `json:"status"`
	Message    string    `json:"message"`
	PID        *int      `json:"pid"`
	Port       *int      `json:"port"`
	Active     *int      `json:"active_projects"`
	StartedAt  time.Time `json:"started_at"`
	LastHealth time.Time `json:"last_health_check"`
	Error      *string   `json:"error"`
}

func (g group) gateway() *cobra.Command {
	one := func(use, short string, name tool.Name, draw func(gatewayStatus)) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: command.Args(0, 0), Example: "  countersign sandbox gateway " + use, RunE: func(cmd *cobra.Command, _ []string) error {
			return command.CallAndShow(cmd.Context(), g.Runner, name, command.Arguments{}, draw)
		}}
	}
	message := func(f gatewayStatus) { g.Line("%s", command.Plain(f.Message)) }
	c := command.Group("gateway", "Manage the gateway, one MCP server for all projects",
		one("status", "Show the gateway", "opencode_mcp_status", g.drawGateway),
		one("restart", "Restart the gateway", "opencode_mcp_restart", func(f gatewayStatus) {
			message(f)
			g.Pairs(command.Pair{Name: "at", Value: port(known(f.Port))}, command.Pair{Name: "pid", Value: number(known(f.PID))})
		}),
		g.access(),
		one("stop", "Stop the gateway until a project starts or it is restarted", "opencode_stop_mcp_tool", message))
	c.Long = "Manage the gateway, one MCP server for the agent servers of all projects. It starts with the first project and stops with the last."
	return c
}

// reach is how a client of MCP reaches the gateway, as JSON.
type reach struct {
	Status string `json:"status"`
	URL    string `json:"url"`
	Token  string `json:"token"`
}

func (g group) access() *cobra.Command {
	return &cobra.Command{Use: "access [NAME]", Short: "Show the gateway's URL and a token for an MCP client", Args: command.Args(0, 1),
		Long: "Show the gateway's URL and a token (Authorization: Bearer TOKEN) for the configuration of an MCP client. With NAME, a project or a\n" +
			"sandbox (PROJECT/SANDBOX), the token is for that project's agents only; for an isolated sandbox, for that sandbox only. It expires with the project or sandbox.\n" +
			"Without NAME it is MCP_BEARER_TOKEN from the settings file, which is for the agents of all projects. Changing it revokes all tokens after the gateway restarts.\n" +
			"No tool returns a token.",
		Example: "  countersign sandbox gateway access acme-shop\n  countersign sandbox gateway access acme-shop/fix-login --json\n  countersign sandbox gateway access",
		RunE: func(cmd *cobra.Command, args []string) error {
			core, err := g.Opened()
			if err != nil {
				return err
			}
			if core.SandboxAccess == nil {
				return fault.ErrInternal.WithMessage("cannot read the settings file")
			}
			secrets, err := core.SandboxAccess(cmd.Context(), command.First(args))
			if err != nil {
				return g.Explain(err)
			}
			var f gatewayStatus
			if _, err := g.Ask(cmd.Context(), "opencode_mcp_status", command.Arguments{}, &f); err != nil {
				return err
			}
			if known(f.Port) == 0 || f.PID == nil {
				return errNoGateway.WithDetails(command.Hint("to start it with the project's server: countersign sandbox start PROJECT"))
			}
			at := reach{"success", "http://127.0.0.1:" + number(known(f.Port)) + "/mcp", secrets.Token}
			if g.JSON {
				return g.PrintJSON(at)
			}
			g.Pairs(command.Pair{Name: "url", Value: at.URL}, command.Pair{Name: "header", Value: "Authorization: Bearer " + at.Token})
			return nil
		}}
}

var errNoGateway = fault.New(fault.State, "sandbox_gateway_stopped", "the gateway is not running")

func (g group) drawGateway(f gatewayStatus) {
	if f.Message != "" {
		g.Line("%s", command.Plain(f.Message))
		return
	}
	active := "no project is active"
	if n := known(f.Active); n > 0 {
		active = number(n)
	}
	g.Pairs(command.Pair{Name: "gateway", Value: f.Status}, command.Pair{Name: "at", Value: port(known(f.Port))}, command.Pair{Name: "pid", Value: number(known(f.PID))},
		command.Pair{Name: "active projects", Value: active}, command.Pair{Name: "started", Value: command.Age(f.StartedAt)},
		command.Pair{Name: "last healthy", Value: command.Age(f.LastHealth)}, command.Pair{Name: "error", Value: known(f.Error)})
}

func (g group) llm() *cobra.Command {
	c := &cobra.Command{Use: "llm [PROVIDER/MODEL]", Short: "Show or set the default model of the agent servers", Args: command.Args(0, 1), ValidArgsFunction: g.completeModel,
		Example: "  countersign sandbox llm\n  countersign sandbox llm anthropic/claude-sonnet-4-5"}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.CallAndShow(cmd.Context(), g.Runner, "opencode_llm_config", command.Arguments{}, g.drawModels)
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "opencode_llm_set_model", command.Arguments{"model": args[0]}, func(set struct {
			Previous *string `json:"previous_model"`
			Current  string  `json:"current_model"`
			Note     string  `json:"note"`
			Warning  string  `json:"warning"`
		}) {
			line := "the default model is " + set.Current
			if before := known(set.Previous); before != "" && before != set.Current {
				line += "; it was " + before
			}
			g.Line("%s", command.Plain(line))
			for _, n := range []string{set.Note, set.Warning} {
				if n != "" {
					g.Note("%s", command.Plain(n))
				}
			}
		})
	}
	return c
}

func (g group) drawModels(m sandboxes.ModelAnswer) {
	current := known(m.Current)
	if current == "" {
		current = "not set"
	}
	where := m.Path
	if !m.Exists {
		where += " (does not exist yet)"
	}
	g.Pairs(command.Pair{Name: "model", Value: current}, command.Pair{Name: "configured in", Value: where})
	var rows [][]string
	for _, provider := range slices.Sorted(maps.Keys(m.Providers)) {
		rows = append(rows, []string{provider, strings.Join(m.Providers[provider], ", ")})
	}
	if len(rows) > 0 {
		g.Line("")
		g.Table([]string{"provider", "models"}, rows)
	}
	if m.Warning != "" {
		g.Note("%s", command.Plain(m.Warning))
	}
}

func (g group) completeModel(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var m sandboxes.ModelAnswer
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o, err := g.Send(cmd.Context(), "opencode_llm_config", command.Arguments{}, nil)
	if err != nil || command.DecodeAnswer(o, &m) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, name := range m.Available {
		if strings.HasPrefix(name, begun) {
			out = append(out, command.Plain(name))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (g group) duplicates() *cobra.Command {
	return &cobra.Command{Use: "duplicates", Short: "Find projects of the same repository, and unmanaged servers", Args: command.Args(0, 0), Example: "  countersign sandbox duplicates",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.CallAndShow(cmd.Context(), g.Runner, "opencode_detect_duplicates", command.Arguments{}, g.drawDuplicates)
		}}
}

func (g group) drawDuplicates(found struct {
	Duplicates []struct {
		Instances []struct {
			URL     string `json:"git_url"`
			Name    string `json:"project_name"`
			Base    string `json:"base_dir"`
			Running bool   `json:"opencode_running"`
		} `json:"instances"`
		Recommendation string `json:"recommendation"`
	} `json:"duplicates"`
	Foreign []struct {
		PID       int    `json:"pid"`
		Directory string `json:"directory"`
	} `json:"foreign_servers"`
	Message string `json:"message"`
}) {
	g.Line("%s", command.Plain(found.Message))
	for _, d := range found.Duplicates {
		var rows [][]string
		for _, i := range d.Instances {
			server := "stopped"
			if i.Running {
				server = "running"
			}
			rows = append(rows, []string{i.Name, server, i.URL, i.Base})
		}
		g.Line("")
		g.Table([]string{"project", "server", "url", "directory"}, rows)
		g.Note("%s", command.Plain(d.Recommendation))
	}
	for _, f := range found.Foreign {
		g.Note("process %d is an agent server in %s that Countersign did not start; it is not changed", f.PID, command.Plain(f.Directory))
	}
}

func (g group) orphans() *cobra.Command {
	return &cobra.Command{Use: "orphans", Short: "Clean up after crashed servers and interrupted operations", Args: command.Args(0, 0), Example: "  countersign sandbox orphans",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.CallAndShow(cmd.Context(), g.Runner, "opencode_cleanup_orphaned", command.Arguments{}, func(found struct {
				Orphans []struct {
					Project string `json:"project"`
					PID     int    `json:"pid"`
					Reason  string `json:"reason"`
				} `json:"orphaned_processes"`
				Message string `json:"message"`
			}) {
				var rows [][]string
				for _, o := range found.Orphans {
					rows = append(rows, []string{o.Project, number(o.PID), o.Reason})
				}
				if len(rows) > 0 {
					g.Table([]string{"project", "pid", "why"}, rows)
				}
				g.Line("%s", command.Plain(found.Message))
			})
		}}
}
