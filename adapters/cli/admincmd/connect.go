package admincmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// stale is the error code for a file that changed after it was read.
const stale = "deployment_plan_stale"

// attempts is how often connecting is tried if the file keeps changing.
const attempts = 5

// asked is the connection on the command line, as both tools accept it.
type asked struct {
	Host     string   `json:"host,omitempty"`
	Scope    string   `json:"scope,omitempty"`
	Name     string   `json:"name,omitempty"`
	URL      string   `json:"url,omitempty"`
	Toolsets []string `json:"toolsets,omitempty"`
	Sandbox  string   `json:"sandbox,omitempty"`
}

// wanted is the additional arguments of connect_host.
type wanted struct {
	asked
	Remove bool `json:"remove,omitempty"`
	Force  bool `json:"force,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// flags is the flags of connect.
type flags struct {
	wanted
	http, print bool
	forms       string // on or off; empty leaves them unchanged
}

// connectCommand runs connect in one shell.
type connectCommand struct {
	*command.Shell
	web Machine
}

// ConnectCommand returns the command connect.
func ConnectCommand(s *command.Shell, web Machine) *cobra.Command {
	g, f := connectCommand{s, web}, &flags{}
	c := &cobra.Command{Use: "connect [HOST]", Short: "Add Countersign to an agent host's MCP configuration", Args: command.Args(0, 1),
		Long: "Add Countersign to the MCP configuration of an agent host: claude-code, codex, cursor, vscode, gemini-cli or opencode. The change is shown as a\n" +
			"diff first, the file is copied, and the rest of the file, comments included, is not changed. Without HOST the hosts are listed.\n\n" +
			"The host starts this program. The entry raises the host's time limit for calls, if it has one, and sets how long a call waits for an\n" +
			"approval: less than that limit, so that the agent is told to retry before the host stops waiting.\n\n" +
			"With --http it connects to a running server (countersign up) instead, with a new access token for that host, for the toolsets that are enabled by\n" +
			"default or named with --toolsets. Connecting the host without --http again revokes that token.\n\n" +
			"With --sandbox it connects to the gateway of the agent servers in sandboxes, with an entry named countersign-gateway (use --name to have\n" +
			"several), and a token for one project only. NAME is a project or a sandbox (PROJECT/SANDBOX); the token of an isolated sandbox is for that\n" +
			"sandbox only. --remove removes the entry. Entries with the token for all projects keep working until they are connected again.\n\n" +
			"With --forms you can also approve in a form that the host shows, if the plan is below high risk and fits into it. Any program that runs as you can\n" +
			"start that entry and fill in the form itself, so you approve this separately. --forms=off disables it without asking and does not change the entry.\n\n" +
			"In an existing entry, everything that you do not name is kept: its toolsets, its waiting time, and arguments that you added.",
		Example: `  countersign connect                         list the hosts and whether they are connected
  countersign connect claude-code
  countersign connect claude-code --forms     also approve in the host's own form
  countersign connect codex --scope project --toolsets packs,projects
  countersign connect codex --sandbox acme-shop   connect to the agents in sandboxes through their gateway
  countersign connect cursor --print          print the entry and the file without writing
  countersign connect cursor --remove`,
		ValidArgsFunction: g.complete}
	c.Flags().StringVar(&f.Scope, "scope", "user", "scope of the configuration: user, or project (a file in the repository)")
	c.Flags().StringVar(&f.Name, "name", "countersign", "name of the server in the host's configuration")
	c.Flags().StringSliceVar(&f.Toolsets, "toolsets", nil, "toolsets to enable, separated by commas, or all (default: those of the entry, else those enabled by default)")
	c.Flags().BoolVar(&f.http, "http", false, "connect to the running server over HTTP, with a new access token for the host")
	c.Flags().StringVar(&f.URL, "url", "", "connect to the server at this address, over HTTP")
	c.Flags().StringVar(&f.Sandbox, "sandbox", "", "connect to the gateway for the agent server of this project or sandbox, over HTTP, with a token for it alone")
	c.Flags().BoolVar(&f.print, "print", false, "print the entry, its file and the host's own command, and write nothing")
	c.Flags().BoolVar(&f.Remove, "remove", false, "remove the entry")
	c.Flags().BoolVar(&f.Force, "force", false, "replace or remove an entry with that name that Countersign did not write")
	c.Flags().BoolVar(&f.DryRun, "dry-run", false, "show the change and write nothing")
	c.Flags().StringVar(&f.forms, "forms", "", "approvals in the host's own form: on (also without a value) or off")
	c.Flags().Lookup("forms").NoOptDefVal = formsOn
	for _, other := range []string{"print", "remove", "dry-run", "http", "url", "sandbox"} {
		c.MarkFlagsMutuallyExclusive("forms", other)
	}
	c.MarkFlagsMutuallyExclusive("print", "remove")
	c.MarkFlagsMutuallyExclusive("print", "dry-run")
	c.MarkFlagsMutuallyExclusive("http", "url", "sandbox")
	c.MarkFlagsMutuallyExclusive("sandbox", "toolsets")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			f.Host = args[0]
		}
		if f.Sandbox != "" && !cmd.Flags().Changed("name") {
			f.Name = mcpclients.GatewayName
		}
		return g.run(cmd, f)
	}
	return c
}

func (g connectCommand) run(cmd *cobra.Command, f *flags) error {
	ctx := cmd.Context()
	if err := g.check(cmd, f); err != nil {
		return err
	}
	if f.http && !f.Remove {
		url, err := g.address()
		if err != nil {
			return err
		}
		f.URL = url
	}
	_, unasked := g.ByCaller(ctx)
	switch {
	case f.Host == "":
		return g.list(ctx, f.asked)
	case f.print:
		return g.byHand(ctx, f.asked)
	case f.forms == formsOff && len(f.Toolsets) == 0 && !f.Force:
		return g.narrow(ctx, f)
	case f.DryRun:
		return g.preview(ctx, f.wanted, true)
	case g.Yes && !g.JSON && unasked: // no approval is needed, but the change is shown
		if err := g.preview(ctx, f.wanted, false); err != nil {
			return err
		}
	}
	return g.connect(ctx, f)
}

// check rejects contradictory flags, and unknown toolsets, which only the host would report.
func (g connectCommand) check(cmd *cobra.Command, f *flags) error {
	switch {
	case f.Host == "" && (f.print || f.Remove || f.DryRun || f.Force || f.forms != ""):
		return command.Usage(cmd, "name the host")
	case f.forms != "" && f.forms != formsOn && f.forms != formsOff:
		return command.Usage(cmd, "invalid --forms %q: use on or off", f.forms)
	case f.forms == formsOn && f.Scope == "project":
		return command.Usage(cmd, "a project file is shared with everyone who has the repository; enable forms for your own entry (--scope user)")
	}
	if len(f.Toolsets) == 0 {
		return nil
	}
	a, err := g.App()
	if err != nil {
		return err
	}
	var names []string
	for _, set := range a.Toolsets() {
		names = append(names, set.Name)
	}
	for _, name := range f.Toolsets {
		if name != "all" && !slices.Contains(names, name) {
			return command.Usage(cmd, "unknown toolset %q; use one of: %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// address returns the MCP URL of the running server.
func (g connectCommand) address() (string, error) {
	core, err := g.Opened()
	if err != nil {
		return "", err
	}
	at, ok := RunningServer(core, g.web)
	if !ok {
		return "", ErrStopped.WithDetails(command.Hint("start one with countersign up, or give its address with --url"))
	}
	return strings.TrimSuffix(at.URL, "/") + "/mcp", nil
}

// connect connects the host, and asks the user. If the file changes meanwhile, it is read and asked about again.
func (g connectCommand) connect(ctx context.Context, f *flags) error {
	for try := 1; ; try++ {
		o, err := g.Call(ctx, mcpclients.ConnectHost.Name, f.wanted)
		if err != nil && fault.From(err).Code == stale && try < attempts {
			g.Note("%s", command.Plain(fault.From(err).Message))
			continue
		}
		if err != nil {
			return g.Fail(o, err)
		}
		var report planner.Report[mcpclients.ConnectResult]
		if err := command.DecodeAnswer(o, &report); err != nil {
			return err
		}
		d := report.Data
		if !g.JSON {
			g.warn(report.Warnings)
			g.tell(d)
			g.serving(d, f)
		}
		wanted := f.forms
		if f.Remove || f.URL != "" || f.Sandbox != "" { // no server starts from that entry any longer
			wanted = formsOff
		}
		if o, err := g.setForms(ctx, f.Host, d.HostEntry, wanted, f.forms != ""); err != nil {
			return g.Fail(o, err)
		}
		if g.JSON {
			return g.Show(o)
		}
		return nil
	}
}

func (g connectCommand) warn(warnings []string) {
	for _, w := range warnings {
		g.Note("warning: %s", command.Plain(w))
	}
}

// tell prints what was done.
func (g connectCommand) tell(d mcpclients.ConnectResult) {
	file := command.Plain(d.File)
	switch d.State {
	case "already_connected":
		g.Line("%s is already connected (%s)", d.Title, file)
	case "not_connected":
		g.Line("%s has no server %s (%s)", d.Title, d.Server, file)
	case "removed":
		g.Line("removed server %s from %s (%s)", d.Server, d.Title, file)
	default:
		g.Line("connected %s (%s)", d.Title, file)
	}
	if d.Backup != "" {
		g.Note("the former file is kept as %s", command.Plain(d.Backup))
	}
	if d.Revoked != "" && d.Applied {
		g.Note("revoked the token %s", d.Revoked)
	}
	if d.LetInBy != "" && d.Applied {
		g.Note("it uses access token %s; to revoke: countersign token revoke %s", d.LetInBy, d.LetInBy)
	}
	if d.Next != "" {
		g.Note("next: %s", d.Next)
	}
}

// more is a toolset that new users need: project add requires it, and it is not enabled by default.
const more = "projects"

// serving prints what the entry serves, and the command that also enables projects.
func (g connectCommand) serving(d mcpclients.ConnectResult, f *flags) {
	if len(d.Toolsets) == 0 || f.Remove || f.Sandbox != "" {
		return
	}
	g.Note("enabled toolsets: %s", command.Plain(strings.Join(d.Toolsets, ", ")))
	if slices.Contains(d.Toolsets, "all") || slices.Contains(d.Toolsets, more) {
		return
	}
	argv := []string{"countersign", "connect", d.Host, "--toolsets", strings.Join(append(slices.Clone(d.Toolsets), more), ",")}
	for _, option := range [][2]string{{"--scope", f.Scope}, {"--name", f.Name}} {
		if option[1] != "" && option[1] != "user" && option[1] != "countersign" {
			argv = append(argv, option[0], option[1])
		}
	}
	switch {
	case f.http:
		argv = append(argv, "--http")
	case f.URL != "":
		argv = append(argv, "--url", f.URL)
	}
	g.Note("to enable projects, too: %s", command.Plain(present.CommandLine(argv)))
}

// preview shows the plan; alone, nothing follows it.
func (g connectCommand) preview(ctx context.Context, w wanted, alone bool) error {
	w.DryRun = true
	o, err := g.Call(ctx, mcpclients.ConnectHost.Name, w)
	if err != nil {
		return g.Fail(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	var report planner.Report[mcpclients.ConnectResult]
	if err := command.DecodeAnswer(o, &report); err != nil {
		return err
	}
	d := report.Data
	if alone {
		g.warn(report.Warnings)
	}
	switch {
	case d.Diff != "":
		g.Line("%s", strings.TrimSuffix(g.Diff(d.Diff), "\n"))
	case alone:
		g.tell(d)
	}
	return nil
}

// list shows every host with its status.
func (g connectCommand) list(ctx context.Context, a asked) error {
	o, err := g.Call(ctx, mcpclients.ListHosts.Name, a)
	if err != nil {
		return g.Fail(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	hosts, err := g.hosts(o)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, h := range hosts {
		found := "no"
		if h.Installed {
			found = "yes"
		}
		rows = append(rows, []string{h.Host, state(h) + g.said(ctx, h), found, h.File})
	}
	g.Table([]string{"host", "state", "found here", "file"}, rows)
	g.Note("to connect one: countersign connect HOST; to remove it: --remove")
	g.Unasked(ctx)
	return nil
}

func (g connectCommand) hosts(o tool.Outcome) ([]mcpclients.HostStatus, error) {
	var report planner.Report[mcpclients.HostList]
	err := command.DecodeAnswer(o, &report)
	return report.Data.Hosts, err
}

// state returns the status of a host as text.
func state(h mcpclients.HostStatus) string {
	switch h.State {
	case "connected":
		if len(h.Toolsets) > 0 {
			return "connected: " + strings.Join(h.Toolsets, ", ")
		}
		return "connected"
	case "outdated":
		return "connected to another: " + h.Detail
	case "other_entry":
		return "has another server of that name: " + h.Detail
	case "unreadable":
		return "cannot be read: " + h.Detail
	}
	if len(h.Servers) > 0 {
		return "connected as " + strings.Join(h.Servers, ", ")
	}
	return "not connected"
}

// byHand prints what to write into which file, and the host's own command.
func (g connectCommand) byHand(ctx context.Context, a asked) error {
	o, err := g.Call(ctx, mcpclients.ListHosts.Name, a)
	if err != nil {
		return g.Fail(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	hosts, err := g.hosts(o)
	if err != nil || len(hosts) == 0 {
		return err
	}
	h := hosts[0]
	g.Note("add this to %s:", command.Plain(h.File))
	g.Line("%s", strings.TrimSuffix(command.Block(h.Snippet), "\n"))
	if len(h.Command) > 0 {
		g.Note("or run the command of %s:", h.Title)
		g.Line("%s", command.Plain(present.CommandLine(h.Command)))
	}
	switch {
	case a.Sandbox != "":
		g.Note("replace <token> with the gateway's token; to show it: countersign sandbox gateway access NAME")
	case a.URL != "":
		g.Note("replace <token> with an access token; to create one: countersign connect %s --http", h.Host)
	}
	return nil
}

func (g connectCommand) complete(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o, err := g.Call(cmd.Context(), mcpclients.ListHosts.Name, asked{})
	var names []cobra.Completion
	if hosts, unread := g.hosts(o); err == nil && unread == nil {
		for _, h := range hosts {
			names = append(names, cobra.CompletionWithDesc(h.Host, h.Title))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
