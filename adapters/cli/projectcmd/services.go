package projectcmd

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// service is a service as list_services answers it.
type service struct {
	Name     string    `json:"name"`
	Command  string    `json:"command"`
	Status   string    `json:"status"`
	Process  string    `json:"processId"`
	Restarts int       `json:"restarts"`
	Started  time.Time `json:"startedAt"`
	Code     *int      `json:"exitCode"`
}

type serviceList struct {
	File     string    `json:"file"`
	Services []service `json:"services"`
}

func (g group) services() *cobra.Command {
	c := command.Group("services", "Start, list and stop the services of a project", g.servicesUp(), g.servicesDown(), g.servicesRestart(), g.servicesList(), g.servicesLogs())
	c.Long = "Start the services of a project in the order of their dependencies, show their output together, and stop them in reverse order.\n\n" +
		"They are defined in services.yaml or a Procfile in the working directory:\n\n" +
		"  services:\n    db:\n      command: docker run --rm -p 5432:5432 postgres\n      ready: {port: 5432}        # or {http: URL} or {log: PATTERN}, with timeout_ms\n" +
		"    web:\n      command: npm run dev\n      dir: web\n      env: {PORT: \"3000\"}\n      depends_on: [db]\n      restart: on-failure        # or no, always; with max_restarts (5), restart_delay_ms (1000, doubled each time)"
	c.Example = `  countersign services up
  countersign services up Procfile.dev --detach
  countersign services logs -f web`
	return c
}

// place is the directory and the file that a command is about.
type place struct{ project, file string }

func (g group) placeFlags(c *cobra.Command, p *place, file bool) {
	g.ProjectFlag(c, &p.project, "name, ID or directory of the project (default: the working directory)")
	if file {
		c.Flags().StringVar(&p.file, "file", "", "file with the services (default: services.yaml, services.yml, Procfile.dev or Procfile)")
		_ = c.MarkFlagFilename("file") // the flag is there
	}
}

// serviceArguments returns the arguments of a call about services. For a file given as a path, the directory is that of the file.
func (g group) serviceArguments(ctx context.Context, p place) (command.Arguments, error) {
	dir, err := g.Dir(ctx, p.project)
	if err != nil {
		return nil, err
	}
	if p.file != "" {
		at := p.file
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		dir, p.file = filepath.Dir(at), filepath.Base(at)
	}
	return command.Arguments{"projectPath": dir}.Set("file", p.file), nil
}

func (g group) servicesUp() *cobra.Command {
	var p place
	var detach bool
	var only []string
	c := &cobra.Command{Use: "up [FILE]", Short: "Start services in order, and show their output until Ctrl-C stops them", Args: command.Args(0, 1),
		Example: "  countersign services up\n  countersign services up Procfile.dev --detach\n  countersign services up --only web"}
	g.placeFlags(c, &p, false)
	c.Flags().BoolVarP(&detach, "detach", "d", false, "return when they are ready, and leave them running")
	c.Flags().StringArrayVar(&only, "only", nil, "start this service and its dependencies (repeatable)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		p.file = command.First(args)
		call, err := g.serviceArguments(ctx, p)
		if err != nil {
			return err
		}
		if len(only) > 0 {
			call["names"] = only
		}
		if detach {
			err := g.servicesCall(ctx, "services_up", call)
			if err == nil && !g.JSON {
				g.Note("next: countersign services logs -f, or countersign services down to stop them")
			}
			return err
		}
		call["attached"] = true
		l := (&live{g: g, named: true}).always(ctx)
		o, err := g.Send(ctx, "services_up", call, l.progress())
		l.end()
		if err != nil && ctx.Err() != nil && fault.From(err).Kind == fault.Canceled {
			g.Note("stopped")
			return command.Exit(present.ExitCode(fault.Canceled))
		}
		if err != nil {
			return g.Failed(o, err)
		}
		return g.showServices(o)
	}
	return c
}

// always begins to show what processes print, whatever the output is, unless that is JSON.
func (l *live) always(ctx context.Context) *live {
	if l.g.JSON {
		return l
	}
	return l.start(ctx)
}

func (g group) servicesDown() *cobra.Command {
	var p place
	c := &cobra.Command{Use: "down [NAME...]", Short: "Stop services, in reverse order of their start", ValidArgsFunction: g.completeServices(&p)}
	g.placeFlags(c, &p, true)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := g.serviceArguments(cmd.Context(), p)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			call["names"] = args
		}
		return g.servicesCall(cmd.Context(), "services_down", call)
	}
	return c
}

func (g group) servicesRestart() *cobra.Command {
	var p place
	c := &cobra.Command{Use: "restart NAME...", Short: "Stop services and start them again, with the current file", Args: command.Args(1, -1), ValidArgsFunction: g.completeServices(&p)}
	g.placeFlags(c, &p, true)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := g.serviceArguments(cmd.Context(), p)
		if err != nil {
			return err
		}
		call["names"], call["restart"] = args, true
		return g.servicesCall(cmd.Context(), "services_up", call)
	}
	return c
}

func (g group) servicesList() *cobra.Command {
	var p place
	c := &cobra.Command{Use: "list", Short: "List services and their status", Args: command.Args(0, 0)}
	g.placeFlags(c, &p, true)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		call, err := g.serviceArguments(cmd.Context(), p)
		if err != nil {
			return err
		}
		return g.servicesCall(cmd.Context(), "list_services", call)
	}
	return c
}

// servicesCall makes a call and shows the services as they are then.
func (g group) servicesCall(ctx context.Context, name tool.Name, call command.Arguments) error {
	o, err := g.Send(ctx, name, call, nil)
	if err != nil {
		return g.Failed(o, err)
	}
	return g.showServices(o)
}

func (g group) showServices(o tool.Outcome) error {
	if g.JSON {
		return g.Show(o)
	}
	var found serviceList
	if err := command.DecodeAnswer(o, &found); err != nil {
		return err
	}
	var rows [][]string
	for _, s := range found.Services {
		status := s.Status
		if s.Code != nil && *s.Code > 0 { // -1 is of a signal, which the status says
			status += " (" + strconv.Itoa(*s.Code) + ")"
		}
		again := ""
		if s.Restarts > 0 {
			again = strconv.Itoa(s.Restarts)
		}
		rows = append(rows, []string{s.Name, status, again, s.Process, command.Age(s.Started), s.Command})
	}
	g.Table([]string{"service", "status", "restarts", "id", "started", "command"}, rows)
	return nil
}

// findServices returns the services that a command is about.
func (g group) findServices(ctx context.Context, p place) (found serviceList, err error) {
	call, err := g.serviceArguments(ctx, p)
	if err == nil {
		_, err = g.Ask(ctx, "list_services", call, &found)
	}
	return found, err
}

func (g group) completeServices(p *place) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		var found serviceList
		if call, err := g.serviceArguments(cmd.Context(), *p); err == nil && g.Quietly(cmd.Context(), "list_services", call, &found) {
			for _, s := range found.Services {
				if !slices.Contains(args, s.Name) {
					out = command.Offer(out, s.Name, s.Status, begun)
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (g group) servicesLogs() *cobra.Command {
	var p place
	var lines int
	var follow bool
	c := &cobra.Command{Use: "logs [NAME...]", Short: "Show the output of services, with the service's name on each line", ValidArgsFunction: g.completeServices(&p)}
	g.placeFlags(c, &p, true)
	c.Flags().IntVarP(&lines, "lines", "n", 100, "number of lines from the end for each service, 1 to 2000")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow until they end")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		found, err := g.findServices(ctx, p)
		if err != nil {
			return err
		}
		var all []*follower
		width := 0
		for _, s := range found.Services {
			if s.Process != "" && (len(args) == 0 || slices.Contains(args, s.Name)) {
				all, width = append(all, &follower{begun: begun{s.Process, s.Name}}), max(width, len(s.Name))
			}
		}
		for _, name := range args {
			if !slices.ContainsFunc(found.Services, func(s service) bool { return s.Name == name }) {
				return command.ErrUnknown.WithMessage("service %q not found", name).WithDetails(command.Hint("to list the services: countersign services list"))
			}
		}
		if len(all) == 0 {
			g.Note("no services were started; to start them: countersign services up")
			return nil
		}
		for _, f := range all {
			var part projects.OutputAnswer
			if _, err := g.Ask(ctx, "get_background_process_output", command.Arguments{"processId": f.id, "tailLines": lines}, &part); err != nil {
				return err
			}
			f.next, f.ended = part.NextSeq, part.Status != statusRunning
			if err := g.prefixed(g.linePrefix(f.what, width), part.Lines); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		return g.followAll(ctx, all, width)
	}
	return c
}

// followAll shows what processes print until all of them have ended.
func (g group) followAll(ctx context.Context, all []*follower, width int) error {
	every := time.NewTicker(pollLive)
	defer every.Stop()
	l := &live{g: g}
	for turn := 0; len(all) > 0; turn++ {
		at := turn % len(all)
		if l.look(ctx, all[at], false, g.linePrefix(all[at].what, width)) {
			all = slices.Delete(all, at, at+1)
			continue
		}
		select {
		case <-ctx.Done(): // the way to end following; there is nothing to say about it
			return command.Exit(present.ExitCode(fault.Canceled))
		case <-every.C:
		}
	}
	return nil
}
